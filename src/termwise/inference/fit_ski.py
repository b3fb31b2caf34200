"""Learning by grid interpolation: of many rows from a few, exactly, to samples, to all; of few at once."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import numpy as np

from termwise.encode.rows import ArrayChunk
from termwise.errors import GridError, NumericalError
from termwise.inference.aligned import aligned_solution
from termwise.inference.climb import WORST, Climb, Effort, ascend, climb, first_points, free_parameters
from termwise.inference.coarse import (
    EXPECTED,
    FINE,
    FIRST_STEP,
    FIRST_STEPS,
    LOOPS,
    MIDDLE,
    RESIDUALS,
    SEEN,
    Data,
    SparseOptions,
    Stages,
    last_steps,
    scatter_of,
)
from termwise.inference.exact import ExactObjective
from termwise.inference.fit import SERIAL_BLAS, Fit
from termwise.inference.interpolated import MOST_FEATURES
from termwise.inference.learnable import Learnable
from termwise.inference.progress import Forecast, Monitor
from termwise.inference.result import FitResult, Status
from termwise.inference.ski import FEW_ROWS, Grid, SkiObjective
from termwise.kernels.fused.run import cores
from termwise.kernels.terms import TermKernel
from termwise.linalg.threads import one_blas_thread
from termwise.measures.base import Array

LINE_KERNELS = ("se", "matern32", "matern52")  # smooth enough to be interpolated
MOST_LINES = 400
MOST_STEPS = 500  # of a climb with few rows
FEW_EXPECTED, FEW_LAST = (
    50,
    10,
)  # evaluations with few rows: of a start, and after the best, to foresee the time
EXPECTED_FEATURES = 20  # of a line
MOST_HALVED = 4  # distances of nodes that are tried
TRIED_ROWS, MOST_ERROR = 500, 0.01  # nats a row by which the likelihood of so many may be wrong


@dataclass(frozen=True)
class SkiOptions:
    """How to search: the grid, and from how many starts."""

    grid: Grid = field(default_factory=Grid)
    n_starts: int = 2
    threads: int = field(default_factory=cores)


def interpolable(model: Learnable) -> bool:
    """Whether a model is a sum of smooth functions of single coordinates, not too many of them."""
    lines = model.lines
    return lines is not None and lines.kernel in LINE_KERNELS and lines.count <= MOST_LINES


def fit_ski(
    model: Learnable,
    rows: ArrayChunk,
    options: SkiOptions,
    rng: np.random.Generator,
    monitor: Monitor | None = None,
) -> Fit:
    """Maximise the interpolated log marginal likelihood + log prior over all parameters."""
    assert model.lines is not None, "no sum of functions of single coordinates"
    starting, sampling, choosing = rng.spawn(3)
    n_rows, data = rows.y.size, Data.in_memory(rows, sampling)
    threads = SparseOptions(n_starts=options.n_starts, threads=options.threads)
    stages = Stages(model, data, threads, choosing, monitor)
    starts = first_points(model, options.n_starts, starting)
    # What bends columns moves rows between nodes, where slopes are rough: it is to begin exactly.
    few = n_rows <= FEW_ROWS and not np.any(model.late() & free_parameters(model))
    # Some rows are few, whatever grid all of them may have.
    asked = options.grid if few else replace(options.grid, most_of_few=options.grid.most)
    samples = [] if few else [data.sample.rows(slice(size)) for size in stages.sizes if size < n_rows]
    parts = [*samples, rows]
    stages.forecast = Forecast(_plan(stages, parts, few=few), stages.clock)
    # Threads inside LAPACK wait for each other: of few rows that is most of the time.
    with one_blas_thread() if n_rows < SERIAL_BLAS else nullcontext():
        with one_blas_thread():  # starts are side by side
            climbs = _climbs(stages, rows, starts, asked) if few else stages.begin(starts)
        best = max(climbs, key=lambda one: one.objective)
        if best.objective <= -WORST:
            raise NumericalError(
                "no kernel matrix at any start was positive definite; look for duplicate rows"
            )
        for part in parts:
            steps = MOST_STEPS if few else last_steps(n_rows) if part is rows else FIRST_STEPS
            effort = Effort(FINE if part is rows else MIDDLE, steps, best.widths, part.y.size, FIRST_STEP)
            objective, best = _gone_on(stages, part, best, asked, effort)
        return _concluded(stages, objective, best, tuple(climb.objective for climb in climbs))


def _plan(stages: Stages, parts: Sequence[ArrayChunk], *, few: bool) -> list[tuple[float, int]]:
    """The stages to come: every start, each of these parts of the rows, the last of which are all."""
    assert stages.model.lines is not None, "no sum of functions of single coordinates"
    lines, n_rows, options = stages.model.lines.count, parts[-1].y.size, stages.options
    last = last_steps(n_rows)
    if few:  # starts have all rows too, and leave little to do
        side_by_side = min(options.n_starts, options.threads)
        begin = (_work(n_rows, lines) / side_by_side, FEW_EXPECTED * options.n_starts)
        last = FEW_LAST
    else:
        begin = stages.forecast.stages[0]
    samples = [(_work(part.y.size, lines), EXPECTED) for part in parts[:-1]]
    return [begin, *samples, (_work(n_rows, lines), last)]


def _work(rows: int, lines: int) -> float:
    """Of one evaluation, in multiplications of BLAS."""
    if rows <= FEW_ROWS:
        return float(rows**2 * (rows + LOOPS * lines))
    features = min(EXPECTED_FEATURES * lines, MOST_FEATURES)
    return float(features**2 * (2 * rows + features))


def _climbs(stages: Stages, rows: ArrayChunk, starts: Sequence[Array], grid: Grid) -> list[Climb]:
    """Every start with all rows, as exact inference climbs; one that is refused does not end the others."""
    stages.forecast.next_stage()
    refused: dict[int, NumericalError] = {}

    def climbed(which: int) -> Climb:
        try:
            return _climbed(stages, rows, starts[which], which, grid)
        except NumericalError as error:
            refused[which] = error
            return Climb(starts[which], -WORST, Status.STUCK, np.ones(starts[which].size), 0)

    with ThreadPoolExecutor(stages.options.threads, thread_name_prefix="termwise-starts") as pool:
        climbs = list(pool.map(climbed, range(len(starts))))
    if len(refused) == len(climbs):
        grids = [which for which in refused if isinstance(refused[which], GridError)]
        raise refused[min(grids or refused)]
    return climbs


def _climbed(stages: Stages, rows: ArrayChunk, start: Array, which: int, grid: Grid) -> Climb:
    """One start, by a grid that is fine enough where it begins."""
    objective = _objective(stages, rows, start, grid)
    return climb(objective, start, Effort(max_steps=MOST_STEPS), stages.watch(rows.y.size, which))


def _gone_on(
    stages: Stages, part: ArrayChunk, best: Climb, grid: Grid, effort: Effort
) -> tuple[SkiObjective, Climb]:
    """Some rows, or all, from where the climb before has come to."""
    objective = _objective(stages, part, best.theta, grid)
    stages.forecast.next_stage()
    watch = stages.watch(part.y.size, 0)
    return objective, ascend(objective, best.theta, free_parameters(stages.model), effort, watch)


def _objective(stages: Stages, rows: ArrayChunk, theta: Array, grid: Grid) -> SkiObjective:
    """By a grid that is fine enough at theta; an error there is one of the data, not of a step too long."""
    model, tried = stages.model, stages.data.sample.rows(slice(TRIED_ROWS))
    assert model.lines is not None, "no sum of functions of single coordinates"
    fine = fine_enough(model, tried, grid, theta)
    objective = SkiObjective(model, rows.X, rows.y, model.lines.kernel, fine)
    objective.value_and_gradient(theta)
    return objective


def grid_error(model: Learnable, rows: ArrayChunk, grid: Grid, theta: Array) -> float:
    """By how many nats a row the interpolated likelihood of some rows is not that of the kernel itself."""
    assert model.lines is not None, "no sum of functions of single coordinates"
    exact, _ = ExactObjective(model, rows.X, rows.y, 1).value_and_gradient(theta, late=False)
    objective = SkiObjective(model, rows.X, rows.y, model.lines.kernel, grid)
    try:
        found, _ = objective.value_and_gradient(theta, late=False)
    except GridError:
        raise
    except NumericalError:  # so coarse that it is no kernel any more
        return np.inf
    return abs(found - exact) / rows.y.size


def fine_enough(model: Learnable, rows: ArrayChunk, grid: Grid, theta: Array) -> Grid:
    """The grid that is asked for, or one with so many more nodes that it makes no difference to some rows.

    Of a constrained kernel with a long lengthscale little is left, and an error of interpolation is large
    beside it. The best of those tried if none will do.
    """
    errors: dict[Grid, float] = {}
    for halved in range(MOST_HALVED):
        finer = replace(grid, step=grid.step / 2**halved)
        try:
            errors[finer] = grid_error(model, rows, finer, theta)
        except GridError:
            if not errors:
                raise
            break
        if errors[finer] <= MOST_ERROR:
            break
    best = min(errors, key=lambda one: errors[one])
    if not np.isfinite(errors[best]):
        raise NumericalError(
            f"the kernel is not positive definite even by {2 ** (MOST_HALVED - 1)} times as many nodes; use "
            "inference='sparse'"
        )
    return best


def _concluded(stages: Stages, objective: SkiObjective, best: Climb, starts: tuple[float, ...]) -> Fit:
    """The posterior at the parameters that were found, and how the fit went."""
    model, data = stages.model, stages.data
    value, _ = objective.value_and_gradient(best.theta)
    noise = float(np.exp(best.theta[-1]))
    tried = data.sample.rows(slice(TRIED_ROWS))
    fine = grid_error(model, tried, objective.grid, best.theta) <= MOST_ERROR
    rows, kernel = model.encoded(best.theta, objective.X), model.kernel(best.theta)
    assert isinstance(kernel, TermKernel), "a sum of functions of one coordinate"
    known = aligned_solution(kernel, rows, objective.y, noise)
    seen = model.encoded(best.theta, data.sample.X[:RESIDUALS])
    result = FitResult(
        status=best.status.if_rested(objective.rested and known.enough and fine),
        objective=value,
        evaluations=stages.evaluations,
        seconds=stages.clock(),
        jitter=known.jitter,
        starts=starts,
        rows=data.n_rows,
        residual=objective.residual,
    )
    posterior = replace(known.solution.posterior, seen=seen[:SEEN])
    return Fit(model, best.theta, posterior, scatter_of(known.solution, seen, data), result)
