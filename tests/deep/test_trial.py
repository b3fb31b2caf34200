"""In what order sets are tried, and what is said of each; and whether the test itself tells them apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from termwise.deep.training import Descent
from termwise.deep.trial import IN_VAIN, JUDGED, Trial, better, folded, tried
from termwise.kernels.terms import Subset


class Told:
    """A trial whose answers are known: sets that help, and those of which the parts do."""

    def __init__(
        self,
        helping: set[Subset],
        *,
        hidden_by: Subset | None = None,
        all_at_once: int = 0,
    ) -> None:
        self.helping, self.hidden_by, self.all_at_once = helping, hidden_by, all_at_once
        self.model: list[Subset] = []
        self.asked: list[Subset] = []
        self.many = 30

    def helps(self, columns: Subset, also: Sequence[Subset] = ()) -> tuple[bool, bool]:
        self.asked.append(columns)
        hidden = self.hidden_by is not None and self.hidden_by not in self.model and columns != self.hidden_by
        left = {one for one in self.helping if one not in self.model}
        return columns in left and not hidden, any(set(one) < set(columns) for one in left)

    def needed(self, sets: list[Subset]) -> list[Subset]:
        return [one for one in sets if one in self.helping]

    def untold(self) -> float:
        return 0.5 if len(self.model) < self.all_at_once else 0.0

    def together(self, pairs: list[Subset]) -> tuple[list[Subset], float]:
        self.model += pairs[: self.all_at_once]
        return pairs[: self.all_at_once], self.untold()

    def keep(self, sets: list[Subset]) -> None:
        self.model += sets


def verdict(order: list[Subset], trial: Told) -> tuple[Subset, ...]:
    return tried(order, trial).kept  # type: ignore[arg-type]


def test_of_a_set_that_only_its_parts_need_the_parts_are_tried() -> None:
    trial = Told({(0, 1)})
    found = tried([(0, 1, 2), (3, 4)], trial)  # type: ignore[arg-type]
    assert found.kept == ((0, 1),)
    assert trial.asked[:2] == [(0, 1, 2), (0, 1)]
    assert set(found.refused) == {(0, 1, 2), (0, 2), (1, 2), (3, 4)}


def test_parts_of_what_was_kept_are_not_tried() -> None:
    trial = Told({(0, 1, 2)})
    assert verdict([(0, 1, 2), (0, 1), (1, 2)], trial) == ((0, 1, 2),)
    assert trial.asked == [(0, 1, 2)]


def test_after_some_in_vain_no_more_are_tried() -> None:
    trial = Told({(90, 91)})
    assert verdict([(place, place + 1) for place in range(20)] + [(90, 91)], trial) == ()
    assert len(trial.asked) == IN_VAIN
    trial = Told({(90, 91)}, all_at_once=1)
    order = [(place, place + 1) for place in range(20)]
    assert verdict([*order, (89, 90, 91)], trial) == ((90, 91),)  # unless all columns together say more


def test_what_was_refused_is_tried_again_when_another_was_kept() -> None:
    trial = Told({(0, 1), (2, 3)}, hidden_by=(2, 3))
    assert verdict([(0, 1), (2, 3)], trial) == ((2, 3), (0, 1))


def test_pairs_that_hide_each_other_are_kept_together() -> None:
    trial = Told({(0, 1), (1, 2)}, hidden_by=(7, 8))  # which never comes
    assert verdict([(0, 1), (1, 2), (0, 1, 2)], trial) == ((0, 1), (1, 2))


def test_a_pair_that_was_kept_is_not_kept_again_with_another() -> None:
    trial = Told({(0, 1), (1, 2)})
    assert verdict([(0, 1), (0, 1, 2)], trial) == ((0, 1), (1, 2))
    assert trial.model == [(0, 1), (1, 2)]


def test_of_pairs_that_were_kept_already_none_is_needed() -> None:
    """Though a model learned anew has more to learn of them, so that parts of a triple seem to help."""

    class Rough(Told):
        def helps(self, columns: Subset, also: Sequence[Subset] = ()) -> tuple[bool, bool]:
            return super().helps(columns, also)[0], len(columns) > 2

        def needed(self, sets: list[Subset]) -> list[Subset]:
            assert len(sets) > 1
            return super().needed(sets)

    pairs = [(0, 1), (0, 2), (1, 2)]
    assert verdict([*pairs, (0, 1, 2)], Rough({*pairs})) == tuple(pairs)
    assert verdict([*pairs[:2], (0, 1, 2)], Rough({*pairs})) == tuple(pairs)


def test_pairs_that_do_a_little_each_are_kept_where_all_columns_together_say_more() -> None:
    order = [(0, 1), (2, 3, 4), (1, 3)]
    found = tried([*order, (0, 2)], Told({(0, 1)}, all_at_once=3))  # type: ignore[arg-type]
    assert found.kept == ((0, 1), (2, 3), (2, 4), (3, 4))
    assert not set(found.kept) & set(found.refused)
    assert found.untold == 0.0
    found = tried(order, Told({(2, 3, 4)}, all_at_once=9))  # type: ignore[arg-type]
    assert found.kept == ((2, 3, 4), (0, 1), (1, 3))  # parts of what was kept have nothing more to say
    assert found.untold == 0.5


class Answers(Trial):
    """A trial in which groups leave errors that are known, of rows that are all judged."""

    def __init__(self, errors: dict[tuple[Subset, ...], np.ndarray]) -> None:
        self.errors, self.sources = errors, range(3)
        self.model: list[Subset] = [(0,), (1,), (2,)]
        self._left, self._told = errors[()], {}

    def _judged(self, errors: np.ndarray) -> np.ndarray:
        return errors

    def _without(self, groups: Any, y: np.ndarray, how: Any = None) -> list[np.ndarray]:
        return [self.errors[tuple(group)] for group in groups]


def answers(**means: float) -> Answers:
    """Errors of so large a mean each: what is left, left again, left by all, and by groups of a size."""
    rng, pairs = np.random.default_rng(0), tuple(combinations(range(9), 2))
    groups: dict[str, tuple[Subset, ...]] = {"left": (), "again": ((0,), (1,), (2,)), "all": ((0, 1, 2),)}
    groups |= {f"g{count}": pairs[:count] for count in (2, 4, 8, 16, 32)}
    scatter = 0.5 * rng.standard_normal(900).clip(-2.0, 2.0)  # of rows, much larger than that of models
    return Answers(
        {groups[name]: mean + scatter + 0.05 * rng.standard_normal(900) for name, mean in means.items()}
    )


@pytest.mark.parametrize(
    ("means", "told"),
    [
        ({"left": 2.0, "again": 2.0, "all": 1.5}, 0.25),
        ({"left": 2.0, "again": 1.6, "all": 1.2}, 0.25),  # of what the model, learned on, leaves
        ({"left": 2.0, "again": 1.5, "all": 1.5}, 0.0),  # the model had more to learn
        ({"left": 2.0, "again": 1.52, "all": 1.5}, 0.0),
        ({"left": 2.0, "again": 2.0, "all": 1.97}, 0.0),  # small
    ],
)
def test_untold_is_what_all_columns_together_take_off_for_certain(
    means: dict[str, float], told: float
) -> None:
    assert answers(**means).untold() == pytest.approx(told, abs=0.02 if told else 0.0)


def test_nothing_is_untold_that_chance_may_have_told() -> None:
    trial = answers(left=5.0, again=5.0)
    gain = np.tile([2.0, -1.75], 450)  # 2.5 % on average, two standard errors
    trial.errors[((0, 1, 2),)] = trial.errors[()] - gain
    assert trial.untold() == 0.0
    trial.errors[((0, 1, 2),)] = trial.errors[()] - np.mean(gain)
    assert trial.untold() > 0.0


def test_a_set_of_all_columns_that_was_tried_leaves_nothing_untold() -> None:
    trial = answers(left=2.0, again=2.0, all=1.0)
    trial._told = {(0, 1, 2): (False, False)}
    assert trial.untold() == 0.0
    trial._told, trial.model = {}, [(0, 1, 2)]
    assert trial.untold() == 0.0


@pytest.mark.parametrize(
    ("means", "count"),
    [
        ({"g2": 1.9, "g4": 1.8, "g8": 1.5, "g16": 1.5, "g32": 1.5}, 8),
        ({"g2": 1.9, "g4": 1.8, "g8": 1.7, "g16": 1.6, "g32": 1.4}, 32),
        ({"g2": 1.9, "g4": 1.8, "g8": 1.505, "g16": 1.5, "g32": 1.55}, 16),  # more than a standard error
        ({"g2": 2.1, "g4": 2.0, "g8": 2.0, "g16": 2.1, "g32": 2.1}, 0),
        ({"again": 1.5, "g2": 1.8, "g4": 1.7, "g8": 1.6, "g16": 1.6, "g32": 1.6}, 0),
    ],
)
def test_a_group_is_as_small_as_says_the_same(means: dict[str, float], count: int) -> None:
    pairs = list(combinations(range(9), 2))
    trial = answers(**{"left": 2.0, "again": 2.0, "all": 1.2, **means})
    found, untold = trial.together(pairs)
    assert found == pairs[:count]
    left = means.get(f"g{count}", means.get("again", 2.0))
    assert untold == pytest.approx(1.0 - 1.2 / left, abs=0.02)


def test_pairs_none_of_which_is_sure_to_help_do_together() -> None:
    pairs = list(combinations(range(5), 2))
    rng = np.random.default_rng(0)
    X, how = rng.uniform(-1.7, 1.7, (600, 5)), Descent(max_epochs=60, patience=6)
    y = X.sum(axis=1) ** 2 / 5.0 + 0.5 * rng.standard_normal(600)
    trial = Trial(X, y, range(5), how, rng)
    assert sum(trial.helps(pair, pairs)[0] for pair in pairs) <= 2
    assert trial.untold() > 0.2
    found, untold = trial.together(pairs)
    assert found == pairs
    assert untold < 0.1


def test_where_each_column_acts_alone_nothing_is_untold() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.7, 1.7, (600, 5))
    y = np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.5 * rng.standard_normal(600)
    trial = Trial(X, y, range(5), Descent(max_epochs=60, patience=6), rng)
    assert trial.untold() == 0.0
    assert trial.together([(0, 1)]) == ([], 0.0)  # of one pair nothing is asked that was not asked before


def test_as_few_pairs_are_kept_as_say_what_more_would() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.7, 1.7, (2000, 5))
    y = X[:, 3] * X[:, 4] + X[:, 0] * X[:, 4] + 0.5 * rng.standard_normal(2000)
    trial = Trial(X, y, range(5), Descent(max_epochs=60, patience=6), rng)
    others = [pair for pair in combinations(range(5), 2) if pair not in ((0, 4), (3, 4))]
    assert trial.untold() > 0.2
    found, _ = trial.together([(3, 4), (0, 4), *others])
    assert found[:2] == [(3, 4), (0, 4)]
    assert len(found) <= 4  # of ten


def test_a_trial_leaves_out_what_is_not_needed() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.7, 1.7, (300, 3))
    y = X[:, 0] * X[:, 1] + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(300)
    trial = Trial(X, y, range(3), Descent(max_epochs=60, patience=6), rng)
    assert set(trial.needed([(0, 1), (0, 2), (1, 2)])) == {(0, 1), (1, 2)}


def test_a_trial_tells_a_set_that_acts_from_one_that_does_not() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.7, 1.7, (600, 4))
    y = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + 0.1 * rng.standard_normal(600)
    trial = Trial(X, y, range(4), Descent(max_epochs=60, patience=6), rng)
    assert trial.helps((0, 1)) == (True, False)
    assert trial.helps((2, 3), [(0, 1, 3), (1, 3)]) == (False, False)
    assert trial.helps((0, 1, 3)) == (False, True)  # no better than its parts
    assert trial.helps((1, 3)) == (False, False)
    trial.keep([(0, 1)])
    assert trial.helps((0, 1)) == (False, False)  # what was told before holds no longer
    assert trial.helps((0, 1, 3)) == (False, False)


@pytest.mark.parametrize(("n", "count"), [(10, 5), (160, 5), (1000, 1)])
def test_of_few_rows_each_is_judged_once_by_what_others_tell(n: int, count: int) -> None:
    X = np.random.default_rng(0).standard_normal((n, 2))
    found = folded(X, np.random.default_rng(1))
    parts = np.array([[fold.train, fold.validation, fold.judged] for fold in found])
    assert len(found) == count
    np.testing.assert_array_equal(parts.sum(axis=1), 1)
    assert np.all(parts.any(axis=2))
    judged = parts[:, 2].sum(axis=0)
    assert judged.sum() == (n if count > 1 else JUDGED * n)
    assert judged.max() == 1


def test_equal_rows_are_on_one_side() -> None:
    X = np.repeat(np.random.default_rng(0).standard_normal((60, 2)), 3, axis=0)
    for fold in folded(X, np.random.default_rng(1)):
        for rows in (fold.train, fold.validation, fold.judged):
            np.testing.assert_array_equal(rows.reshape(60, 3).any(axis=1), rows.reshape(60, 3).all(axis=1))


def test_a_fold_knows_nothing_of_the_rows_that_it_judges() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 2)), rng.standard_normal(80)
    how = Descent(max_epochs=40, patience=100)  # as many epochs, whatever the other folds come to
    trial = Trial(X, y, range(2), how, np.random.default_rng(1))
    (judged, *_) = (fold.judged for fold in trial._folds)
    other = Trial(X, np.where(judged, 1e3, y), range(2), how, np.random.default_rng(1))
    first, same = y - trial._left[0], np.where(judged, 1e3, y) - other._left[0]
    np.testing.assert_allclose(same, first, atol=1e-4)
    assert np.max(np.abs(other._left[1] - trial._left[1])) > 1.0  # who learns from them does


def test_a_trial_of_few_rows_is_sure_of_what_a_fifth_of_them_could_not_say() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.7, 1.7, (40, 3))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * rng.standard_normal(40)
    trial = Trial(X, y, range(3), Descent(max_epochs=100), rng)
    assert trial.helps((0, 1), [(0, 2)]) == (True, False)
    assert trial.helps((0, 2)) == (False, False)


def test_a_gain_must_be_sure_and_of_some_size() -> None:
    rng = np.random.default_rng(0)
    before = rng.standard_normal(400)
    assert better(before, 0.9 * before)
    assert not better(before, 0.99 * before)  # sure, and small
    assert not better(before[:8], rng.permutation(0.9 * before[:8]))  # larger, by chance
    assert not better(before, before)
    assert better(np.array([1.0, -1.0]), np.array([-0.5, 0.5])) is True
    assert not better(np.array([1.0]), np.array([0.1]))  # of one row


def test_of_few_rows_more_must_be_gained_to_be_sure() -> None:
    rng = np.random.default_rng(1)
    chances = [better(rng.standard_normal(4), rng.standard_normal(4)) for _ in range(4000)]
    assert np.mean(chances) < 0.005
