"""The delays of a million flights by activation features and orthogonal variables. Spherical section 3.6.3.

Errors and densities are of the third of the rows that is held out, in sd of the training rows: on the way,
and in the picture, of some of them, at the end of all too. The clock stands still while they are taken.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import product
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.airline import flights
from benchmarks.data import REPOSITORY, Split
from benchmarks.figures import Figure
from termwise.encode.rows import ArrayChunk
from termwise.estimators.numbers import as_numbers
from termwise.inference.blocks import Setting
from termwise.inference.bound import shrinkage_root
from termwise.inference.coarse import Data
from termwise.inference.fit_spherical import SphericalOptions, begin_minibatches
from termwise.inference.sparse import push_of
from termwise.inference.spherical import SphericalModel
from termwise.inference.stochastic import State, Stochastic, with_sites
from termwise.kernels.features import ROW
from termwise.linalg.threads import one_blas_thread
from termwise.table import read_table

ROWS, QUICK_ROWS, QUICK_STEPS = 1_000_000, 20_000, 40
MOST_TIME = 0.6  # of a step of as many variables that are known together
RESULTS = REPOSITORY / "benchmarks" / "results"
FEATURES = ("points", "softplus")
COUNTS: dict[str, dict[str, int]] = {
    "500": {"n_inducing": 500},
    "1000": {"n_inducing": 1000},
    "500+500": {"n_inducing": 500, "n_orthogonal": 500},
}
QUICK_COUNTS: dict[str, dict[str, int]] = {
    "50": {"n_inducing": 50},
    "100": {"n_inducing": 100},
    "50+50": {"n_inducing": 50, "n_orthogonal": 50},
}
MOMENTS, MOMENT_ROWS = 20, 20_000  # at which a fit is scored, and by how many rows
COLOURS = ("#d55e00", "#0072b2", "#009e73")


@dataclass(frozen=True)
class Moment:
    """How far a fit was after some seconds and steps."""

    features: str
    count: str
    seconds: float
    step: int
    step_seconds: float  # the median of those since the moment before
    rows: int  # that were held out and scored
    rmse: float
    nlpd: float


@dataclass(frozen=True, eq=False)
class Rows:
    """All rows as the engine reads them, and those held out."""

    train: ArrayChunk
    test: ArrayChunk

    @classmethod
    def of(cls, split: Split) -> Rows:
        """Levels spread to numbers, and all standardised by the training rows."""
        table, test = read_table(split.X), read_table(split.X_test)
        dense, numbers = as_numbers(table, split.categorical, "mean", owner="the benchmark")
        mean, sd = float(np.mean(split.y)), float(np.std(split.y))
        pairs = (numbers, split.y), (dense.transform(test), split.y_test)
        return cls(*(ArrayChunk(_tagged(X), (y - mean) / sd) for X, y in pairs))


def _tagged(X: np.ndarray) -> np.ndarray:
    return np.column_stack([X, np.full(len(X), float(ROW))])


@dataclass(frozen=True, eq=False)
class Course(Stochastic):
    """A search by minibatches that is scored now and then."""

    look: Callable[[State], None] = lambda _: None

    def after_step(self, state: State, rows: ArrayChunk) -> tuple[State, float]:
        """A step, and a look at where it has led."""
        there, value = super().after_step(state, rows)
        self.look(there)
        return there, value


def run(quick: bool = False) -> Iterator[Figure]:
    """All models on the same rows; quick with few of them and without writing results."""
    counts = QUICK_COUNTS if quick else COUNTS
    rows = Rows.of(flights(QUICK_ROWS if quick else ROWS))
    yield Figure("training rows", rows.train.y.size)
    yield Figure("test rows", rows.test.y.size)
    moments: list[Moment] = []
    for features, (count, options) in product(FEATURES, counts.items()):
        found = course(rows, features, count, SphericalOptions(**options), QUICK_STEPS if quick else None)
        moments += found
        end = found[-1]
        yield Figure(f"{features} {count}: seconds of the fit", end.seconds, "s")
        yield Figure("  seconds of a step", median(one.step_seconds for one in found), "s")
        yield Figure("  RMSE in sd of the training rows", end.rmse)
        yield Figure("  NLPD", end.nlpd)
        if not quick:
            write(moments, RESULTS)  # after each, as one may take long
    yield from mended(moments, tuple(counts), limited=not quick)
    if not quick:
        draw(moments, RESULTS)


def course(
    rows: Rows, features: str, count: str, options: SphericalOptions, steps: int | None = None
) -> list[Moment]:
    """One fit, and how well it predicts on the way and at the end."""
    begun, rng = time.perf_counter(), np.random.default_rng(0)
    model = SphericalModel(rows.train.X.shape[1] - 1, "arccos1", features, 6)
    data = Data.in_memory(rows.train, rng)
    some = rows.test.rows(slice(MOMENT_ROWS))
    moments, steps_seen, paused = [], [begun], 0.0

    def look(state: State) -> None:
        nonlocal paused
        steps_seen.append(time.perf_counter())
        if state.step % max(1, search.steps // MOMENTS) == 0 or state.step == search.steps:
            each = float(np.median(np.diff(steps_seen)))
            seconds = steps_seen[-1] - begun - paused
            for held_out in (some, rows.test) if state.step == search.steps else (some,):
                found = held_out.y.size, *scored(model, state, held_out)
                moments.append(Moment(features, count, seconds, state.step, each, *found))
            paused += time.perf_counter() - steps_seen[-1]
            steps_seen[:] = [time.perf_counter()]

    with one_blas_thread():
        planned, state, _ = begin_minibatches(model, data, options, rng, lambda *_: None)
        search = Course(**{**vars(planned), "steps": steps or planned.steps}, look=look)
        steps_seen[:] = [time.perf_counter()]
        search.run(state, lambda *_: None)
    return moments


def scored(model: SphericalModel, state: State, rows: ArrayChunk) -> tuple[float, float]:
    """RMSE and NLPD with what is known after a step."""
    theta, noise = state.theta, float(np.exp(state.theta[-1]))
    push, _ = push_of(Setting(with_sites(model), theta, state.inducing))
    mean, *_ = state.known.moments()
    taken = push.root @ shrinkage_root(state.known.taken)
    posterior = model.posterior(theta, state.inducing, push.root @ mean, taken, noise)
    X = model.encoded(theta, rows.X)
    error, variance = rows.y - posterior.mean(X), posterior.variance(X) + noise
    nlpd = 0.5 * np.mean(np.log(2.0 * np.pi * variance) + error**2 / variance)
    return float(np.sqrt(np.mean(error**2))), float(nlpd)


def mended(moments: Sequence[Moment], counts: Sequence[str], *, limited: bool) -> Iterator[Figure]:
    """What orthogonal variables do beside as many others, at the end."""
    few, many, both = counts
    for features in FEATURES:
        of = {count: [m for m in moments if (m.features, m.count) == (features, count)] for count in counts}
        above = of[both][-1].nlpd - of[many][-1].nlpd
        limit = 0.0 if limited and features != "points" else None
        yield Figure(f"{features}: NLPD of {both} above that of {many}", above, "nat", at_most=limit)
        step = {count: median(one.step_seconds for one in found) for count, found in of.items()}
        limit = MOST_TIME if limited else None
        yield Figure(f"  a step of {both} over one of {many}", step[both] / step[many], "x", at_most=limit)
        yield Figure(f"  over one of {few}", step[both] / step[few], "x")


def write(moments: Sequence[Moment], folder: Path) -> None:
    """The numbers of the picture as a table."""
    with open(folder / "delays.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, [field.name for field in fields(Moment)], lineterminator="\n")
        table.writeheader()
        table.writerows({name: _text(value) for name, value in asdict(one).items()} for one in moments)


def _text(value: float | str) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def draw(moments: Sequence[Moment], folder: Path) -> None:
    """Scores against seconds, points on the left and features on the right. Spherical figure 3.12."""
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(8.0, 5.6), layout="constrained")
    axes = picture.subplots(2, len(FEATURES), sharex=True, sharey="row")
    for column, features in zip(axes.T, FEATURES, strict=True):
        column[0].set_title("inducing points" if features == "points" else f"{features} features", loc="left")
        here = [one for one in moments if one.features == features and one.rows <= MOMENT_ROWS]
        for colour, count in zip(COLOURS, dict.fromkeys(one.count for one in here), strict=False):
            of = [one for one in here if one.count == count]
            for ax, score in zip(column, ("rmse", "nlpd"), strict=True):
                times, values = [one.seconds for one in of], [getattr(one, score) for one in of]
                ax.plot(times, values, "o-", color=colour, markersize=3, label=count)
        column[1].set_xlabel("seconds")
    axes[0, 0].set_ylabel("test RMSE")
    axes[1, 0].set_ylabel("test NLPD")
    axes[0, 0].legend(frameon=False, title="inducing variables")
    picture.savefig(folder / "delays.png", dpi=150)
