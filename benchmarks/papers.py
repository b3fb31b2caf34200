"""The papers' tables, with our models on the same sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.data import NoDataError, Whole, read
from benchmarks.figures import Figure
from benchmarks.timing import seconds
from termwise.estimators.additive import AdditiveGPClassifier
from termwise.estimators.oak import OAKClassifier

FOLDS = 10
QUICK, QUICK_FOLDS = ("liver",), 1
# Percent error and negative log likelihood of the best Gaussian process. Additive GP paper, tables 4 and 5.
PAPER = {
    "breast": (4.734, 0.146),
    "pima": (22.419, 0.461),
    "sonar": (15.714, 0.377),
    "ionosphere": (6.833, 0.236),
    "liver": (29.842, 0.569),
    "heart": (16.839, 0.393),
}
MODELS: dict[str, Callable[[Sequence[str]], Any]] = {
    "OAK": lambda labels: OAKClassifier(categorical=labels),
    "additive": lambda labels: AdditiveGPClassifier(categorical=labels),
    "GAM": lambda labels: AdditiveGPClassifier(kind="gam", categorical=labels),
    "SE": lambda labels: AdditiveGPClassifier(kind="se", categorical=labels),
}


@dataclass(frozen=True)
class Cell:
    """How well one model did in one fold."""

    error: float
    loss: float
    seconds: float
    first_order: float


def run(quick: bool = False, datasets: Sequence[str] | None = None, splits: int = FOLDS) -> Iterator[Figure]:
    """Error and loss of every model on every set; the best of ours is held against the best there."""
    names = tuple(datasets or (QUICK if quick else PAPER))
    unknown = [name for name in names if name not in PAPER]
    if unknown:
        raise NoDataError(f"no set {unknown[0]!r} in this table; choose from {', '.join(PAPER)}")
    folds = QUICK_FOLDS if quick else splits
    for name in names:
        whole = read(name)
        found = {model: [cell(whole, fold, model) for fold in range(folds)] for model in MODELS}
        for model, cells in found.items():
            yield from _lines(f"{name}, {model}", cells)
        for what, paper in zip(("error", "loss"), PAPER[name], strict=True):
            scores = [np.array([getattr(one, what) for one in cells]) for cells in found.values()]
            values = min(scores, key=np.mean)
            width = values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else 0.0
            limit = paper + width if folds == FOLDS else None
            yield Figure(f"{name}: {what} of our best (paper {paper})", values.mean(), at_most=limit)


def cell(whole: Whole, fold: int, model: str) -> Cell:
    """One fold of ten, shuffled with a seed."""
    y = whole.y == np.unique(whole.y)[-1]
    order = np.random.default_rng(0).permutation(y.size)
    test = order[fold::FOLDS]
    train = np.setdiff1d(order, test)
    X, X_test = ({name: x[rows] for name, x in whole.X.items()} for rows in (train, test))
    classifier = MODELS[model](whole.categorical)
    time = seconds(lambda: classifier.fit(X, y[train]))
    p = np.clip(classifier.predict_proba(X_test)[:, 1], 1e-12, 1.0 - 1e-12)
    loss = -np.mean(np.where(y[test], np.log(p), np.log1p(-p)))
    shares = classifier.order_shares_ if model == "OAK" else np.full(1, np.nan)
    return Cell(100.0 * float(np.mean((p > 0.5) != y[test])), float(loss), time, float(shares[0]))


def _lines(name: str, cells: Sequence[Cell]) -> Iterator[Figure]:
    for what in ("error", "loss"):
        values = np.array([getattr(one, what) for one in cells])
        yield Figure(f"{name}: {what}", values.mean())
        if values.size > 1:
            yield Figure("  standard error", values.std(ddof=1) / np.sqrt(values.size))
    yield Figure("  seconds", float(np.mean([one.seconds for one in cells])), "s")
    if not np.isnan(cells[0].first_order):
        yield Figure("  share of order one", float(np.mean([one.first_order for one in cells])))
