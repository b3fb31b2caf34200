"""Which sets of columns help to predict, each beside what single columns and other sets have said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import norm, t

from termwise.deep.folds import FEW_ROWS, fifths
from termwise.deep.networks import drawn_networks, inputs_of
from termwise.deep.optimal import from_one
from termwise.deep.ranking import is_part
from termwise.deep.training import Aim, Descent, Trainable, descend, not_finite, parted
from termwise.kernels.terms import Subset
from termwise.measures.base import Array

SMALL = (32, 32)  # hidden layers of the additive model
MOST_TRIED = 10_000  # rows on which sets are tried: more would say the same of those that matter
LEAST_ROWS = 10  # of fewer nobody knows whether a set helps
JUDGED = 0.2  # of these say whether a set helps; of few rows all do, each such part by what others tell
LEAST_GAIN = 0.02  # a part of what is unexplained, by which it must
CHANCE = float(norm.sf(3.0))  # that it seems to help and does not: three standard errors, more of few rows
LONGER = 3  # is the model trained than what is tried beside it: what it leaves would be learned by any set
IN_VAIN = 6  # sets in a row that do not help, before no more are tried
ROWS_IN_VAIN = 20_000  # divided by the rows, the same where all columns together say more
GROUPS = (2, 4, 8, 16, 32)  # pairs, where none is sure to help by itself and all columns together are


@dataclass(frozen=True)
class Verdict:
    """The sets that help, those that were tried and do not, and what the first do not tell.

    `untold` is the part of the mean absolute error that one network of all columns takes off, zero where that
    is not sure.
    """

    kept: tuple[Subset, ...]
    refused: tuple[Subset, ...]
    untold: float = 0.0


@dataclass(frozen=True, eq=False)
class Fold:
    """Which rows are learned from, which say when to stop, and which whether a set helps; truth values."""

    train: NDArray[np.bool_]
    validation: NDArray[np.bool_]
    judged: NDArray[np.bool_]


def folded(X: Array, rng: np.random.Generator) -> list[Fold]:
    """One fold, or of few rows as many as it takes for each row to be judged."""
    every = np.arange(len(X))
    pieces = fifths(X, rng) if len(X) <= FEW_ROWS else [parted(X, rng, JUDGED).validation]
    found = []
    for judged in pieces:
        others = np.setdiff1d(every, judged)
        inner = parted(X[others], rng)
        rows = others[inner.train], others[inner.validation], judged
        found.append(Fold(*(np.isin(every, some) for some in rows)))
    return found


@dataclass(eq=False)
class Trial:
    """An additive model that is learned anew with each set that helps.

    Beside networks of all single columns, sets are tried one by one. Each learns what the model so far has
    left of the target, of rows that are neither learned from nor say when to stop. What is left is (folds,
    rows): each fold has a model of its own.
    """

    X: Array
    y: Array
    sources: Sequence[int]
    how: Descent
    rng: np.random.Generator

    def __post_init__(self) -> None:
        drawing, self._learning = self.rng.spawn(2)
        chosen = np.sort(drawing.permutation(len(self.y))[:MOST_TRIED])
        self.X, self.y = self.X[chosen], self.y[chosen]
        self._folds = folded(self.X, drawing)
        self.model: list[Subset] = []
        self.keep([(column,) for column in range(max(self.sources) + 1)])

    @property
    def many(self) -> int:
        """How many sets in a row may be tried in vain where all columns together say more."""
        return max(IN_VAIN, ROWS_IN_VAIN // len(self.y))

    def keep(self, sets: Sequence[Subset]) -> None:
        """Learn the model anew with these too."""
        self.model += sets
        longer = replace(
            self.how, max_epochs=LONGER * self.how.max_epochs, patience=LONGER * self.how.patience
        )
        (self._left,) = self._without([self.model], np.tile(self.y, (len(self._folds), 1)), longer)
        self._told: dict[Subset, tuple[bool, bool]] = {}

    def helps(self, columns: Subset, also: Sequence[Subset] = ()) -> tuple[bool, bool]:
        """Whether a set does, and whether its parts of one column less do, all together.

        The set must help more than its parts, which may have more to learn by now. Sets that may be asked for
        next are learned beside it, as many take little longer than one.
        """
        if columns not in self._told:
            together = list(dict.fromkeys([columns, *also]))
            groups = [group for one in together for group in (_parts(one), [one])]
            left = self._errors(groups)
            for one, by_parts, by_set in zip(together, left[::2], left[1::2], strict=True):
                self._told[one] = self._verdict(by_parts, by_set)
        return self._told[columns]

    def _verdict(self, by_parts: Array, by_set: Array) -> tuple[bool, bool]:
        left = self._judged(self._left)
        least = min(left, by_parts, key=_mean)
        return better(least, by_set), better(left, by_parts)

    def needed(self, sets: Sequence[Subset]) -> list[Subset]:
        """Those without which the others leave surely more, the least of them left out one by one.

        Where several act, each alone may be hidden by what the others do. Their columns may have more to
        learn by now, each for itself.
        """
        singles = [(column,) for column in sorted({column for columns in sets for column in columns})]
        sets = list(sets)
        (whole,) = self._without([[*sets, *singles]], self._left)
        while len(sets) > 1:
            others = [[other for other in sets if other != one] for one in sets]
            without = self._without([[*some, *singles] for some in others], self._left)
            least = int(np.argmin([np.mean(np.abs(self._judged(errors))) for errors in without]))
            if better(self._judged(without[least]), self._judged(whole)):
                break
            sets, whole = others[least], without[least]
        return sets

    def untold(self) -> float:
        """The part of the mean absolute error that one network of all columns takes off; zero if not surely.

        Where many sets do a little each, none is sure to help by itself, and all together are.
        """
        if self._everything in self.model or self._everything in self._told:
            return 0.0
        # Networks beside a wide one would be as wide, so each is trained in its turn.
        (by_all,) = self._errors([[self._everything]])
        return taken_off(self._least(), by_all) if better(self._judged(self._left), by_all) else 0.0

    def together(self, pairs: Sequence[Subset]) -> tuple[list[Subset], float]:
        """So many of the first pairs as it takes until the error falls no more, and what they leave untold.

        As few as are within a standard error of the least; none if it does not fall. All that is learned from
        what the model has left.
        """
        groups = [list(pairs[:count]) for count in GROUPS if count < 2 * len(pairs)]
        errors = [self._least(), *(self._errors(groups) if groups else [])]
        sizes = np.abs(errors)
        worse = sizes - sizes[np.argmin(sizes.mean(axis=1))]
        limit = np.std(worse, axis=1) / np.sqrt(sizes.shape[1])
        chosen = int(np.argmax(worse.mean(axis=1) <= limit))
        (by_all,) = self._errors([[self._everything]])
        return [[], *groups][chosen], taken_off(errors[chosen], by_all)

    @property
    def _everything(self) -> Subset:
        return tuple(range(max(self.sources) + 1))

    def _least(self) -> Array:
        """The errors that the model leaves, which may have more to learn by now."""
        (again,) = self._errors([self.model])
        return min(self._judged(self._left), again, key=_mean)

    def _errors(self, groups: Sequence[Sequence[Subset]]) -> list[Array]:
        """Those of judged rows that are left when each group has learned what the model has left."""
        return [self._judged(errors) for errors in self._without(groups, self._left)]

    def _judged(self, errors: Array) -> Array:
        """Those of each fold's own rows, of errors (folds, rows)."""
        return np.concatenate([row[fold.judged] for row, fold in zip(errors, self._folds, strict=True)])

    def _without(
        self, groups: Sequence[Sequence[Subset]], y: Array, how: Descent | None = None
    ) -> list[Array]:
        """What small networks of each group of sets leave of y (folds, rows), all trained side by side."""
        drawing, shuffling = self._learning.spawn(2)
        every = [(fold, group) for fold in range(len(self._folds)) for group in groups]
        own = np.array([fold for fold, _ in every])
        owners = np.repeat(np.arange(len(every)), [len(group) for _, group in every])
        train, validation = (
            np.array([getattr(fold, name) for fold in self._folds]) for name in ("train", "validation")
        )
        scale = np.array([float(np.std(left[rows])) or 1.0 for left, rows in zip(y, train, strict=True)])
        target = y / scale[:, None]
        inputs = inputs_of([one for _, group in every for one in group], self.sources)
        drawn = drawn_networks(inputs, SMALL, 1, drawing)
        networks = from_one(drawn, owners, self.X, target[own], train[own])
        part = Trainable(networks, self.X, len(every), owners=owners)
        aim = _aim(part, target[own], train[own], validation[own])
        scores, _ = descend([part], aim, how or self.how, shuffling)
        if not np.isfinite(scores.reshape(len(self._folds), -1)).all(axis=0).any():
            raise not_finite()
        said = part.kept().outputs(self.X).sum(axis=2)
        summed = np.array([said[owners == one].sum(axis=0) for one in range(len(every))])
        left = y[:, None] - scale[:, None, None] * summed.reshape(len(self._folds), len(groups), -1)
        return list(left.swapaxes(0, 1))


