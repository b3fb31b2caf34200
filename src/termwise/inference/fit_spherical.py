"""Learning kernels of the angle: parameters and the places of inducing variables together, by L-BFGS.

The first inducing variables are learned alone. Then come those that are orthogonal to them, for fewer steps:
a step with both costs more, and little is left to learn but where they stand.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import minimize
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from termwise.encode.rows import ArrayChunk
from termwise.errors import NumericalError
from termwise.inference.blocks import Chunk
from termwise.inference.bound import Decoupled
from termwise.inference.climb import WORST
from termwise.inference.coarse import RESIDUALS, SEEN, AnySparse, Data, scatter_of
from termwise.inference.fit import NOTHING, Fit
from termwise.inference.learnable import Learnable
from termwise.inference.minibatches import Minibatches
from termwise.inference.moving import with_cells
from termwise.inference.progress import Clock, Monitor, Progress
from termwise.inference.result import FitResult, Status
from termwise.inference.sparse import SparseObjective
from termwise.inference.sparse_sites import SparseSiteObjective
from termwise.inference.spherical import SphericalModel
from termwise.inference.stochastic import (
    BATCH_ROWS,
    FARTHEST,
    LAST_TOLERANCE,
    LEAST_STEPS,
    SETTLED_ROWS,
    State,
    Stochastic,
    first_known,
    with_sites,
)
from termwise.inference.workers import LocalWorkers
from termwise.kernels.features import FEATURE, POINT
from termwise.kernels.fused.run import cores
from termwise.kernels.sphere import harmonics
from termwise.linalg.threads import one_blas_thread
from termwise.measures.base import Array
from termwise.posterior.noise import Noise

SAMPLED = 20_000  # rows by which centres are found
ROUNDS = 20  # of k-means
TOLERANCE = 1e-6  # relative change of the bound that ends a climb
FIRST_STEP = 0.1  # of the steepest parameter
EARLY_STEPS, NEAR = 15, 1.0  # the first of them, and how far these go at most
STEPS, LATER_STEPS = 200, 40  # at most: without the orthogonal variables, and with them
STOCHASTIC_ROWS = 50_000  # beyond, minibatches are sooner there than looks at all rows
# Of minibatches, where inducing variables move: they have far to go, and little is spoiled by beginning soon.
RATE, WARM = 0.05, 5
FEW_ROWS, FEW_INDUCING = 4000, 128  # by which parameters begin then

Told = Callable[..., None]  # who is told the bound, and the seconds that are left if they can be foreseen


@dataclass(frozen=True)
class SphericalOptions:
    """How many inducing variables, and by how many threads."""

    n_inducing: int = 128
    n_orthogonal: int = 0
    threads: int = field(default_factory=cores)

    @property
    def total(self) -> int:
        """Of both kinds."""
        return self.n_inducing + self.n_orthogonal

    def places(self, data: Data) -> Array:
        """The rows by which centres are found; some of many, but as many as there are to be centres."""
        return data.sample.X[: max(SAMPLED, self.total)]


def fit_spherical(
    model: SphericalModel,
    rows: ArrayChunk,
    options: SphericalOptions,
    rng: np.random.Generator,
    monitor: Monitor | None = None,
) -> Fit:
    """Maximise the bound over all parameters and the places of all inducing variables."""
    sampling, drawing = rng.spawn(2)
    data, clock, evaluations = Data.in_memory(rows, sampling, options.total), Clock(), 0

    def watch(value: float, left: float | None = None) -> None:
        nonlocal evaluations
        evaluations += 1
        if monitor is not None:
            monitor(Progress(0, evaluations, value, clock(), rows.y.size, left))

    with one_blas_thread():
        by = by_minibatches if rows.y.size > STOCHASTIC_ROWS else by_all_rows
        found = by(model, data, options, drawing, watch)
        objective, theta, status = found.objective, found.theta, found.status
        solution = objective.posterior(theta)
    seen = model.encoded(theta, data.sample.X[:RESIDUALS])
    noise = Noise.normal(0.0) if model.likelihood else scatter_of(solution, seen, data)
    told = model.variance_of_terms(theta) >= NOTHING
    result = FitResult(
        status=status.if_rested(objective.rested and told),
        objective=solution.objective,
        evaluations=evaluations,
        seconds=clock(),
        jitter=objective.jitter,
        starts=found.starts,
        rows=rows.y.size,
        inducing=len(objective.inducing),
        orthogonal=objective.orthogonal.count if objective.orthogonal else 0,
    )
    return Fit(model, theta, replace(solution.posterior, seen=seen[:SEEN]), noise, result)


@dataclass(frozen=True, eq=False)
class Climbed:
    """The objective where it is highest, the parameters there, how it ended, and its values at the starts."""

    objective: AnySparse
    theta: Array
    status: Status
    starts: tuple[float, ...]


def by_all_rows(
    model: SphericalModel, data: Data, options: SphericalOptions, rng: np.random.Generator, watch: Told
) -> Climbed:
    """By looks at all rows."""
    starts = model.starts()
    first, last = first_places(model, starts[0], options.places(data), options, rng)
    objective = objective_of(model, data.chunks, first, options.threads)
    values = at_starts(objective, starts, watch)
    begin = starts[int(np.argmax(values))]
    theta, status = climb_places(objective, begin, STEPS, watch)
    if len(last) == 0:
        return Climbed(objective, theta, status, values)
    if model.variance_of_terms(theta) < NOTHING:  # features that the kernel has next to nothing of
        theta, objective.inducing = begin, first
    both = np.concatenate([objective.inducing, last])
    objective = objective_of(model, data.chunks, both, options.threads, len(last))
    theta, status = climb_places(objective, theta, LATER_STEPS, watch)
    return Climbed(objective, theta, Status.PLANNED if status is Status.MAX_STEPS else status, values)


def by_minibatches(
    model: SphericalModel, data: Data, options: SphericalOptions, rng: np.random.Generator, watch: Told
) -> Climbed:
    """By looks at some thousand rows at a time, beginning with what few of them tell."""
    search, state, starts = begin_minibatches(model, data, options, rng, watch)
    clock = Clock()

    def steps(step: int, value: float) -> None:
        watch(value, clock() / step * (search.steps - step))

    state = search.run(state, steps)
    known, apart = state.known, state.known.orthogonal
    objective = objective_of(model, data.chunks, state.inducing, options.threads, apart.count if apart else 0)
    if isinstance(objective, SparseSiteObjective):
        objective.known, objective.tolerance = known, LAST_TOLERANCE
    return Climbed(objective, state.theta, Status.PLANNED, starts)


def begin_minibatches(
    model: SphericalModel, data: Data, options: SphericalOptions, rng: np.random.Generator, watch: Told
) -> tuple[Stochastic, State, tuple[float, ...]]:
    """The search, the state before its first step, and the bounds at the starts by a few rows.

    These rows, with few inducing variables, say where parameters begin.
    """
    few = data.sample.rows(slice(FEW_ROWS))
    first, last = (min(count, FEW_INDUCING) for count in (options.n_inducing, options.n_orthogonal))
    fewer = replace(options, n_inducing=first, n_orthogonal=last)
    begun = by_all_rows(model, Data([few], few.y.size, few), fewer, rng, watch)
    theta = begun.theta
    principal, orthogonal = first_places(model, theta, options.places(data), options, rng)
    Z, sites, rows = np.concatenate([principal, orthogonal]), with_sites(model), data.sample
    some = objective_of(sites, [rows.rows(slice(SETTLED_ROWS))], Z, options.threads, len(orthogonal))
    assert isinstance(some, SparseSiteObjective), "a model with sites has a likelihood"
    size = min(BATCH_ROWS, data.n_rows)
    minibatches = Minibatches(data.chunks, data.n_rows, size, int(rng.integers(2**31)))
    steps, movable = max(LEAST_STEPS, minibatches.per_round), model.movable(Z)
    state = State.begin(theta, Z, first_known(some, theta, data.n_rows), int(np.count_nonzero(movable)))
    return Stochastic(sites, minibatches, steps, options.threads, movable, RATE, WARM), state, begun.starts


def objective_of(
    model: Learnable, chunks: Sequence[Chunk], inducing: Array, threads: int, n_orthogonal: int = 0
) -> AnySparse:
    """The bound as a function of the parameters; so many of the inducing variables are orthogonal."""
    kind = SparseObjective if model.likelihood is None else SparseSiteObjective
    apart = Decoupled(n_orthogonal) if n_orthogonal else None
    return kind(model, chunks, inducing, LocalWorkers(threads), orthogonal=apart)


def at_starts(objective: AnySparse, starts: Sequence[Array], watch: Told) -> tuple[float, ...]:
    """The bound at each: features of a lengthscale too long have nearly all of their variance where the
    kernel has nearly none, and a climb from there explains nothing.
    """

    def value(theta: Array) -> float:
        try:
            found, _ = objective.value_and_gradient(theta)
        except (NumericalError, np.linalg.LinAlgError):
            return -WORST
        watch(found)
        return found

    return tuple(value(theta) for theta in starts)


def climb_places(objective: AnySparse, theta: Array, steps: int, watch: Told) -> tuple[Array, Status]:
    """The best parameters that so many steps find; the inducing variables of the objective move with them."""
    model, movable = objective.model, objective.model.movable(objective.inducing)
    n = sum(chunk.read().y.size for chunk in objective.chunks)

    def move(vector: Array) -> Array:
        objective.inducing = with_cells(objective.inducing, movable, vector[theta.size :])
        return vector[: theta.size]

    def negative(vector: Array) -> tuple[float, Array]:
        at = move(vector)
        try:
            value, gradient, by_rows = objective.value_and_gradients(at)
        except (NumericalError, np.linalg.LinAlgError):
            return WORST, np.zeros(vector.size)  # the line search takes a shorter step
        watch(value)
        cells = model.cells_gradient(at, objective.inducing, by_rows)[movable]
        return -value / n, -np.concatenate([gradient, cells]) / n

    places = objective.inducing[movable]
    low, high = (
        np.concatenate([bound, np.full(places.size, edge)])
        for bound, edge in zip(np.transpose(model.bounds()), (-FARTHEST, FARTHEST), strict=True)
    )
    begin = np.clip(np.concatenate([theta, places]), low, high)
    # Before the curvature is known a step can lead anywhere, and no step from there leads back.
    near = np.maximum(low, begin - NEAR), np.minimum(high, begin + NEAR)
    found, _ = _minimum(negative, begin, *near, EARLY_STEPS)
    found, status = _minimum(negative, found, low, high, steps - EARLY_STEPS)
    return move(found), status


def _minimum(
    negative: Callable[[Array], tuple[float, Array]], begin: Array, low: Array, high: Array, steps: int
) -> tuple[Array, Status]:
    """By L-BFGS-B, whose first step is short."""
    value, slope = negative(begin)
    if value >= WORST:
        raise NumericalError("no kernel matrix at the start was positive definite; look for duplicate rows")
    # Where nothing is known of the curvature, a long step can end where the variance is zero.
    unit = np.sqrt(min(1.0, FIRST_STEP / max(float(np.max(np.abs(slope))), 1e-300)))

    def scaled(vector: Array) -> tuple[float, Array]:
        value, slope = negative(np.clip(vector * unit, low, high))
        return value, slope * unit

    bounds = list(zip(low / unit, high / unit, strict=True))
    options = {"maxiter": steps, "ftol": TOLERANCE, "gtol": 1e-7, "maxcor": 20}
    found = minimize(scaled, begin / unit, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    status = {0: Status.CONVERGED, 1: Status.MAX_STEPS}.get(found.status, Status.STUCK)
    return np.clip(found.x * unit, low, high), status


def first_places(
    model: SphericalModel, theta: Array, X: Array, options: SphericalOptions, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Where the first inducing variables and the orthogonal ones begin: at the centres of one k-means.

    Two sets of centres would meet, and where they do the orthogonal ones have nothing left to tell: of few
    rows there are fewer. What features are at a row is not the value there, so that both may have all.
    """
    different = np.unique(X[:, :-1], axis=0)
    of_degrees, first = model.features == "harmonics", options.n_inducing
    if model.features != "points":
        # More features than all of their degrees have harmonics would be sums of each other.
        degrees = model.known(theta).degrees
        first = min(first, sum(harmonics(model.n_features + 1, degree) for degree in degrees))
    first = min(first, len(different))
    placed = 0 if of_degrees else first
    count = min(placed + options.n_orthogonal, len(different))
    centres = different
    if 0 < count < len(different):
        centres = _centres(X[:, :-1], count, int(rng.integers(2**31)))
    centres = centres[rng.permutation(len(centres))]
    tag = POINT if model.features == "points" else FEATURE
    ahead = _of_degrees(model, theta, first, rng) if of_degrees else _tagged(centres[:placed], tag)
    if model.features == "points":
        return ahead, _tagged(centres[placed:], POINT)
    return ahead, _tagged(centres[max(len(centres) - options.n_orthogonal, 0) :], POINT)


def _centres(X: Array, count: int, seed: int) -> Array:
    """So many centres, or fewer: beside a number that is far too large others cannot be told apart."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = KMeans(count, n_init=1, max_iter=ROUNDS, random_state=seed).fit(X).cluster_centers_
    _, first = np.unique(found, axis=0, return_index=True)
    centres: Array = found[np.sort(first)]
    return centres


def _tagged(places: Array, tag: int) -> Array:
    return np.column_stack([places, np.full(len(places), float(tag))])


def _of_degrees(model: SphericalModel, theta: Array, count: int, rng: np.random.Generator) -> Array:
    """So many harmonics, from the lowest degrees on, along directions drawn with equal chance for all.

    Those of a degree are not orthogonal to each other as they stand, but the engine makes them so.
    """
    found, left = [], count
    for tag, degree in enumerate(model.known(theta).degrees, start=1):
        here = min(left, harmonics(model.n_features + 1, degree))
        drawn = rng.standard_normal((here, model.n_features + 1))
        found.append(_tagged(drawn[:, :-1] / drawn[:, -1:], tag))
        left -= here
    return np.concatenate(found)
