"""The step of the sparse engine beside the least it must do, and the peak memory of a million rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import child
from benchmarks.figures import Figure
from benchmarks.timing import seconds, take_turns
from termwise import OAKRegressor
from termwise.encode.rows import ArrayChunk
from termwise.inference.blocks import BLOCK_ROWS
from termwise.inference.climb import Climb, Effort, ascend
from termwise.inference.columns import WarpedColumn
from termwise.inference.model import Model
from termwise.inference.orders import EachOrder
from termwise.inference.result import Status
from termwise.inference.sparse import SparseObjective
from termwise.inference.workers import LocalWorkers
from termwise.kernels.fused import run as fused
from termwise.kernels.matern import Matern52
from termwise.measures import Empirical

COLUMNS, ORDER, INDUCING = 8, 2, 256
ROWS, MANY = 100_000, 1_000_000
LARGE_ROWS = 16 * BLOCK_ROWS  # of an array that both cores work on together
OURS, WHOLE = "value and gradient", "yardstick from encoded rows"
MOST_YARDSTICKS, MOST_GROWTH = 2.5, 1.1  # the latter beyond that of the rows
STEPS = 2  # of each climb; a whole fit takes many minutes, and holds no more
MOST_MEGABYTES = 1e9 / child.MEGABYTE  # beyond the table


def run(quick: bool = False) -> Iterator[Figure]:
    """All figures of the sparse engine; quick with fewer rows, without the limits."""
    rows, many = (10_000, 20_000) if quick else (ROWS, MANY)
    yield from beside_blas(rows, 2 if quick else 9, None if quick else MOST_YARDSTICKS)
    yield from growth((rows, many), 1 if quick else 3, None if quick else MOST_GROWTH)
    yield from weighed(many, limited=not quick)


def beside_blas(rows: int, repeats: int, limit: float | None) -> Iterator[Figure]:
    """One value and gradient over one kernel matrix and two products of it."""
    found = take_turns(steps(rows), repeats)
    for name, time in found.items():
        yield Figure(f"{name}, N = {rows}, M = {INDUCING}", 1e3 * time.least, "ms")
        yield Figure("  median over least: 1 on a quiet machine", time.median / time.least, "x")
    ours, whole = found.pop(OURS), found.pop(WHOLE)
    yield Figure("  value and gradient over the yardstick", ours.least / whole.least, "x", at_most=limit)
    yield Figure("  the same of the medians", ours.median / whole.median, "x")
    laid = min(time.least for time in found.values())
    yield Figure("  over the faster one whose rows were laid out beforehand", ours.least / laid, "x")


def growth(sizes: tuple[int, int], repeats: int, limit: float | None) -> Iterator[Figure]:
    """The time of many rows over that of fewer."""
    few, many = sizes
    found = take_turns({f"N = {n}": _ours(*problem(n)) for n in sizes}, repeats)
    times = list(found.values())
    yield Figure(f"value and gradient, N = {many}", times[1].least, "s")
    most = None if limit is None else limit * many / few
    yield Figure(f"  over that of N = {few}", times[1].least / times[0].least, "x", at_most=most)
    yield Figure("  the same of the medians", times[1].median / times[0].median, "x")


def weighed(rows: int, *, limited: bool) -> Iterator[Figure]:
    """The peak memory of processes that hold a table and do one thing with it."""
    table = 8 * rows * COLUMNS / child.MEGABYTE
    limit = table + MOST_MEGABYTES if limited else None
    yield Figure(f"table of {rows} x {COLUMNS}", table, "MB")
    for name, function in ((OURS, "step"), ("fit", "fit")):
        found = child.call(f"benchmarks.sparse:measure_{function}", rows)
        yield Figure(f"peak memory of one {name}, N = {rows}", found["peak"], "MB", at_most=limit)
        yield Figure("  before it, with the table", found["before"], "MB")
        yield Figure("  seconds", found["seconds"], "s")


def measure_step(rows: int) -> dict[str, float]:
    """Weigh one value and gradient."""
    objective, theta = problem(rows)
    return _measured(_ours(objective, theta))


def measure_fit(rows: int) -> dict[str, float]:
    """Weigh a fit whose climbs end after a few steps."""
    X, y = table_of(rows)
    model = OAKRegressor(max_order=ORDER, n_inducing=INDUCING)
    with patch("termwise.inference.coarse.ascend", _short_climb):
        found = _measured(lambda: seconds(lambda: model.fit(X, y)))
    assert model.fit_result_.status == Status.MAX_STEPS, "the limit of the steps did not reach the fit"
    return found


def _measured(step: Callable[[], float]) -> dict[str, float]:
    before = child.peak_megabytes()
    return {"before": before, "seconds": step(), "peak": child.peak_megabytes()}


def _short_climb(objective: Any, theta: np.ndarray, free: np.ndarray, effort: Effort, watch: Any) -> Climb:
    return ascend(objective, theta, free, replace(effort, max_steps=STEPS), watch)


def table_of(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """A synthetic table and its target."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, COLUMNS))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(rows)
    return X, (y - y.mean()) / y.std()


