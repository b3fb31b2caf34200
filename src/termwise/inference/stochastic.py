"""Learning from minibatches: natural gradients for the inducing values, Adam for the parameters.

A step sees some thousand rows. What they ask of the inducing values is scaled up to all rows, and the
inducing values go a part of the way there, as when all rows are looked at; the parameters go along the
gradient for the same rows. At the end all rows are looked at, for the posterior and the bound. OAK sec. 5.2.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from termwise.encode.rows import ArrayChunk
from termwise.errors import NumericalError
from termwise.inference.blocks import Setting
from termwise.inference.bound import Decoupled
from termwise.inference.checkpoint import Checkpoints
from termwise.inference.climb import Watch, free_parameters
from termwise.inference.coarse import AnySparse, Data, Ending, SparseOptions, Stages
from termwise.inference.fit import Fit
from termwise.inference.growth import wide_enough
from termwise.inference.learnable import Learnable
from termwise.inference.minibatches import Minibatches
from termwise.inference.moving import with_cells
from termwise.inference.progress import Monitor
from termwise.inference.result import Status
from termwise.inference.site_blocks import SitePull, SiteSums, site_step
from termwise.inference.sparse import SparseObjective, push_of
from termwise.inference.sparse_sites import (
    NO_NUMBERS,
    Inducing,
    SparseSiteObjective,
    bound_gradient,
)
from termwise.inference.workers import LocalWorkers
from termwise.likelihoods import Gaussian
from termwise.linalg.threads import one_blas_thread
from termwise.measures.base import Array

BATCH_ROWS, LEAST_STEPS = 8192, 800
MOST_SAMPLED = 16_000  # rows of the samples that say where to begin
FIRST_RATE = 0.02  # of Adam, in logarithms and sd of a column; it falls to zero by half a cosine
DECAYS = (0.9, 0.99)  # of its two means: gradients are known well, so the second may be short
TINY = 1e-10
WARM = 20  # steps of the inducing values alone, which have seen few rows at first
SETTLED_ROWS, SETTLED = 32_768, 1e-4  # rows by which the inducing values begin; nats a row that end it
MOST_FAILURES = 50  # steps in a row that cannot be made
PARTS = (0.1, 0.01)  # of the way of the inducing values, at first and at last, when parameters hardly move
FARTHEST = 20.0  # sd of a column, beyond which no inducing row goes
LAST_TOLERANCE, LOOKS = 1e-6, 3  # nats a row, when all rows are looked at; and about how often they are


def fit_stochastic(
    model: Learnable,
    data: Data,
    options: SparseOptions,
    rng: np.random.Generator,
    monitor: Monitor | None = None,
    checkpoints: Checkpoints | None = None,
) -> Fit:
    """Maximise the bound + log prior by minibatches; what checkpoints there are is gone on from."""
    starting, choosing, drawing = rng.spawn(3)
    size = min(BATCH_ROWS, data.n_rows)
    minibatches = Minibatches(data.chunks, data.n_rows, size, int(drawing.integers(2**31)))
    steps = max(LEAST_STEPS, minibatches.per_round)
    ending = Ending(MOST_SAMPLED, size, steps + LOOKS * minibatches.per_round)
    stages = Stages(model, data, options, choosing, monitor, ending)
    found = None if checkpoints is None else checkpoints.read()
    # Threads share out blocks of rows; more of them inside BLAS would only be in each other's way.
    with one_blas_thread():
        if found is None:
            theta = stages.sampled(starting).theta
            Z = stages.inducing_rows(theta)
            rows = data.sample.rows(slice(SETTLED_ROWS))
            workers = LocalWorkers(options.threads)
            few = SparseSiteObjective(with_sites(stages.model), [rows], Z, workers, stages.kept)
            few.orthogonal = options.orthogonal(Z)
            state = State.begin(theta, Z, first_known(few, theta, data.n_rows))
        else:
            state = State.of_arrays(found, options.orthogonal(found["inducing"]))
            stages.model = wide_enough(model, state.theta)
        search = Stochastic(with_sites(stages.model), minibatches, steps, options.threads)
        stages.forecast.last_stage(done=state.step)
        state = search.run(state, stages.watch(data.n_rows, 0), checkpoints)
        return stages.concluded(_of_all_rows(stages, state), state.theta, Status.PLANNED)


def with_sites(model: Learnable) -> Learnable:
    """The model with a likelihood: minibatches have sites even if noise is normal.

    What missing cells would have told is then variance of f, not noise, in learning; not in the posterior.
    """
    return model if model.likelihood is not None else model.with_likelihood(Gaussian())


def first_known(few: SparseSiteObjective, theta: Array, n_rows: int) -> Inducing:
    """The inducing values by a sample: from nothing, a whole step for a few rows can go far beyond."""
    few.tolerance = SETTLED
    seen = sum(chunk.read().y.size for chunk in few.chunks)
    return few.settled(theta).scaled(n_rows / seen)


def _of_all_rows(stages: Stages, state: State) -> AnySparse:
    known = state.known
    parts = stages.model, stages.data.chunks, state.inducing, stages.options.workers, stages.kept
    if stages.model.likelihood is None:
        return SparseObjective(*parts, orthogonal=known.orthogonal)
    apart, tolerance = known.orthogonal, LAST_TOLERANCE
    return SparseSiteObjective(*parts, known=known, tolerance=tolerance, orthogonal=apart)


@dataclass(frozen=True, eq=False)
class State:
    """Where a fit is after so many steps: parameters, inducing rows, Adam's two means of the gradient for all
    of these that move, and the inducing values.
    """

    step: int
    theta: Array
    inducing: Array
    first: Array
    second: Array
    known: Inducing

    @classmethod
    def begin(cls, theta: Array, inducing: Array, known: Inducing, moving: int = 0) -> State:
        """Before the first step; so many cells of the inducing rows move."""
        first, second = np.zeros((2, theta.size + moving))
        return cls(0, theta, inducing, first, second, known)

    def arrays(self) -> dict[str, Array]:
        """For a checkpoint."""
        return {
            "step": np.array(self.step),
            "theta": self.theta,
            "inducing": self.inducing,
            "first": self.first,
            "second": self.second,
            "outer": self.known.outer,
            "linear": self.known.linear,
        }

    @classmethod
    def of_arrays(cls, arrays: dict[str, Array], orthogonal: Decoupled | None = None) -> State:
        """From a checkpoint."""
        known = Inducing(arrays["outer"], arrays["linear"], orthogonal)
        means = arrays["first"], arrays["second"]
        return cls(int(arrays["step"]), arrays["theta"], arrays["inducing"], *means, known)


@dataclass(frozen=True, eq=False)
class Stochastic:
    """A fit by so many steps; the cells of the inducing rows that are `movable` move with the parameters."""

    model: Learnable
    minibatches: Minibatches
    steps: int
    threads: int
    movable: NDArray[np.bool_] | None = None
    rate: float = field(default_factory=lambda: FIRST_RATE)
    warm: int = WARM

    def run(self, state: State, watch: Watch, checkpoints: Checkpoints | None = None) -> State:
        """The state after the last step; a checkpoint before the first, from time to time, and at the end."""
        minibatches = self.minibatches.after(state.step)
        _keep(state, checkpoints)
        good, failures = state, 0
        while state.step < self.steps:
            try:
                there, value = self.after_step(state, next(minibatches))
            except NumericalError:
                # Parameters have gone too far: the step before is taken back, and other rows are looked at.
                failures += 1
                if failures > MOST_FAILURES:
                    raise
                state = replace(good, step=state.step + 1)
                continue
            good, state, failures = state, there, 0
            watch(state.step, value)
            if checkpoints is not None and checkpoints.is_time():
                _keep(good, checkpoints)  # from which a step has been made
        _keep(state, checkpoints)
        return state

    def after_step(self, state: State, rows: ArrayChunk) -> tuple[State, float]:
        """Where a minibatch leads to, and the bound by its rows."""
        push, _ = push_of(Setting(self.model, state.theta, state.inducing))
        view, divergence = state.known.seen(push.setting, push.root)
        found = site_step(rows, SitePull(view), self.threads)
        scale = self.minibatches.n_rows / found.sums.n_rows
        sums = scaled(found.sums, scale)
        prior, by_prior = self.model.log_prior(state.theta)
        # The way back is linear in the sums.
        slope, by_rows = bound_gradient(view, found.sums, found.reached, self.threads)
        slope = by_prior + scale * slope
        if self.movable is not None:
            cells = self.model.cells_gradient(state.theta, state.inducing, by_rows)[self.movable]
            slope = np.concatenate([slope, scale * cells])
        value = sums.value - divergence + prior
        if not (np.isfinite(value) and np.all(np.isfinite(slope))):
            raise NumericalError(NO_NUMBERS)
        calm = 0.5 * (1.0 + np.cos(np.pi * state.step / self.steps))  # from one to zero
        known = state.known.towards(sums, PARTS[1] + calm * (PARTS[0] - PARTS[1]))
        moved = replace(state, step=state.step + 1)
        if state.step >= self.warm:
            moved = self._adam(state, slope / self.minibatches.n_rows, self.rate * calm)
        return replace(moved, known=known), value

    def _adam(self, state: State, slope: Array, rate: float) -> State:
        """Kingma and Ba (2015), within the bounds."""
        step = state.step + 1
        seen = step - self.warm
        first = DECAYS[0] * state.first + (1.0 - DECAYS[0]) * slope
        second = DECAYS[1] * state.second + (1.0 - DECAYS[1]) * slope**2
        unbiased = second / (1.0 - DECAYS[1] ** seen)
        change = rate * (first / (1.0 - DECAYS[0] ** seen)) / (np.sqrt(unbiased) + TINY)
        size, (low, high) = state.theta.size, np.transpose(self.model.bounds())
        there = np.clip(state.theta + change[:size], low, high)
        theta, inducing = np.where(free_parameters(self.model), there, state.theta), state.inducing
        if self.movable is not None:
            cells = np.clip(inducing[self.movable] + change[size:], -FARTHEST, FARTHEST)
            inducing = with_cells(inducing, self.movable, cells)
        return State(step, theta, inducing, first, second, state.known)


def _keep(state: State, checkpoints: Checkpoints | None) -> None:
    if checkpoints is not None:
        checkpoints.write(state.step, state.arrays())


def scaled(sums: SiteSums, by: float) -> SiteSums:
    """The sums as if there were so many times the rows."""
    rows = round(by * sums.n_rows)
    return SiteSums(rows, by * sums.value, by * sums.outer, by * sums.linear, by * sums.parameters)
