"""Peak memory of an exact fit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from unittest.mock import patch

import numpy as np

from benchmarks import child
from benchmarks.figures import Figure
from benchmarks.timing import seconds
from termwise import OAKRegressor
from termwise.inference.fit import FitOptions
from termwise.inference.result import Status

ROWS, COLUMNS = 4000, 8
STEPS = 3  # of each climb; a whole fit takes many minutes, and holds no more
MOST_MEGABYTES = 1200.0


def run(quick: bool = False) -> Iterator[Figure]:
    """An exact fit in a process of its own; quick with 1000 rows, without the limit."""
    rows = 1000 if quick else ROWS
    found = child.call("benchmarks.memory:measure", rows)
    limit = None if quick else MOST_MEGABYTES
    yield Figure(
        f"peak memory of an exact fit, N = {rows}, D = {COLUMNS}", found["peak"], "MB", at_most=limit
    )
    yield Figure("  of that, after the imports", found["imports"], "MB")
    yield Figure("  kernel matrices of N x N that the rest would hold", found["matrices"])
    yield Figure(f"  seconds, stopped after {STEPS} steps of each climb", found["seconds"], "s")
    yield Figure("  evaluations of the objective", found["evaluations"])


def measure(rows: int) -> dict[str, float]:
    """Fit a synthetic table, exactly, with the defaults but for the number of steps."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, COLUMNS))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(rows)
    imports = child.peak_megabytes()
    model = OAKRegressor(inference="exact")
    with patch("termwise.estimators.engine.FitOptions", partial(FitOptions, max_steps=STEPS)):
        time = seconds(lambda: model.fit(X, y))
    assert model.fit_result_.status == Status.MAX_STEPS, "the limit of the steps did not reach the fit"
    peak = child.peak_megabytes()
    matrix = 8 * rows**2 / child.MEGABYTE
    return {
        "peak": peak,
        "imports": imports,
        "matrices": (peak - imports) / matrix,
        "seconds": time,
        "evaluations": model.fit_result_.evaluations,
    }
