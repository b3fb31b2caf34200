"""Learning the parameters: several starts, each by continuation from the tied model to the released one.

The tied model (the form of the paper, without a warp) has few parameters and nearly always one optimum. Its
optimum is the same kernel as a point of the released model, so that one starts there and only climbs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from termwise.errors import NumericalError
from termwise.inference.exact import ExactObjective, Model
from termwise.inference.progress import Clock, Monitor, Progress
from termwise.inference.result import FitResult, Status
from termwise.kernels.fused.run import cores
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior

# (lengthscale, noise): smooth with little noise, and smoother with more.
STARTS = ((1.0, 0.01), (2.0, 0.1))
SPREAD = 0.5  # sd of the random starts around the first two, in logs
TIED_TOLERANCE, TOLERANCE = 1e-5, 1e-7  # relative change of the objective that ends a climb
SAME = 0.05  # tied optima closer than this in the objective are one
HOPELESS = 20.0  # tied optima this far below the best are not released
SIDE_BY_SIDE = 1500  # rows up to which two starts on one core each beat one start on two
SERIAL_BLAS = 700  # rows below which threads inside LAPACK cost more than they bring


@dataclass(frozen=True)
class FitOptions:
    """How to search."""

    n_starts: int = 2
    n_jobs: int | None = None
    max_steps: int = 500


@dataclass(frozen=True, eq=False)
class Climb:
    """Where one search has come to."""

    model: Model
    theta: Array
    objective: float
    status: Status
    evaluations: int


@dataclass(frozen=True, eq=False)
class Fit:
    """The best parameters, the posterior there, and how it went."""

    model: Model
    theta: Array
    posterior: Posterior
    result: FitResult


def fit_exact(
    model: Model,
    X: Array,
    y: Array,
    options: FitOptions,
    rng: np.random.Generator,
    monitor: Monitor | None = None,
) -> Fit:
    """Maximise log marginal likelihood + log prior over all parameters, from several starts."""
    clock = Clock()
    watch = _watch(monitor, clock)
    starts = _starts(model, options.n_starts, rng)
    tied = _climb_all(
        [(model, theta) for theta in starts], y, TIED_TOLERANCE, options, [watch(i) for i in range(len(starts))]
    )
    chosen = _distinct(tied)
    released = [tied[i].model.release(tied[i].theta) for i in chosen]
    final = _climb_all(released, y, TOLERANCE, options, [watch(i) for i in chosen])
    best = max(final, key=lambda climb: climb.objective)
    objective = ExactObjective(best.model, y, cores(), np.empty((y.size, y.size)))
    posterior = objective.posterior(best.theta, _encoded(best, X))
    evaluations = sum(climb.evaluations for climb in (*tied, *final))
    by_start = _objective_of_starts(tied, chosen, final)
    result = FitResult(best.status, best.objective, evaluations, clock(), objective.jitter, by_start)
    return Fit(best.model, best.theta, posterior, result)


def _encoded(best: Climb, X: Array) -> Array:
    """The rows with what was learned of their encoding."""
    columns = X.T.copy()
    for x, column, theta in zip(columns, best.model.columns, best.model.by_column(best.theta), strict=True):
        for step in column.steps(theta):
            x[:] = step.forward(x)
    return np.ascontiguousarray(columns.T)


def _starts(model: Model, count: int, rng: np.random.Generator) -> list[Array]:
    """The two fixed starts, then random ones around them."""
    low, high = np.transpose(model.bounds())
    starts = []
    for i, stream in enumerate(rng.spawn(count)):
        theta = model.start(*STARTS[i % len(STARTS)])
        if i >= len(STARTS):
            theta = theta + SPREAD * stream.standard_normal(theta.size)
        starts.append(np.clip(theta, low, high))
    return starts


def _distinct(climbs: Sequence[Climb]) -> list[int]:
    """The climbs worth going on with: the best, and others nearly as good that are not the same optimum."""
    order = sorted(range(len(climbs)), key=lambda i: -climbs[i].objective)
    best = climbs[order[0]].objective
    kept: list[int] = []
    for i in order:
        here = climbs[i].objective
        if best - here <= HOPELESS and all(abs(here - climbs[j].objective) > SAME for j in kept):
            kept.append(i)
    return kept


def _objective_of_starts(tied: Sequence[Climb], chosen: list[int], final: Sequence[Climb]) -> tuple[float, ...]:
    """The objective each start ended with: that of the optimum it shares, or its tied one if it was given up."""
    values = []
    for climb in tied:
        same = [k for k, i in enumerate(chosen) if abs(tied[i].objective - climb.objective) <= SAME]
        values.append(final[same[0]].objective if same else climb.objective)
    return tuple(values)


def _climb_all(
    jobs: Sequence[tuple[Model, Array]],
    y: Array,
    tolerance: float,
    options: FitOptions,
    watches: Sequence[Callable[[int, float], None]],
) -> list[Climb]:
    """Climb from every start, side by side if the table is small, one after the other if it is not."""
    available = options.n_jobs or (cores() if y.size <= SIDE_BY_SIDE else 1)
    workers = min(len(jobs), max(1, available) if available > 0 else cores())
    threads = max(1, cores() // workers)
    serial = workers > 1 or y.size < SERIAL_BLAS
    with threadpool_limits(limits=1 if serial else None, user_api="blas"):
        if workers == 1:
            return [
                _climb(model, theta, y, tolerance, options.max_steps, threads, watch)
                for (model, theta), watch in zip(jobs, watches, strict=True)
            ]
        climb = delayed(_climb)
        found: list[Climb] = Parallel(n_jobs=workers, prefer="threads")(
            climb(model, theta, y, tolerance, options.max_steps, threads, watch)
            for (model, theta), watch in zip(jobs, watches, strict=True)
        )
        return found


def _climb(
    model: Model,
    theta: Array,
    y: Array,
    tolerance: float,
    max_steps: int,
    threads: int,
    watch: Callable[[int, float], None],
) -> Climb:
    """L-BFGS-B over the free parameters."""
    low, high = np.transpose(model.bounds())
    free = np.flatnonzero(high > low)
    objective = ExactObjective(model, y, threads, np.empty((y.size, y.size)))

    def negative(part: Array) -> tuple[float, Array]:
        whole = theta.copy()
        whole[free] = part
        try:
            value, gradient = objective.value_and_gradient(whole)
        except NumericalError:
            # No kernel matrix here: the line search takes a shorter step.
            return 1e100, np.zeros(free.size)
        watch(objective.evaluations, value)
        return -value, -gradient[free]

    options = {"maxiter": max_steps, "ftol": tolerance, "gtol": 1e-5, "maxcor": 20, "maxls": 30}
    bounds = list(zip(low[free], high[free], strict=True))
    found = minimize(negative, theta[free], jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    if found.fun >= 1e100:
        raise NumericalError("no kernel matrix near the start was positive definite; look for duplicate rows")
    status = {0: Status.CONVERGED, 1: Status.MAX_STEPS}.get(found.status, Status.STUCK)
    whole = theta.copy()
    whole[free] = found.x
    return Climb(model, whole, -float(found.fun), status, objective.evaluations)


def _watch(monitor: Monitor | None, clock: Clock) -> Callable[[int], Callable[[int, float], None]]:
    def of_start(start: int) -> Callable[[int, float], None]:
        def watch(evaluations: int, value: float) -> None:
            if monitor is not None:
                monitor(Progress(start, evaluations, value, clock()))

        return watch

    return of_start
