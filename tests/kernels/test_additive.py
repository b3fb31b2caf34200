"""The additive kernel against explicit sums over subsets, and its adjoint against differences."""

import multiprocessing
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from termwise.inference.orders import AllSubsets, EachOrder
from termwise.kernels.additive import AdditiveKernel
from termwise.kernels.categorical import Categorical
from termwise.kernels.component import Component
from termwise.kernels.fused import run
from termwise.kernels.fused.block import KINDS, MISSING, TABLE
from termwise.kernels.fused.loops import symmetric_polynomials, symmetric_polynomials_adjoint
from termwise.kernels.matern import Matern12, Matern32, Matern52
from termwise.kernels.squared_exponential import SquaredExponential
from termwise.measures import Discrete, Empirical, Mixture, Normal, Uniform
from tests.oracle.additive import (
    PROFILES,
    additive_diagonal,
    additive_matrix,
    newton_girard,
    product_sum,
    subsets,
    term_matrix,
)

MIXED = (
    Component(SquaredExponential(0.7), Normal(0.1, 1.1), 1.3),
    Component(Matern12(1.5), Uniform(-2.5, 2.5), 0.6),
    Component(Categorical((0.5, -1.0, 0.2), (0.3, 0.6, 1.0)), Discrete((0.2, 0.5, 0.3)), 0.8),
    Component(Matern52(0.4), Empirical((-1.0, 0.3, 0.9, 1.6), (0.1, 0.4, 0.3, 0.2)), 1.1),
    Component(Matern32(2.0), Mixture((0.4, 0.6), (-1.0, 0.8), (0.5, 0.7)), 2.0),
    Component(SquaredExponential(1.2), None, 0.9),
)
VARIANCES = (0.4, 1.0, 0.7, 0.2, 1.5, 0.3, 0.8)


def mixed_rows(n: int, n_columns: int, seed: int = 0, *, missing: bool = True) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, n_columns))
    for d, component in enumerate(MIXED[:n_columns]):
        if isinstance(component.kernel, Categorical):
            X[:, d] = rng.integers(0, 3, n)
    if missing:
        X[rng.uniform(size=X.shape) < 0.2] = np.nan
    return X


@pytest.mark.parametrize("n_columns", [4, 5, 6])
def test_the_kernel_is_the_sum_over_all_subsets(n_columns):
    X, Z = mixed_rows(9, n_columns), mixed_rows(7, n_columns, seed=1)
    for order in range(1, n_columns + 1):
        kernel = AdditiveKernel(MIXED[:n_columns], VARIANCES[: order + 1])
        expected = additive_matrix(kernel, X, Z)
        scale = np.abs(additive_diagonal(kernel, X)).max()
        np.testing.assert_allclose(kernel.matrix(X, Z), expected, rtol=0, atol=1e-12 * scale)
        np.testing.assert_allclose(kernel.diagonal(X), additive_diagonal(kernel, X), rtol=1e-11)


def test_an_order_of_variance_zero_is_left_out_and_more_orders_than_columns_are_empty():
    X = mixed_rows(8, 4)
    kernel = AdditiveKernel(MIXED[:4], (0.0, 0.0, 1.7, 0.0))
    np.testing.assert_allclose(kernel.matrix(X, X), additive_matrix(kernel, X, X), atol=1e-12)
    three, nine = (AdditiveKernel(MIXED[:3], (0.3, 0.5, 0.7, 0.9, *more)) for more in ((), (5.0,) * 6))
    np.testing.assert_allclose(nine.matrix(X[:, :3], X[:, :3]), three.matrix(X[:, :3], X[:, :3]), rtol=1e-15)


def test_the_terms_sum_to_the_kernel():
    X, Z = mixed_rows(9, 5), mixed_rows(7, 5, seed=1)
    kernel = AdditiveKernel(MIXED[:5], VARIANCES[:4])
    parts = {u: kernel.term_matrix(u, X, Z) for u in subsets(5, 3)}
    for u in ((), (2,), (0, 3), (1, 2, 4)):
        np.testing.assert_allclose(parts[u], term_matrix(kernel, u, X, Z), rtol=0, atol=1e-12)
    np.testing.assert_allclose(sum(parts.values()), kernel.matrix(X, Z), rtol=0, atol=1e-12)