def _aim(part: Trainable, y: Array, train: NDArray[np.bool_], validation: NDArray[np.bool_]) -> Aim:
    """Mean squared errors of the sums of each owner's networks, each of its own target and rows."""
    target, owners = torch.as_tensor(y, dtype=part.dtype), torch.as_tensor(part.owners)
    learned, left_out = (torch.as_tensor(rows, dtype=part.dtype) for rows in (train, validation))

    def errors(chosen: NDArray[np.intp], counted: torch.Tensor) -> torch.Tensor:
        said = part.outputs(chosen).sum(dim=2)
        summed = torch.zeros(part.starts, chosen.size).index_add(0, owners, said)
        squares = counted[:, chosen] * (target[:, chosen] - summed) ** 2
        # Of a small batch none may be an owner's: it then learns nothing from it.
        return squares.sum(dim=1) / counted[:, chosen].sum(dim=1).clamp(min=1.0)

    stopping = np.flatnonzero(validation.any(axis=0))

    def score() -> Array:
        with torch.no_grad():
            found: Array = errors(stopping, left_out).double().numpy()
        return found

    return Aim(lambda chosen: errors(chosen, learned).sum(), score, np.flatnonzero(train.any(axis=0)))


def _mean(errors: Array) -> float:
    return float(np.mean(np.abs(errors)))


