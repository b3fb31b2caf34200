"""Inducing rows are real rows, chosen as an obvious and slow choice would."""

import numpy as np
import pytest

from termwise.inference.inducing import CHOICES, LEAST_VARIANCE, choose_rows
from tests.inference.mixed import MIXED, any_theta, explicit, first_theta, mixed_model
from tests.oracle.sparse import conditional_variance

ROWS = 40
LEVELS = [MIXED.index(name) for name in ("levels", "binary")]

every_choice = pytest.mark.parametrize("how", CHOICES)


def problem(n=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    model, X = mixed_model(rng, n)
    theta = any_theta(model, rng, first_theta(model, 0.9, 0.05))
    return model, theta, X


def choose(how, count, *, seed=0, X=None):
    model, theta, rows = problem()
    return choose_rows(how, model, theta, rows if X is None else X, count, np.random.default_rng(seed))


def positions(chosen, X):
    """Which rows of X these are, NaN equal to NaN; the first of equal ones."""
    same = (chosen[:, None, :] == X) | (np.isnan(chosen[:, None, :]) & np.isnan(X))
    found = same.all(axis=2)
    assert found.any(axis=1).all(), "every row chosen is a row of the table, cell by cell"
    return found.argmax(axis=1).tolist()


def by_conditional_variance(model, theta, X, count, rng=None):
    """One dense solve for every step; the largest variance, or drawn in proportion to it."""
    kernel, rows = explicit(model, theta, X)
    chosen = []
    for _ in range(count):
        left = conditional_variance(kernel, rows, chosen)
        left[chosen] = 0.0
        pivot = int(np.argmax(left)) if rng is None else int(rng.choice(len(X), p=left / left.sum()))
        chosen.append(pivot)
    return chosen


def test_greedy_rows_are_those_of_the_largest_conditional_variance():
    model, theta, X = problem()
    found = choose_rows("greedy", model, theta, X, 15, np.random.default_rng(0))
    assert positions(found, X) == by_conditional_variance(model, theta, X, 15)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rows_by_variance_are_drawn_in_proportion_to_the_conditional_variance(seed):
    model, theta, X = problem()
    found = choose_rows("variance", model, theta, X, 15, np.random.default_rng(seed))
    expected = by_conditional_variance(model, theta, X, 15, np.random.default_rng(seed))
    assert positions(found, X) == expected


def test_terms_lost_in_missing_cells_do_not_make_a_row_attractive():
    """With most cells missing hardly any variance is left to be explained."""
    model, theta, X = problem()
    X[7] = np.nan
    chosen = positions(choose_rows("greedy", model, theta, X, 12, np.random.default_rng(0)), X)
    assert chosen == by_conditional_variance(model, theta, X, 12)
    assert 7 not in chosen


def test_rows_far_apart_are_drawn_as_k_means_is_seeded():
    """In proportion to the squared distance; a missing number is in the middle, levels differ by one."""
    model, theta, X = problem()
    X = X[~np.isnan(X[:, LEVELS]).any(axis=1)]
    found = choose_rows("kmeans++", model, theta, X, 8, np.random.default_rng(3))
    rng, chosen = np.random.default_rng(3), []
    for _ in range(8):
        nearest = np.ones(len(X))
        if chosen:
            nearest = np.array([min(distance(row, X[i]) for i in chosen) for row in X])
        chosen.append(int(rng.choice(len(X), p=nearest / nearest.sum())))
    assert positions(found, X) == chosen


def distance(x, y):
    total = 0.0
    for d, (a, b) in enumerate(zip(np.nan_to_num(x), np.nan_to_num(y), strict=True)):
        total += float(a != b) if d in LEVELS else (a - b) ** 2
    return total


def test_a_missing_level_is_unlike_every_level():
    model, theta, X = problem()
    X = np.tile(X[~np.isnan(X).any(axis=1)][:1], (4, 1))
    X[:, LEVELS[0]] = [0.0, 1.0, 2.0, np.nan]
    found = choose_rows("kmeans++", model, theta, X, 4, np.random.default_rng(0))
    assert sorted(positions(found, X)) == [0, 1, 2, 3]


@every_choice
def test_chosen_rows_are_real_rows_with_their_levels_and_missing_cells(how):
    _, _, X = problem()
    chosen = choose(how, 25)
    assert chosen.shape == (25, X.shape[1])
    which = positions(chosen, X)
    assert len(set(which)) == 25
    np.testing.assert_array_equal(np.isnan(chosen), np.isnan(X[which]))
    levels = chosen[:, LEVELS]
    assert set(levels[~np.isnan(levels)]) <= {0.0, 1.0, 2.0}


@every_choice
def test_there_are_never_more_rows_than_distinct_ones(how):
    _, _, X = problem()
    distinct = X[~np.isnan(X).any(axis=1)][:6]
    repeated = np.repeat(distinct, 5, axis=0)
    chosen = choose(how, 20, X=repeated)
    assert len(chosen) == len(np.unique(chosen, axis=0)) == 6
    assert len(choose(how, 500)) <= ROWS
    assert len(choose(how, 1)) == 1


@every_choice
def test_the_same_seed_chooses_the_same_rows(how):
    np.testing.assert_array_equal(choose(how, 12, seed=5), choose(how, 12, seed=5))
    other = np.array_equal(choose(how, 12, seed=5), choose(how, 12, seed=6), equal_nan=True)
    assert other is (how == "greedy"), "only the greedy choice is not drawn"


@pytest.mark.parametrize("how", ["variance", "greedy"])
def test_a_row_that_follows_from_others_is_not_chosen(how):
    """With first-order terms of levels only a few functions exist, whatever the rows."""
    rng = np.random.default_rng(0)
    model, X = mixed_model(rng, 60, names=("levels", "binary"))
    X = X[~np.isnan(X).any(axis=1)]
    theta = first_theta(model, 1.0, 0.1)
    kernel, rows = explicit(model, theta, X)
    chosen = choose_rows(how, model, theta, X, 50, rng)
    left = conditional_variance(kernel, rows, positions(chosen, X))
    assert len(chosen) == 6
    assert left.max() <= 10 * LEAST_VARIANCE * conditional_variance(kernel, rows, []).mean()


def test_the_table_itself_is_left_alone():
    model, theta, X = problem()
    before = X.copy()
    for how in CHOICES:
        choose_rows(how, model, theta, X, 10, np.random.default_rng(0))
    np.testing.assert_array_equal(X, before)
