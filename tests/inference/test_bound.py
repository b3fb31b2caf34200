"""The collapsed bound as a function of sums: its value, what it says of its derivatives, and adding up."""

import numpy as np
import pytest
from scipy.linalg import cholesky
from scipy.stats import multivariate_normal

from termwise.errors import NumericalError
from termwise.inference.bound import Bound, Sums, shrinkage_root

ROWS, INDUCING = 12, 4


def sums_of(a, w, y, k):
    """From the formulas, for rows a (n, M), precisions w, targets y and prior variances k."""
    own = np.sum(np.log(w) - w * y**2 - w * (k - np.sum(a**2, axis=1)))
    return Sums(y.size, float(own), a.T @ np.diag(w) @ a, a.T @ (w * y))


def rows(seed=0):
    rng = np.random.default_rng(seed)
    a, y = rng.standard_normal((ROWS, INDUCING)), rng.standard_normal(ROWS)
    return a, rng.uniform(0.5, 3.0, ROWS), y, np.sum(a**2, axis=1) + rng.uniform(0.0, 1.0, ROWS)


def dense_bound(a, w, y, k):
    """log N(y; 0, a a' + diag 1 / w) - sum_n w_n (k_n - |a_n|^2) / 2."""
    Q = a @ a.T
    density = multivariate_normal(np.zeros(y.size), Q + np.diag(1.0 / w)).logpdf(y)
    return float(density - 0.5 * np.sum(w * (k - np.diag(Q))))


def central(function, at, step=1e-5):
    """The derivative of a function of an array for every entry."""
    out = np.empty(at.shape)
    for index in np.ndindex(at.shape):
        moved = np.zeros(at.shape)
        moved[index] = step
        out[index] = (function(at + moved) - function(at - moved)) / (2 * step)
    return out


def test_the_value_is_that_of_the_dense_formula():
    a, w, y, k = rows()
    assert Bound.of(sums_of(a, w, y, k)).value == pytest.approx(dense_bound(a, w, y, k), rel=1e-12)


def test_sums_of_different_rows_add_up_to_those_of_all():
    a, w, y, k = rows()
    first, second = slice(0, 5), slice(5, None)
    added = sums_of(a[first], w[first], y[first], k[first]) + sums_of(
        a[second], w[second], y[second], k[second]
    )
    whole = sums_of(a, w, y, k)
    assert added.n_rows == whole.n_rows == ROWS
    assert added.own == pytest.approx(whole.own, rel=1e-13)
    np.testing.assert_allclose(added.outer, whole.outer, rtol=1e-13)
    np.testing.assert_allclose(added.linear, whole.linear, rtol=1e-13)


def test_mean_and_curvature_are_the_derivatives_for_the_sums():
    s = sums_of(*rows())
    bound = Bound.of(s)

    def of_linear(linear):
        return Bound.of(Sums(s.n_rows, s.own, s.outer, linear)).value

    def of_outer(outer):
        return Bound.of(Sums(s.n_rows, s.own, 0.5 * (outer + outer.T), s.linear)).value

    # dF/dA = (H - I) / 2, the identity being that of |a_n|^2 in `own`.
    np.testing.assert_allclose(central(of_linear, s.linear), bound.mean, rtol=1e-7, atol=1e-8)
    by_outer = 0.5 * (bound.curvature - np.eye(INDUCING))
    np.testing.assert_allclose(central(of_outer, s.outer), by_outer, rtol=1e-7, atol=1e-8)
    by_own = (Bound.of(Sums(s.n_rows, s.own + 1.0, s.outer, s.linear)).value - bound.value) / 1.0
    assert by_own == pytest.approx(0.5, rel=1e-12)


def test_the_derivatives_for_the_kernel_are_those_of_the_docstring():
    rng = np.random.default_rng(1)
    half = rng.standard_normal((INDUCING, 7))
    Kuu, (K, w, y, _) = half @ half.T / 7, rows()
    k = np.full(ROWS, 40.0)

    def value(Kuu, K):
        a = np.linalg.solve(cholesky(0.5 * (Kuu + Kuu.T)).T, K.T).T
        return Bound.of(sums_of(a, w, y, k)).value

    root = np.linalg.inv(cholesky(Kuu))
    a = K @ root
    bound = Bound.of(sums_of(a, w, y, k))
    by_k = w[:, None] * ((a @ bound.curvature + np.outer(y, bound.mean)) @ root.T)
    np.testing.assert_allclose(central(lambda at: value(Kuu, at), K), by_k, rtol=1e-6, atol=1e-6)
    by_kuu = 0.5 * root @ (bound.curvature - bound.outer) @ root.T
    np.testing.assert_allclose(central(lambda at: value(at, K), Kuu), by_kuu, rtol=1e-6, atol=1e-6)


def test_mean_and_root_are_the_posterior_in_the_coordinates_of_the_sums():
    """Weights v ~ N(0, I) with y_n = a_n'v + noise: mean (I + A)^-1 b, covariance I - R R'."""
    a, w, y, k = rows()
    bound = Bound.of(sums_of(a, w, y, k))
    precision = np.eye(INDUCING) + a.T @ np.diag(w) @ a
    np.testing.assert_allclose(bound.mean, np.linalg.solve(precision, a.T @ (w * y)), rtol=1e-12)
    R = shrinkage_root(bound.outer)
    np.testing.assert_allclose(np.eye(INDUCING) - R @ R.T, np.linalg.inv(precision), rtol=0, atol=1e-13)


def test_the_root_takes_sums_of_fewer_rows_than_there_are_inducing_ones():
    a, w, y, k = (part[:2] for part in rows())
    outer = sums_of(a, w, y, k).outer
    R = shrinkage_root(Bound.of(sums_of(a, w, y, k)).outer)
    assert np.all(np.isfinite(R))
    np.testing.assert_allclose(
        R @ R.T, np.eye(INDUCING) - np.linalg.inv(np.eye(INDUCING) + outer), atol=1e-14
    )
    assert np.linalg.matrix_rank(R, tol=1e-7) == 2


def test_where_the_rows_say_all_the_root_takes_no_more_than_the_prior():
    """I - (I + A)^-1 has eigenvalues a / (1 + a): below one however large a is."""
    scale = np.array([1e-12, 1.0, 1e8, 1e15])
    R = shrinkage_root(Bound.of(Sums(ROWS, 0.0, np.diag(scale), np.zeros(4))).outer)
    np.testing.assert_allclose(np.diag(R @ R.T), scale / (1.0 + scale), rtol=1e-14)
    assert np.linalg.eigvalsh(R @ R.T).max() <= 1.0


def test_sums_that_are_not_finite_are_an_error_with_a_name():
    with pytest.raises(NumericalError, match="no numbers"):
        Bound.of(Sums(3, 0.0, np.full((2, 2), np.nan), np.zeros(2)))
    with pytest.raises(NumericalError, match="no numbers"):
        Bound.of(Sums(3, 0.0, np.full((2, 2), -1e3), np.zeros(2)))
