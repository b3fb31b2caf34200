"""Inducing rows move along the gradient of the bound, numbers only, and never to where it is lower."""

from dataclasses import replace

import numpy as np
import pytest

import termwise as tw
from termwise.encode.rows import ArrayChunk
from termwise.inference.climb import Effort
from termwise.inference.moving import move_rows
from termwise.inference.sparse import SparseObjective
from termwise.inference.workers import LocalWorkers
from tests.inference.mixed import any_theta, first_theta, mixed_model, sample_columns

ROWS, INDUCING = 40, 7
LEVELS = ("levels", "binary", "free-levels", "free-binary")
EVERY = tuple(sample_columns(np.random.default_rng(0), 10))
NUMBERS = tuple(name for name in EVERY if name not in LEVELS)


def problem(names, seed=0):
    """An objective at some vector; cells are missing among the rows and among the inducing rows."""
    rng = np.random.default_rng(seed)
    model, both = mixed_model(rng, ROWS + INDUCING, names=names)
    theta = any_theta(model, rng, first_theta(model, 0.9, 0.05))
    X, Z = both[:ROWS], both[ROWS:].copy()
    Z[1, 0] = np.nan
    y = rng.standard_normal(ROWS)
    return SparseObjective(model, [ArrayChunk(X, y)], Z, LocalWorkers(1)), theta


def value_with(objective, theta, Z):
    return replace(objective, inducing=Z).value_and_gradient(theta)[0]


@pytest.mark.parametrize("name", NUMBERS)
def test_the_gradient_is_that_of_the_objective(name):
    objective, theta = problem((name, "levels", "normal"))
    _, _, by_rows = objective.value_and_gradients(theta, late=False)
    Z = objective.inducing
    gradient = objective.model.cells_gradient(theta, Z, by_rows)
    assert gradient.shape == Z.shape
    step = 1e-5
    for m, d in np.argwhere(objective.model.movable(Z)):
        there = step * np.eye(Z.size)[m * Z.shape[1] + d].reshape(Z.shape)
        above, below = (value_with(objective, theta, Z + sign * there) for sign in (1, -1))
        assert gradient[m, d] == pytest.approx((above - below) / (2.0 * step), rel=1e-4, abs=1e-4), (m, d)


def test_levels_and_missing_cells_have_no_gradient():
    objective, theta = problem(EVERY)
    Z = objective.inducing
    _, _, by_rows = objective.value_and_gradients(theta)
    gradient = objective.model.cells_gradient(theta, Z, by_rows)
    fixed = np.isnan(Z) | np.isin(EVERY, LEVELS)
    np.testing.assert_array_equal(objective.model.movable(Z), ~fixed)
    assert np.all(gradient[fixed] == 0.0)
    assert np.all(gradient[~fixed] != 0.0)


@pytest.mark.parametrize("seed", range(3))
def test_rows_move_to_where_the_objective_is_higher(seed):
    objective, theta = problem(EVERY, seed)
    before, _ = objective.value_and_gradient(theta)
    seen = []
    Z = objective.inducing.copy()
    moved = move_rows(
        objective,
        theta,
        Effort(1e-6, 30, per=ROWS),
        lambda evaluations, value: seen.append((evaluations, value)),
    )
    after, _ = moved.value_and_gradient(theta)
    assert after > before + 0.1
    assert after == pytest.approx(max(value for _, value in seen), rel=1e-12)
    assert [evaluations for evaluations, _ in seen] == list(range(2, len(seen) + 2))
    np.testing.assert_array_equal(objective.inducing, Z)  # that of the objective given stay where they are
    fixed = ~objective.model.movable(Z)
    np.testing.assert_array_equal(moved.inducing[fixed], Z[fixed])
    assert np.mean(moved.inducing[~fixed] != Z[~fixed]) > 0.9


def test_with_levels_only_nothing_moves():
    objective, theta = problem(("levels", "binary"))
    moved = move_rows(objective, theta, Effort(1e-6, 10, per=ROWS), lambda *_: None)
    np.testing.assert_array_equal(moved.inducing, objective.inducing)


def test_a_fit_with_moved_rows_is_at_least_as_good():
    rng = np.random.default_rng(0)
    n = 600
    city = rng.choice(["Oslo", "Bern", "Rom"], n)
    table = {"x": rng.standard_normal(n), "z": rng.standard_normal(n), "city": city.tolist()}
    table["z"][::50] = np.nan
    y = np.sin(3.0 * table["x"]) + (city == "Oslo") + 0.2 * rng.standard_normal(n)
    seen = {"variance": [], "optimised": []}
    options = {"max_order": 2, "n_restarts": 1, "inference": "sparse", "n_inducing": 9}
    chosen, moved = (
        tw.OAKRegressor(inducing=how, progress=seen[how].append, **options).fit(table, y) for how in seen
    )
    assert moved.objective_ > chosen.objective_ + 1.0
    assert moved.fit_result_.inducing == chosen.fit_result_.inducing == 9
    assert len(seen["optimised"]) > len(seen["variance"])
    assert moved.fit_result_.evaluations == seen["optimised"][-1].evaluations == len(seen["optimised"])
    assert all(step.remaining >= 0.0 for step in seen["optimised"])
    # they part only when rows are moved
    for one, other in zip(seen["variance"], seen["optimised"], strict=False):
        assert one.objective == other.objective
    codes = moved.posterior_.centres[:, 2]
    assert np.all(np.isin(codes[~np.isnan(codes)], [0.0, 1.0, 2.0]))
    new = {name: np.asarray(cells)[:200] for name, cells in table.items()}
    errors = [np.mean((model.predict(new) - y[:200]) ** 2) for model in (chosen, moved)]
    assert errors[1] < 1.05 * errors[0]
