"""Kernels of the angle through the sparse engine: gradients, exactness, and orthogonal inducing variables."""

import numpy as np
import pytest
from scipy.optimize import minimize

from termwise.encode.rows import ArrayChunk
from termwise.inference.blocks import Setting
from termwise.inference.bound import Bound, Decoupled, Sums
from termwise.inference.exact import ExactObjective
from termwise.inference.site_blocks import site_statistics
from termwise.inference.sparse import SparseObjective, push_of
from termwise.inference.sparse_sites import Inducing, SparseSiteObjective
from termwise.inference.spherical import SphericalModel
from termwise.inference.workers import LocalWorkers
from termwise.kernels.features import FEATURE, FEATURES, POINT, ROW
from termwise.kernels.zonal import KERNELS
from termwise.likelihoods import Gaussian, Likelihood, Logit

ROWS, COLUMNS, FIRST, LAST = 60, 3, 9, 5
NOISE = 0.05


def table(seed: int = 0, rows: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal((rows, COLUMNS)), np.full(rows, float(ROW))])
    y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.standard_normal(rows)
    return X, y


def inducing(features: str, model: SphericalModel, theta: np.ndarray, *, last: int = LAST) -> np.ndarray:
    rng = np.random.default_rng(1)
    first = {"points": [ROW] * FIRST, "harmonics": [1] + [2] * 4 + [3] * 4}.get(features, [FEATURE] * FIRST)
    known = model.known(theta).series.shape[0]
    tags = [tag for tag in first if tag < known] + [ROW] * last
    return np.column_stack([rng.standard_normal((len(tags), COLUMNS)), np.array(tags, dtype=float)])


def objective(features: str, kind: str, orthogonal: Decoupled | None) -> tuple[SparseObjective, np.ndarray]:
    model = SphericalModel(COLUMNS, kind, features, 4, alike=0.3)
    moved = 0.1 * np.random.default_rng(2).standard_normal(len(model.bounds()))
    theta = model.start(np.ones(COLUMNS + 1), NOISE) + moved
    Z = inducing(features, model, theta)
    return SparseObjective(model, [ArrayChunk(*table())], Z, LocalWorkers(1), orthogonal=orthogonal), theta


@pytest.mark.parametrize("orthogonal", [None, Decoupled(LAST), Decoupled(LAST, mean_only=True)])
@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("kind", KERNELS)
def test_gradients(kind, features, orthogonal):
    at, theta = objective(features, kind, orthogonal)
    model = at.model
    assert isinstance(model, SphericalModel)
    _, gradient, by_rows = at.value_and_gradients(theta)
    step = 1e-5
    numeric = [
        (at.value_and_gradient(theta + step * e)[0] - at.value_and_gradient(theta - step * e)[0])
        / (2.0 * step)
        for e in np.eye(theta.size)
    ]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=2e-5)
    found = model.cells_gradient(theta, at.inducing, by_rows)
    for place in ((0, 0), (3, 1), (len(at.inducing) - 1, 2)):
        values = []
        for sign in (1.0, -1.0):
            moved = at.inducing.copy()
            moved[place] += sign * step
            there = SparseObjective(model, at.chunks, moved, LocalWorkers(1), orthogonal=orthogonal)
            values.append(there.value_and_gradient(theta)[0])
        assert found[place] == pytest.approx((values[0] - values[1]) / (2.0 * step), rel=1e-5, abs=2e-5)


@pytest.mark.parametrize("kind", KERNELS)
def test_with_all_rows_inducing_it_is_exact(kind):
    model = SphericalModel(COLUMNS, kind)
    X, y = table()
    theta = model.start(np.ones(COLUMNS + 1), NOISE)
    exact = ExactObjective(model, X, y, 1)
    sparse = SparseObjective(model, [ArrayChunk(X, y)], X, LocalWorkers(1))
    assert sparse.value_and_gradient(theta)[0] == pytest.approx(exact.value_and_gradient(theta)[0], abs=1e-6)
    new, _ = table(3, 20)
    seen = model.encoded(theta, new)
    one, other = exact.posterior(theta), sparse.posterior(theta).posterior
    np.testing.assert_allclose(one.mean(seen), other.mean(seen), atol=1e-6)
    np.testing.assert_allclose(one.variance(seen), other.variance(seen), atol=1e-6)


