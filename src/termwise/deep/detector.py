"""Which columns interact: a network that is made to say it, several times, and a test of what it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from termwise.deep.networks import Networks, drawn_networks, inputs_of
from termwise.deep.ranking import mean_strengths, ordered, ranked, set_strengths, stability
from termwise.deep.training import Aim, Descent, Rows, Trainable, descend, not_finite
from termwise.deep.trial import LEAST_ROWS, Trial, Verdict, tried
from termwise.kernels.terms import Subset
from termwise.measures.base import Array

TOGETHER, ALONE = (140, 100, 60, 20), (10, 10, 10)  # hidden layers of all columns, and of each. Section 5.1
# Of the network of all columns only, so that what single columns do is left to the others. Weights are moved
# towards zero by this part of each step of Adam: as a part of the loss, as section 5.1 has it, the noise of
# minibatches would hold those that do nothing away from zero, and their products make up the strengths.
SHRINKING = (0.02, 0.05, 0.1, 0.2)
AT_ONCE = 1e6  # a speed that leaves nothing: what single columns alone can say
TRIES = 2  # networks of each but the last
# Weights that shrink before the network has learned anything never say what they would: they have this part
# of all steps for themselves, and come to their full speed in as long as this again.
FREE, SLOWLY = 0.25, 1.0 / 3.0
# Of those with about the least validation error the largest speed is taken, with the fewest weights. It may
# cost this part of what acting together gains, and no more than these of the least and of the variance of the
# target: where a set is strong, a tenth of the gain would be the whole of a weak one.
OF_GAIN, OF_LEAST, OF_ALL = 0.1, 0.25, 0.01
ASTRAY = 0.5  # of the gain: a network that misses more has not learned what it is asked for
STEPS = 5000  # of training: long enough for weights that do nothing to come to zero
BATCHES, LEAST_BATCH, MOST_BATCH = 40, 32, 200  # of an epoch, and their rows


@dataclass(frozen=True, eq=False)
class Detection:
    """Ranked sets, their strengths, how often each was found, which of them help to predict, and what they
    leave untold.

    `found` is the part of the networks that rank the set as high as it stands here, or among their own first,
    as many as are kept; those that have learned nothing rank none. `trend` is the mean of all networks as
    one: sums of outputs.
    """

    sets: tuple[Subset, ...]
    strengths: tuple[float, ...]
    found: tuple[float, ...]
    kept: tuple[bool, ...]
    untold: float
    trend: tuple[Networks, Networks]


@dataclass(frozen=True)
class Search:
    """How many networks are asked, for sets of how many columns at most, and the most epochs of training."""

    seeds: int = 5
    max_size: int = 4
    max_epochs: int = 300

    def network(self, n_rows: int) -> Descent:
        """How the networks that are asked are trained, by so many rows."""
        batch = int(np.clip(n_rows // BATCHES, LEAST_BATCH, MOST_BATCH))
        return Descent(max_epochs=self.max_epochs, batch=batch, whole=True, max_steps=STEPS)

    @property
    def test(self) -> Descent:
        """How the small networks are that say whether a set helps."""
        return Descent(max_epochs=min(100, self.max_epochs))


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows as numbers, the column that each number comes from, a standardised target, and how they part."""

    X: Array
    y: Array
    sources: Sequence[int]
    rows: Rows


@dataclass(frozen=True, eq=False)
class Asked:
    """Networks of all columns, each beside one for each column; and the validation error of each."""

    together: Networks
    alone: Networks
    errors: Array

    def only(self, chosen: Sequence[int]) -> Asked:
        """Some of them."""
        each = len(self.alone.inputs) // len(self.together.inputs)
        singles = [place * each + column for place in chosen for column in range(each)]
        return Asked(self.together.only(chosen), self.alone.only(singles), self.errors[list(chosen)])

    def beside(self, other: Asked) -> Asked:
        """These and others."""
        return Asked(
            self.together.beside(other.together),
            self.alone.beside(other.alone),
            np.concatenate([self.errors, other.errors]),
        )

    @property
    def mean(self) -> tuple[Networks, Networks]:
        """With last layers divided by their number, so that the sum of all is their mean."""
        return self.together.scaled(1.0 / self.errors.size), self.alone.scaled(1.0 / self.errors.size)


