"""Where the sparse engine becomes faster than the exact one, and what it costs in accuracy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks.data import Split, load
from benchmarks.figures import Figure
from benchmarks.quality import Score, scored, warm_up
from termwise import OAKRegressor

SETS = ("kin8nm", "power", "parkinsons", "elevators")
SIZES = (500, 1000, 2000, 4000)


def run(quick: bool = False) -> Iterator[Figure]:
    """Seconds and scores of both engines, on the first rows of some sets."""
    for engine in ("exact", "sparse"):
        warm_up(engine)
    for size in SIZES[:2] if quick else SIZES:
        ratios, costs = [], []
        for name in SETS[:1] if quick else SETS:
            split = _first_rows(load(name), size)
            exact, sparse = (_scored(split, engine) for engine in ("exact", "sparse"))
            yield from _figures(name, size, exact, sparse)
            ratios.append(exact.seconds / sparse.seconds)
            costs.append(sparse.rmse / exact.rmse)
        yield Figure(f"N = {size}: exact over sparse, seconds, geometric mean", _mean(ratios), "x")
        yield Figure(f"N = {size}: sparse over exact, RMSE, geometric mean", _mean(costs), "x")


def _scored(split: Split, engine: str) -> Score:
    return scored(split, OAKRegressor(categorical=split.categorical or "auto", inference=engine))


def _figures(name: str, size: int, exact: Score, sparse: Score) -> Iterator[Figure]:
    for engine, score in (("exact", exact), ("sparse", sparse)):
        yield Figure(f"{name}, N = {size}, {engine}: seconds", score.seconds, "s")
        yield Figure(f"{name}, N = {size}, {engine}: RMSE", score.rmse)
        yield Figure(f"{name}, N = {size}, {engine}: log density", score.density)


def _first_rows(split: Split, size: int) -> Split:
    rows = np.random.default_rng(0).permutation(split.y.size)[:size]
    return replace(split, X={name: x[rows] for name, x in split.X.items()}, y=split.y[rows])


def _mean(ratios: list[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))
