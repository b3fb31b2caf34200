"""The step that an optimiser repeats, beside LAPACK and BoTorch; compiling and importing."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from benchmarks import child, peers_botorch
from benchmarks.figures import Figure
from benchmarks.timing import lapack_step, seconds, take_turns
from termwise.inference.columns import FixedColumn, TrainableColumn, WarpedColumn
from termwise.inference.exact import ExactObjective
from termwise.inference.model import Model
from termwise.inference.orders import EachOrder
from termwise.kernels.fused.run import cores
from termwise.kernels.matern import Matern52
from termwise.kernels.squared_exponential import SquaredExponential
from termwise.measures import Empirical, Normal

COLUMNS, ORDER = 8, 4
SIZES = (500, 1000, 2000)
PLAIN, DEFAULT = "plain (as the peers)", "default (learned warp)"
MOST_LAPACKS = {(PLAIN, 1000): 2.5, (PLAIN, 2000): 2.0}
LEAST_BOTORCH = 20.0
PEER_ROWS = 1000
MOST_COLD, MOST_IMPORT = 20.0, 1.0


def run(quick: bool = False) -> Iterator[Figure]:
    """All figures of the core."""
    repeats = 3 if quick else 15
    plain = {}
    for n in SIZES[:2] if quick else SIZES:
        found = take_turns(steps(n), repeats)
        floor = found.pop("LAPACK")
        yield Figure(f"potrf + potri, N = {n}", 1e3 * floor.least, "ms")
        yield Figure("  median over least: 1 on a quiet machine", floor.median / floor.least, "x")
        for name, time in found.items():
            yield Figure(f"value and gradient, {name}, N = {n}", 1e3 * time.least, "ms")
            limit = MOST_LAPACKS.get((name, n))
            yield Figure(f"  over potrf + potri, N = {n}", time.least / floor.least, "x", at_most=limit)
        plain[n] = found[PLAIN].least
    yield from beside_botorch(plain[PEER_ROWS], 1 if quick else 5)
    yield from compiling()
    yield from importing()


def steps(n: int) -> dict[str, Callable[[], float]]:
    """LAPACK and one value and gradient of two models of n rows, each saying how long it took."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((COLUMNS, n))
    y = np.sin(2.0 * X[0]) + X[1] * X[2] + 0.1 * rng.standard_normal(n)
    y = (y - y.mean()) / y.std()
    plain = [FixedColumn(Normal(), SquaredExponential, normalise=False) for _ in X]
    default = [WarpedColumn(Empirical.fit(x), Matern52, normalise=False) for x in X]
    return {"LAPACK": lapack_step(n), PLAIN: _step(plain, X.T, y), DEFAULT: _step(default, X.T, y)}


def _step(columns: Sequence[TrainableColumn], X: np.ndarray, y: np.ndarray) -> Callable[[], float]:
    model = Model(tuple(columns), EachOrder(tuple(range(ORDER + 1))))
    objective = ExactObjective(model, X, y, cores())
    theta = model.start(np.ones(COLUMNS), noise=0.1)
    return lambda: seconds(lambda: objective.value_and_gradient(theta))


def beside_botorch(ours: float, repeats: int) -> Iterator[Figure]:
    """BoTorch's kernel has order 2 at most, ours is timed at order 4."""
    try:
        theirs = peers_botorch.value_and_gradient_seconds(PEER_ROWS, COLUMNS, repeats)
    except ImportError as error:
        print(f"  BoTorch is not compared: {error}")
        return
    yield Figure(f"value and gradient, BoTorch (order 2), N = {PEER_ROWS}", 1e3 * theirs, "ms")
    yield Figure("  BoTorch over ours, plain", theirs / ours, "x", at_least=LEAST_BOTORCH)


def compiling() -> Iterator[Figure]:
    """The first use of every compiled loop after an installation, and the same again."""
    with tempfile.TemporaryDirectory() as cache:
        for when, limit in (("cold", MOST_COLD), ("warm", None)):
            time = child.call("benchmarks.first_use:use_all", NUMBA_CACHE_DIR=cache)
            yield Figure(f"import, fit and explain with every kernel, {when}", time, "s", at_most=limit)


def importing() -> Iterator[Figure]:
    """Imports with all caches filled."""
    for line in ("import termwise", "from termwise import OAKRegressor"):
        program = f"import time; start = time.perf_counter(); {line}; print(time.perf_counter() - start)"
        child.python(program)
        least = min(float(child.python(program)) for _ in range(3))
        yield Figure(line, least, "s", at_most=MOST_IMPORT)
