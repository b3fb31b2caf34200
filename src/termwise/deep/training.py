"""Adam on batched networks: minibatches, validation, early stopping, several starts at once.

Imports PyTorch; who has not got it comes as far as `backend.require_torch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from termwise.deep.networks import Networks, forward, gathered
from termwise.errors import NumericalError
from termwise.measures.base import Array

LEAST_GAIN = 1e-4  # by which part a validation score must fall to count as better
SLOWER, SLOWDOWNS = 0.3, 3  # the step is shortened by this so many times before the end


@dataclass(frozen=True)
class Descent:
    """How networks are trained: the step of Adam, rows of a minibatch, and when to stop.

    After `patience` epochs without a better validation score the step is shortened, and training goes on from
    the best weights; after a few times that is the end. With `alternating` the networks take turns, one for
    each epoch.
    """

    max_epochs: int = 300
    learning_rate: float = 5e-3
    batch: int = 256
    patience: int = 15
    weight_decay: float = 0.0
    alternating: bool = False


@dataclass(frozen=True, eq=False)
class Rows:
    """Which rows are learned from, and which say when to stop."""

    train: NDArray[np.intp]
    validation: NDArray[np.intp]


def parted(n: int, rng: np.random.Generator, part: float = 0.1) -> Rows:
    """A part of the rows left out at random, at least one."""
    order = rng.permutation(n)
    count = max(1, round(part * n))
    return Rows(np.sort(order[count:]), np.sort(order[:count]))


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
    """Networks as tensors of PyTorch, beside the rows that they read: as many for each start, start by start.

    They compute in float32, as their weights are found by noisy steps anyway; `dtype` can say otherwise.
    """

    def __init__(
        self, networks: Networks, X: Array, starts: int = 1, dtype: torch.dtype = torch.float32
    ) -> None:
        self.inputs, self.starts = networks.inputs, starts
        self.owners = np.repeat(np.arange(starts), len(networks.inputs) // starts)
        self.cells = torch.as_tensor(gathered(X, networks.inputs), dtype=dtype)
        self.weights = [_leaf(part, dtype) for part in networks.weights]
        self.biases = [_leaf(part, dtype) for part in networks.biases]

    @property
    def parameters(self) -> list[torch.Tensor]:
        """All of them; the first axis of each is that of the networks."""
        return [*self.weights, *self.biases]

    def outputs(self, rows: Any) -> torch.Tensor:
        """What each network says of some rows, (k, rows, out)."""
        return torch.as_tensor(forward(self.cells[:, rows], self.weights, self.biases, torch.tanh))

    def summed(self, rows: Any) -> torch.Tensor:
        """The sum of all outputs of the networks of each start, (starts, rows)."""
        return self.each(rows).sum(dim=1)

    def each(self, rows: Any) -> torch.Tensor:
        """The sum of the outputs of each network, (starts, networks of a start, rows)."""
        outputs = self.outputs(rows).sum(dim=2)
        return outputs.reshape(self.starts, -1, outputs.shape[1])

    def kept(self) -> Networks:
        """As plain arrays."""
        weights = tuple(part.detach().double().numpy().copy() for part in self.weights)
        biases = tuple(part.detach().double().numpy().copy() for part in self.biases)
        return Networks(self.inputs, weights, biases)


def _leaf(values: Array, dtype: torch.dtype) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype, requires_grad=True)


Loss = Callable[[NDArray[np.intp]], torch.Tensor]
Score = Callable[[], Array]  # of the validation rows, for each start


def descend(
    parts: Sequence[Trainable],
    loss: Loss,
    score: Score,
    train: NDArray[np.intp],
    how: Descent,
    rng: np.random.Generator,
    before: Callable[[], None] | None = None,
) -> tuple[Array, int]:
    """Train until the validation score of no start gets better; all are left at their best weights.

    `loss` is of some rows, `before` is called before each epoch. Returns the best score of each start and
    the epochs.
    """
    parameters = [parameter for part in parts for parameter in part.parameters]
    optimiser = torch.optim.AdamW(parameters, how.learning_rate, weight_decay=how.weight_decay)
    best = np.full(parts[0].starts, np.inf)
    kept = [parameter.detach().clone() for parameter in parameters]
    waited, slowed, epoch = 0, 0, 0
    while epoch < how.max_epochs and slowed <= SLOWDOWNS:
        if before is not None:
            before()
        turn = epoch if how.alternating else None
        _epoch(parts, optimiser, loss, _minibatches(train, how.batch, rng), turn)
        epoch += 1
        scores = score()
        _require_finite(scores)
        better = (scores < best * (1.0 - LEAST_GAIN)) | (np.isinf(best) & np.isfinite(scores))
        best = np.where(better, scores, best)
        _copy(parts, kept, better, back=False)
        waited = 0 if np.any(better) else waited + 1
        if waited >= how.patience:
            waited, slowed = 0, slowed + 1
            _copy(parts, kept, np.ones(best.size, dtype=bool), back=True)
            for group in optimiser.param_groups:
                group["lr"] *= SLOWER
    _copy(parts, kept, np.ones(best.size, dtype=bool), back=True)
    return best, epoch


def _minibatches(train: NDArray[np.intp], size: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """All rows once, in batches of about the same size."""
    count = max(1, round(train.size / size))
    return [np.sort(part) for part in np.array_split(rng.permutation(train), count)]


def _epoch(
    parts: Sequence[Trainable],
    optimiser: torch.optim.Optimizer,
    loss: Loss,
    batches: Sequence[NDArray[np.intp]],
    turn: int | None,
) -> None:
    for rows in batches:
        optimiser.zero_grad()
        loss(rows).backward()
        if turn is None:
            optimiser.step()
            continue
        before = [[parameter.detach().clone() for parameter in part.parameters] for part in parts]
        optimiser.step()
        _undo(parts, before, turn)


def _undo(parts: Sequence[Trainable], before: Sequence[Sequence[torch.Tensor]], turn: int) -> None:
    """Put all networks back but the one of each start whose turn it is."""
    for part, old in zip(parts, before, strict=True):
        each = part.owners.size // part.starts
        still = torch.as_tensor(np.arange(part.owners.size) % each != turn % each)
        with torch.no_grad():
            for parameter, was in zip(part.parameters, old, strict=True):
                parameter[still] = was[still]


def _copy(parts: Sequence[Trainable], kept: list[torch.Tensor], starts: NDArray[Any], *, back: bool) -> None:
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
        raise NumericalError(
            "training diverged: the validation error is not finite any more; use a smaller learning_rate, "
            "and look for extreme values in the table"
        )
