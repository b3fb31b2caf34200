"""Which sets of columns help to predict, each beside what single columns and other sets have said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import norm, t

from termwise.deep.networks import drawn_networks, inputs_of
from termwise.deep.optimal import from_one
from termwise.deep.ranking import is_part
from termwise.deep.training import Aim, Descent, Rows, Trainable, descend, parted
from termwise.kernels.terms import Subset
from termwise.measures.base import Array

SMALL = (32, 32)  # hidden layers of the additive model
MOST_TRIED = 10_000  # rows on which sets are tried: more would say the same of those that matter
LEAST_ROWS = 10  # of fewer nobody knows whether a set helps
JUDGED = 0.2  # of these say whether a set helps
LEAST_GAIN = 0.02  # a part of what is unexplained, by which it must
CHANCE = float(norm.sf(3.0))  # that it seems to help and does not: three standard errors, more of few rows
LONGER = 3  # is the model trained than what is tried beside it: what it leaves would be learned by any set
IN_VAIN = 6  # sets in a row that do not help, before no more are tried


@dataclass(frozen=True)
class Verdict:
    """The sets that help, and those that were tried and do not."""

    kept: tuple[Subset, ...]
    refused: tuple[Subset, ...]


@dataclass(eq=False)
class Trial:
    """An additive model that is learned anew with each set that helps.

    Beside networks of all single columns, sets are tried one by one. Each learns what the model so far has
    left of the target, of rows that are neither learned from nor say when to stop.
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
        judged = parted(self.X, drawing, JUDGED)
        inner = parted(self.X[judged.train], drawing)
        self._rows = Rows(judged.train[inner.train], judged.train[inner.validation])
        self._judged = judged.validation
        self.model: list[Subset] = []
        self.keep([(column,) for column in range(max(self.sources) + 1)])

    def keep(self, sets: Sequence[Subset]) -> None:
        """Learn the model anew with these too."""
        self.model += sets
        longer = replace(
            self.how, max_epochs=LONGER * self.how.max_epochs, patience=LONGER * self.how.patience
        )
        (self._left,) = self._without([self.model], self.y, longer)
        self._told: dict[Subset, tuple[bool, bool]] = {}

    def helps(self, columns: Subset, also: Sequence[Subset] = ()) -> tuple[bool, bool]:
        """Whether a set does, and whether its parts of one column less do, all together.

        The set must help more than its parts, which may have more to learn by now. Sets that may be asked for
        next are learned beside it, as many take little longer than one.
        """
        if columns not in self._told:
            together = list(dict.fromkeys([columns, *also]))
            groups = [group for one in together for group in (_parts(one), [one])]
            left = [errors[self._judged] for errors in self._without(groups, self._left)]
            for one, by_parts, by_set in zip(together, left[::2], left[1::2], strict=True):
                self._told[one] = self._verdict(by_parts, by_set)
        return self._told[columns]

    def _verdict(self, by_parts: Array, by_set: Array) -> tuple[bool, bool]:
        left = self._left[self._judged]
        least = min(left, by_parts, key=lambda errors: float(np.mean(np.abs(errors))))
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
            least = int(np.argmin([np.mean(np.abs(errors[self._judged])) for errors in without]))
            if better(without[least][self._judged], whole[self._judged]):
                break
            sets, whole = others[least], without[least]
        return sets

    def _without(
        self, groups: Sequence[Sequence[Subset]], y: Array, how: Descent | None = None
    ) -> list[Array]:
        """What small networks of each group of sets leave of y, all groups trained side by side."""
        drawing, shuffling = self._learning.spawn(2)
        scale, rows, count = float(np.std(y[self._rows.train])) or 1.0, self._rows, len(groups)
        owners = np.repeat(np.arange(count), [len(group) for group in groups])
        inputs = inputs_of([one for group in groups for one in group], self.sources)
        networks = from_one(drawn_networks(inputs, SMALL, 1, drawing), owners, self.X, y / scale, rows.train)
        part = Trainable(networks, self.X, count, owners=owners)
        target, own = torch.as_tensor(y / scale, dtype=part.dtype), torch.as_tensor(owners)

        def errors(chosen: NDArray[np.intp]) -> torch.Tensor:
            said = part.outputs(chosen).sum(dim=2)
            summed = torch.zeros(count, chosen.size).index_add(0, own, said)
            return ((target[chosen] - summed) ** 2).mean(dim=1)

        def score() -> Array:
            with torch.no_grad():
                found: Array = errors(rows.validation).double().numpy()
            return found

        descend(
            [part], Aim(lambda chosen: errors(chosen).sum(), score, rows.train), how or self.how, shuffling
        )
        said = part.kept().outputs(self.X).sum(axis=2)
        return [y - scale * said[owners == group].sum(axis=0) for group in range(count)]


def _parts(columns: Subset) -> list[Subset]:
    return list(combinations(columns, len(columns) - 1))


def tried(order: Sequence[Subset], trial: Trial) -> Verdict:
    """Try sets in the order of their ranks, until several in a row do not help.

    Of a set that does not help, though its parts do, the parts come next: a network may name columns together
    that act in pairs. Pairs that are needed beside each other are kept at once. Sets that were refused are
    tried again when another was kept: what they do may have been hidden by what was still to be learned.
    Parts of sets that were kept have nothing more to say.
    """
    waiting: list[Subset] = list(order)
    refused: list[Subset] = []
    kept: list[Subset] = []
    while waiting and len(refused) < IN_VAIN:
        columns = waiting.pop(0)
        if columns in refused or columns in kept or is_part(columns, kept):
            continue
        # After some in vain the next will most likely be, too, and can be asked for at once.
        helps, parts_help = trial.helps(columns, waiting[: len(refused)])
        found, parts = [columns] if helps else [], list[Subset]()
        if parts_help and not helps and len(columns) > 2:
            parts = _parts(columns)
            pairs = trial.needed(parts) if len(columns) == 3 else []
            found = pairs if len(pairs) > 1 else []
        if not helps:
            refused.append(columns)
            waiting = parts + waiting
        if found:
            trial.keep(found)
            kept += found
            waiting, refused = refused + waiting, []
    return Verdict(tuple(kept), tuple(refused))


def better(before: Array, after: Array) -> bool:
    """Whether errors are surely smaller than they were; of one row nobody knows."""
    # Absolute errors: squares of a few rows far off would hide what is gained in all others.
    least = np.abs(before)
    gain = least - np.abs(after)
    if gain.size < 2:
        return False
    error = float(np.std(gain, ddof=1)) / np.sqrt(gain.size)
    certain = float(t.isf(CHANCE, gain.size - 1)) * error
    return bool(np.mean(gain) > max(LEAST_GAIN * float(np.mean(least)), certain))
