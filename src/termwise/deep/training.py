"""Adam on batched networks: minibatches, validation, early stopping, several starts at once.

Imports PyTorch; who has not got it comes as far as `backend.require_torch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from termwise.deep.networks import Networks, forward, padded
from termwise.errors import NumericalError
from termwise.measures.base import Array

LEAST_FALL = 1e-4  # by which part a validation score must fall to count as better
LEAST_TELLING = 10  # rows of which the noise can be told
LEAST_LEFT_OUT = 2  # different rows, on average, if equal ones are to stay together
SLOWER = 0.3  # by which the step is shortened


@dataclass(frozen=True)
class Descent:
    """How networks are trained: the step of Adam, rows of a minibatch, and when to stop.

    After `patience` epochs without a better validation score the step is shortened, and training goes on from
    the best weights; after so many `slowdowns` that is the end. With `alternating` the networks take turns,
    one for each epoch, and patience is counted in rounds of all. With `whole` all epochs are made, or
    `max_steps` if these are fewer, and the last weights stay; the step falls to zero if it is `falling`. The
    weights that there are have the score `to_beat`.
    """

    max_epochs: int = 300
    learning_rate: float = 5e-3
    batch: int = 256
    patience: int = 15
    slowdowns: int = 3
    alternating: bool = False
    whole: bool = False
    falling: bool = True
    max_steps: int | None = None
    to_beat: float = np.inf

    def batches(self, n_rows: int) -> int:
        """How many steps an epoch of so many rows has."""
        return max(1, round(n_rows / self.batch))

    def steps(self, n_rows: int) -> int:
        """How many steps there are at most."""
        every = self.max_epochs * self.batches(n_rows)
        return every if self.max_steps is None else min(every, self.max_steps)

    @property
    def unslowed(self) -> Descent:
        """As far as the first step goes."""
        return replace(self, slowdowns=0)

    def slowed(self, epochs: int, score: float) -> Descent:
        """What comes after so many epochs of that, which have led to a score."""
        slower, left = SLOWER * self.learning_rate, self.max_epochs - epochs
        fewer = self.slowdowns - 1
        return replace(self, learning_rate=slower, slowdowns=fewer, max_epochs=left, to_beat=score)


@dataclass(frozen=True, eq=False)
class Rows:
    """Which rows are learned from, and which say when to stop."""

    train: NDArray[np.intp]
    validation: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Lesson:
    """What is learned from: rows as numbers, a standardised target, and how they part.

    `complete` says which rows have all their cells, if some have not.
    """

    X: Array
    y: Array
    rows: Rows
    complete: NDArray[np.bool_] | None = None

    def telling(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Those of some rows that say how large the noise is: where cells are missing, errors are larger."""
        if self.complete is None or np.count_nonzero(self.complete[rows]) < LEAST_TELLING:
            return rows
        return rows[self.complete[rows]]

    def only(self, chosen: NDArray[np.intp], rng: np.random.Generator) -> Lesson:
        """Some rows, which part anew."""
        complete = None if self.complete is None else self.complete[chosen]
        return Lesson(self.X[chosen], self.y[chosen], parted(self.X[chosen], rng), complete)


def parted(X: Array, rng: np.random.Generator, part: float = 0.1) -> Rows:
    """About a part of the rows left out at random, at least one."""
    validation, train = cut(X, rng, [max(1, round(part * len(X)))])
    return Rows(np.sort(train), np.sort(validation))


