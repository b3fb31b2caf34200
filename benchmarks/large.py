"""How well and how fast the defaults predict on larger tables, beside the OAK paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.data import NoDataError, Split, load
from benchmarks.figures import Figure
from benchmarks.quality import Score, scored, warm_up

# Test RMSE of OAK in units of the target's sd. OAK table 5.
PAPER = {
    "tamielectric": 1.001,
    "kin40k": 0.581,
    "keggdirected": 0.129,
    "bike": 0.023,
    "pol": 0.848,
    "elevators": 0.379,
    "naval": 0.164,
    "power": 0.234,
    "protein": 0.987,
    "parkinsons": 0.373,
}
DIGITS = 3  # that the paper prints
SPLITS = 3
LEAST_SETS = 8
QUICK, QUICK_ROWS = ("power", "tamielectric"), 2500


def run(quick: bool = False, datasets: Sequence[str] | None = None, splits: int = SPLITS) -> Iterator[Figure]:
    """The scores split by split and their means; the limit is for all sets and splits."""
    names = tuple(datasets or (QUICK if quick else PAPER))
    unknown = [name for name in names if name not in PAPER]
    if unknown:
        raise NoDataError(f"no set {unknown[0]!r} in this benchmark; choose from {', '.join(PAPER)}")
    warm_up("sparse")
    reached = 0
    for name in names:
        scores = []
        for split in range(1 if quick else splits):
            data = load(name, split)
            scores.append(scored(_thinned(data, QUICK_ROWS) if quick else data))
            yield from _cell(f"{name}, split {split}", scores[-1])
        yield from _means(name, scores)
        reached += _rmse(scores) <= PAPER[name]
    whole = len(names) == len(PAPER) and splits >= SPLITS and not quick
    limit = LEAST_SETS if whole else None
    yield Figure(f"sets of {len(names)} at or below the paper's OAK", reached, at_least=limit)


def _cell(name: str, score: Score) -> Iterator[Figure]:
    yield Figure(f"{name}: RMSE", score.rmse)
    yield Figure(f"{name}: log density", score.density)
    yield Figure(f"{name}: coverage of the 90 % interval", score.coverage)
    yield Figure(f"{name}: seconds", score.seconds, "s")
    if score.inducing is not None:
        yield Figure(f"{name}: inducing rows", score.inducing)


def _means(name: str, scores: Sequence[Score]) -> Iterator[Figure]:
    yield Figure(f"{name}: mean RMSE (paper {PAPER[name]})", _rmse(scores))
    yield Figure(f"{name}: mean log density", float(np.mean([score.density for score in scores])))
    yield Figure(f"{name}: mean seconds", float(np.mean([score.seconds for score in scores])), "s")


def _rmse(scores: Sequence[Score]) -> float:
    return round(float(np.mean([score.rmse for score in scores])), DIGITS)


def _thinned(split: Split, rows: int) -> Split:
    """The same split with fewer training rows."""
    step = -(-split.y.size // rows)
    return replace(split, X={name: x[::step] for name, x in split.X.items()}, y=split.y[::step])