def _parts(columns: Subset) -> list[Subset]:
    return list(combinations(columns, len(columns) - 1))


def tried(order: Sequence[Subset], trial: Trial) -> Verdict:
    """Try sets in the order of their ranks, until several in a row do not help.

    Where one network of all columns then says more, many more are tried, and the pairs in them. If none is
    sure to help by itself, many do a little each: the strongest pairs are kept together.
    """
    kept: list[Subset] = []
    refused = _one_by_one(order, trial, kept, IN_VAIN)
    untold = trial.untold()
    if untold:
        count = len(kept)
        # What was refused already is not asked anew.
        refused = _one_by_one([*order, *_pairs(order, kept)], trial, kept, trial.many)
        untold = trial.untold() if len(kept) > count else untold
    if untold:
        together, untold = trial.together(_pairs(order, kept))
        kept += together
    return Verdict(tuple(kept), tuple(one for one in refused if one not in kept), untold)


def _one_by_one(order: Sequence[Subset], trial: Trial, kept: list[Subset], in_vain: int) -> list[Subset]:
    """Keep sets that help, until so many in a row do not; returns those that were refused.

    Of a set that does not help, though its parts do, the parts come next: a network may name columns together
    that act in pairs. Pairs that are needed beside each other are kept at once. Sets that were refused are
    tried again when another was kept: what they do may have been hidden by what was still to be learned.
    Parts of sets that were kept have nothing more to say.
    """
    waiting, refused = list(order), list[Subset]()
    while waiting and len(refused) < in_vain:
        columns = waiting.pop(0)
        if columns in refused or columns in kept or is_part(columns, kept):
            continue
        # After some in vain the next will most likely be, too, and can be asked for at once.
        helps, parts_help = trial.helps(columns, waiting[: len(refused)])
        found, parts = [columns] if helps else [], list[Subset]()
        if parts_help and not helps and len(columns) > 2:
            parts = [part for part in _parts(columns) if part not in kept]
            pairs = trial.needed(parts) if len(columns) == 3 and len(parts) > 1 else []
            found = pairs if len(pairs) > 1 else []
        if not helps:
            refused.append(columns)
            waiting = parts + waiting
        if found:
            trial.keep(found)
            kept += found
            waiting, refused = refused + waiting, []
    return refused


def _pairs(order: Sequence[Subset], kept: Sequence[Subset]) -> list[Subset]:
    """The pairs of sets in the order of their ranks, without those that were kept and their parts."""
    found = dict.fromkeys(pair for columns in order for pair in combinations(columns, 2))
    return [pair for pair in found if pair not in kept and not is_part(pair, kept)]


def taken_off(before: Array, after: Array) -> float:
    """The part by which mean absolute errors are smaller than they were; zero if not surely."""
    return 1.0 - _mean(after) / _mean(before) if better(before, after) else 0.0


def better(before: Array, after: Array) -> bool:
    """Whether errors are surely smaller than they were; of one row nobody knows."""
    # Absolute errors: squares of a few rows far off would hide what is gained in all others. Those of several
    # folds count as independent, which they nearly are: each row is judged once.
    least = np.abs(before)
    gain = least - np.abs(after)
    if gain.size < 2:
        return False
    error = float(np.std(gain, ddof=1)) / np.sqrt(gain.size)
    certain = float(t.isf(CHANCE, gain.size - 1)) * error
    return bool(np.mean(gain) > max(LEAST_GAIN * float(np.mean(least)), certain))
