"""Which columns interact: a network that is made to say it, several times, and a test of what it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from numpy.typing import NDArray

from termwise.deep.networks import Networks, drawn_networks
from termwise.deep.optimal import Shape, Wanted, fit_optimal, inputs_of
from termwise.deep.ranking import Strengths, mean_strengths, ranked, set_strengths
from termwise.deep.training import Descent, Rows, Trainable, descend, parted
from termwise.kernels.terms import Subset
from termwise.measures.base import Array

TOGETHER, ALONE = (140, 100, 60, 20), (10, 10, 10)  # hidden layers of all columns, and of each. Section 5.1
SMALL = (32, 32)  # of the additive model that says how many sets there are
# Of the network of all columns only, so that what single columns do is left to the others. Weights are moved
# towards zero by this part of each step of Adam: as a part of the loss, as section 5.1 has it, the noise of
# minibatches would hold those that do nothing away from zero, and their products make up the strengths.
SHRINKING = (0.05, 0.1, 0.2)
TRIES = 2  # networks of each
# Of those with about the least validation error the largest is taken, with the fewest weights: so many times
# the least, and a part of the variance of the target more.
TOLERATED, ANYWAY = 1.25, 0.01
STEPS = 2000  # of training: long enough for weights that do nothing to come to zero
BATCHES, LEAST_BATCH, MOST_BATCH = 40, 100, 500  # of an epoch, and their rows
MOST_TRIED = 5000  # rows on which sets are tried: more would say the same of those that matter
JUDGED = 0.2  # of these say whether a set helps
LEAST_GAIN, CERTAIN = 0.03, 3.0  # a part of what is unexplained, and standard errors, by which it must
IN_VAIN = 4  # sets in a row that do not help, before no more are tried


@dataclass(frozen=True, eq=False)
class Detection:
    """Ranked sets, their strengths, how often each was found, and which of them help to predict.

    `found` is the part of the networks that rank the set among their own first as many as are kept. `trend`
    is the mean of all networks as one: sums of outputs.
    """

    sets: tuple[Subset, ...]
    strengths: tuple[float, ...]
    found: tuple[float, ...]
    kept: tuple[bool, ...]
    trend: tuple[Networks, Networks]


@dataclass(frozen=True)
class Search:
    """How many networks are asked, for sets of how many columns at most, and the most epochs of training."""

    seeds: int = 5
    max_size: int = 4
    max_epochs: int = 300

    def network(self, n_rows: int) -> Descent:
        """How the networks that are asked are trained."""
        batch = int(np.clip(n_rows // BATCHES, LEAST_BATCH, MOST_BATCH))
        epochs = -(-STEPS // max(1, round(n_rows / batch)))
        return Descent(max_epochs=min(epochs, self.max_epochs), batch=batch, whole=True)

    @property
    def test(self) -> Descent:
        """How the small networks are that say whether a set helps."""
        return Descent(max_epochs=min(100, self.max_epochs), patience=6)


def detect(X: Array, y: Array, sources: Sequence[int], search: Search, rng: np.random.Generator) -> Detection:
    """Train, rank, and test in the order of the ranks; y is standardised."""
    splitting, choosing, training, testing = rng.spawn(4)
    rows, how = parted(len(y), splitting), search.network(len(y))
    _, tried = _networks(X, y, sources, SHRINKING * TRIES, how, rows, choosing)
    errors = tried.reshape(TRIES, -1).min(axis=0)  # one may have come to a halt early
    chosen = max(np.array(SHRINKING)[errors <= TOLERATED * np.min(errors) + ANYWAY])
    trend, _ = _networks(X, y, sources, (chosen,) * search.seeds, how, rows, training)
    each = [set_strengths(trend[0], seed, sources, search.max_size) for seed in range(search.seeds)]
    strengths = mean_strengths(each)
    order = ranked(strengths)
    kept = _helpful(X, y, sources, order, search.test, testing)
    found = tuple(_stability(columns, each, max(sum(kept), 1)) for columns in order)
    return Detection(
        tuple(order), tuple(strengths[s] for s in order), found, kept, _mean(trend, search.seeds)
    )


def _networks(
    X: Array,
    y: Array,
    sources: Sequence[int],
    shrinking: Sequence[float],
    how: Descent,
    rows: Rows,
    rng: np.random.Generator,
) -> tuple[tuple[Networks, Networks], Array]:
    """Networks of all columns that shrink so fast, each beside one for each column; and validation errors."""
    drawing, alone, shuffling = rng.spawn(3)
    count = len(shrinking)
    single = inputs_of([(column,) for column in range(max(sources) + 1)], sources)
    mixed = drawn_networks((tuple(range(X.shape[1])),) * count, TOGETHER, 1, drawing)
    parts = [
        Trainable(mixed, X, count),
        Trainable(drawn_networks(single * count, ALONE, 1, alone), X, count),
    ]
    target = torch.as_tensor(y, dtype=torch.float32)
    speed = torch.as_tensor(shrinking, dtype=torch.float32)[:, None, None]

    def errors(chosen: NDArray[np.intp]) -> torch.Tensor:
        return (target[chosen] - parts[0].summed(chosen) - parts[1].summed(chosen)) ** 2

    def loss(chosen: NDArray[np.intp]) -> torch.Tensor:
        return errors(chosen).mean(dim=1).sum()

    def shrink(step: float) -> None:
        with torch.no_grad():
            for weight in parts[0].weights:
                weight.copy_(weight.sign() * (weight.abs() - step * speed).clamp(min=0.0))

    def score() -> Array:
        with torch.no_grad():
            found: Array = errors(rows.validation).mean(dim=1).double().numpy()
        return found

    left, _ = descend(parts, loss, score, rows.train, how, shuffling, after=shrink)
    return (parts[0].kept(), parts[1].kept()), left


def _mean(trend: tuple[Networks, Networks], seeds: int) -> tuple[Networks, Networks]:
    """With last layers divided by the number of seeds, so that the sum of all is the mean over seeds."""
    first, second = (
        Networks(
            part.inputs,
            (*part.weights[:-1], part.weights[-1] / seeds),
            (*part.biases[:-1], part.biases[-1] / seeds),
        )
        for part in trend
    )
    return first, second


def _stability(columns: Subset, each: Sequence[Strengths], count: int) -> float:
    return float(np.mean([columns in ranked(strengths)[:count] for strengths in each]))


def _helpful(
    X: Array,
    y: Array,
    sources: Sequence[int],
    order: Sequence[Subset],
    how: Descent,
    rng: np.random.Generator,
) -> tuple[bool, ...]:
    """Which sets help to predict rows that are neither learned from nor say when to stop.

    Beside networks of all single columns, sets are tried in the order of their ranks. Each learns what the
    additive model so far has left. It must do so better than all its parts of one column less together, which
    may have more to learn by now; if it does, the model is learned anew with it. Sets that were refused
    before that are tried again: what they do may have been hidden by what was still to be learned.
    """
    drawing, learning = rng.spawn(2)
    chosen = np.sort(drawing.permutation(len(y))[:MOST_TRIED])
    X, y = X[chosen], y[chosen]
    judged = parted(len(y), drawing, JUDGED)
    inner = parted(judged.train.size, drawing)
    rows = Rows(judged.train[inner.train], judged.train[inner.validation])
    model: list[Subset] = [(column,) for column in range(max(sources) + 1)]
    left = _left(X, y, inputs_of(model, sources), how, rows, learning)
    waiting: list[Subset] = list(order)
    refused: list[Subset] = []
    while waiting and len(refused) < IN_VAIN:
        columns = waiting.pop(0)
        parts = list(combinations(columns, len(columns) - 1))
        tried = [_left(X, left, inputs_of(one, sources), how, rows, learning) for one in (parts, [columns])]
        if not _better(*(one[judged.validation] for one in (left, *tried))):
            refused.append(columns)
            continue
        model.append(columns)
        left = _left(X, y, inputs_of(model, sources), how, rows, learning)
        waiting, refused = refused + waiting, []
    return tuple(columns in model for columns in order)


def _better(left: Array, by_parts: Array, by_set: Array) -> bool:
    """Whether the errors of a set are surely smaller than those of its parts, and those without either."""
    # Absolute errors: squares of a few rows far off would hide what is gained in all others.
    least, by_set = min((np.abs(left), np.abs(by_parts)), key=np.mean), np.abs(by_set)
    gain = least - by_set
    error = float(np.std(gain)) / np.sqrt(gain.size)
    return bool(np.mean(gain) > max(LEAST_GAIN * float(np.mean(least)), CERTAIN * error))


def _left(
    X: Array,
    y: Array,
    inputs: tuple[tuple[int, ...], ...],
    how: Descent,
    rows: Rows,
    rng: np.random.Generator,
) -> Array:
    """What small networks of these numbers leave of y."""
    scale = float(np.std(y[rows.train])) or 1.0
    shape, wanted = Shape(inputs, SMALL), Wanted(plain=True)
    found = fit_optimal(X, y / scale, shape, how, rows, rng, wanted=wanted)
    left: Array = y - scale * found.networks.outputs(X).sum(axis=(0, 2))
    return left