def test_the_diagonals_of_terms_sum_to_that_of_the_kernel():
    X = mixed_rows(12, 5)
    kernel = AdditiveKernel(MIXED[:5], VARIANCES[:4])
    total = sum(kernel.term_diagonal(u, X) for u in subsets(5, 3))
    np.testing.assert_allclose(total, kernel.diagonal(X), rtol=1e-12)
    for u in ((), (2,), (0, 3)):
        known = ~np.isnan(X[:, list(u)]).any(axis=1)
        np.testing.assert_allclose(
            kernel.term_diagonal(u, X)[known], np.diag(kernel.term_matrix(u, X, X))[known], atol=1e-13
        )


def test_a_gram_matrix_is_the_kernel_with_the_lost_variance_on_the_diagonal():
    X = mixed_rows(12, 5)
    kernel = AdditiveKernel(MIXED[:5], VARIANCES[:4])
    lost = kernel.lost_variance(X)
    complete = ~np.isnan(X).any(axis=1)
    assert np.all(lost[~complete] > 0.0)
    np.testing.assert_array_equal(lost[complete], 0.0)
    np.testing.assert_allclose(kernel.gram(X), kernel.matrix(X, X) + np.diag(lost), rtol=0, atol=1e-12)
    assert np.linalg.eigvalsh(kernel.gram(X)).min() > 0.0


def test_what_is_lost_is_what_the_cell_would_have_brought_on_average():
    # E over the cell of K(x, x) and of K(x, z): exact for a discrete measure.
    kernel = AdditiveKernel(MIXED[:4], VARIANCES[:4])
    X = np.tile(mixed_rows(1, 4, missing=False), (3, 1))
    X[:, 2], Z = np.arange(3.0), mixed_rows(5, 4, seed=1, missing=False)
    gone = X[:1].copy()
    gone[0, 2] = np.nan
    p = np.array([0.2, 0.5, 0.3])
    assert kernel.diagonal(gone)[0] == pytest.approx(p @ kernel.diagonal(X), rel=1e-13)
    np.testing.assert_allclose(kernel.matrix(gone, Z)[0], p @ kernel.matrix(X, Z), atol=1e-13)


def test_the_order_of_the_columns_does_not_matter():
    X, Z = mixed_rows(6, 4), mixed_rows(5, 4, seed=1)
    expected = AdditiveKernel(MIXED[:4], VARIANCES[:4]).matrix(X, Z)
    for order in permutations(range(4)):
        shuffled = AdditiveKernel(tuple(MIXED[d] for d in order), VARIANCES[:4])
        np.testing.assert_allclose(shuffled.matrix(X[:, order], Z[:, order]), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("kernel", [SquaredExponential, Matern12, Matern32, Matern52], ids=lambda k: k.name)
def test_all_subsets_are_a_product(kernel):
    X, Z = mixed_rows(6, 2, missing=False), mixed_rows(5, 2, seed=1, missing=False)
    X, Z = np.hstack([X, 2 * X]), np.hstack([Z, 2 * Z])
    v, alpha = 1.7, 0.6
    variances, _ = AllSubsets(4).variances(np.log([v, alpha]))
    found = AdditiveKernel((Component(kernel(0.8), None),) * 4, tuple(variances)).matrix(X, Z)
    k = [PROFILES[kernel.name](np.abs(X[:, [d]] - Z[:, d]) / 0.8) for d in range(4)]
    np.testing.assert_allclose(found, v * np.prod([1 + alpha * m for m in k], axis=0), rtol=1e-13)


def test_the_highest_order_alone_is_the_kernel_over_all_columns():
    X, Z = np.random.default_rng(0).standard_normal((2, 8, 5))
    lengths = np.array([0.3, 0.7, 1.1, 2.0, 4.0])
    variances, _ = EachOrder((0, 5)).variances(np.log([0.2, 1.4]))
    np.testing.assert_allclose(variances, [0.2, 0, 0, 0, 0, 1.4], rtol=1e-15)
    kernel = AdditiveKernel(
        tuple(Component(SquaredExponential(length), None) for length in lengths), tuple(variances)
    )
    square = np.sum(((X[:, None] - Z[None]) / lengths) ** 2, axis=-1)
    np.testing.assert_allclose(kernel.matrix(X, Z), 0.2 + 1.4 * np.exp(-square / 2), rtol=1e-13)


# The recursion is stable; power sums are not.


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=7), st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_the_recursion_gives_sums_of_products(values, order):
    e = np.empty((order + 1, 1))
    symmetric_polynomials(np.array(values)[:, None], e)
    for r in range(order + 1):
        products = [float(np.prod(u)) for u in combinations(values, r)]
        assert e[r, 0] == pytest.approx(sum(products), abs=1e-13 * sum(map(abs, products), 1e-30))


