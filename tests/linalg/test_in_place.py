"""Products with triangles are those of full matrices."""

import numpy as np
import pytest

from termwise.linalg.in_place import PIECE, multiply_by_upper, share_by_upper, turned, upper_square


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (3, 5), (130, 70)])
def test_a_product_with_an_upper_triangle_is_that_with_the_full_matrix(shape):
    rng = np.random.default_rng(0)
    B, U = rng.standard_normal(shape), rng.standard_normal((shape[1], shape[1]))
    expected = B @ np.triu(U)
    multiply_by_upper(B, U)  # what is below the diagonal is not read
    np.testing.assert_allclose(B, expected, rtol=1e-12, atol=1e-12)
    expected = B @ np.triu(U).T
    multiply_by_upper(B, U, transposed=True)
    np.testing.assert_allclose(B, expected, rtol=1e-12, atol=1e-12)


def test_some_columns_are_multiplied_and_squared_as_all_are_and_the_others_stay():
    rng = np.random.default_rng(0)
    B, U, some = rng.standard_normal((7, 6)), rng.standard_normal((6, 6)), slice(2, 5)
    expected = B.copy()
    expected[:, some] = B[:, some] @ np.triu(U[some, some])
    multiply_by_upper(B[:, some], U[some, some])
    np.testing.assert_allclose(B, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(upper_square(B[:, some]), np.triu(B[:, some].T @ B[:, some]), rtol=1e-12)


def test_a_symmetric_matrix_is_turned_by_an_upper_triangle():
    rng = np.random.default_rng(0)
    U, S = np.triu(rng.standard_normal((6, 6))), rng.standard_normal((6, 6))
    S += S.T
    np.testing.assert_allclose(turned(U, S), U @ S @ U.T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("transposed", [False, True])
def test_a_product_is_the_same_to_the_last_bit_by_however_many_threads(transposed):
    rng = np.random.default_rng(0)
    B, U = rng.standard_normal((3 * PIECE + 7, 90)), np.triu(rng.standard_normal((90, 90)))
    expected = B @ (U.T if transposed else U)
    found = [B.copy() for _ in range(3)]
    for shared, threads in zip(found, (1, 2, 5), strict=True):
        share_by_upper(shared, U, threads, transposed=transposed)
        np.testing.assert_array_equal(shared, found[0])
    np.testing.assert_allclose(found[0], expected, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (3, 5), (130, 70)])
def test_the_upper_triangle_of_a_square_is_that_of_the_product(shape):
    A = np.random.default_rng(0).standard_normal(shape)
    np.testing.assert_allclose(upper_square(A), np.triu(A.T @ A), rtol=1e-12, atol=1e-12)


def test_arrays_that_blas_would_misread_are_refused():
    with pytest.raises(AssertionError):
        multiply_by_upper(np.ones((3, 2)), np.ones((3, 3)))
    with pytest.raises(AssertionError):
        upper_square(np.ones((4, 6))[:, ::2])
    with pytest.raises(AssertionError):
        upper_square(np.ones((6, 4)).T)