def detect(sample: Sample, search: Search, rng: np.random.Generator) -> Detection:
    """Train, rank, and test in the order of the ranks."""
    asking, testing = rng.spawn(2)
    asked = _asked(sample, search, asking)
    every = range(asked.errors.size)
    told = sample.X, sample.sources, search.max_size
    each = [set_strengths(asked.together, place, *told) for place in every]
    strengths = mean_strengths(each)
    order = ordered(strengths)
    verdict = Verdict((), ())
    if sample.y.size >= LEAST_ROWS:
        verdict = tried(order, Trial(sample.X, sample.y, sample.sources, search.test, testing))
    sets = ranked(order, verdict.kept, verdict.refused)
    return Detection(
        tuple(sets),
        tuple(strengths.get(columns, 0.0) for columns in sets),
        tuple(stability(sets, each, len(verdict.kept), search.seeds)),
        tuple(columns in verdict.kept for columns in sets),
        verdict.untold,
        asked.mean,
    )


def trend(sample: Sample, search: Search, rng: np.random.Generator) -> tuple[Networks, Networks]:
    """The mean of networks alone, without asking them for sets."""
    return _asked(sample, search, rng).mean


def _asked(sample: Sample, search: Search, rng: np.random.Generator) -> Asked:
    """Networks that shrink as fast as they can without a loss, as many as are asked for."""
    choosing, training = rng.spawn(2)
    speeds = (*SHRINKING * TRIES, AT_ONCE)
    first = _networks(sample, speeds, search, choosing)
    apart = float(first.errors[-1])
    speed = chosen_speed(first.errors[:-1].reshape(TRIES, -1), apart)
    same = [int(place) for place in np.argsort(first.errors) if speeds[place] == speed]  # NaN comes last
    asked = first.only(same[: search.seeds])
    if search.seeds > TRIES:
        more = _networks(sample, (speed,) * (search.seeds - TRIES), search, training)
        asked = asked.beside(more)
    return asked.only(learned(asked.errors, apart))


def chosen_speed(errors: Array, apart: float) -> float:
    """The largest speed that costs little, by errors (tries, speeds) and the error of columns apart."""
    best = np.where(np.isfinite(errors), errors, np.inf).min(axis=0)  # one may have come to a halt early
    least = float(np.min(best))
    if not np.isfinite(least):
        raise not_finite()
    if apart <= least:  # nothing acts together, and what the fewest weights say of it is least
        return max(SHRINKING)
    gain = apart - least if np.isfinite(apart) else np.inf
    limit = least + min(OF_GAIN * gain, OF_LEAST * least + OF_ALL)
    return max(speed for speed, error in zip(SHRINKING, best, strict=True) if error <= limit)


def learned(errors: Array, apart: float) -> list[int]:
    """The networks that say more than columns apart do, if one does: others name sets by chance."""
    finite = np.where(np.isfinite(errors), errors, np.inf)
    least = float(np.min(finite))
    limit = least + ASTRAY * (apart - least) if apart > least else np.finfo(float).max
    return [int(place) for place in np.flatnonzero(finite <= limit)]


def _networks(sample: Sample, speeds: Sequence[float], search: Search, rng: np.random.Generator) -> Asked:
    """Networks of all columns that shrink so fast, each beside one for each column."""
    drawing, alone, shuffling = rng.spawn(3)
    count, X, rows = len(speeds), sample.X, sample.rows
    single = inputs_of([(column,) for column in range(max(sample.sources) + 1)], sample.sources)
    mixed = drawn_networks((tuple(range(X.shape[1])),) * count, TOGETHER, 1, drawing)
    parts = [
        Trainable(mixed, X, count),
        Trainable(drawn_networks(single * count, ALONE, 1, alone), X, count),
    ]
    target = torch.as_tensor(sample.y, dtype=torch.float32)

    def errors(chosen: NDArray[np.intp]) -> torch.Tensor:
        return ((target[chosen] - parts[0].summed(chosen) - parts[1].summed(chosen)) ** 2).mean(dim=1)

    def score() -> Array:
        with torch.no_grad():
            found: Array = errors(rows.validation).double().numpy()
        return found

    speed = torch.as_tensor(speeds, dtype=torch.float32)[:, None, None]
    shrink = partial(_shrink, parts[0].weights, speed)
    aim = Aim(lambda chosen: errors(chosen).sum(), score, rows.train, after=shrink)
    left, _ = descend(parts, aim, search.network(rows.train.size), shuffling)
    return Asked(parts[0].kept(), parts[1].kept(), left)


def _shrink(weights: Sequence[torch.Tensor], speed: torch.Tensor, step: float, done: float) -> None:
    """Move weights towards zero, after the part of training that they have for themselves."""
    by = step * speed * float(np.clip((done - FREE) / SLOWLY, 0.0, 1.0))
    with torch.no_grad():
        for weight in weights:
            weight.sub_(weight.clamp(-by, by))
