"""Learning the parameters by maximising log marginal likelihood + log prior from several starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from termwise.errors import NumericalError
from termwise.inference.exact import ExactObjective, Model
from termwise.inference.progress import Clock, Monitor, Progress
from termwise.inference.result import FitResult, Status
from termwise.kernels.fused.run import cores
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior

# Short, as a climb finds its way from short lengthscales to long ones but seldom back; in sd of the column.
FIRST_LENGTHSCALE, SPREAD = 0.3, 0.3  # and the sd of its logarithm among random starts
FIRST_NOISES, NOISE_RANGE = (0.01, 0.1), (0.003, 0.3)  # in variances of the target
FIRST_TOLERANCE, TOLERANCE = 1e-3, 1e-6  # relative change of the objective that ends a climb
WORST = 1e100
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
    climbs = _climb_all(model, starts, y, options, [watch(i) for i in range(len(starts))])
    best = max(climbs, key=lambda climb: climb.objective)
    if best.objective <= -WORST:
        raise NumericalError("no kernel matrix at any start was positive definite; look for duplicate rows")
    objective = ExactObjective(model, y, cores(), np.empty((y.size, y.size)))
    posterior = objective.posterior(best.theta, _encoded(model, best.theta, X))
    evaluations = sum(climb.evaluations for climb in climbs)
    by_start = tuple(climb.objective for climb in climbs)
    result = FitResult(best.status, best.objective, evaluations, clock(), objective.jitter, by_start)
    return Fit(model, best.theta, posterior, result)


def _encoded(model: Model, theta: Array, X: Array) -> Array:
    """The rows with what was learned of their encoding."""
    columns = X.T.copy()
    for x, column, part in zip(columns, model.columns, model.by_column(theta), strict=True):
        for step in column.steps(part):
            x[:] = step.forward(x)
    return np.ascontiguousarray(columns.T)


def _starts(model: Model, count: int, rng: np.random.Generator) -> list[Array]:
    """One start for each of the first noises, then random lengthscales and noises."""
    low, high = np.transpose(model.bounds())
    starts = []
    for i, stream in enumerate(rng.spawn(count)):
        lengthscales, noise = (
            np.full(len(model.columns), FIRST_LENGTHSCALE),
            FIRST_NOISES[i % len(FIRST_NOISES)],
        )
        if i >= len(FIRST_NOISES):
            lengthscales *= np.exp(SPREAD * stream.standard_normal(lengthscales.size))
            noise = float(np.exp(stream.uniform(*np.log(NOISE_RANGE))))
        starts.append(np.clip(model.start(lengthscales, noise), low, high))
    return starts


def _climb_all(
    model: Model,
    starts: Sequence[Array],
    y: Array,
    options: FitOptions,
    watches: Sequence[Callable[[int, float], None]],
) -> list[Climb]:
    """Climb from every start, side by side if the table is small, one after the other if it is not."""
    available = options.n_jobs or (cores() if y.size <= SIDE_BY_SIDE else 1)
    workers = min(len(starts), max(1, available) if available > 0 else cores())
    threads = max(1, cores() // workers)
    serial = workers > 1 or y.size < SERIAL_BLAS
    with threadpool_limits(limits=1 if serial else None, user_api="blas"):
        if workers == 1:
            return [
                _climb(model, theta, y, options.max_steps, threads, watch)
                for theta, watch in zip(starts, watches, strict=True)
            ]
        climb = delayed(_climb)
        found: list[Climb] = Parallel(n_jobs=workers, prefer="threads")(
            climb(model, theta, y, options.max_steps, threads, watch)
            for theta, watch in zip(starts, watches, strict=True)
        )
        return found


def _climb(
    model: Model,
    theta: Array,
    y: Array,
    max_steps: int,
    threads: int,
    watch: Callable[[int, float], None],
) -> Climb:
    """Climb over the parameters that settle first, then over all."""
    objective = ExactObjective(model, y, threads, np.empty((y.size, y.size)))
    low, high = np.transpose(model.bounds())
    free, late = high > low, model.late()
    if np.any(free & late):
        theta = _ascend(objective, theta, free & ~late, FIRST_TOLERANCE, max_steps, watch)[0]
    theta, value, status = _ascend(objective, theta, free, TOLERANCE, max_steps, watch)
    return Climb(theta, value, status, objective.evaluations)


def _ascend(
    objective: ExactObjective,
    theta: Array,
    free: NDArray[np.bool_],
    tolerance: float,
    max_steps: int,
    watch: Callable[[int, float], None],
) -> tuple[Array, float, Status]:
    """L-BFGS-B over the free parameters."""

    def negative(part: Array) -> tuple[float, Array]:
        whole = theta.copy()
        whole[free] = part
        try:
            value, gradient = objective.value_and_gradient(whole, late=late)
        except NumericalError:
            # No kernel matrix here: the line search takes a shorter step.
            return WORST, np.zeros(part.size)
        watch(objective.evaluations, value)
        return -value, -gradient[free]

    low, high = np.transpose(objective.model.bounds())
    late = bool(np.any(free & objective.model.late()))
    bounds = list(zip(low[free], high[free], strict=True))
    options = {"maxiter": max_steps, "ftol": tolerance, "gtol": 1e-5, "maxcor": 30, "maxls": 30}
    found = minimize(negative, theta[free], jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    whole = theta.copy()
    whole[free] = found.x
    status = {0: Status.CONVERGED, 1: Status.MAX_STEPS}.get(found.status, Status.STUCK)
    return whole, -float(found.fun), status


def _watch(monitor: Monitor | None, clock: Clock) -> Callable[[int], Callable[[int, float], None]]:
    def of_start(start: int) -> Callable[[int, float], None]:
        def watch(evaluations: int, value: float) -> None:
            if monitor is not None:
                monitor(Progress(start, evaluations, value, clock()))

        return watch

    return of_start
