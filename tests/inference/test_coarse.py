"""From a coarse picture to a fine one: it finds a known function and says how it went."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from termwise import OAKRegressor
from termwise.encode.rows import ArrayChunk
from termwise.explain.sobol import term_variances
from termwise.inference import coarse
from termwise.inference.coarse import Data, SparseOptions, Stages, fit_sparse
from termwise.inference.columns import FixedColumn, WarpedColumn
from termwise.inference.exact import ExactObjective
from termwise.inference.levels import LevelColumn
from termwise.inference.model import Model
from termwise.inference.orders import EachOrder
from termwise.inference.result import Status
from termwise.inference.sparse import SparseObjective
from termwise.inference.workers import LocalWorkers
from termwise.kernels.matern import Matern52
from termwise.kernels.squared_exponential import SquaredExponential
from termwise.measures import Discrete, Empirical, Normal

ROWS, FIRST_ROWS, INDUCING = 1500, 60, 40
NOISE_SD = 0.3
LEVELS = np.array([0.6, -0.2, -1.2])  # their effects, of mean zero
FREQUENCIES = (0.4, 0.4, 0.2)
VARIANCES = [0.5 * (1.0 - np.exp(-8.0)), 0.5, FREQUENCIES @ LEVELS**2]  # of sin 2x, (x^2 - 1) / 2, the levels


def table(seed=0, n=ROWS):
    """A sine, a square and levels, with some cells missing; the target and what it was divided by."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    X[:, 2] = rng.choice(3, n, p=FREQUENCIES)
    f = np.sin(2.0 * X[:, 0]) + 0.5 * (X[:, 1] ** 2 - 1.0) + LEVELS[X[:, 2].astype(int)]
    y = f + NOISE_SD * rng.standard_normal(n)
    X[rng.random(n) < 0.01, 1] = np.nan
    return X, (y - y.mean()) / y.std(), y.std()


def model_of(X):
    known = X[~np.isnan(X[:, 1]), 1]
    codes = X[:, 2].astype(int)
    return Model(
        (
            FixedColumn(Normal(), SquaredExponential),
            WarpedColumn(Empirical.fit(known), Matern52),
            LevelColumn(Discrete.fit(codes, 3), True, (0.1, 0.0, -0.1)),
        ),
        EachOrder((0, 1, 2)),
    )


def fit(X, y, *, monitor=None, seed=0, **options):
    splitting, fitting = np.random.default_rng(seed).spawn(2)
    chosen = SparseOptions(**{"n_inducing": INDUCING, "workers": LocalWorkers(1), **options})
    return fit_sparse(model_of(X), Data.in_memory(ArrayChunk(X, y), splitting), chosen, fitting, monitor)


@pytest.fixture(scope="module", autouse=True)
def several_stages():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coarse, "FIRST_ROWS", FIRST_ROWS)
        yield


@pytest.fixture(scope="module")
def fitted(several_stages):
    seen = []
    X, y, scale = table()
    return fit(X, y, monitor=seen.append), seen, X, y, scale


def test_it_finds_the_noise_and_the_shares_of_a_known_function(fitted):
    found, _, _, _, scale = fitted
    assert np.sqrt(found.posterior.noise) * scale == pytest.approx(NOISE_SD, rel=0.05)
    shares = term_variances(found.posterior)
    by_term = dict(zip(shares.terms, shares.variances / shares.total, strict=True))
    for column, variance in enumerate(VARIANCES):
        assert by_term[(column,)] == pytest.approx(variance / np.sum(VARIANCES), abs=0.03)
    assert shares.by_order[2] / shares.total < 0.01


def test_it_predicts_new_rows_nearly_as_well_as_the_function_itself(fitted):
    found, *_, scale = fitted
    new, target, new_scale = table(seed=1)
    new = found.model.encoded(found.theta, new)
    complete = ~np.isnan(new).any(axis=1)
    mean, variance = found.posterior.mean(new), found.posterior.variance(new) + found.posterior.noise
    error = (mean - target * new_scale / scale)[complete]
    assert np.std(error) * scale == pytest.approx(NOISE_SD, rel=0.1)
    inside = np.mean(np.abs(error) < 1.645 * np.sqrt(variance[complete]))
    assert 0.85 < inside < 0.95


def test_a_fit_says_how_it_went(fitted):
    found, seen, X, _, _ = fitted
    result = found.result
    assert result.status is Status.CONVERGED
    assert result.seconds > 0.0
    assert 0.0 < result.jitter < 1e-8
    assert len(result.starts) == 2
    assert result.evaluations == seen[-1].evaluations
    assert (result.rows, result.inducing) == (ROWS, INDUCING)
    assert found.posterior.centres.shape == (INDUCING, X.shape[1])


