"""Learning the parameters by maximising log marginal likelihood + log prior from several starts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
from joblib import Parallel, delayed

from termwise.encode.rows import ArrayChunk
from termwise.errors import NumericalError
from termwise.inference.approximate import SiteObjective
from termwise.inference.calibrate import FOLDS, LEAST_ROWS, LeftOut, Scatter, leave_out, together
from termwise.inference.climb import WORST, Climb, Effort, Watch, climb, first_points
from termwise.inference.exact import ExactObjective
from termwise.inference.growth import grown
from termwise.inference.learnable import Learnable
from termwise.inference.progress import Clock, Monitor, Progress
from termwise.inference.result import FitResult
from termwise.inference.sites import RULES
from termwise.kernels.fused.run import cores
from termwise.likelihoods import Likelihood
from termwise.likelihoods.observed import Observed
from termwise.linalg.threads import one_blas_thread
from termwise.measures.base import Array
from termwise.posterior.noise import Noise
from termwise.posterior.posterior import Posterior

SIDE_BY_SIDE = 1500  # rows up to which two starts on one core each beat one start on two
# With no noise to learn, a first step down the steepest slope can end where all variances are zero.
FIRST_STEP = 0.3  # of the steepest parameter, if the likelihood is not normal
LONG_LENGTHSCALE, NOTHING = 2.0, 1e-3  # in sd of the column; of variance, beside that of the likelihood
Done = TypeVar("Done")
SERIAL_BLAS = 700  # rows below which threads inside LAPACK cost more than they bring


@dataclass(frozen=True)
class FitOptions:
    """How to search."""

    n_starts: int = 2
    n_jobs: int | None = None
    max_steps: int = 500
    rule: str = "variational"  # for sites, if the likelihood is not normal


@dataclass(frozen=True, eq=False)
class Fit:
    """The best parameters, the posterior there, and how it went."""

    model: Learnable
    theta: Array
    posterior: Posterior
    noise: Noise
    result: FitResult

    @property
    def likelihood(self) -> Likelihood | None:
        """The likelihood at its best parameters; None if it is normal, with `noise`."""
        if self.model.likelihood is None:
            return None
        return self.model.likelihood.with_parameters(self.model.likelihood_parameters(self.theta))


def dense_objective(
    model: Learnable, rows: ArrayChunk, threads: int, rule: str = "variational"
) -> ExactObjective | SiteObjective:
    """The evidence on the whole kernel matrix; by a rule for sites if the likelihood is not normal."""
    if model.likelihood is None:
        return ExactObjective(model, rows.X, rows.y, threads)
    observed = Observed(model.likelihood, rows.y, rows.weight, rows.offset)
    return SiteObjective(model, rows.X, observed, RULES[rule], threads)


def fit_exact(
    model: Learnable,
    rows: ArrayChunk,
    options: FitOptions,
    rng: np.random.Generator,
    monitor: Monitor | None = None,
) -> Fit:
    """Maximise log marginal likelihood + log prior over all parameters, from several starts."""
    clock = Clock()
    watch = partial(_watch, monitor, clock)
    climbs = _climbs(model, rows, options, rng, watch)
    best = max(climbs, key=lambda climb: climb.objective)
    if best.objective <= -WORST:
        raise NumericalError("no kernel matrix at any start was positive definite; look for duplicate rows")
    evaluations = sum(climb.evaluations for climb in climbs) - best.evaluations
    model, best = _grown(model, best, rows, options, watch(len(climbs), rows.y.size))
    objective = dense_objective(model, rows, cores(), options.rule)
    posterior = objective.posterior(best.theta)
    evaluations += best.evaluations
    scatter = Scatter(1.0, Noise.normal(posterior.noise))
    if isinstance(objective, ExactObjective) and rows.y.size >= LEAST_ROWS:
        left_out = _leave_out(
            objective, best.theta, options, rng, lambda fold, count: watch(len(climbs) + 1 + fold, count)
        )
        scatter = left_out.scatter(posterior.noise)
        posterior = posterior.scaled(scatter.factor)
        evaluations += left_out.evaluations
    result = FitResult(
        status=best.status.if_rested(objective.rested),
        objective=best.objective,
        evaluations=evaluations,
        seconds=clock(),
        jitter=objective.jitter,
        starts=tuple(climb.objective for climb in climbs),
        rows=rows.y.size,
        scale=scatter.factor,
    )
    return Fit(model, best.theta, posterior, scatter.noise, result)


def _climbs(
    model: Learnable,
    rows: ArrayChunk,
    options: FitOptions,
    rng: np.random.Generator,
    watch: Callable[[int, int], Watch],
) -> list[Climb]:
    """From every start; of sites, once more with long lengthscales where short ones explain nothing."""
    starts = first_points(model, options.n_starts, rng)

    def climb_from(start: int, threads: int) -> Climb:
        objective = dense_objective(model, rows, threads, options.rule)
        return climb(objective, starts[start], _effort(model, options), watch(start, rows.y.size))

    climbs = _side_by_side(climb_from, len(starts), rows.y.size, options)
    best = max(climbs, key=lambda climb: climb.objective)
    if model.likelihood is not None and model.variance_of_terms(best.theta) < NOTHING:
        starts += first_points(model, 1, rng, LONG_LENGTHSCALE)
        climbs += _side_by_side(lambda _, threads: climb_from(len(climbs), threads), 1, rows.y.size, options)
    return climbs


def _effort(model: Learnable, options: FitOptions) -> Effort:
    longest = np.inf if model.likelihood is None else FIRST_STEP
    return Effort(max_steps=options.max_steps, longest=longest)


def _grown(
    model: Learnable, best: Climb, rows: ArrayChunk, options: FitOptions, watch: Watch
) -> tuple[Learnable, Climb]:
    """More orders, if the rows ask for them."""

    def grow(_: int, threads: int) -> tuple[Learnable, Climb]:
        def objective_of(wider: Learnable) -> ExactObjective | SiteObjective:
            return dense_objective(wider, rows, threads, options.rule)

        return grown(model, best, objective_of, _effort(model, options), watch)

    return _side_by_side(grow, 1, rows.y.size, options)[0]


def _leave_out(
    objective: ExactObjective,
    theta: Array,
    options: FitOptions,
    rng: np.random.Generator,
    watch: Callable[[int, int], Watch],
) -> LeftOut:
    """Leave each fifth of the rows out once."""
    order = rng.permutation(objective.y.size)

    def fold(place: int, threads: int) -> LeftOut:
        tested = order[place::FOLDS]
        watched = watch(place, order.size - tested.size)
        return leave_out(replace(objective, threads=threads), tested, theta, watched)

    return together(_side_by_side(fold, FOLDS, objective.y.size, options))


def _side_by_side(
    work: Callable[[int, int], Done], count: int, n_rows: int, options: FitOptions
) -> list[Done]:
    """Do every piece of work, side by side if the table is small, one after the other if it is not."""
    available = options.n_jobs or (cores() if n_rows <= SIDE_BY_SIDE else 1)
    workers = min(count, max(1, available) if available > 0 else cores())
    threads = max(1, cores() // workers)
    with one_blas_thread() if workers > 1 or n_rows < SERIAL_BLAS else nullcontext():
        if workers == 1:
            return [work(place, threads) for place in range(count)]
        found: list[Done] = Parallel(n_jobs=workers, prefer="threads")(
            delayed(work)(place, threads) for place in range(count)
        )
        return found


def _watch(monitor: Monitor | None, clock: Clock, start: int, rows: int) -> Watch:
    def watch(evaluations: int, value: float) -> None:
        if monitor is not None:
            monitor(Progress(start, evaluations, value, clock(), rows))

    return watch
