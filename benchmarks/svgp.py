"""A step of minibatches with a kernel of the angle, beside GPflow's SVGP, in turns on the same rows.

Both begin with the same parameters, inducing rows and q (the prior), and see as many rows a step; inducing
rows are learned too. GPflow's step is one of natural gradients for q and one of Adam for all else. Of the
arc-cosine kernel both models are the same. The squared exponential is of the distance through the sphere
here and of that between rows there, so that its bounds are of two models.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.cluster.vq import kmeans2

from benchmarks.data import read
from benchmarks.figures import Figure
from benchmarks.peers_gpflow import Bounds, Gpflow
from benchmarks.timing import seconds
from termwise.encode.rows import ArrayChunk
from termwise.inference.blocks import Setting
from termwise.inference.fit_spherical import RATE, WARM, objective_of
from termwise.inference.minibatches import Minibatches
from termwise.inference.site_blocks import site_statistics
from termwise.inference.sparse import push_of
from termwise.inference.sparse_sites import Inducing
from termwise.inference.spherical import SphericalModel
from termwise.inference.stochastic import State, Stochastic, with_sites
from termwise.kernels.features import POINT, ROW
from termwise.kernels.fused.run import cores
from termwise.linalg.threads import one_blas_thread

TABLE, ROWS, BATCH = "kin40k", 20_000, 5000
COUNTS, KERNELS = (256, 1000), ("arccos1", "se")
SAME = {"arccos1": 0.0}  # kernels of which both models are the same: ours is to have no lower bound
WARMING, STEPS, TURNS = 5, 50, 3
NOISE = 0.1
FASTER = 3.0  # times, that ours are to be at least
LONGEST = 10.0  # times as many steps, that ours may make in the time of theirs


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows and a target, both standardised, with the inducing rows at which both begin."""

    X: np.ndarray
    y: np.ndarray
    places: np.ndarray
    kernel: str
    batch: int
    planned: int  # steps that there will be


class Steps(Protocol):
    """A model between two steps."""

    def turn(self, steps: int) -> float:
        """Make so many steps; the seconds of one."""

    def bounds(self) -> Bounds:
        """The bounds on all rows."""


class Ours:
    """The stochastic engine, from a start without any look at the rows."""

    def __init__(self, problem: Problem) -> None:
        n, features = problem.X.shape
        self.rows = ArrayChunk(np.column_stack([problem.X, np.full(n, float(ROW))]), problem.y)
        self.model = SphericalModel(features, problem.kernel)
        Z = np.column_stack([problem.places, np.full(len(problem.places), float(POINT))])
        minibatches = Minibatches([self.rows], n, problem.batch, 0)
        movable = self.model.movable(Z)
        pace = problem.planned, cores(), movable, RATE, WARM
        self.search = Stochastic(with_sites(self.model), minibatches, *pace)
        theta = self.model.start(np.ones(self.model.n_columns), NOISE)
        self.state = State.begin(theta, Z, Inducing.prior(len(Z)), int(np.count_nonzero(movable)))
        self._coming = minibatches.after(0)

    def turn(self, steps: int) -> float:
        """Make so many steps; the seconds of one."""

        def make() -> None:
            for _ in range(steps):
                self.state, _ = self.search.after_step(self.state, next(self._coming))

        with one_blas_thread():  # as in a fit: threads share out the rows
            return seconds(make) / steps

    def bounds(self) -> Bounds:
        """The bounds on all rows."""
        state, prior = self.state, self.model.log_prior(self.state.theta)[0]
        with one_blas_thread():
            push, _ = push_of(Setting(self.search.model, state.theta, state.inducing))
            view, divergence = state.known.seen(push.setting, push.root)
            learned = site_statistics(self.rows, view, cores()).value - divergence
            objective = objective_of(self.model, [self.rows], state.inducing, cores())
            return Bounds(float(learned), objective.posterior(state.theta).objective - prior)


def problem(kernel: str, n_inducing: int, planned: int, rows: int = ROWS, batch: int = BATCH) -> Problem:
    """Some rows of the table, with inducing rows by k-means."""
    whole, rng = read(TABLE), np.random.default_rng(0)
    chosen = rng.permutation(whole.y.size)[:rows]
    X, y = np.column_stack(list(whole.X.values()))[chosen], whole.y[chosen]
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    places = kmeans2(X, n_inducing, minit="points", rng=rng)[0]
    return Problem(X, y, places, kernel, batch, planned)


def run(quick: bool = False) -> Iterator[Figure]:
    """Seconds of a step and bounds after as many of them; quick with few rows and steps."""
    counts, rows, batch = ((64,), 4000, 1000) if quick else (COUNTS, ROWS, BATCH)
    steps, turns = (5, 1) if quick else (STEPS, TURNS)
    for kernel in KERNELS:
        for count in counts:
            of = problem(kernel, count, WARMING + turns * steps, rows, batch)
            yield from beside(of, steps, turns)


def in_turns(models: Mapping[str, Steps], steps: int, turns: int) -> dict[str, float]:
    """The least seconds of a step over the turns of each: what else runs on the machine only adds time."""
    rounds = [{name: model.turn(steps) for name, model in models.items()} for _ in range(turns)]
    return {name: min(one[name] for one in rounds) for name in models}


def beside(of: Problem, steps: int, turns: int) -> Iterator[Figure]:
    """Both in turns on one problem, after a few steps to warm up."""
    theirs = Gpflow(of.X, of.y, of.places, kernel=of.kernel, batch=of.batch, noise=NOISE)
    models: dict[str, Steps] = {"ours": Ours(of), "GPflow": theirs}
    try:
        for model in models.values():
            model.turn(WARMING)
        times = in_turns(models, steps, turns)
        bounds = {name: model.bounds() for name, model in models.items()}
    finally:
        theirs.close()
    what = f"{of.kernel}, M = {len(of.places)}"
    for name in models:
        yield Figure(f"{what}, {name}: a step of {of.batch} rows", 1e3 * times[name], "ms")
        yield Figure(f"  bound after {of.planned} steps, nats a row", bounds[name].learned / of.y.size)
        yield Figure("  with the best q for its parameters", bounds[name].best / of.y.size)
    ratio, whole = times["GPflow"] / times["ours"], of.batch == BATCH
    yield Figure(f"{what}: GPflow's seconds over ours", ratio, "x", None, FASTER if whole else None)
    reached = bounds["GPflow"].learned
    above = (bounds["ours"].learned - reached) / of.y.size
    yield Figure(
        f"{what}: our bound above GPflow's, nats a row",
        above,
        "",
        None,
        SAME.get(of.kernel) if whole else None,
    )
    more = replace(of, planned=round(min(LONGEST, ratio) * of.planned))
    longer = Ours(more)
    longer.turn(more.planned)
    gain = (longer.bounds().learned - reached) / of.y.size
    yield Figure(f"  after {more.planned} steps, in as many seconds", gain)