def bent_back(found, X):
    """The inducing rows before the warp: real rows of the table, found by what they became."""
    rows = found.model.encoded(found.theta, X)
    centres = found.posterior.centres
    same = (rows == centres[:, None]) | (np.isnan(rows) & np.isnan(centres[:, None]))
    matches = same.all(axis=2)
    assert matches.any(axis=1).all()
    return X[matches.argmax(axis=1)]


def test_the_objective_reported_is_that_of_all_rows(fitted):
    found, _, X, y, _ = fitted
    Z = bent_back(found, X)
    objective = SparseObjective(found.model, [ArrayChunk(X, y)], Z, LocalWorkers(1))
    with threadpool_limits(limits=1, user_api="blas"):
        value, gradient = objective.value_and_gradient(found.theta)
    assert found.result.objective == pytest.approx(value, rel=1e-10)
    free = np.array(
        [low < theta < high for theta, (low, high) in zip(found.theta, found.model.bounds(), strict=True)]
    )
    assert np.abs(gradient[free]).max() < 0.01 * ROWS


def test_the_bound_is_close_to_the_exact_objective(fitted):
    found, _, X, y, _ = fitted
    exact, _ = ExactObjective(found.model, X, y, threads=1).value_and_gradient(found.theta)
    assert found.result.objective < exact
    assert found.result.objective == pytest.approx(exact, abs=5.0)


def test_the_last_stage_ends_at_the_best_it_has_seen(fitted):
    found, seen, *_ = fitted
    last = [progress.objective for progress in seen if progress.rows == ROWS]
    assert found.result.objective == pytest.approx(max(last), rel=1e-12)
    assert found.result.objective >= last[0]


def test_the_monitor_hears_of_every_stage_in_turn(fitted):
    _, seen, *_ = fitted
    rows = [progress.rows for progress in seen]
    assert rows == sorted(rows)
    assert sorted(set(rows)) == [FIRST_ROWS, 4 * FIRST_ROWS, ROWS]
    assert {progress.start for progress in seen} == {0, 1}
    for before, after in pairwise(seen):
        assert after.evaluations > before.evaluations
        assert after.seconds >= before.seconds
    assert all(progress.remaining >= 0.0 for progress in seen)


def assert_same(one, other):
    assert np.array_equal(one.theta, other.theta)
    assert one.result.objective == other.result.objective
    assert np.array_equal(one.posterior.alpha, other.posterior.alpha)
    assert np.array_equal(one.posterior.centres, other.posterior.centres, equal_nan=True)


def test_the_same_seed_gives_the_same_fit(fitted):
    found, _, X, y, _ = fitted
    assert_same(fit(X, y), found)
    assert not np.array_equal(fit(X, y, seed=1).posterior.centres, found.posterior.centres, equal_nan=True)


def test_the_number_of_threads_does_not_matter_at_all(fitted):
    found, _, X, y, _ = fitted
    assert_same(fit(X, y, workers=LocalWorkers(3), threads=3), found)
    assert_same(fit(X, y, threads=1), found)


@pytest.mark.parametrize("inducing", ["greedy", "kmeans++"])
def test_other_ways_to_choose_inducing_rows_find_the_same_function(inducing, fitted):
    expected, _, X, y, _ = fitted
    found = fit(X, y, inducing=inducing)
    assert found.result.objective == pytest.approx(expected.result.objective, abs=15.0)
    assert found.posterior.noise == pytest.approx(expected.posterior.noise, rel=0.05)


def test_fewer_distinct_rows_than_inducing_ones_are_a_sound_fit():
    X, y, _ = table(n=300)
    few = np.random.default_rng(0).choice(12, 300)
    X = X[~np.isnan(X).any(axis=1)][few]
    means = y[few] - np.mean(y[few])
    y = means + 0.2 * np.random.default_rng(1).standard_normal(300)
    found = fit(X, y)
    assert len(found.posterior.centres) == len(np.unique(X, axis=0)) == 12
    assert found.result.inducing == 12
    assert np.isfinite(found.result.objective)
    assert found.posterior.noise == pytest.approx(0.04, rel=0.3)
    residual = found.posterior.mean(found.model.encoded(found.theta, X)) - means
    assert np.sqrt(np.mean(residual**2)) < 0.1
    exact, _ = ExactObjective(found.model, X, y, threads=1).value_and_gradient(found.theta)
    assert found.result.objective == pytest.approx(exact, rel=1e-6)


def test_too_few_steps_are_reported(monkeypatch):
    monkeypatch.setattr(coarse, "LAST_STEPS", 1)
    monkeypatch.setattr(coarse, "LEAST_STEPS", 1)
    X, y, _ = table(n=200)
    assert fit(X, y, n_starts=1).result.status is Status.MAX_STEPS