@pytest.mark.parametrize("lengthscale", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("kind", ["se", "matern52"])
@pytest.mark.parametrize("features", ["relu", "softplus"])
def test_features_beside_points_are_never_worse_than_points_alone(features, kind, lengthscale):
    """Whatever the eigenvalues that features are divided by, jitter is small beside both."""
    model = SphericalModel(COLUMNS, kind, features)
    theta = model.start(np.ones(COLUMNS + 1), NOISE)
    theta[COLUMNS] = np.log(lengthscale)
    Z = inducing(features, model, theta)
    Z[Z[:, -1] == ROW, -1] = POINT
    rows = [ArrayChunk(*table())]
    both, points = (
        SparseObjective(model, rows, part, LocalWorkers(1)).value_and_gradient(theta)[0]
        for part in (Z, Z[-LAST:])
    )
    assert both > points - 1e-6


def test_a_point_is_a_row_of_length_one():
    model = SphericalModel(COLUMNS, "arccos2")
    X, y = table()
    theta = model.start(np.ones(COLUMNS + 1), NOISE)
    rows, points = X[:9], np.column_stack([X[:9, :-1], np.full(9, float(POINT))])
    one, other = (
        SparseObjective(model, [ArrayChunk(X, y)], Z, LocalWorkers(1)).value_and_gradient(theta)[0]
        for Z in (rows, points)
    )
    assert one == pytest.approx(other, rel=1e-8)
    kernel = model.kernel(theta)
    np.testing.assert_allclose(
        np.diag(kernel.gram(model.encoded(theta, points))), kernel.variance, rtol=1e-14
    )


def whitened(
    rows: int = 40, first: int = 6, last: int = 4, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, float]:
    """a_n, y_n and the prior variance of all rows."""
    rng = np.random.default_rng(seed)
    a = 0.5 * rng.standard_normal((rows, first + last))
    return a, a @ rng.standard_normal(first + last) + 0.3 * rng.standard_normal(rows), 3.0


def written_out(a, y, k, noise, mean, covariance) -> float:
    """The bound for any q(u, v') = N(mean, covariance), in the coordinates of a_n."""
    n, p = a.shape
    residual = y - a @ mean
    spread = np.einsum("ni,ij,nj->", a, covariance, a) + n * k - np.sum(a**2)
    fit = -0.5 * n * np.log(2.0 * np.pi * noise) - 0.5 * (residual @ residual + spread) / noise
    divergence = 0.5 * (np.trace(covariance) + mean @ mean - p - np.linalg.slogdet(covariance)[1])
    return float(fit - divergence)


def sums(a: np.ndarray, y: np.ndarray, k: float, noise: float) -> Sums:
    own = -len(y) * np.log(noise) - (y @ y + len(y) * k - np.sum(a**2)) / noise
    return Sums(len(y), own, a.T @ a / noise, a.T @ y / noise)


def known(a: np.ndarray, y: np.ndarray, noise: float, orthogonal: Decoupled) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the covariance that are best, by the formulas for each block."""
    p, first = a.shape[1], a.shape[1] - orthogonal.count
    mean = np.linalg.solve(np.eye(p) + a.T @ a / noise, a.T @ y / noise)
    covariance = np.zeros((p, p))
    for block in (slice(0, first), slice(first, p)):
        size = a[:, block].shape[1]
        covariance[block, block] = np.linalg.inv(np.eye(size) + a[:, block].T @ a[:, block] / noise)
    if orthogonal.mean_only:
        covariance[first:, first:] = np.eye(orthogonal.count)
    return mean, covariance


@pytest.mark.parametrize("mean_only", [False, True])
def test_the_closed_form_is_the_bound_where_it_is_highest(mean_only):
    """No free mean or covariance reaches more; mean_only is the prior covariance, C_v = S_vv."""
    (a, y, k), noise, orthogonal = whitened(), 0.1, Decoupled(4, mean_only)
    found = Bound.of(sums(a, y, k, noise), orthogonal).value
    mean, covariance = known(a, y, noise, orthogonal)
    assert found == pytest.approx(written_out(a, y, k, noise, mean, covariance), rel=1e-12)
    first = a.shape[1] - 4

    def negative(free: np.ndarray) -> float:
        root = np.zeros((10, 10))
        root[np.tril_indices(10)] = free[10:]
        root[first:, :first] = 0.0
        spread = root @ root.T
        if mean_only:
            spread[first:, first:] = np.eye(4)
        return -written_out(a, y, k, noise, free[:10], spread + 1e-12 * np.eye(10))

    start = np.concatenate([np.zeros(10), np.eye(10)[np.tril_indices(10)]])
    climbed = minimize(negative, start, method="L-BFGS-B", options={"maxiter": 2000, "maxfun": 200_000})
    assert -climbed.fun <= found + 1e-8
    assert -climbed.fun == pytest.approx(found, abs=1e-3)


def test_no_orthogonal_variables_is_the_bound_of_the_sparse_engine():
    a, y, k = whitened()
    given = sums(a, y, k, 0.1)
    one, other = Bound.of(given), Bound.of(given, Decoupled(0))
    assert one.value == pytest.approx(other.value, rel=1e-14)
    np.testing.assert_allclose(one.inner, other.inner, atol=1e-10)
    np.testing.assert_allclose(one.curvature, other.curvature, atol=1e-12)


def test_apart_is_never_better_and_mean_only_never_better_still():
    a, y, k = whitened()
    given = sums(a, y, k, 0.1)
    whole, apart, mean = (
        Bound.of(given, o).value for o in (None, Decoupled(4), Decoupled(4, mean_only=True))
    )
    assert whole > apart > mean
    without = Bound.of(sums(a[:, :6], y, k, 0.1)).value
    assert apart > without


def test_without_a_mean_too_it_is_as_if_they_were_not_there():
    """C_v = S_vv and m_v = 0: what is left of the bound is that of the first inducing variables."""
    (a, y, k), noise = whitened(), 0.1
    first = a[:, :6]
    mean, covariance = np.zeros(10), np.eye(10)
    mean[:6] = np.linalg.solve(np.eye(6) + first.T @ first / noise, first.T @ y / noise)
    covariance[:6, :6] = np.linalg.inv(np.eye(6) + first.T @ first / noise)
    expected = Bound.of(sums(first, y, k, noise)).value
    assert written_out(a, y, k, noise, mean, covariance) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("features", FEATURES)
def test_predictions_are_those_of_the_paper(features):
    """Spherical (2023), eqs. 3.9 to 3.12, written out with the covariances of u and v."""
    at, theta = objective(features, "matern52", Decoupled(LAST))
    X, y = table()
    model, noise = at.model, float(np.exp(theta[-1]))
    kernel = model.kernel(theta)
    Z, new = model.encoded(theta, at.inducing), model.encoded(theta, table(5, 12)[0])
    u, v, f = Z[:-LAST], Z[-LAST:], model.encoded(theta, X)
    jitter = 1e-10 * np.mean(np.diag(kernel.matrix(Z, Z)))
    Kuu = kernel.matrix(u, u) + jitter * np.eye(len(u))
    Q = np.linalg.solve(Kuu, kernel.matrix(u, v)).T
    Svv = kernel.matrix(v, v) + jitter * np.eye(LAST) - Q @ kernel.matrix(u, v)

    def parts(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Q_*u and S_*v S_vv^-1."""
        beside = kernel.matrix(rows, v) - kernel.matrix(rows, u) @ Q.T
        return np.linalg.solve(Kuu, kernel.matrix(u, rows)).T, np.linalg.solve(Svv, beside.T).T

    A, C = parts(f)
    both = np.column_stack([A, C])
    prior = np.zeros((len(Z), len(Z)))
    prior[: len(u), : len(u)], prior[len(u) :, len(u) :] = np.linalg.inv(Kuu), np.linalg.inv(Svv)
    mean = np.linalg.solve(prior + both.T @ both / noise, both.T @ y / noise)
    Cu = np.linalg.inv(np.linalg.inv(Kuu) + A.T @ A / noise)
    Cv = np.linalg.inv(np.linalg.inv(Svv) + C.T @ C / noise)
    A, C = parts(new)
    variance = (
        kernel.diagonal(new)
        + np.einsum("ij,jk,ik->i", A, Cu - Kuu, A)
        + np.einsum("ij,jk,ik->i", C, Cv - Svv, C)
    )
    found = at.posterior(theta).posterior
    np.testing.assert_allclose(found.mean(new), np.column_stack([A, C]) @ mean, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(found.variance(new), variance, rtol=1e-6, atol=1e-7)


def site_objective(
    orthogonal: Decoupled | None, likelihood: Likelihood, y: np.ndarray
) -> SparseSiteObjective:
    model = SphericalModel(COLUMNS, "matern52", "softplus", 4, likelihood)
    theta = model.start(np.ones(COLUMNS + 1), NOISE)
    Z = inducing("softplus", model, theta)
    rows = [ArrayChunk(table()[0], y)]
    return SparseSiteObjective(model, rows, Z, LocalWorkers(1), tolerance=1e-12, orthogonal=orthogonal)


@pytest.mark.parametrize("orthogonal", [None, Decoupled(LAST), Decoupled(LAST, mean_only=True)])
def test_sites_of_normal_noise_are_the_closed_form(orthogonal):
    _, y = table()
    sites = site_objective(orthogonal, Gaussian(), y)
    model = SphericalModel(COLUMNS, "matern52", "softplus", 4)
    closed = SparseObjective(model, sites.chunks, sites.inducing, LocalWorkers(1), orthogonal=orthogonal)
    theta = model.start(np.ones(COLUMNS + 1), NOISE)
    value, gradient = sites.value_and_gradient(theta)
    expected, slope = closed.value_and_gradient(theta)
    assert value == pytest.approx(expected, rel=1e-8)
    np.testing.assert_allclose(gradient, slope, rtol=1e-5, atol=1e-5)
    new = model.encoded(theta, table(5, 12)[0])
    one, other = sites.posterior(theta).posterior, closed.posterior(theta).posterior
    np.testing.assert_allclose(one.mean(new), other.mean(new), atol=1e-6)
    np.testing.assert_allclose(one.variance(new), other.variance(new), atol=1e-6)


@pytest.mark.parametrize("orthogonal", [None, Decoupled(LAST), Decoupled(LAST, mean_only=True)])
def test_gradients_of_labels(orthogonal):
    _, y = table()
    at = site_objective(orthogonal, Logit(), (y > 0.0).astype(float))
    theta = at.model.start(np.ones(COLUMNS + 1), NOISE)
    _, gradient = at.value_and_gradient(theta)
    step = 1e-4
    numeric = [
        (at.value_and_gradient(theta + step * e)[0] - at.value_and_gradient(theta - step * e)[0])
        / (2.0 * step)
        for e in np.eye(theta.size)
    ]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-4)


def test_labels_apart_are_never_better():
    _, y = table()
    given = (None, Decoupled(LAST), Decoupled(LAST, mean_only=True))
    at = [site_objective(orthogonal, Logit(), (y > 0.0).astype(float)) for orthogonal in given]
    theta = at[0].model.start(np.ones(COLUMNS + 1), NOISE)
    whole, apart, mean = (one.value_and_gradient(theta)[0] for one in at)
    assert whole > apart > mean


def test_a_second_set_of_which_nothing_is_learned_changes_nothing():
    """C_v = S_vv and m_v = 0, through the engine: the bound and the posterior are those of the first set."""
    whole = site_objective(Decoupled(LAST, mean_only=True), Gaussian(), table()[1])
    model, rows, Z = whole.model, whole.chunks, whole.inducing
    theta = model.start(np.ones(COLUMNS + 1), NOISE)
    first = SparseSiteObjective(model, rows, Z[:-LAST], LocalWorkers(1), tolerance=1e-12)
    known = first.settled(theta)
    outer, linear = np.zeros((len(Z), len(Z))), np.zeros(len(Z))
    outer[:-LAST, :-LAST], linear[:-LAST] = known.outer, known.linear
    values = []
    for places, inducing_values in (
        (Z[:-LAST], known),
        (Z, Inducing(outer, linear, Decoupled(LAST, mean_only=True))),
    ):
        push, _ = push_of(Setting(model, theta, places))
        view, divergence = inducing_values.seen(push.setting, push.root)
        values.append(site_statistics(rows[0], view).value - divergence)
    assert values[1] == pytest.approx(values[0], abs=1e-6)
    assert whole.posterior(theta).objective > first.posterior(theta).objective + 0.1  # a mean helps
