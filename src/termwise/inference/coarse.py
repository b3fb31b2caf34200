"""Learning from many rows: from a coarse picture to a fine one.

Every start is tried exactly on a few rows. The best goes on to a sample with inducing rows, to four times as
many rows, and so on; the last steps are on all rows. Every stage chooses its inducing rows anew, with the
kernel that the stage before has learned.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np

from termwise.encode.rows import ArrayChunk
from termwise.errors import NumericalError
from termwise.inference.blocks import Chunk
from termwise.inference.bound import Decoupled
from termwise.inference.climb import (
    WORST,
    Climb,
    Effort,
    Objective,
    Watch,
    ascend,
    first_points,
    free_parameters,
)
from termwise.inference.fit import FEW_ROWS, LONG_LENGTHSCALE, Fit, dense_objective, explains_nothing
from termwise.inference.growth import grown
from termwise.inference.inducing import choose_rows
from termwise.inference.kept import Kept
from termwise.inference.learnable import Learnable
from termwise.inference.moving import move_rows
from termwise.inference.progress import Clock, Forecast, Monitor, Progress
from termwise.inference.result import FitResult, Status
from termwise.inference.sparse import Solution, SparseObjective
from termwise.inference.sparse_sites import SparseSiteObjective
from termwise.inference.workers import LocalWorkers, Workers
from termwise.kernels.fused.run import cores
from termwise.linalg.threads import one_blas_thread
from termwise.measures.base import Array
from termwise.posterior.noise import Noise

FIRST_ROWS, GROWTH = 4000, 4
LEAST_SAMPLED, MOST_SAMPLED = 1000, 256_000
# With few inducing rows short lengthscales cost so much that a climb from there goes astray.
FIRST_LENGTHSCALE, FIRST_STEP = 1.0, 0.3  # in sd of the column; of the steepest parameter
ROUGH, MIDDLE, FINE = 1e-3, 1e-5, 1e-6  # nats a row that end a climb
FIRST_STEPS, MIDDLE_STEPS = 100, 25  # at most, of a climb on the first sample and on larger ones
LAST_STEPS, LAST_ROWS, LEAST_STEPS = 30, 13_000, 4  # on all rows: so many up to so many rows, fewer beyond
ROWS_PER_INDUCING = 8  # with fewer rows for each inducing row there is one too many for the stage
LEAST_INDUCING = 128  # of a sample that has enough rows for them
LEAST_SHARE = 0.01  # of an order with which a stage begins, of what the orders had at the start
CANDIDATES = 16  # rows looked at for each inducing row that is chosen
RESIDUALS = 20_000  # rows whose residuals tell how observations scatter
SEEN = 2000  # rows that a model keeps to show where the data are
EXPECTED = 25  # evaluations of a stage, to foresee the time
LOOPS = 30.0  # work of a column of the kernel, and its gradient, in multiplications of BLAS


AnySparse = SparseObjective | SparseSiteObjective


@dataclass(frozen=True)
class SparseOptions:
    """How to search."""

    n_inducing: int = 512
    inducing: str = "variance"
    n_starts: int = 2
    threads: int = field(default_factory=cores)  # of this process, for samples
    workers: Workers = field(default_factory=LocalWorkers)  # for all rows
    n_orthogonal: int = 0  # of the inducing rows through which all rows are seen: the last that are chosen

    def orthogonal(self, inducing: Array) -> Decoupled | None:
        """Which of these are orthogonal; there may be fewer than asked for."""
        count = len(inducing) - (self.n_inducing - self.n_orthogonal)
        return Decoupled(count) if self.n_orthogonal and count > 0 else None


@dataclass(frozen=True, eq=False)
class Data:
    """All rows as chunks, and a random sample of them in memory, in random order."""

    chunks: Sequence[Chunk]
    n_rows: int
    sample: ArrayChunk

    @classmethod
    def in_memory(cls, rows: ArrayChunk, rng: np.random.Generator, n_inducing: int = 0) -> Data:
        """A table in memory, one chunk; its sample has as many rows as are to be inducing."""
        count = rows.y.size
        size = max(int(np.clip(count // 2, LEAST_SAMPLED, MOST_SAMPLED)), n_inducing)
        return cls([rows], count, rows.rows(rng.permutation(count)[:size]))


def fit_sparse(
    model: Learnable,
    data: Data,
    options: SparseOptions,
    rng: np.random.Generator,
    monitor: Monitor | None = None,
) -> Fit:
    """Maximise the collapsed bound + log prior over all parameters, from coarse to fine."""
    starting, choosing = rng.spawn(2)
    stages = Stages(model, data, options, choosing, monitor)
    # Threads share out blocks of rows; more of them inside BLAS would only be in each other's way.
    with one_blas_thread():
        best = stages.sampled(starting)
        objective, best = stages.finish(best)
        return stages.concluded(objective, best.theta, best.status)


@dataclass(frozen=True)
class Ending:
    """After samples of so many rows at most come so many evaluations of so many rows each."""

    most_sampled: int
    rows: int
    evaluations: int


class Stages:
    """The stages of one fit."""

    def __init__(
        self,
        model: Learnable,
        data: Data,
        options: SparseOptions,
        rng: np.random.Generator,
        monitor: Monitor | None,
        ending: Ending | None = None,
    ) -> None:
        self.model, self.data, self.options = model, data, options
        self.rng, self.monitor = rng, monitor
        self.clock, self.evaluations, self.kept = Clock(), 0, Kept()
        self.lock = threading.Lock()  # starts report side by side
        ending = ending or Ending(MOST_SAMPLED, data.n_rows, 1 + last_steps(data.n_rows))
        self.sizes = _sizes(data, ending.most_sampled)
        self.starts: tuple[float, ...] = ()  # what every start has come to
        ends = 2 if options.inducing == "optimised" else 1
        begin = options.n_starts * self._exact_work() / min(options.n_starts, options.threads)
        samples = [(self._work(n), EXPECTED) for n in self.sizes]
        last = (self._work(ending.rows), ending.evaluations)
        self.forecast = Forecast([(begin, EXPECTED), *samples, *[last] * ends], self.clock)

    def sampled(self, rng: np.random.Generator) -> Climb:
        """The best that samples of the rows can tell, from the smallest to the largest."""
        climbs = self.begin(first_points(self.model, self.options.n_starts, rng, FIRST_LENGTHSCALE))
        best = max(climbs, key=lambda one: one.objective)
        if explains_nothing(self.model, best.theta):
            climbs += self._tried(first_points(self.model, 1, rng, LONG_LENGTHSCALE), len(climbs))
            best = max(climbs, key=lambda one: one.objective)
        if best.objective <= -WORST:
            raise NumericalError(
                "no kernel matrix at any start was positive definite; look for duplicate rows"
            )
        self.starts = tuple(one.objective for one in climbs)
        for size in self.sizes:
            best = self.go_on(best, size)
        return best

    def begin(self, starts: Sequence[Array]) -> list[Climb]:
        """Every start on few rows, exactly, over the parameters that settle first; side by side.

        With many columns and few inducing rows the bound is best where columns are turned off, and a climb
        that begins there does not find back.
        """
        self.forecast.next_stage()
        return self._tried(starts)

    def _tried(self, starts: Sequence[Array], before: int = 0) -> list[Climb]:
        """These starts, after so many before them."""
        rows = self.data.sample.rows(slice(self._exact_rows))
        free = free_parameters(self.model) & ~self.model.late()
        effort = Effort(ROUGH, FIRST_STEPS, None, rows.y.size, FIRST_STEP)

        def climb(start: int) -> Climb:
            # By one thread each, so that their number changes no bit.
            objective = dense_objective(self.model, rows, threads=1)
            return ascend(objective, starts[start], free, effort, self.watch(rows.y.size, before + start))

        with ThreadPoolExecutor(self.options.threads, thread_name_prefix="termwise-starts") as pool:
            return list(pool.map(climb, range(len(starts))))

    def go_on(self, before: Climb, size: int) -> Climb:
        """A sample of this size, from where the climb before has come to.

        Orders that few rows had no use for are given another chance: at no variance there is no slope either.
        """
        before = replace(before, theta=self.model.revived(before.theta, LEAST_SHARE, FIRST_LENGTHSCALE))
        objective = self._objective(before.theta, size)
        steps = FIRST_STEPS if size == self.sizes[0] else MIDDLE_STEPS
        effort = Effort(MIDDLE, steps, before.widths, size, FIRST_STEP)
        best = self._ascend(objective, before.theta, effort)
        # Tried on samples only: there it is cheap, and what is of use for all rows is for many of them.
        self.model, best = grown(
            self.model,
            best,
            lambda wider: replace(objective, model=wider, evaluations=0),
            replace(effort, max_steps=FIRST_STEPS),
            self.watch(size, 0),
        )
        return best

    def finish(self, before: Climb) -> tuple[AnySparse, Climb]:
        """The last steps, on all rows."""
        Z = self.inducing_rows(before.theta)
        objective = self._sparse(self.data.chunks, Z, self.options.workers)
        objective.orthogonal = self.options.orthogonal(Z)
        effort = Effort(FINE, last_steps(self.data.n_rows), before.widths, self.data.n_rows, FIRST_STEP)
        best = self._ascend(objective, before.theta, effort)
        if self.options.inducing != "optimised" or not isinstance(objective, SparseObjective):
            return objective, best
        self.forecast.next_stage()
        objective = move_rows(objective, best.theta, effort, self.watch(self.data.n_rows, 0))
        return objective, best

    def concluded(self, objective: AnySparse, theta: Array, status: Status) -> Fit:
        """The posterior at theta by all rows, and how the fit went."""
        solution = objective.posterior(theta)
        rows = self.model.encoded(theta, self.data.sample.X[:RESIDUALS])
        noise = Noise.normal(0.0) if self.model.likelihood else scatter_of(solution, rows, self.data)
        result = FitResult(
            status=status.if_rested(objective.rested),
            objective=solution.objective,
            evaluations=self.evaluations,
            seconds=self.clock(),
            jitter=objective.jitter,
            starts=self.starts,
            rows=self.data.n_rows,
            inducing=len(objective.inducing),
            orthogonal=objective.orthogonal.count if objective.orthogonal else 0,
        )
        return Fit(self.model, theta, replace(solution.posterior, seen=rows[:SEEN]), noise, result)

    def inducing_rows(self, theta: Array) -> Array:
        """Those through which all rows are seen."""
        return self._choose(theta, self.data.sample.y.size, self.options.n_inducing)

    def _objective(self, theta: Array, size: int) -> AnySparse:
        Z = self._choose(theta, size, self._inducing_for(size))
        return self._sparse([self.data.sample.rows(slice(size))], Z, LocalWorkers(self.options.threads))

    def _sparse(self, chunks: Sequence[Chunk], Z: Array, workers: Workers) -> AnySparse:
        kind = SparseObjective if self.model.likelihood is None else SparseSiteObjective
        return kind(self.model, chunks, Z, workers, self.kept)

    def _inducing_for(self, size: int) -> int:
        # Samples are cheap: what is learned of them should not suffer when few inducing rows are asked for.
        return min(max(self.options.n_inducing, LEAST_INDUCING), max(1, size // ROWS_PER_INDUCING))

    def _choose(self, theta: Array, size: int, count: int) -> Array:
        candidates = self.data.sample.X[: min(size, CANDIDATES * count)]
        return choose_rows(self.options.inducing, self.model, theta, candidates, count, self.rng)

    @property
    def _exact_rows(self) -> int:
        return min(FEW_ROWS, self.sizes[0])

    def _exact_work(self) -> float:
        rows = self._exact_rows
        return rows**2 * (rows + LOOPS * self.model.n_columns)

    def _work(self, rows: int) -> float:
        inducing = self._inducing_for(rows)
        return rows * inducing * (inducing + LOOPS * self.model.n_columns)

    def _ascend(self, objective: Objective, theta: Array, effort: Effort) -> Climb:
        self.forecast.next_stage()
        return ascend(objective, theta, free_parameters(self.model), effort, self.watch(int(effort.per), 0))

    def watch(self, rows: int, start: int) -> Watch:
        """Count evaluations, and tell who listens."""

        def watch(evaluations: int, value: float) -> None:
            with self.lock:
                self.evaluations += 1
                left = self.forecast.remaining()
                if self.monitor is not None:
                    self.monitor(Progress(start, self.evaluations, value, self.clock(), rows, left))

        return watch


def scatter_of(solution: Solution, rows: Array, data: Data) -> Noise:
    """The scatter of observations by the residuals of some rows, as if these had not been learned from."""
    posterior = solution.posterior
    residuals = data.sample.y[: len(rows)] - posterior.mean(rows)
    # On average a row is fitted closer than a new one by its share of the effective parameters.
    unseen = residuals / max(0.5, 1.0 - solution.effective / data.n_rows)
    return Noise.fit(unseen, posterior.variance(rows), posterior.noise)


def last_steps(n_rows: int) -> int:
    """The more rows, the less there is left to learn of them after a large sample, and the more it costs."""
    return int(np.clip(LAST_STEPS * LAST_ROWS // n_rows, LEAST_STEPS, LAST_STEPS))


def _sizes(data: Data, most: int) -> list[int]:
    """The sizes of the samples before all rows are looked at."""
    most = min(most, data.sample.y.size)
    sizes = [min(FIRST_ROWS, max(LEAST_SAMPLED, data.n_rows // GROWTH), most)]
    while sizes[-1] * GROWTH <= most and 2 * sizes[-1] * GROWTH <= data.n_rows:
        sizes.append(sizes[-1] * GROWTH)
    return sizes