def test_the_more_rows_the_fewer_steps_on_all_of_them():
    steps = [coarse.last_steps(n) for n in (1000, 13_000, 39_000, 10_000_000)]
    assert steps == [coarse.LAST_STEPS, coarse.LAST_STEPS, coarse.LAST_STEPS // 3, coarse.LEAST_STEPS]


def test_how_all_rows_are_cut_into_chunks_hardly_matters(fitted):
    """Only the last stage sees the chunks; its steps may end a little elsewhere."""
    found, _, X, y, _ = fitted
    splitting, fitting = np.random.default_rng(0).spawn(2)
    whole = Data.in_memory(ArrayChunk(X, y), splitting)
    chunks = [ArrayChunk(X[rows], y[rows]) for rows in (slice(700), slice(700, 701), slice(701, None))]
    options = SparseOptions(n_inducing=INDUCING, workers=LocalWorkers(1))
    again = fit_sparse(found.model, replace(whole, chunks=chunks), options, fitting)
    assert again.result.objective == pytest.approx(found.result.objective, rel=1e-5)


def test_a_table_in_memory_is_sampled_without_repetition():
    X, y = np.arange(5000.0)[:, None], -np.arange(5000.0)
    data = Data.in_memory(ArrayChunk(X, y), np.random.default_rng(0))
    assert data.n_rows == 5000
    assert len(data.sample.X) == len(np.unique(data.sample.X)) == 2500
    np.testing.assert_array_equal(data.sample.y, -data.sample.X[:, 0])
    assert np.abs(np.corrcoef(data.sample.y, np.arange(2500))[0, 1]) < 0.1
    same = Data.in_memory(ArrayChunk(X, y), np.random.default_rng(0))
    np.testing.assert_array_equal(data.sample.X, same.sample.X)


def test_effects_are_found_among_many_columns(monkeypatch):
    """A climb of the bound alone, with few inducing rows, turns the interaction of such a table off."""
    monkeypatch.setattr(coarse, "FIRST_ROWS", 4000)
    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((1200, 20)), rng.standard_normal((300, 20))
    function = lambda rows: rows[:, 0] + rows[:, 1] * rows[:, 2]  # noqa: E731
    y = function(X) + 0.2 * rng.standard_normal(len(X))
    model = OAKRegressor(max_order=2, inference="sparse", n_inducing=64, n_restarts=1).fit(X, y)
    assert np.std(model.predict(new) - function(new)) < 0.15 * np.std(function(new))
    assert {term.name for term in model.terms_[:2]} == {"x0", "x1:x2"}


def test_an_order_that_few_rows_have_turned_off_comes_back(monkeypatch):
    begin = Stages.begin

    def without_pairs(stages, starts):
        climb = begin(stages, starts)[0]
        off = climb.theta.copy()
        off[-2] = stages.model.bounds()[-2][0]
        return [replace(climb, theta=off)]

    monkeypatch.setattr(Stages, "begin", without_pairs)
    monkeypatch.setattr(coarse, "FIRST_ROWS", 1000)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 3))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.standard_normal(len(X))
    model = OAKRegressor(max_order=2, inference="sparse", n_inducing=64, n_restarts=1).fit(X, y)
    assert {term.name for term in model.terms_[:2]} == {"x0", "x1:x2"}


def test_revived_orders_have_their_share_of_the_start_and_the_rest_is_left():
    model = model_of(table()[0])
    start = model.start(np.ones(3), 0.1)
    low = start - 9.0
    revived = model.revived(low, 0.01, 1.0)
    np.testing.assert_allclose(revived[-4:-1], start[-4:-1] + np.log(0.01))
    np.testing.assert_array_equal(np.delete(revived, [-4, -3, -2]), np.delete(low, [-4, -3, -2]))
    np.testing.assert_array_equal(model.revived(start, 0.01, 1.0), start)


def test_the_rows_seen_look_like_the_table_and_not_like_the_inducing_rows(fitted):
    found, _, X, _, _ = fitted
    seen = found.posterior.rows
    assert len(seen) > 500
    assert np.nanstd(seen[:, 0]) == pytest.approx(np.std(X[:, 0]), rel=0.1)
    assert np.mean(seen[:, 2] == 2.0) == pytest.approx(np.mean(X[:, 2] == 2.0), abs=0.04)


@pytest.mark.parametrize("nothing", [True, False])
def test_where_starts_explain_nothing_one_more_begins_from_afar(nothing, monkeypatch):
    monkeypatch.setattr(coarse, "explains_nothing", lambda model, theta: nothing)
    X, y, _ = table(n=400)
    seen = []
    found = fit(X, y, n_inducing=20, n_starts=2, monitor=seen.append)
    assert len(found.result.starts) == 2 + nothing
    assert max(one.start for one in seen) == 1 + nothing
