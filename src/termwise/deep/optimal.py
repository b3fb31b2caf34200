"""Training of kernels of rank one, g(x) g(x') with g a sum of networks: D-OK and D-IOK of the paper."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray

from termwise.deep.networks import Networks, drawn_networks
from termwise.deep.rank_one import Amplitude, amplitude, best_noise
from termwise.deep.training import Aim, Descent, Lesson, Trainable, descend
from termwise.errors import NumericalError
from termwise.measures.base import Array

LEAST_NOISE = 1e-6  # of the variance of the target
MOST_SWEEPS, AT_REST = 20_000, 1e-9  # over the weights of sets, and their last move in sd of the target


@dataclass(frozen=True)
class Shape:
    """What networks there are: the features of each, their hidden layers, how many outputs are summed."""

    inputs: tuple[tuple[int, ...], ...]
    hidden: tuple[int, ...]
    outputs: int = 1


@dataclass(frozen=True)
class Wanted:
    """What else is asked of a kernel of rank one.

    `penalty` counts the standard deviation of each network's part, as a group lasso on functions: weights a_j
    of the paper's remark alone would be free to shrink, as networks can grow instead. A `plain` network has
    no amplitude: c = 1. Of several `starts` the best is kept. Weights are and stay zero where their mask is.
    """

    penalty: float = 0.0
    plain: bool = False
    starts: int = 1
    masks: tuple[Array, ...] | None = None


NOTHING_ELSE = Wanted()


@dataclass(frozen=True, eq=False)
class Optimal:
    """The networks of the start with the best validation error, and what is known of their amplitude.

    `noise` is what is left of the target in rows that were not learned from. `places` are those of the
    networks among all that were asked for: a penalty leaves some out.
    """

    networks: Networks
    amplitude: Amplitude
    noise: float
    scores: tuple[
        float, ...
    ]  # mean squared validation errors: of the best start at its end, of others so far
    epochs: int
    places: tuple[int, ...]

    def mean(self, X: Array) -> Array:
        """What is expected of rows."""
        said: Array = self.amplitude.mean * self.networks.outputs(X).sum(axis=(0, 2))
        return said

    def with_noise(self, noise: float, lesson: Lesson) -> Optimal:
        """The same with another noise."""
        if self.amplitude.variance == 0.0:  # a plain network has none
            return replace(self, noise=noise)
        g = self.networks.outputs(lesson.X).sum(axis=(0, 2))
        return replace(self, noise=noise, amplitude=amplitude(g, lesson.y, noise))


@dataclass(eq=False)
class RankOneLoss:
    """The evidence of each start as a sum over rows, so that minibatches are unbiased.

    log p(y) = max over q(c) = N(m, v) of sum_n E log N(y_n | c g_n, noise) - KL(q || N(0, 1)), where the best
    q is the closed form. With m and v from all rows, the gradient for g is that of the evidence itself.
    """

    part: Trainable
    y: Array
    train: NDArray[np.intp]
    wanted: Wanted = field(default_factory=Wanted)

    def __post_init__(self) -> None:
        starts = self.part.starts
        self.mean, self.variance, self.noise = np.ones(starts), np.zeros(starts), np.full(starts, 0.5)
        self._y = torch.as_tensor(self.y, dtype=self.part.dtype)

    def refresh(self) -> None:
        """The amplitude and the noise of each start by all rows, in float64."""
        if self.wanted.plain:
            return
        for start, g in enumerate(self.values(self.train)):
            if np.all(np.isfinite(g)):
                y = self.y[self.train]
                self.noise[start] = max(best_noise(g, y, self.noise[start]), LEAST_NOISE)
                c = amplitude(g, y, self.noise[start])
                self.mean[start], self.variance[start] = c.mean, c.variance

    def values(self, rows: NDArray[np.intp]) -> Array:
        """g of some rows, (starts, rows)."""
        with torch.no_grad():
            found: Array = self.part.summed(rows).double().numpy()
        return found

    def loss(self, rows: NDArray[np.intp]) -> torch.Tensor:
        """The mean over rows of E (y - c g)^2, for all starts: minus the evidence times 2 noise / n."""
        each = self.part.each(rows)
        g = each.sum(dim=1)
        mean = torch.as_tensor(self.mean, dtype=g.dtype)[:, None]
        variance = torch.as_tensor(self.variance, dtype=g.dtype)[:, None]
        total = ((self._y[rows] - mean * g) ** 2 + variance * g**2).mean(dim=1).sum()
        if self.wanted.penalty:
            spread = torch.sqrt(each.var(dim=2, correction=0) + 1e-12)
            total = (
                total + self.wanted.penalty * (torch.abs(mean) * spread).sum()
            )  # of c g_j, or c would grow
        return total

    def errors(self, rows: NDArray[np.intp]) -> Array:
        """Squared errors of some rows, (starts, rows)."""
        found: Array = (self.y[rows] - self.mean[:, None] * self.values(rows)) ** 2
        return found


def fit_optimal(
    lesson: Lesson, shape: Shape, how: Descent, rng: np.random.Generator, wanted: Wanted = NOTHING_ELSE
) -> Optimal:
    """Train several starts at once and keep the best; the amplitude is then that given all rows."""
    drawing, shuffling = rng.spawn(2)
    return trained(first_networks(lesson, shape, drawing, wanted.starts), lesson, how, shuffling, wanted)


def first_networks(lesson: Lesson, shape: Shape, rng: np.random.Generator, starts: int = 1) -> Networks:
    """Networks at random, for each start."""
    networks = drawn_networks(shape.inputs * starts, shape.hidden, shape.outputs, rng)
    owners = np.repeat(np.arange(starts), len(shape.inputs))
    train = lesson.rows.train
    y = np.tile(lesson.y[train], (starts, 1))
    return from_one(networks, owners, lesson.X[train], y, np.ones(y.shape, dtype=bool))


def from_one(
    networks: Networks, owners: NDArray[np.intp], X: Array, y: Array, train: NDArray[np.bool_]
) -> Networks:
    """The same with last layers scaled so that c of each owner is one, where the evidence is highest.

    Each owner has a target and rows to learn from: y and train are (owners, rows).
    """
    said = networks.outputs(X).sum(axis=2)
    sums = [said[owners == owner].sum(axis=0) for owner in range(len(y))]
    c = [amplitude(g[rows], told[rows], 0.5).mean for g, told, rows in zip(sums, y, train, strict=True)]
    return networks.scaled(np.array(c)[owners][:, None, None])


def trained(
    networks: Networks,
    lesson: Lesson,
    how: Descent,
    rng: np.random.Generator,
    wanted: Wanted = NOTHING_ELSE,
) -> Optimal:
    """Train from given networks: all starts as far as the first step goes, and the best to the end."""
    X, y, train = lesson.X, lesson.y, lesson.rows.train
    first = how.unslowed if wanted.starts > 1 else how
    found, scores, epochs = _descended(networks, lesson, first, rng, wanted)
    if wanted.starts > 1 and how.slowdowns and epochs < how.max_epochs:
        best, alone = int(np.nanargmin(scores)), replace(wanted, starts=1)
        slowed = how.slowed(epochs, float(scores[best]))
        found, last, more = _descended(found, lesson, slowed, rng, alone)
        scores[best], epochs = last[0], epochs + more
    places = tuple(range(len(found.inputs)))
    if wanted.penalty:
        found, places = weighted(found, X[train], y[train], wanted.penalty)
    c, noise = _conditioned(found.outputs(X).sum(axis=(0, 2)), lesson, wanted)
    return Optimal(found, c, noise, tuple(scores.tolist()), epochs, places)


def _descended(
    networks: Networks, lesson: Lesson, how: Descent, rng: np.random.Generator, wanted: Wanted
) -> tuple[Networks, Array, int]:
    """The networks of the best start, the validation errors of all, and the epochs."""
    part, rows = Trainable(networks, lesson.X, wanted.starts), lesson.rows
    if wanted.masks is not None:
        part.hold(wanted.masks)
    rank_one = RankOneLoss(part, lesson.y, rows.train, wanted)

    def score() -> Array:
        found: Array = rank_one.errors(rows.validation).mean(axis=1)
        return found

    aim = Aim(rank_one.loss, score, rows.train, rank_one.refresh)
    scores, epochs = descend([part], aim, how, rng)
    best = int(np.nanargmin(scores))
    return part.kept().only(np.flatnonzero(part.owners == best).tolist()), scores, epochs


def _conditioned(g: Array, lesson: Lesson, wanted: Wanted) -> tuple[Amplitude, float]:
    """The amplitude given all rows, and the noise of rows that were not learned from."""
    c, y, rows = Amplitude(1.0, 0.0), lesson.y, lesson.rows
    if not wanted.plain:
        seen = best_noise(g[rows.train], y[rows.train], 0.5, steps=20)
        c = amplitude(g[rows.train], y[rows.train], max(seen, LEAST_NOISE))
    squares = (y - c.mean * g) ** 2
    # Networks follow the rows that they learn from: these alone would say too little noise.
    told = (float(np.mean(squares[lesson.telling(some)])) for some in (rows.train, rows.validation))
    noise = max(*told, LEAST_NOISE)
    if not wanted.plain:
        c = amplitude(g, y, noise)
    return c, noise


def weighted(networks: Networks, X: Array, y: Array, penalty: float) -> tuple[Networks, tuple[int, ...]]:
    """Each network times its weight a_j > 0, without those that do not earn their penalty; and their places.

    Steps of Adam come near zero and never there, so the weights of the networks that were found are then
    solved for: the least mean (y - sum a_j h_j)^2 + penalty sum a_j sd(h_j), h_j centred.
    """
    parts = networks.outputs(X).sum(axis=2).T
    middle = parts.mean(axis=0)
    a = set_weights(parts - middle, y - y.mean(), penalty)
    places = np.flatnonzero(a > 0.0).tolist() or [0]  # one stays, to say the constant
    found = networks.only(places).scaled(a[places, None, None])
    outs = found.weights[-1].shape[2]
    last = found.biases[-1] - (a * middle)[places, None, None] / outs
    last[0] += y.mean() / outs  # the constant, wherever it stands
    return Networks(found.inputs, found.weights, (*found.biases[:-1], last)), tuple(places)


def set_weights(parts: Array, y: Array, penalty: float) -> Array:
    """The non-negative weights of centred parts (n, k), by coordinate descent until they rest."""
    gram, beside = parts.T @ parts / y.size, parts.T @ y / y.size
    spread = np.sqrt(np.diag(gram))
    a = np.zeros(beside.size)
    for _ in range(MOST_SWEEPS):
        before = a.copy()
        for j in np.flatnonzero(spread > 0.0):
            free = beside[j] - gram[j] @ a + gram[j, j] * a[j]
            a[j] = max(free - 0.5 * penalty * spread[j], 0.0) / gram[j, j]
        if np.max(np.abs(a - before) * spread) <= AT_REST * float(np.std(y)):
            return a
    raise NumericalError(
        f"the weights of {a.size} sets do not come to rest: some say nearly the same; leave one of them out"
    )
