"""Whether the optimum depends on where the climb starts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.data import Split, load
from benchmarks.figures import Figure
from termwise import OAKRegressor

FIXED = 2  # the first starts are the same for every seed, and are all that the default tries


def run(quick: bool = False) -> Iterator[Figure]:
    """Objectives of random starts, and what the default would have missed."""
    for name in ("autompg",) if quick else ("concrete", "autompg"):
        random = objectives(load(name), 8)[FIXED:]
        yield Figure(f"{name}: best of eight random starts", random.max(), "nat")
        yield Figure(f"{name}: spread of the eight", np.ptp(random), "nat")
        yield Figure(f"{name}: starts within 0.1 of the best", np.sum(random > random.max() - 0.1))
    found = objectives(load("yacht"), 4 if quick else 20)
    default, random = found[:FIXED].max(), found[FIXED:].max()
    yield Figure("yacht: best of the two default starts", default, "nat")
    yield Figure(f"yacht: best of {found.size - FIXED} random starts", random, "nat")
    yield Figure("yacht: what the default misses", max(random - default, 0.0), "nat")


def objectives(split: Split, random: int) -> np.ndarray:
    """The objective that each start reaches: the fixed ones, then the random ones."""
    model = OAKRegressor(categorical=split.categorical or "auto", n_restarts=FIXED + random)
    return np.array(model.fit(split.X, split.y).fit_result_.starts)
