"""Learning the parameters by maximising log marginal likelihood + log prior from several starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

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
FEW_ROWS = 600  # at most, on which candidates and starts are tried exactly before many rows are looked at


@dataclass(frozen=True)
class FitOptions:
    """How to search."""

    n_starts: int = 2
    n_jobs: int | None = None
    max_steps: int = 500
    rule: str = "variational"  # for sites, if the likelihood is not normal
    threads: int | None = None  # of each start; None for those that are free


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model and the rows as it reads them: a table can be encoded in more than one way."""

    model: Learnable
    rows: ArrayChunk

    def some(self, rows: NDArray[np.intp]) -> Candidate:
        """The same with some of the rows."""
        return replace(self, rows=self.rows.rows(rows))


@dataclass(frozen=True)
class Preferred:
    """Which of several candidates has the highest evidence, and what it took to know."""

    chosen: int
    evaluations: int = 0
    seconds: float = 0.0

    def before(self, result: FitResult) -> FitResult:
        """How a fit went that this came before."""
        evaluations, seconds = self.evaluations + result.evaluations, self.seconds + result.seconds
        return replace(result, evaluations=evaluations, seconds=seconds)


@dataclass(frozen=True, eq=False)
class Fit:
    """The best parameters, the posterior there, how it went, and which of several candidates this is."""

    model: Learnable
    theta: Array
    posterior: Posterior
    noise: Noise
    result: FitResult
    chosen: int = 0

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
    candidates: Sequence[Candidate],
    options: FitOptions,
    rng: np.random.Generator,
    monitor: Monitor | None = None,
) -> Fit:
    """Maximise log marginal likelihood + log prior over all parameters, from several starts.

    Starts are shared out among the candidates in turn, and the best of all is gone on with.
    """
    clock = Clock()
    watch = partial(_watch, monitor, clock)
    climbs = _climbs(candidates, options, rng, watch)
    chosen, best = _best(climbs)
    if best.objective <= -WORST:
        raise NumericalError("no kernel matrix at any start was positive definite; look for duplicate rows")
    model, rows = candidates[chosen].model, candidates[chosen].rows
    evaluations = sum(climb.evaluations for _, climb in climbs) - best.evaluations
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
        starts=tuple(climb.objective for _, climb in climbs),
        rows=rows.y.size,
        scale=scatter.factor,
    )
    return Fit(model, best.theta, posterior, scatter.noise, result, chosen)


def preferred(
    candidates: Sequence[Candidate],
    n_jobs: int | None,
    rng: np.random.Generator,
    monitor: Monitor | None = None,
) -> Preferred:
    """Which candidate has the highest evidence, from one start each; the first if none explains anything."""
    clock = Clock()
    # By one thread each, so that their number changes no bit.
    options = FitOptions(n_starts=len(candidates), n_jobs=n_jobs, threads=1)
    climbs = _climbs(candidates, options, rng, partial(_watch, monitor, clock))
    chosen, best = _best(climbs)
    if explains_nothing(candidates[chosen].model, best.theta):
        chosen = 0  # what is higher by rounding or by its prior says nothing
    return Preferred(chosen, sum(climb.evaluations for _, climb in climbs), clock())


def _best(climbs: Sequence[tuple[int, Climb]]) -> tuple[int, Climb]:
    return max(climbs, key=lambda found: found[1].objective)


def _climbs(
    candidates: Sequence[Candidate],
    options: FitOptions,
    rng: np.random.Generator,
    watch: Callable[[int, int], Watch],
) -> list[tuple[int, Climb]]:
    """From every start, with the candidate it is of; once more from afar where nothing was found."""
    n_rows, count = candidates[0].rows.y.size, len(candidates)
    points = [first_points(one.model, -(-options.n_starts // count), rng) for one in candidates]
    starts = [(start % count, points[start % count][start // count]) for start in range(options.n_starts)]

    def climb_from(start: int, threads: int) -> tuple[int, Climb]:
        which, point = starts[start]
        one = candidates[which]
        objective = dense_objective(one.model, one.rows, threads, options.rule)
        return which, climb(objective, point, _effort(one.model, options), watch(start, n_rows))

    climbs = _side_by_side(climb_from, len(starts), n_rows, options)
    which, best = _best(climbs)
    if explains_nothing(candidates[which].model, best.theta):
        far = [first_points(one.model, 1, rng, LONG_LENGTHSCALE)[0] for one in candidates]
        starts += list(enumerate(far))
        climbs += _side_by_side(
            lambda start, threads: climb_from(options.n_starts + start, threads), count, n_rows, options
        )
    return climbs


def explains_nothing(model: Learnable, theta: Array) -> bool:
    """Whether a climb of sites has ended where all terms are nothing, as it may from short lengthscales."""
    return model.likelihood is not None and model.variance_of_terms(theta) < NOTHING


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
    threads = options.threads or max(1, cores() // workers)
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
