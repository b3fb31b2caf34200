"""Learning from minibatches: natural gradients for the inducing values, Adam for the parameters.

A step sees some thousand rows. What they ask of the inducing values is scaled up to all rows, and the
inducing values go a part of the way there, as when all rows are looked at; the parameters go along the
gradient for the same rows. At the end all rows are looked at, for the posterior and the bound. OAK sec. 5.2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from termwise.encode.rows import ArrayChunk
from termwise.errors import NumericalError
from termwise.inference.blocks import Setting
from termwise.inference.checkpoint import Checkpoints
from termwise.inference.climb import Watch, free_parameters
from termwise.inference.coarse import AnySparse, Data, Ending, SparseOptions, Stages
from termwise.inference.fit import Fit
from termwise.inference.growth import wide_enough
from termwise.inference.learnable import Learnable
from termwise.inference.minibatches import Minibatches
from termwise.inference.progress import Monitor
from termwise.inference.result import Status
from termwise.inference.site_blocks import SiteSums, View, site_step
from termwise.inference.sparse import SparseObjective, push_of
from termwise.inference.sparse_sites import (
    NO_NUMBERS,
    Inducing,
    SparseSiteObjective,
    bound_gradient,
    pull_of,
)
from termwise.inference.workers import LocalWorkers
from termwise.likelihoods import Gaussian
from termwise.linalg.threads import one_blas_thread
from termwise.measures.base import Array

BATCH_ROWS, LEAST_STEPS = 8192, 800
MOST_SAMPLED = 16_000  # rows of the samples that say where to begin
FIRST_RATE = 0.02  # of Adam, in logarithms; it falls to zero by half a cosine
DECAYS = (0.9, 0.99)  # of its two means: gradients are known well, so the second may be short
TINY = 1e-10
WARM = 20  # steps of the inducing values alone, which have seen few rows at first
SETTLED_ROWS, SETTLED = 32_768, 1e-4  # rows by which the inducing values begin; nats a row that end it
MOST_FAILURES = 50  # steps in a row that cannot be made
PARTS = (0.1, 0.01)  # of the way of the inducing values, at first and at last, when parameters hardly move
TOLERANCE, LOOKS = 1e-6, 3  # nats a row, when all rows are looked at; and about how often they are


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
            state = State.begin(theta, _first_known(_with_sites(stages.model), stages, Z, theta))
        else:
            Z, state = found["inducing"], State.of_arrays(found)
            stages.model = wide_enough(model, state.theta)
        search = Stochastic(_with_sites(stages.model), Z, minibatches, steps, options.threads)
        stages.forecast.last_stage(done=state.step)
        state = search.run(state, stages.watch(data.n_rows, 0), checkpoints)
        return stages.concluded(_of_all_rows(stages, Z, state), state.theta, Status.PLANNED)


def _with_sites(model: Learnable) -> Learnable:
    """The model with a likelihood: minibatches have sites even if noise is normal.

    What missing cells would have told is then variance of f, not noise, in learning; not in the posterior.
    """
    return model if model.likelihood is not None else model.with_likelihood(Gaussian())


def _first_known(model: Learnable, stages: Stages, Z: Array, theta: Array) -> Inducing:
    """The inducing values by a sample: from nothing, a whole step for a few rows can go far beyond."""
    rows = stages.data.sample.rows(slice(SETTLED_ROWS))
    workers = LocalWorkers(stages.options.threads)
    few = SparseSiteObjective(model, [rows], Z, workers, stages.kept, tolerance=SETTLED)
    return few.settled(theta).scaled(stages.data.n_rows / rows.y.size)


def _of_all_rows(stages: Stages, Z: Array, state: State) -> AnySparse:
    model, chunks, workers = stages.model, stages.data.chunks, stages.options.workers
    if model.likelihood is None:
        return SparseObjective(model, chunks, Z, workers, stages.kept)
    known = state.known
    return SparseSiteObjective(model, chunks, Z, workers, stages.kept, known=known, tolerance=TOLERANCE)


@dataclass(frozen=True, eq=False)
class State:
    """Where a fit is after so many steps: parameters, Adam's two means, and the inducing values."""

    step: int
    theta: Array
    first: Array
    second: Array
    known: Inducing

    @classmethod
    def begin(cls, theta: Array, known: Inducing) -> State:
        """Before the first step."""
        return cls(0, theta, np.zeros(theta.size), np.zeros(theta.size), known)

    def arrays(self) -> dict[str, Array]:
        """For a checkpoint."""
        return {
            "step": np.array(self.step),
            "theta": self.theta,
            "first": self.first,
            "second": self.second,
            "outer": self.known.outer,
            "linear": self.known.linear,
        }

    @classmethod
    def of_arrays(cls, arrays: dict[str, Array]) -> State:
        """From a checkpoint."""
        known = Inducing(arrays["outer"], arrays["linear"])
        return cls(int(arrays["step"]), arrays["theta"], arrays["first"], arrays["second"], known)


