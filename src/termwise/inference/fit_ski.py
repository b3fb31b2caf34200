"""Learning from many rows by grid interpolation: from a few rows, exactly, to samples, to all."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from termwise.encode.rows import ArrayChunk
from termwise.errors import GridError, NumericalError
from termwise.inference.aligned import aligned_solution
from termwise.inference.climb import WORST, Climb, Effort, ascend, first_points, free_parameters
from termwise.inference.coarse import (
    FINE,
    FIRST_STEP,
    FIRST_STEPS,
    MIDDLE,
    RESIDUALS,
    SEEN,
    Data,
    SparseOptions,
    Stages,
    last_steps,
    scatter_of,
)
from termwise.inference.fit import Fit
from termwise.inference.learnable import Learnable
from termwise.inference.progress import Monitor
from termwise.inference.result import FitResult
from termwise.inference.ski import Grid, SkiObjective
from termwise.kernels.fused.run import cores
from termwise.linalg.threads import one_blas_thread
from termwise.measures.base import Array

LINE_KERNELS = ("se", "matern32", "matern52")  # smooth enough to be interpolated
MOST_LINES = 400
MOST_HALVED = 4  # distances of nodes that are tried


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
    starting, sampling, choosing = rng.spawn(3)
    n_rows, data = rows.y.size, Data.in_memory(rows, sampling)
    threads = SparseOptions(n_starts=options.n_starts, threads=options.threads)
    stages = Stages(model, data, threads, choosing, monitor)
    with one_blas_thread():  # starts are side by side
        climbs = stages.begin(first_points(model, options.n_starts, starting))
    best = max(climbs, key=lambda one: one.objective)
    if best.objective <= -WORST:
        raise NumericalError("no kernel matrix at any start was positive definite; look for duplicate rows")
    samples = [data.sample.rows(slice(size)) for size in stages.sizes if size < n_rows]
    for part in [*samples, rows]:
        objective = _fine_enough(model, part, options.grid, best.theta)
        last = part is rows
        steps = last_steps(n_rows) if last else FIRST_STEPS
        effort = Effort(FINE if last else MIDDLE, steps, best.widths, part.y.size, FIRST_STEP)
        stages.forecast.next_stage()
        watch = stages.watch(part.y.size, 0)
        best = ascend(objective, best.theta, free_parameters(model), effort, watch)
    return _concluded(stages, objective, best, tuple(climb.objective for climb in climbs))


def _fine_enough(model: Learnable, rows: ArrayChunk, grid: Grid, theta: Array) -> SkiObjective:
    """The objective by the grid that is asked for, or by one so fine that its kernel is positive definite.

    An error here is one of the data or of the grid, not of a step too long.
    """
    assert model.lines is not None, "no sum of functions of single coordinates"
    for step in (grid.step / 2**halved for halved in range(MOST_HALVED)):
        objective = SkiObjective(model, rows.X, rows.y, model.lines.kernel, replace(grid, step=step))
        try:
            objective.value_and_gradient(theta)
        except GridError:
            raise
        except NumericalError:
            continue
        return objective
    raise NumericalError(
        f"the kernel is not positive definite even by {2 ** (MOST_HALVED - 1)} times as many nodes; use "
        "inference='sparse'"
    )


def _concluded(stages: Stages, objective: SkiObjective, best: Climb, starts: tuple[float, ...]) -> Fit:
    """The posterior at the parameters that were found, and how the fit went."""
    model, data = stages.model, stages.data
    value, _ = objective.value_and_gradient(best.theta)
    noise = float(np.exp(best.theta[-1]))
    rows, kernel = model.encoded(best.theta, objective.X), model.kernel(best.theta)
    known = aligned_solution(kernel, rows, objective.y, noise)
    seen = model.encoded(best.theta, data.sample.X[:RESIDUALS])
    result = FitResult(
        status=best.status.if_rested(objective.rested and known.enough),
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
