"""Grid interpolation: objective and gradient against exact inference, and posteriors without edges."""

from dataclasses import replace

import numpy as np
import pytest

from termwise.encode.rows import ArrayChunk
from termwise.errors import GridError, NumericalError
from termwise.inference import aligned, interpolated, ski
from termwise.inference.aligned import aligned_centres, aligned_solution
from termwise.inference.columns import FixedColumn, WarpedColumn
from termwise.inference.exact import ExactObjective
from termwise.inference.fit import Candidate, FitOptions, fit_exact
from termwise.inference.fit_ski import SkiOptions, fine_enough, fit_ski, grid_error
from termwise.inference.interpolated import Interpolated, covering
from termwise.inference.model import Model
from termwise.inference.orders import EachOrder
from termwise.inference.projected import ProjectedModel
from termwise.inference.ski import Grid, SkiObjective
from termwise.kernels.additive import AdditiveKernel
from termwise.kernels.component import Component
from termwise.kernels.directions import diverse_directions
from termwise.kernels.matern import Matern52
from termwise.kernels.projected import PROFILES
from termwise.kernels.squared_exponential import SquaredExponential
from termwise.measures import Empirical, Normal
from tests.inference.mixed import any_theta, check_gradient
from tests.oracle.additive import posterior_of

N, D, J = 150, 4, 6
SMOOTH = ("se", "matern52")


