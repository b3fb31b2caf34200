"""Training finds known functions, is the same for the same seed, and says when it fails."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from termwise.deep.networks import drawn_networks, inputs_of
from termwise.deep.optimal import RankOneLoss, Shape, Wanted, fit_optimal, set_weights
from termwise.deep.training import Aim, Descent, Lesson, Trainable, cut, descend, parted, threads
from termwise.errors import NumericalError

NOISE = 0.05
QUICK = Descent(max_epochs=60)
SHAPE = Shape(((0,), (1, 2)), (24, 16))


def table(n: int = 600, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2]
    return X, y + NOISE * rng.standard_normal(n)


def fit(how: Descent = QUICK, shape: Shape = SHAPE, **options: Any) -> Any:
    X, y = table()
    rows = parted(X, np.random.default_rng(1))
    return fit_optimal(Lesson(X, y, rows), shape, how, np.random.default_rng(2), Wanted(**options))


def errors_of(found: Any) -> np.ndarray:
    new, target = table(500, 7)
    return target - found.amplitude.mean * found.networks.outputs(new).sum(axis=(0, 2))


def test_it_learns_a_sum_of_functions() -> None:
    found = fit()
    assert np.sqrt(np.mean(errors_of(found) ** 2)) < 0.25
    assert np.sqrt(found.noise) == pytest.approx(np.sqrt(np.mean(errors_of(found) ** 2)), rel=0.6)


def test_the_same_seed_gives_the_same_networks_and_another_gives_others() -> None:
    one, other = fit(Descent(max_epochs=3)), fit(Descent(max_epochs=3))
    for left, right in zip(one.networks.weights, other.networks.weights, strict=True):
        np.testing.assert_array_equal(left, right)
    X, y = table()
    rows = parted(X, np.random.default_rng(1))
    another = fit_optimal(Lesson(X, y, rows), SHAPE, Descent(max_epochs=3), np.random.default_rng(3))
    assert not np.array_equal(another.networks.weights[0], one.networks.weights[0])


def test_of_several_starts_the_best_is_kept() -> None:
    found = fit(Descent(max_epochs=10), starts=3)
    assert len(found.scores) == 3
    assert found.networks.inputs == SHAPE.inputs
    X, y = table()
    left_out = parted(X, np.random.default_rng(1)).validation
    g = found.networks.outputs(X[left_out]).sum(axis=(0, 2))
    error = np.mean((y[left_out] - found.amplitude.mean * g) ** 2)
    assert error == pytest.approx(min(found.scores), rel=0.05)
    assert max(found.scores) > min(found.scores)


@pytest.mark.parametrize("seed", range(8))
def test_the_best_start_alone_goes_on_to_the_end_and_forgets_nothing(seed: int) -> None:
    X, y = table(80, seed)  # of few rows the validation error hardly falls any more
    lesson, how = Lesson(X, y, parted(X, np.random.default_rng(1))), Descent(max_epochs=200, patience=3)
    together, alone = (
        fit_optimal(lesson, SHAPE, one, np.random.default_rng(2), Wanted(starts=3))
        for one in (how.unslowed, how)
    )
    best = int(np.argmin(together.scores))
    others = np.arange(3) != best
    np.testing.assert_array_equal(np.array(alone.scores)[others], np.array(together.scores)[others])
    assert alone.scores[best] <= together.scores[best]
    assert alone.epochs > together.epochs


def test_epochs_are_no_more_than_asked_for_with_several_starts() -> None:
    assert fit(Descent(max_epochs=5, patience=1), starts=2).epochs <= 5
    assert fit(Descent(max_epochs=2), starts=2).epochs == 2


def test_the_best_weights_are_those_that_are_kept() -> None:
    X, y = table(200)
    part = Trainable(drawn_networks(((0, 1, 2),), (8,), 1, np.random.default_rng(0)), X)
    rank_one = RankOneLoss(part, y, np.arange(150))
    seen = []

    def score() -> np.ndarray:
        seen.append(rank_one.errors(np.arange(150, 200)).mean(axis=1))
        return seen[-1]

    how = Descent(max_epochs=25, learning_rate=0.3, patience=100)  # too long a step: scores go up and down
    aim = Aim(rank_one.loss, score, np.arange(150))
    best, epochs = descend([part], aim, how, np.random.default_rng(1))
    assert epochs == 25 == len(seen)
    assert best[0] == min(seen)[0] < seen[-1][0]
    np.testing.assert_array_equal(score(), best)


@pytest.mark.parametrize("networks", [1, 5])
def test_it_stops_early_when_nothing_gets_better(networks: int) -> None:
    """Of networks that take turns, when each had as many as one alone."""
    X, y = table(100)
    part = Trainable(drawn_networks(((3,),) * networks, (4,), 1, np.random.default_rng(0)), X)
    rank_one = RankOneLoss(part, y, np.arange(80))
    scores = iter([1.0, *[2.0] * 100])
    how = Descent(patience=3, alternating=networks > 1)
    aim = Aim(rank_one.loss, lambda: np.array([next(scores)]), np.arange(80))
    _, epochs = descend([part], aim, how, np.random.default_rng(1))
    assert epochs == 1 + 4 * 3 * networks


@pytest.mark.parametrize("batch", [10, 40])
def test_a_whole_descent_makes_its_steps_and_each_is_shorter(batch: int) -> None:
    """Also within the one epoch that is left of a long table."""
    X, y = table(100)
    part = Trainable(drawn_networks(((0, 1),), (4,), 1, np.random.default_rng(0)), X)
    rank_one = RankOneLoss(part, y, np.arange(80))
    made: list[tuple[float, float]] = []
    how = Descent(max_epochs=2, batch=batch, learning_rate=1.0, whole=True, max_steps=6)
    aim = Aim(
        rank_one.loss,
        lambda: np.ones(1),
        np.arange(80),
        after=lambda length, done: made.append((length, done)),
    )
    _, epochs = descend([part], aim, how, np.random.default_rng(1))
    steps = min(6, 2 * 80 // batch)
    assert epochs == (1 if batch == 10 else 2)
    np.testing.assert_allclose([length for length, _ in made], 1.0 - np.arange(steps) / steps)
    np.testing.assert_allclose([done for _, done in made], np.arange(1, steps + 1) / steps)


def test_networks_that_take_turns_move_one_at_a_time() -> None:
    X, y = table(100)
    first = drawn_networks(SHAPE.inputs * 2, (4,), 1, np.random.default_rng(0))
    for turn in (1, 2):
        part = Trainable(first, X, starts=2)
        rank_one = RankOneLoss(part, y, np.arange(80))
        how = Descent(max_epochs=turn, alternating=True)
        falling = iter([1.0, 0.5, 0.2])

        def score(falling: Any = falling) -> np.ndarray:
            return np.full(2, next(falling))

        descend([part], Aim(rank_one.loss, score, np.arange(80)), how, np.random.default_rng(1))
        change = np.abs(part.kept().weights[0] - first.weights[0].astype(np.float32)).max(axis=(1, 2))
        np.testing.assert_array_equal(change > 0.0, [True, turn == 2] * 2)


def test_taking_turns_learns_too() -> None:
    found = fit(Descent(max_epochs=120, alternating=True))
    assert np.sqrt(np.mean(errors_of(found) ** 2)) < 0.3


def test_a_penalty_silences_sets_that_have_no_effect() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.4 * rng.standard_normal(300)
    shape, rows = Shape((*SHAPE.inputs, (3,), (4, 5)), SHAPE.hidden), parted(X, rng)

    def found_with(penalty: float) -> Any:
        stream = np.random.default_rng(2)
        return fit_optimal(Lesson(X, y, rows), shape, QUICK, stream, Wanted(penalty))

    free, held, none = found_with(0.0), found_with(0.3), found_with(100.0)
    assert (free.places, held.places) == ((0, 1, 2, 3), (0, 1))
    assert held.networks.inputs == shape.inputs[:2]
    spread = held.amplitude.mean * held.networks.outputs(X).sum(axis=2).std(axis=1)
    assert min(spread) > 0.4
    np.testing.assert_allclose(none.networks.outputs(X), y[rows.train].mean())  # a constant is left


def test_weights_of_sets_are_the_least_of_their_objective() -> None:
    rng = np.random.default_rng(0)
    parts = rng.standard_normal((60, 4)) @ rng.standard_normal((4, 4))
    parts -= parts.mean(axis=0)
    y = parts @ np.array([1.0, 0.5, 0.0, -0.3]) + rng.standard_normal(60)

    def objective(a: np.ndarray) -> float:
        return float(np.mean((y - parts @ a) ** 2) + 0.4 * a @ parts.std(axis=0))

    found = set_weights(parts, y, 0.4)
    slow = minimize(objective, np.ones(4), bounds=[(0.0, None)] * 4, tol=1e-14, options={"maxfun": 10**5})
    assert objective(found) <= slow.fun + 1e-9
    np.testing.assert_allclose(found, slow.x, atol=1e-4)
    assert np.any(found == 0.0)


def test_divergence_has_a_name_and_a_remedy() -> None:
    with pytest.raises(NumericalError, match=r"diverged.*smaller learning_rate"):
        fit(Descent(max_epochs=30, learning_rate=1e30))


def test_a_plain_network_has_no_amplitude() -> None:
    found = fit(Descent(max_epochs=5), plain=True)
    assert (found.amplitude.mean, found.amplitude.variance) == (1.0, 0.0)


def test_rows_are_parted_once_each() -> None:
    X = np.random.default_rng(3).standard_normal((57, 2))
    rows = parted(X, np.random.default_rng(0))
    assert rows.validation.size == 6
    np.testing.assert_array_equal(np.sort([*rows.train, *rows.validation]), np.arange(57))
    assert parted(X[:2], np.random.default_rng(0)).train.size == 1


@pytest.mark.parametrize("seed", range(5))
def test_equal_rows_are_on_one_side(seed: int) -> None:
    rng = np.random.default_rng(seed)
    which = np.repeat(np.arange(40), rng.integers(1, 12, 40))
    X = rng.standard_normal((40, 2))[which]
    rows = parted(X, rng)
    assert round(0.1 * which.size) <= rows.validation.size <= round(0.1 * which.size) + 11
    np.testing.assert_array_equal(np.sort([*rows.train, *rows.validation]), np.arange(which.size))
    assert not set(which[rows.train]) & set(which[rows.validation])
    pieces = cut(X, rng, [which.size // 3, 2 * which.size // 3])
    np.testing.assert_array_equal(np.sort(np.concatenate(pieces)), np.arange(which.size))
    assert sum(len(set(which[piece])) for piece in pieces) == 40


def test_of_few_rows_many_times_some_of_each_are_left_out() -> None:
    X = np.repeat(np.arange(4.0)[:, None], 100, axis=0)
    rows = parted(X, np.random.default_rng(0))
    assert set(rows.train // 100) == set(rows.validation // 100) == {0, 1, 2, 3}


def test_inputs_are_all_numbers_of_the_columns_of_a_set() -> None:
    assert inputs_of([(0,), (1, 2)], (0, 0, 1, 2, 2)) == ((0, 1), (2, 3, 4))


def test_threads_are_as_they_were_afterwards() -> None:
    torch.set_num_threads(2)
    with threads(None):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