def cut(X: Array, rng: np.random.Generator, ends: Sequence[int]) -> list[NDArray[np.intp]]:
    """Rows in an order at random, cut behind so many of them: equal rows are in one piece.

    Or they would be known where they are left out; a piece then ends with the last of them. Of few different
    rows, each many times, that says no less of new ones, and some of each are wanted.
    """
    order = rng.permutation(len(X))
    rows = np.ascontiguousarray(X[order]).view(np.dtype((np.void, X.itemsize * X.shape[1]))).ravel()
    _, first, which = np.unique(rows, return_index=True, return_inverse=True)
    if first.size * ends[0] < LEAST_LEFT_OUT * len(X):
        return np.split(order, ends)
    together = np.argsort(first[which], kind="stable")
    last = np.flatnonzero(np.diff(first[which][together])) + 1  # where others follow
    return np.split(order[together], last[np.minimum(np.searchsorted(last, ends), last.size - 1)])


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """So many threads of PyTorch meanwhile, one if none are asked for: small products wait for each other.

    With a number of its own a fit is the same on every machine, too.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(count if count is not None and count > 0 else 1 if count is None else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Trainable:
    """Networks as tensors of PyTorch, beside the rows that they read: as many for each start, start by start,
    unless `owners` says otherwise.

    They compute in float32, as their weights are found by noisy steps anyway; `dtype` can say otherwise.
    """

    pace = 1.0

    def __init__(
        self,
        networks: Networks,
        X: Array,
        starts: int = 1,
        dtype: torch.dtype = torch.float32,
        owners: NDArray[np.intp] | None = None,
    ) -> None:
        self.inputs, self.starts, self.dtype = networks.inputs, starts, dtype
        alike = np.repeat(np.arange(starts), len(networks.inputs) // starts)
        self.owners = alike if owners is None else owners
        # Gathered anew for each minibatch: networks that read the same features would each keep a copy.
        self._cells = torch.as_tensor(np.column_stack([X, np.zeros(len(X))]), dtype=dtype)
        self._reads = torch.as_tensor(padded(networks.inputs, X.shape[1]))
        self.weights = [_leaf(part, dtype) for part in networks.weights]
        self.biases = [_leaf(part, dtype) for part in networks.biases]

    @property
    def parameters(self) -> list[torch.Tensor]:
        """All of them; the first axis of each is that of the networks."""
        return [*self.weights, *self.biases]

    def outputs(self, rows: Any) -> torch.Tensor:
        """What each network says of some rows, (k, rows, out)."""
        cells = self._cells[rows][:, self._reads].transpose(0, 1)
        return torch.as_tensor(forward(cells, self.weights, self.biases, torch.nn.functional.silu))

    def summed(self, rows: Any) -> torch.Tensor:
        """The sum of all outputs of the networks of each start, (starts, rows)."""
        return self.each(rows).sum(dim=1)

    def each(self, rows: Any) -> torch.Tensor:
        """The sum of the outputs of each network, (starts, networks of a start, rows)."""
        outputs = self.outputs(rows).sum(dim=2)
        return outputs.reshape(self.starts, -1, outputs.shape[1])

    def hold(self, masks: Sequence[Array]) -> None:
        """Set weights to zero where the mask of their layer is, and keep them there."""
        for weight, values in zip(self.weights, masks, strict=True):
            mask = torch.as_tensor(values, dtype=weight.dtype)
            with torch.no_grad():
                weight.mul_(mask)
            # With a gradient of zero from the beginning Adam does not move them.
            weight.register_hook(lambda gradient, mask=mask: gradient * mask)

    def copies(self) -> list[torch.Tensor]:
        """All parameters as they are now."""
        return [parameter.detach().clone() for parameter in self.parameters]

    def kept(self) -> Networks:
        """As plain arrays."""
        weights = tuple(part.detach().double().numpy().copy() for part in self.weights)
        biases = tuple(part.detach().double().numpy().copy() for part in self.biases)
        return Networks(self.inputs, weights, biases)


def _leaf(values: Array, dtype: torch.dtype) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype, requires_grad=True)


class Part(Protocol):
    """Parameters that are trained: the first axis of each is shared out among starts by `owners`.

    `pace` is the length of their steps, in those of networks.
    """

    pace: float
    starts: int
    owners: NDArray[np.intp]

    @property
    def parameters(self) -> list[torch.Tensor]:
        """All of them."""

    def copies(self) -> list[torch.Tensor]:
        """All as they are now."""


@dataclass(frozen=True, eq=False)
class Aim:
    """What is trained for: the loss of some rows, of those of `train`, and a score that is to fall.

    `score` is of the validation rows, for each start. `before` is called before each epoch; `after` with the
    length of each step that was made, and the part of all steps that are then behind.
    """

    loss: Callable[[NDArray[np.intp]], torch.Tensor]
    score: Callable[[], Array]
    train: NDArray[np.intp]
    before: Callable[[], None] | None = None
    after: Callable[[float, float], None] | None = None


def descend(parts: Sequence[Part], aim: Aim, how: Descent, rng: np.random.Generator) -> tuple[Array, int]:
    """Train until the score of no start gets better; all are left at their best weights.

    Returns the best score of each start and the epochs.
    """
    optimiser = torch.optim.Adam([{"params": part.parameters} for part in parts], fused=True)
    walk = _Walk(parts, aim, how, optimiser)
    best = np.full(parts[0].starts, how.to_beat)
    kept = [copy for part in parts for copy in part.copies()]
    turns = max(part.owners.size // part.starts for part in parts) if how.alternating else 1
    waited, slowed, epoch = 0, 0, 0
    while not walk.over and slowed <= how.slowdowns:
        if aim.before is not None:
            aim.before()
        walk.epoch(rng, epoch if how.alternating else None)
        epoch += 1
        scores = aim.score()
        _require_finite(scores)
        better = how.whole | (scores < best * (1.0 - LEAST_FALL)) | (np.isinf(best) & np.isfinite(scores))
        best = np.where(better, scores, best)
        _copy(parts, kept, better, back=False)
        waited = 0 if np.any(better) else waited + 1
        if waited >= turns * how.patience:
            waited, slowed = 0, slowed + 1
            _copy(parts, kept, np.ones(best.size, dtype=bool), back=True)
            walk.length = how.learning_rate * SLOWER**slowed
    _copy(parts, kept, np.ones(best.size, dtype=bool), back=True)
    return best, epoch


class _Walk:
    """Steps of Adam, counted: how long each is may depend on how many were made."""

    def __init__(
        self, parts: Sequence[Part], aim: Aim, how: Descent, optimiser: torch.optim.Optimizer
    ) -> None:
        self._parts, self._aim, self._how, self._optimiser = parts, aim, how, optimiser
        self._made, self._most = 0, how.steps(aim.train.size)
        self.length = how.learning_rate

    @property
    def over(self) -> bool:
        """Whether all steps were made."""
        return self._made >= self._most

    def epoch(self, rng: np.random.Generator, turn: int | None) -> None:
        """All rows once, in batches of about the same size; of one network of each start if it has a turn."""
        train = rng.permutation(self._aim.train)
        for rows in np.array_split(train, self._how.batches(train.size))[: self._most - self._made]:
            self._step(np.sort(rows), turn)

    def _step(self, rows: NDArray[np.intp], turn: int | None) -> None:
        # By steps and not by epochs: a long table has one epoch only.
        falls = self._how.whole and self._how.falling
        length = self.length * (1.0 - self._made / self._most if falls else 1.0)
        for group, part in zip(self._optimiser.param_groups, self._parts, strict=True):
            group["lr"] = length * part.pace
        still = [part.copies() for part in self._parts] if turn is not None else []
        self._optimiser.zero_grad()
        self._aim.loss(rows).backward()
        self._optimiser.step()
        self._made += 1
        if turn is not None:
            _undo(self._parts, still, turn)
        if self._aim.after is not None:
            self._aim.after(length, self._made / self._most)


def _undo(parts: Sequence[Part], before: Sequence[Sequence[torch.Tensor]], turn: int) -> None:
    """Put all networks back but the one of each start whose turn it is."""
    for part, old in zip(parts, before, strict=True):
        each = part.owners.size // part.starts
        still = torch.as_tensor(np.arange(part.owners.size) % each != turn % each)
        with torch.no_grad():
            for parameter, was in zip(part.parameters, old, strict=True):
                parameter[still] = was[still]


def _copy(parts: Sequence[Part], kept: list[torch.Tensor], starts: NDArray[Any], *, back: bool) -> None:
    """Keep the weights of some starts, or put back what was kept."""
    copies = iter(kept)
    with torch.no_grad():
        for part in parts:
            chosen = torch.as_tensor(starts[part.owners])
            for parameter in part.parameters:
                copy = next(copies)
                (to, of) = (parameter, copy) if back else (copy, parameter)
                to[chosen] = of[chosen]


def _require_finite(scores: Array) -> None:
    # one start may fail, as long as another goes on
    if not np.any(np.isfinite(scores)):
        raise not_finite()


def not_finite() -> NumericalError:
    """What is said when no start is left."""
    return NumericalError(
        "training diverged: the validation error is not finite any more; look for extreme values in the "
        "table, or give DeepKernelRegressor a smaller learning_rate"
    )