def sample(kind: str = "se", n: int = N) -> tuple[ProjectedModel, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    model = ProjectedModel(diverse_directions(J, D, rng), (1,) * J, kind, weighted=True)
    X = rng.standard_normal((n, D))
    y = np.sin(X @ rng.standard_normal(D)) + 0.3 * rng.standard_normal(n)
    return model, X, y, any_theta(model, rng, model.start(np.full(D, 1.0), 0.1))


def first_order(kind: str) -> tuple[Model, np.ndarray, np.ndarray, np.ndarray]:
    """Orthogonal functions of single columns, bent and not, under two measures."""
    rng = np.random.default_rng(1)
    kernel = {"se": SquaredExponential, "matern52": Matern52}[kind]
    X = rng.standard_normal((N, 3))
    columns = (
        FixedColumn(Normal(0.1, 1.1), kernel),
        WarpedColumn(Empirical.fit(X[:, 1]), kernel),
        FixedColumn(Normal(), kernel, normalise=False),
    )
    model = Model(columns, EachOrder((0, 1), 3))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * rng.standard_normal(N)
    return model, X, y, any_theta(model, rng, model.start(np.full(3, 0.8), 0.1))


@pytest.fixture(params=["few rows", "many rows"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The matrix written down, or features of the rows, whatever their number."""
    if request.param == "many rows":
        monkeypatch.setattr(ski, "FEW_ROWS", 0)
    return request.param


@pytest.mark.parametrize("kind", SMOOTH)
@pytest.mark.parametrize("make", [sample, first_order])
@pytest.mark.usefixtures("way")
def test_objective_and_gradient_are_those_of_exact_inference(make, kind):
    model, X, y, theta = make(kind)
    exact, slope = ExactObjective(model, X, y, 1).value_and_gradient(theta)
    value, gradient = SkiObjective(model, X, y, kind, Grid(1.0 / 32.0)).value_and_gradient(theta)
    assert value == pytest.approx(exact, abs=1e-4 * N)
    np.testing.assert_allclose(gradient, slope, atol=1e-3 * np.max(np.abs(slope)))


def test_the_error_falls_with_the_grid():
    model, X, y, theta = sample("matern52")
    exact, _ = ExactObjective(model, X, y, 1).value_and_gradient(theta)
    errors = [
        abs(SkiObjective(model, X, y, "matern52", Grid(step)).value_and_gradient(theta)[0] - exact) / N
        for step in (1.0 / 8.0, 1.0 / 16.0, 1.0 / 32.0)
    ]
    assert errors[0] > 5.0 * errors[1] > 25.0 * errors[2]


@pytest.mark.parametrize("make", [sample, first_order])
@pytest.mark.usefixtures("way")
def test_the_gradient_is_that_of_the_interpolated_objective(make):
    model, X, y, theta = make("se")
    objective = SkiObjective(model, X, y, "se", Grid(0.25))  # so coarse that another would be seen
    check_gradient(objective, theta, objective.value_and_gradient(theta)[1], within=2e-5)


@pytest.mark.parametrize("make", [sample, first_order])
@pytest.mark.parametrize("kind", SMOOTH)
def test_written_down_or_by_features_it_is_the_same_function(make, kind, monkeypatch):
    model, X, y, theta = make(kind)
    objective = SkiObjective(model, X, y, kind, Grid(0.125))
    value, gradient = objective.value_and_gradient(theta)
    monkeypatch.setattr(ski, "FEW_ROWS", 0)
    again, slope = objective.value_and_gradient(theta)
    assert again == pytest.approx(value, abs=1e-5 * N)
    np.testing.assert_allclose(slope, gradient, atol=1e-4 * np.max(np.abs(gradient)))


def dense(K: Interpolated) -> np.ndarray:
    """K by its definition."""
    W = [K.lattice.gather(line[None], np.ones(1), np.eye(K.lattice.size)[None]) for line in K.u]
    T = PROFILES[K.kind](np.subtract.outer(K.lattice.nodes, K.lattice.nodes) ** 2)
    return (
        sum(scale * w @ T @ w.T for scale, w in zip(K.scale, W, strict=True))
        + K.constant
        + K.noise * np.eye(K.u.shape[1])
    )


def interpolated_sample(kind: str) -> Interpolated:
    u = np.random.default_rng(2).uniform(-2.0, 2.0, (3, 80))
    return Interpolated(kind, covering(u, 0.125, 1000), u, np.array([0.5, 1.0, 0.2]), 0.3, 0.05)


@pytest.mark.parametrize("kind", [*SMOOTH, "matern12"])
def test_products_and_solutions_are_those_of_the_matrix(kind):
    K = interpolated_sample(kind)
    V = np.random.default_rng(3).standard_normal((80, 3))
    np.testing.assert_allclose(K.times(V), dense(K) @ V, atol=1e-11)
    np.testing.assert_allclose(K.dense(), dense(K), atol=1e-12)
    solved = K.solve(V)
    assert solved.converged
    np.testing.assert_allclose(solved.x, np.linalg.solve(dense(K), V), atol=1e-4)


def test_features_that_hold_all_stand_for_the_kernel():
    K = interpolated_sample("se")
    assert K.holds_all
    V = np.random.default_rng(3).standard_normal((80, 2))
    np.testing.assert_allclose(K.solved_by_features(V), np.linalg.solve(dense(K), V), rtol=1e-4, atol=1e-4)
    assert K.log_determinant == pytest.approx(np.linalg.slogdet(dense(K))[1], abs=1e-4)
    assert K.solve(V).steps <= 2


def test_draws_have_the_covariance_of_the_features(monkeypatch):
    monkeypatch.setattr(interpolated, "MOST_FEATURES", 12)
    K = interpolated_sample("matern52")
    assert not K.holds_all
    rng = np.random.default_rng(4)
    draws = K.drawn((rng.standard_normal((13, 40_000)), rng.standard_normal((80, 40_000))))
    P = np.linalg.inv(K.solved_by_features(np.eye(80)))
    np.testing.assert_allclose(draws @ draws.T / 40_000, P, atol=0.05)


@pytest.mark.parametrize("make", [sample, first_order])
def test_with_few_features_probes_tell_the_rest(make, monkeypatch):
    """Log determinant and slopes are then means over draws, and the residual is said."""
    model, X, y, theta = make("matern52")
    exact, slope = ExactObjective(model, X, y, 1).value_and_gradient(theta)
    monkeypatch.setattr(interpolated, "MOST_FEATURES", 30)
    monkeypatch.setattr(ski, "FEW_ROWS", 0)
    monkeypatch.setattr(ski, "PROBES", 200)
    objective = SkiObjective(model, X, y, "matern52", Grid(1.0 / 32.0))
    value, gradient = objective.value_and_gradient(theta)
    assert 0.0 < objective.residual <= interpolated.TOLERANCE
    assert objective.rested
    assert value == pytest.approx(exact, abs=0.005 * N)
    np.testing.assert_allclose(gradient, slope, atol=0.03 * np.max(np.abs(slope)))


def test_steps_that_do_not_suffice_are_said(monkeypatch):
    model, X, y, theta = sample("matern52")
    monkeypatch.setattr(interpolated, "MOST_FEATURES", J)
    monkeypatch.setattr(ski, "FEW_ROWS", 0)
    monkeypatch.setattr(interpolated, "MOST_STEPS", 2)
    objective = SkiObjective(model, X, y, "matern52")
    objective.value_and_gradient(theta)
    assert not objective.rested
    assert objective.residual > interpolated.TOLERANCE


@pytest.mark.usefixtures("way")
def test_a_grid_that_would_need_too_many_nodes_is_refused_by_name():
    model, X, y, theta = sample()
    with pytest.raises(GridError, match="nodes"):
        SkiObjective(model, X, y, "se", Grid(0.1, 20, 20)).value_and_gradient(theta)


def test_few_rows_learn_as_exactly_as_exact_inference():
    """The same starts and climbs: where they end is where exact inference ends."""
    model, X, y, _ = sample()
    rows = ArrayChunk(X, y)
    by_grid = fit_ski(model, rows, SkiOptions(), np.random.default_rng(0))
    exact = fit_exact([Candidate(model, rows)], FitOptions(), np.random.default_rng(0))
    assert by_grid.result.objective == pytest.approx(exact.result.objective, abs=0.01)
    new = model.encoded(exact.theta, X + 0.1), model.encoded(by_grid.theta, X + 0.1)
    sd = np.sqrt(exact.posterior.variance(new[0]) / exact.result.scale)
    apart = np.abs(by_grid.posterior.mean(new[1]) - exact.posterior.mean(new[0]))
    np.testing.assert_array_less(apart, 0.1 * sd)


@pytest.mark.parametrize("make", [sample, first_order])
def test_aligned_centres_know_what_exact_inference_knows(make):
    model, X, y, theta = make("se")
    exact = ExactObjective(model, X, y, 1).posterior(theta)
    rows = model.encoded(theta, X)
    known = aligned_solution(model.kernel(theta), rows, y, float(np.exp(theta[-1])))
    solution = known.solution
    assert known.enough
    assert len(solution.posterior.centres) < N
    rng = np.random.default_rng(6)
    new = model.encoded(theta, rng.standard_normal((60, X.shape[1])))
    sd = np.sqrt(exact.variance(new))
    np.testing.assert_array_less(np.abs(solution.posterior.mean(new) - exact.mean(new)), 0.02 * sd)
    np.testing.assert_allclose(np.sqrt(solution.posterior.variance(new)), sd, rtol=0.01)
    for c in range(rows.shape[1]):
        spread = 0.02 * np.sqrt(np.max(exact.term_variance((c,), new)))
        np.testing.assert_allclose(
            solution.posterior.term_mean((c,), new), exact.term_mean((c,), new), atol=spread
        )


@pytest.mark.parametrize("make", [sample, first_order])
def test_rows_that_are_fewer_than_aligned_centres_are_the_centres(make, monkeypatch):
    """However many centres there would be, all that rows tell is known; also of rows that are twice there."""
    monkeypatch.setattr(aligned, "MOST_CENTRES", 40)
    model, X, y, theta = make("matern52")
    X, y = np.vstack([X[:20], X[:10]]), np.concatenate([y[:20], y[:10] + 0.1])
    noise = float(np.exp(theta[-1]))
    exact = ExactObjective(model, X, y, 1).posterior(theta)
    rows, kernel = model.encoded(theta, X), model.kernel(theta)
    known = aligned_solution(kernel, rows, y, noise)
    assert known.enough
    assert known.jitter == 0.0
    posterior = known.solution.posterior
    np.testing.assert_array_equal(posterior.centres, rows)
    new = model.encoded(theta, np.random.default_rng(6).standard_normal((20, X.shape[1])))
    np.testing.assert_allclose(posterior.mean(new), exact.mean(new), atol=1e-9)
    np.testing.assert_allclose(posterior.variance(new), exact.variance(new), rtol=1e-7)
    K = kernel.matrix(rows, rows)
    effective = np.trace(np.linalg.solve(K + noise * np.eye(30), K))
    assert known.solution.effective == pytest.approx(effective, rel=1e-9)


def test_at_edges_at_duplicates_and_far_away_it_is_a_process():
    """Variances are never below zero and come back to the prior, as means do to the constant."""
    model, X, y, theta = sample()
    X = np.vstack([X, X[:20], X[:1], X[:1]])
    y = np.concatenate([y, y[:22]])
    rows, kernel = model.encoded(theta, X), model.kernel(theta)
    posterior = aligned_solution(kernel, rows, y, float(np.exp(theta[-1]))).solution.posterior
    edges = np.vstack([rows.min(axis=0), rows.max(axis=0), rows[np.argmax(rows[:, 0])], rows[:3]])
    exact = ExactObjective(model, X, y, 1).posterior(theta)
    np.testing.assert_allclose(posterior.mean(edges), exact.mean(edges), atol=0.02)
    np.testing.assert_allclose(posterior.variance(edges), exact.variance(edges), rtol=0.02)
    far = np.full((1, J), 1e3)
    assert posterior.variance(far)[0] == pytest.approx(
        kernel.diagonal(far)[0] - kernel.term_variance(()) + exact.term_variance((), far)[0], rel=1e-6
    )
    assert posterior.mean(far)[0] == pytest.approx(exact.term_mean((), far)[0], abs=1e-4)
    line = np.linspace(-1.0, 1.0, 400)[:, None] * rows.max(axis=0) * 3.0
    assert np.min(posterior.variance(line)) > 0.0
    assert np.max(np.abs(np.diff(posterior.mean(line), n=2))) < 0.01  # no edge of a grid shows


def test_a_column_without_spread_has_one_centre():
    model, X, _, theta = sample()
    rows = model.encoded(theta, X)
    rows[:, 2] = 0.7
    centres, enough = aligned_centres(model.kernel(theta), rows, 0.1)
    assert enough
    assert np.sum(~np.isnan(centres[:, 2])) == 1
    assert np.all(np.isnan(centres[-1]))


def test_centres_are_where_most_is_to_be_told(monkeypatch):
    """One rough column among many smooth ones has most centres; if they do not suffice, it is said."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (200, 30))
    kernels = [Component(SquaredExponential(0.05 if d == 0 else 3.0), None, 1.0) for d in range(30)]
    kernel = AdditiveKernel(tuple(kernels), (0.1, 1.0))
    monkeypatch.setattr(aligned, "MOST_CENTRES", 150)
    y = np.sin(20.0 * X[:, 0]) + 0.05 * rng.standard_normal(200)
    known = aligned_solution(kernel, X, y, 0.0025)
    own = np.sum(~np.isnan(known.solution.posterior.centres), axis=0)
    assert own[0] > 40
    assert not known.enough
    exact = posterior_of(kernel, X, y, 0.0025)
    new = rng.uniform(-1.0, 1.0, (100, 30))
    sd = np.sqrt(exact.variance(new))
    assert np.sqrt(np.mean((known.solution.posterior.mean(new) - exact.mean(new)) ** 2)) < 0.2 * np.mean(sd)
    monkeypatch.setattr(aligned, "MOST_CENTRES", 5000)
    assert aligned_solution(kernel, X, y, 0.0025).enough


def test_a_grid_too_coarse_for_the_constraint_is_made_finer():
    """Of long lengthscales the constraint leaves little, beside which errors of interpolation are large."""
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(100, 40))
    y = np.sin(6.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(100)
    columns = tuple(FixedColumn(Normal(0.5, 0.3), Matern52, normalise=False) for _ in range(40))
    model, rows = Model(columns, EachOrder((0, 1), 40)), ArrayChunk(X, y)
    theta = model.start(np.full(40, 3.0), 0.01)
    assert grid_error(model, rows, Grid(0.5), theta) > 0.1
    found = fine_enough(model, rows, Grid(0.25), theta)
    assert found.step < 0.25
    assert grid_error(model, rows, found, theta) < 0.01
    assert fine_enough(model, rows, found, theta) == found
    with pytest.raises(NumericalError, match="finer grid"):
        SkiObjective(model, X, y, "matern52", Grid(0.5)).value_and_gradient(
            model.start(np.full(40, 3.0), 1e-4)
        )


def test_a_fit_finds_the_features_that_matter():
    """Of more rows than are written down, so that all goes by features."""
    rng = np.random.default_rng(0)
    n = ski.FEW_ROWS + 100
    X = rng.standard_normal((n, 6))
    y = np.sin(X[:, 0] + X[:, 1]) + 0.3 * rng.standard_normal(n)
    model = ProjectedModel(diverse_directions(12, 6, rng), (1,) * 12, "se")
    found = fit_ski(model, ArrayChunk(X, y), SkiOptions(), rng)
    relevance = np.exp(-found.theta[:6])
    assert np.min(relevance[:2]) > 5.0 * np.max(relevance[2:])
    assert found.posterior.noise == pytest.approx(0.09, rel=0.15)
    assert found.result.residual == 0.0
    new = rng.standard_normal((500, 6))
    mean = found.posterior.mean(model.encoded(found.theta, new))
    assert np.sqrt(np.mean((mean - np.sin(new[:, 0] + new[:, 1])) ** 2)) < 0.12
    again = fit_ski(replace(model), ArrayChunk(X, y), SkiOptions(), np.random.default_rng(7))
    assert again.result.objective == pytest.approx(found.result.objective, abs=2.0)