@dataclass(frozen=True, eq=False)
class Stochastic:
    """A fit by so many steps, for fixed inducing rows."""

    model: Learnable
    inducing: Array
    minibatches: Minibatches
    steps: int
    threads: int

    def run(self, state: State, watch: Watch, checkpoints: Checkpoints | None = None) -> State:
        """The state after the last step; a checkpoint before the first, from time to time, and at the end."""
        minibatches = self.minibatches.after(state.step)
        self._keep(state, checkpoints)
        good, failures = state, 0
        while state.step < self.steps:
            try:
                there, value = self._step(state, next(minibatches))
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
                self._keep(good, checkpoints)  # from which a step has been made
        self._keep(state, checkpoints)
        return state

    def _keep(self, state: State, checkpoints: Checkpoints | None) -> None:
        if checkpoints is not None:
            checkpoints.write(state.step, {**state.arrays(), "inducing": self.inducing})

    def _step(self, state: State, rows: ArrayChunk) -> tuple[State, float]:
        push, _ = push_of(Setting(self.model, state.theta, self.inducing))
        mean, spread, divergence = state.known.moments()
        view = View(push.setting, push.root, mean, spread)
        found = site_step(rows, pull_of(view, late=True), self.threads)
        scale = self.minibatches.n_rows / found.sums.n_rows
        sums = scaled(found.sums, scale)
        prior, slope = self.model.log_prior(state.theta)
        # The way back is linear in the sums.
        slope = slope + scale * bound_gradient(view, found.sums, found.reached)[0]
        value = sums.value - divergence + prior
        if not (np.isfinite(value) and np.all(np.isfinite(slope))):
            raise NumericalError(NO_NUMBERS)
        calm = 0.5 * (1.0 + np.cos(np.pi * state.step / self.steps))  # from one to zero
        known = state.known.towards(sums, PARTS[1] + calm * (PARTS[0] - PARTS[1]))
        moved = replace(state, step=state.step + 1)
        if state.step >= WARM:
            moved = self._adam(state, slope / self.minibatches.n_rows, FIRST_RATE * calm)
        return replace(moved, known=known), value

    def _adam(self, state: State, slope: Array, rate: float) -> State:
        """Kingma and Ba (2015), within the bounds."""
        free, (low, high) = free_parameters(self.model), np.transpose(self.model.bounds())
        step = state.step + 1
        seen = step - WARM
        first = DECAYS[0] * state.first + (1.0 - DECAYS[0]) * slope
        second = DECAYS[1] * state.second + (1.0 - DECAYS[1]) * slope**2
        unbiased = second / (1.0 - DECAYS[1] ** seen)
        change = rate * (first / (1.0 - DECAYS[0] ** seen)) / (np.sqrt(unbiased) + TINY)
        theta = np.where(free, np.clip(state.theta + change, low, high), state.theta)
        return replace(state, step=step, theta=theta, first=first, second=second)


def scaled(sums: SiteSums, by: float) -> SiteSums:
    """The sums as if there were so many times the rows."""
    rows = round(by * sums.n_rows)
    return SiteSums(rows, by * sums.value, by * sums.outer, by * sums.linear, by * sums.parameters)
