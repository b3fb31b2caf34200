"""Models along directions: engines against dense formulas, gradients, and sparse against exact."""

import numpy as np
import pytest

from termwise.encode.rows import ArrayChunk
from termwise.inference.alike import ALIKE, APART, alike_of
from termwise.inference.directed import best_prior
from termwise.inference.exact import ExactObjective
from termwise.inference.projected import ProjectedModel
from termwise.inference.sparse import SparseObjective
from termwise.inference.workers import LocalWorkers
from termwise.kernels.fused.radial import RADIAL
from termwise.kernels.projected import ONE_COLUMN
from tests.inference.mixed import any_theta, check_gradient
from tests.oracle import projected as oracle

N, D = 40, 4
SHAPES = {"singles": (1, 1, 1, 1, 1), "groups": (1, 3, 2)}


def sample(kind: str, shape: str, **options) -> tuple[ProjectedModel, np.ndarray, np.ndarray, np.ndarray]:
    """A model, rows and targets, and a vector of parameters."""
    rng = np.random.default_rng(0)
    groups = SHAPES[shape]
    model = ProjectedModel(rng.standard_normal((sum(groups), D)), groups, kind, **options)
    X = rng.standard_normal((N, D))
    y = np.sin(X @ rng.standard_normal(D)) + 0.2 * rng.standard_normal(N)
    return model, X, y, any_theta(model, rng, model.start(np.full(D, 0.8), 0.1))


CASES = [
    (kind, shape)
    for kind in sorted(RADIAL)
    for shape in SHAPES
    if not (kind in ONE_COLUMN and shape == "groups")
]
every_case = pytest.mark.parametrize(("kind", "shape"), CASES)


def unpacked(model: ProjectedModel, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """P / l, weights, variances and noise, from the vector by its docstring."""
    count = D if model.ard else 1
    scales = np.exp(theta[:count])
    weights = np.full(len(model.groups), 1.0 / len(model.groups))
    if model.weighted:
        weights = np.exp(theta[count : count + len(model.groups)])
    return model.directions / scales, weights, np.exp(theta[-3:-1]), float(np.exp(theta[-1]))


@every_case
@pytest.mark.parametrize("ard", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_the_exact_objective_is_the_log_density(kind, shape, ard, weighted):
    model, X, y, theta = sample(kind, shape, ard=ard, weighted=weighted)
    projection, weights, variances, noise = unpacked(model, theta)
    U = X @ projection.T
    K = oracle.matrix(kind, model.groups, weights, variances, U, U) + noise * np.eye(N)
    expected = -0.5 * (y @ np.linalg.solve(K, y) + np.linalg.slogdet(K)[1] + N * np.log(2.0 * np.pi))
    objective = ExactObjective(model, X, y, 1)
    value, gradient = objective.value_and_gradient(theta)
    assert value - model.log_prior(theta)[0] == pytest.approx(expected, abs=1e-8)
    check_gradient(objective, theta, gradient)


@every_case
def test_the_sparse_bound_has_its_gradient_and_reaches_the_exact_objective(kind, shape):
    model, X, y, theta = sample(kind, shape, weighted=True)
    rows = [ArrayChunk(X, y)]
    some = SparseObjective(model, rows, X[:12].copy(), LocalWorkers(1))
    value, gradient = some.value_and_gradient(theta)
    check_gradient(some, theta, gradient, within=1e-5)
    exact, every = ExactObjective(model, X, y, 1), SparseObjective(model, rows, X.copy(), LocalWorkers(1))
    whole = exact.value_and_gradient(theta)[0]
    assert value < whole
    assert every.value_and_gradient(theta)[0] == pytest.approx(whole, abs=1e-5)
    new = model.encoded(theta, np.random.default_rng(5).standard_normal((9, D)))
    one, other = exact.posterior(theta), every.posterior(theta).posterior
    np.testing.assert_allclose(other.mean(new), one.mean(new), atol=1e-6)
    np.testing.assert_allclose(other.variance(new), one.variance(new), atol=1e-6)
    for term in one.kernel.terms:
        np.testing.assert_allclose(other.term_mean(term, new), one.term_mean(term, new), atol=1e-6)
        np.testing.assert_allclose(other.term_variance(term, new), one.term_variance(term, new), atol=1e-6)


def test_the_posterior_is_that_of_dense_formulas_term_by_term():
    model, X, y, theta = sample("se", "groups", weighted=True)
    projection, weights, variances, noise = unpacked(model, theta)
    U, new = X @ projection.T, np.random.default_rng(5).standard_normal((6, D)) @ projection.T
    K = oracle.matrix("se", model.groups, weights, variances, U, U) + noise * np.eye(N)
    posterior = ExactObjective(model, X, y, 1).posterior(theta)
    np.testing.assert_allclose(model.encoded(theta, X), U, atol=1e-12)
    begin = 0
    for place, (size, term) in enumerate(zip(model.groups, posterior.kernel.terms, strict=True)):
        columns = slice(begin, begin + size)
        variance = variances[1] * weights[place]
        k = variance * oracle.part("se", new[:, columns], U[:, columns])
        np.testing.assert_allclose(posterior.term_mean(term, new), k @ np.linalg.solve(K, y), atol=1e-9)
        left = variance - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T))
        np.testing.assert_allclose(posterior.term_variance(term, new), left, atol=1e-9)
        begin += size
    terms = [posterior.term_mean(term, new) for term in ((), *posterior.kernel.terms)]
    np.testing.assert_allclose(sum(terms), posterior.mean(new), atol=1e-10)