def exact_polynomials(z: np.ndarray) -> list[Fraction]:
    """e_0 .. e_D in exact arithmetic."""
    e = [Fraction(1)] + [Fraction(0)] * z.size
    for value in map(Fraction, z.tolist()):
        for r in range(z.size, 0, -1):
            e[r] += value * e[r - 1]
    return e


def test_sixty_columns_at_order_sixty_keep_their_digits():
    z = np.random.default_rng(0).uniform(0.05, 1.0, (60, 3))
    e = np.empty((61, 3))
    symmetric_polynomials(z, e)
    exact = np.transpose([[float(value) for value in exact_polynomials(column)] for column in z.T])
    np.testing.assert_allclose(e, exact, rtol=2e-14)
    # Power sums agree at a few columns, and have no digit left here: that is why there is a recursion.
    small = np.empty((7, 3))
    symmetric_polynomials(np.ascontiguousarray(z[:6]), small)
    np.testing.assert_allclose(small, newton_girard(z[:6], 6), rtol=1e-12)
    assert np.abs(newton_girard(z, 60)[60] / exact[60] - 1).max() > 1.0


def test_a_kernel_of_sixty_columns_and_all_orders_is_accurate_and_positive_semidefinite():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 60))
    component = Component(SquaredExponential(1.0), Normal())
    component = replace(component, weight=1.0 / component.mean_variance)
    kernel = AdditiveKernel((component,) * 60, tuple(0.8 ** np.arange(61)))
    K = kernel.gram(X)
    eigenvalues = np.linalg.eigvalsh(K)
    assert eigenvalues[0] >= -1e-10 * eigenvalues[-1]
    for i, j in ((0, 0), (3, 1), (20, 7)):
        z = np.array([component.matrix(X[[i], d], X[[j], d])[0, 0] for d in range(60)])
        weights = [Fraction(float(v)) for v in kernel.variances]
        exact = float(sum(w * e for w, e in zip(weights, exact_polynomials(z), strict=True)))
        size = float(sum(w * e for w, e in zip(weights, exact_polynomials(np.abs(z)), strict=True)))
        assert abs(K[i, j] - exact) <= 1e-13 * size


@pytest.mark.parametrize("threads", [2, 3])
def test_the_number_of_threads_changes_no_bit(threads):
    X, Z = mixed_rows(70, 5), mixed_rows(67, 5, seed=1)
    kernel = AdditiveKernel(MIXED[:5], VARIANCES[:4])
    np.testing.assert_array_equal(kernel.matrix(X, Z, threads=threads), kernel.matrix(X, Z, threads=1))
    np.testing.assert_array_equal(kernel.gram(X, threads=threads), kernel.gram(X, threads=1))


# Rows come in blocks of 64.


