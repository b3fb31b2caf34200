"""The loops of kernels of the angle, against the formulas written out, and gradients by differences."""

import numpy as np
import pytest

from termwise.kernels.features import FEATURE, FEATURES, ROW, covariances
from termwise.kernels.fused import run
from termwise.kernels.sphere import polynomials
from termwise.kernels.spherical import AngleWeights, SphericalKernel, angle_rows_of
from termwise.kernels.terms import TermKernel
from termwise.kernels.zonal import KERNELS
from tests.oracle.zonal import kappa

DIMENSION, VARIANCE, LENGTHSCALE, DEGREES = 4, 1.3, 0.8, 5


def things(rng: np.random.Generator, tags: list[int], power: int) -> run.Rows:
    return angle_rows_of(rng.standard_normal((DIMENSION, len(tags))), np.array(tags, dtype=float), power)


def weights_of(kind: str, features: str, lengthscale: float = LENGTHSCALE) -> AngleWeights:
    shape = KERNELS[kind].of(lengthscale)
    return AngleWeights(shape, VARIANCE, covariances(shape, features, DIMENSION, DEGREES))


def written_out(weights: AngleWeights, left: run.Rows, right: run.Rows) -> np.ndarray:
    K = np.empty((left.u.shape[1], right.u.shape[1]))
    for i, x in enumerate(left.u.T):
        for j, z in enumerate(right.u.T):
            one, other = int(left.a[1, i]), int(right.a[1, j])
            t = np.array([np.clip(x @ z, -1.0, 1.0)])
            if one == other == ROW:
                k = kappa(weights.shape, t)[0]
            else:
                series = weights.known.series[one, other]
                k = series @ polynomials(t, DIMENSION, series.size - 1)[:, 0]
            K[i, j] = VARIANCE * left.a[0, i] * right.a[0, j] * k
    return K


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("kind", KERNELS)
def test_values(kind, features):
    rng, weights = np.random.default_rng(0), weights_of(kind, features)
    tags = weights.known.series.shape[0]
    # More of a kind than a block has, kinds that do not fill theirs, and one that comes back.
    left = things(rng, [ROW] * 70 + [tags - 1] * 5, 1)
    right = things(rng, [tags - 1] * 66 + [ROW] * 3 + [tags // 2] * 2 + [ROW] * 65, 1)
    for threads in (1, 2):
        found = run.cross(weights, left, right, threads)
        np.testing.assert_allclose(found, written_out(weights, left, right), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kind", KERNELS)
def test_values_below_the_diagonal(kind):
    rng, weights = np.random.default_rng(0), weights_of(kind, "points")
    rows, out = things(rng, [ROW] * 130, 1), np.zeros((130, 130))
    run.gram_below(weights, rows, out, 2)
    expected = np.tril(written_out(weights, rows, rows), -1)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("kind", KERNELS)
def test_gradients(kind, features):
    rng, weights = np.random.default_rng(0), weights_of(kind, features)
    tag = weights.known.series.shape[0] - 1
    left, right = things(rng, [ROW] * 6 + [tag] * 3, 1), things(rng, [tag] * 5 + [ROW] * 4, 1)
    G, p, q = rng.standard_normal((9, 9)), rng.standard_normal(9), rng.standard_normal(9)
    found = run.adjoint_cross(weights, left, right, G, 1, (p, q))
    whole = G + np.outer(p, q)
    for rows, given, at in (
        (left, found.x, lambda moved: (moved, right)),
        (right, found.z, lambda moved: (left, moved)),
    ):
        for name, step in (("u", 1e-6), ("a", 1e-6)):
            of = getattr(rows, name)
            numeric = np.zeros(of.shape)
            for place in np.ndindex(of.shape if name == "u" else (1, of.shape[1])):
                values = []
                for sign in (1.0, -1.0):
                    moved = of.copy()
                    moved[place] += sign * step
                    parts = {"u": rows.u, "a": rows.a, name: moved}
                    values.append(np.vdot(whole, run.cross(weights, *at(run.Rows(**parts)), 1)))
                numeric[place] = (values[0] - values[1]) / (2.0 * step)
            np.testing.assert_allclose(getattr(given, name), numeric, rtol=2e-6, atol=2e-6)
    K = run.cross(weights, left, right, 1)
    assert found.variances == pytest.approx([0.0, np.vdot(whole, K) / VARIANCE])
    more, less = (
        np.vdot(whole, run.cross(weights_of(kind, features, LENGTHSCALE * np.exp(s)), left, right, 1))
        for s in (1e-5, -1e-5)
    )
    assert found.weight[0] == pytest.approx((more - less) / 2e-5, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("kind", KERNELS)
def test_a_row_beside_itself(kind):
    """Rounding must not make an angle of none: arccos has an infinite slope there."""
    rng = np.random.default_rng(0)
    kernel = SphericalKernel(KERNELS[kind].of(LENGTHSCALE), 12, VARIANCE)
    X = np.column_stack([rng.standard_normal((50, 12)), np.zeros(50)])
    np.testing.assert_allclose(np.diag(kernel.matrix(X, X)), kernel.diagonal(X), rtol=4e-15)
    np.testing.assert_allclose(np.diag(kernel.matrix(X, -X)) * 0.0, 0.0)
    assert np.linalg.eigvalsh(kernel.gram(X))[0] > -1e-12


def test_the_kernel_as_a_value():
    rng = np.random.default_rng(0)
    kernel = SphericalKernel(KERNELS["matern52"].of(LENGTHSCALE), DIMENSION, VARIANCE, "relu")
    X = np.column_stack([rng.standard_normal((5, DIMENSION)), np.zeros(5)])
    Z = np.column_stack([rng.standard_normal((3, DIMENSION)), np.full(3, float(FEATURE))])
    np.testing.assert_allclose(kernel.scaled(2.0).matrix(X, Z), 2.0 * kernel.matrix(X, Z), rtol=1e-14)
    np.testing.assert_allclose(kernel.scaled(2.0).diagonal(X), 2.0 * kernel.diagonal(X), rtol=1e-14)
    assert kernel.known is kernel.known
    assert not isinstance(kernel, TermKernel)


def test_a_tag_without_a_series_is_not_looked_up():
    kernel = SphericalKernel(KERNELS["matern52"].of(LENGTHSCALE), DIMENSION, VARIANCE, "relu")
    X = np.column_stack([np.ones((2, DIMENSION)), [float(ROW), FEATURE + 1.0]])
    with pytest.raises(AssertionError, match="without checking bounds"):
        kernel.gram(X)