@pytest.mark.parametrize("ard", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_the_prior_has_its_gradient(ard, weighted):
    model, _, _, theta = sample("se", "singles", ard=ard, weighted=weighted)
    _, gradient = model.log_prior(theta)
    for i in range(theta.size):
        step = 1e-6 * np.eye(theta.size)[i]
        slope = (model.log_prior(theta + step)[0] - model.log_prior(theta - step)[0]) / 2e-6
        assert gradient[i] == pytest.approx(slope, abs=1e-6)


def test_a_start_has_coordinates_of_unit_spread():
    """At a lengthscale of one standard deviation, along directions as long as random ones."""
    rng = np.random.default_rng(0)
    model = ProjectedModel(rng.standard_normal((200, 50)), (1,) * 200, "se")
    U = model.encoded(model.start(np.ones(50), 0.1), rng.standard_normal((500, 50)))
    assert np.std(U) == pytest.approx(1.0, rel=0.05)


def test_rows_left_out_say_whether_lengthscales_are_held_together():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 15))
    held = ProjectedModel(np.eye(15), (15,), "se", alike=alike_of(90, 15))
    plain, noise = np.sin(2.0 * X[:, 0]) + 0.01 * rng.standard_normal(90), rng.standard_normal(90)
    assert best_prior(held, ArrayChunk(X, plain), np.random.default_rng(1)).alike == APART
    assert best_prior(held, ArrayChunk(X, noise), np.random.default_rng(1)) is held
    assert best_prior(held, ArrayChunk(X[:8], plain[:8]), np.random.default_rng(1)) is held  # too few to ask


def test_lengthscales_are_alike_the_more_the_fewer_rows_there_are():
    assert alike_of(1000, 5) == ALIKE
    assert alike_of(50, 5) == ALIKE
    assert alike_of(50, 20) == pytest.approx(0.5 * ALIKE)


def test_the_prior_of_lengthscales_has_heavy_tails():
    """exp(-sqrt(1 + (l_d - mean)^2 / alike^2)) for the logarithm of each."""
    model = ProjectedModel(np.eye(3), (3,), "se", alike=0.5)
    logs = np.array([0.1, -0.4, 2.7])
    expected = sum(1.0 - np.sqrt(1.0 + ((one - logs.mean()) / 0.5) ** 2) for one in logs)
    assert model.kernel_log_prior(logs)[0] == pytest.approx(expected, rel=1e-12)
    assert model.kernel_log_prior(np.full(3, 5.0))[0] == 0.0