@pytest.mark.parametrize("n", [1, 63, 64, 65, 130])
@pytest.mark.parametrize("m", [1, 64, 65])
def test_blocks_have_no_seams(n, m):
    X, Z = mixed_rows(n, 4), mixed_rows(m, 4, seed=1)
    kernel = AdditiveKernel(MIXED[:4], VARIANCES[:4])
    by_columns = [c.matrix(X[:, d], Z[:, d]) for d, c in enumerate(MIXED[:4])]
    expected = product_sum(by_columns, kernel.variances)
    np.testing.assert_allclose(kernel.matrix(X, Z), expected, rtol=0, atol=1e-12)
    square = product_sum([c.matrix(X[:, d], X[:, d]) for d, c in enumerate(MIXED[:4])], kernel.variances)
    np.testing.assert_allclose(
        kernel.gram(X), square + np.diag(kernel.diagonal(X) - np.diag(square)), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_no_rows_give_an_empty_matrix(shape):
    kernel = AdditiveKernel(MIXED[:3], VARIANCES[:3])
    X, Z = (mixed_rows(size, 3) for size in shape)
    assert kernel.matrix(X, Z).shape == shape
    assert kernel.gram(X).shape == (shape[0], shape[0])


# Adjoints.


def loop_inputs(kind: int, n: int, seed: int = 0) -> tuple[run.Weights, run.Rows]:
    """Two columns of one kind, one table, one cell of each missing."""
    rng = np.random.default_rng(seed)
    u, a = rng.standard_normal((3, n)), 0.5 * rng.standard_normal((3, n))
    u[2] = rng.integers(0, 3, n)
    if n > 2:
        u[0, 1], a[0, 1], u[2, 2] = MISSING, 0.0, 3.0
    root = rng.standard_normal((4, 4))
    root[3] = 0.0
    tables = np.stack([np.zeros((4, 4)), np.zeros((4, 4)), root @ root.T])
    kinds = np.array([kind, kind, TABLE])
    return run.Weights(kinds, np.array([1.2, 0.7, 1.0]), tables, np.array([0.3, 1.0, 0.6, 0.4])), run.Rows(
        u, a
    )


def differences(function, array: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """Central differences of a function that reads the array, entry by entry; missing cells stay."""
    out = np.zeros(array.shape)
    for index in np.ndindex(array.shape):
        kept = array[index]
        if kept == MISSING:
            continue
        array[index] = kept + step
        above = function()
        array[index] = kept - step
        out[index] = (above - function()) / (2 * step)
        array[index] = kept
    return out


ADJOINT = {"rtol": 1e-6, "atol": 1e-7}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@every_kind
@pytest.mark.parametrize("threads", [1, 3])
def test_the_adjoint_of_a_gram_matrix_is_its_derivative(kind, threads):
    w, rows = loop_inputs(kind, 7)
    rng = np.random.default_rng(5)
    G, left, right = rng.standard_normal((7, 7)), rng.standard_normal(7), rng.standard_normal(7)
    below = np.tril(G + np.outer(left, right), -1)

    def total():
        K = np.zeros((7, 7))
        run.gram_below(w, run.Rows(rows.u, rows.a), K, 1)  # afresh: rows keep their blocks
        return 2.0 * np.sum(below * K)

    found = run.adjoint_below(w, rows, G, left, right, threads)
    np.testing.assert_allclose(found.variances, differences(total, w.variances), **ADJOINT)
    np.testing.assert_allclose(found.weight[:2], differences(total, w.weight)[:2], **ADJOINT)
    np.testing.assert_allclose(found.tables, differences(total, w.tables), **ADJOINT)
    assert np.any(found.tables)
    np.testing.assert_allclose(found.x.u[:2], differences(total, rows.u[:2]), **ADJOINT)
    np.testing.assert_allclose(found.x.a[:2], differences(total, rows.a[:2]), **ADJOINT)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_threads_work_in_a_forked_process():
    # The child has the pool of its parent, but none of the pool's threads: it would wait for ever.
    w, rows = loop_inputs(next(iter(KINDS.values())), 7)
    expected = run.cross(w, rows, rows, 3)
    with multiprocessing.get_context("fork").Pool(1) as child:
        found = child.apply_async(run.cross, (w, rows, rows, 3)).get(timeout=60)
    np.testing.assert_array_equal(found, expected)


@every_kind
@pytest.mark.parametrize("threads", [1, 3])
def test_the_adjoint_of_a_cross_matrix_is_its_derivative(kind, threads):
    w, left = loop_inputs(kind, 5)
    _, right = loop_inputs(kind, 4, seed=1)
    G = np.random.default_rng(5).standard_normal((5, 4))

    def total():
        return np.sum(G * run.cross(w, left, run.Rows(right.u, right.a), 1))  # afresh, as above

    found = run.adjoint_cross(w, left, right, G, threads)
    np.testing.assert_allclose(found.variances, differences(total, w.variances), **ADJOINT)
    np.testing.assert_allclose(found.weight[:2], differences(total, w.weight)[:2], **ADJOINT)
    np.testing.assert_allclose(found.tables, differences(total, w.tables), **ADJOINT)
    assert np.any(found.tables)
    for rows, cotangent in ((left, found.x), (right, found.z)):
        np.testing.assert_allclose(cotangent.u[:2], differences(total, rows.u[:2]), **ADJOINT)
        np.testing.assert_allclose(cotangent.a[:2], differences(total, rows.a[:2]), **ADJOINT)


@every_kind
def test_rows_in_the_same_place_have_a_finite_adjoint(kind):
    # The distance has no derivative at zero; every kernel has one, or a symmetric kink.
    w, rows = loop_inputs(kind, 4)
    rows = run.Rows(*(np.ascontiguousarray(part[:, [0, 0, 3, 3]]) for part in (rows.u, rows.a)))
    found = run.adjoint_below(w, rows, np.ones((4, 4)), np.zeros(4), np.zeros(4), 1)
    assert all(np.all(np.isfinite(part)) for part in (found.x.u, found.x.a, found.weight, found.variances))


@pytest.mark.parametrize("n", [1, 63, 64, 65, 130])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_adjoint_has_no_seams_between_blocks(n, threads):
    # Squared exponential, two columns: dK/dz_0 = s_1 + s_2 z_1, and z = w exp(-d^2 / 2) - a a'.
    rng = np.random.default_rng(n)
    rows = run.Rows(rng.standard_normal((2, n)), rng.standard_normal((2, n)))
    s, weight = np.array([0.5, 1.0, 0.7]), np.array([1.2, 0.7])
    w = run.Weights(np.array([KINDS["se"]] * 2), weight, np.zeros((2, 1, 1)), s)
    G, left, right = rng.standard_normal((n, n)), rng.standard_normal(n), rng.standard_normal(n)
    B = 2.0 * np.tril(G + np.outer(left, right), -1)
    apart = rows.u[:, :, None] - rows.u[:, None, :]
    k = np.exp(-(apart**2) / 2)
    z = weight[:, None, None] * k - rows.a[:, :, None] * rows.a[:, None, :]
    by_z = B * (s[1] + s[2] * z[::-1])
    moved = -weight[:, None, None] * by_z * k * apart
    found = run.adjoint_below(w, rows, G, left, right, threads)
    sides = by_z + by_z.transpose(0, 2, 1)
    close = {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(found.x.u, moved.sum(axis=2) - moved.sum(axis=1), **close)
    np.testing.assert_allclose(found.x.a, -np.einsum("dij,dj->di", sides, rows.a), **close)
    np.testing.assert_allclose(found.weight, np.sum(by_z * k, axis=(1, 2)), **close)
    np.testing.assert_allclose(
        found.variances, [B.sum(), np.sum(B * (z[0] + z[1])), np.sum(B * z[0] * z[1])], **close
    )


def test_the_adjoint_of_the_polynomials_is_their_derivative():
    rng = np.random.default_rng(0)
    z, s, g = rng.standard_normal((5, 4)), rng.standard_normal(4), rng.standard_normal(4)

    def total():
        e = np.empty((4, 4))
        symmetric_polynomials(z, e)
        return g @ (s @ e)

    by_s, by_z = symmetric_polynomials_adjoint(z, s, g)
    np.testing.assert_allclose(by_s, differences(total, s), **ADJOINT)
    np.testing.assert_allclose(by_z, differences(total, z), **ADJOINT)