def problem(rows: int) -> tuple[SparseObjective, np.ndarray]:
    """The objective of the default model, with the first rows inducing, and a vector to start from."""
    X, y = table_of(rows)
    columns = tuple(WarpedColumn(Empirical.fit(x), Matern52, normalise=False) for x in X.T)
    model = Model(columns, EachOrder(tuple(range(ORDER + 1)), COLUMNS))
    objective = SparseObjective(model, [ArrayChunk(X, y)], X[:INDUCING], LocalWorkers())
    return objective, model.start(np.ones(COLUMNS), noise=0.1)


def steps(rows: int) -> dict[str, Callable[[], float]]:
    """One value and gradient, and two ways to do the least work it needs, each saying how long it took."""
    objective, theta = problem(rows)
    yardstick = Yardstick.of(objective, theta)
    return {
        OURS: _ours(objective, theta),
        WHOLE: yardstick.from_rows,
        "yardstick by blocks": yardstick.by_blocks,
        "yardstick by large arrays": yardstick.by_large_arrays,
    }


def _ours(objective: SparseObjective, theta: np.ndarray) -> Callable[[], float]:
    def step() -> float:
        with threadpool_limits(limits=1, user_api="blas"):  # as in a fit
            return seconds(lambda: objective.value_and_gradient(theta))

    return step


@dataclass(frozen=True, eq=False)
class Yardstick:
    """The kernel K of all rows with the inducing rows, once, and the products K'K and K G.

    An evaluation at new parameters begins with encoded rows: their coordinates and amplitudes are part of K.
    For comparison they can also be there beforehand.
    """

    objective: SparseObjective
    theta: np.ndarray
    weights: fused.Weights
    rows: fused.Rows
    inducing: fused.Rows
    G: np.ndarray

    @classmethod
    def of(cls, objective: SparseObjective, theta: np.ndarray) -> Yardstick:
        """The yardstick of an objective; what the loops read is laid out beforehand."""
        model, X = objective.model, objective.chunks[0].read().X
        rows = model.layout(theta, np.ascontiguousarray(X.T), late=False).rows
        Z = model.layout(theta, np.ascontiguousarray(objective.inducing.T))
        variances, _ = model.orders.variances(model.order_parameters(theta))
        G = np.random.default_rng(1).standard_normal((len(objective.inducing),) * 2)
        return cls(objective, theta, Z.weights(variances), rows, Z.rows, G + G.T)

    def from_rows(self) -> float:
        """The seconds with blocks that fit the cache, each the work of one core, from encoded rows."""
        X = self.objective.chunks[0].read().X
        blocks = [X[start : start + BLOCK_ROWS] for start in range(0, len(X), BLOCK_ROWS)]
        with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(fused.cores()) as pool:
            return seconds(lambda: sum(pool.map(lambda rows: self.product(self.laid_out(rows), 1), blocks)))

    def laid_out(self, X: np.ndarray) -> fused.Rows:
        """Encoded rows as the loops read them."""
        return self.objective.model.layout(self.theta, np.ascontiguousarray(X.T), late=False).rows

    def by_blocks(self) -> float:
        """The seconds with blocks that fit the cache, each the work of one core."""
        blocks, threads = self.parts(BLOCK_ROWS), fused.cores()
        with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
            return seconds(lambda: sum(pool.map(lambda rows: self.product(rows, 1), blocks)))

    def by_large_arrays(self) -> float:
        """The seconds with large arrays, each the work of all cores, in BLAS too."""
        parts, threads = self.parts(LARGE_ROWS), fused.cores()
        with threadpool_limits(limits=threads, user_api="blas"):
            return seconds(lambda: sum(self.product(rows, threads) for rows in parts))

    def parts(self, size: int) -> list[fused.Rows]:
        """The rows cut to pieces of this size."""
        u, a = self.rows.u, self.rows.a
        cuts = [slice(start, start + size) for start in range(0, u.shape[1], size)]
        return [fused.Rows(np.ascontiguousarray(u[:, cut]), np.ascontiguousarray(a[:, cut])) for cut in cuts]

    def product(self, rows: fused.Rows, threads: int) -> np.ndarray:
        """All of the work for some rows; returns their K'K."""
        K = fused.cross(self.weights, rows, self.inducing, threads)
        _ = K @ self.G
        product: np.ndarray = K.T @ K
        return product
