"""Products with triangles are those of full matrices."""

import numpy as np
import pytest

from termwise.linalg.in_place import multiply_by_upper, upper_square


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (3, 5), (130, 70)])
def test_a_product_with_an_upper_triangle_is_that_with_the_full_matrix(shape):
    rng = np.random.default_rng(0)
    B, U = rng.standard_normal(shape), rng.standard_normal((shape[1], shape[1]))
    expected = B @ np.triu(U)
    multiply_by_upper(B, U)  # what is below the diagonal is not read
    np.testing.assert_allclose(B, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (3, 5), (130, 70)])
def test_the_upper_triangle_of_a_square_is_that_of_the_product(shape):
    A = np.random.default_rng(0).standard_normal(shape)
    np.testing.assert_allclose(upper_square(A), np.triu(A.T @ A), rtol=1e-12, atol=1e-12)


def test_arrays_that_blas_would_misread_are_refused():
    with pytest.raises(AssertionError):
        multiply_by_upper(np.ones((3, 2)), np.ones((3, 3)))
    with pytest.raises(AssertionError):
        upper_square(np.ones((4, 6))[:, ::2])
