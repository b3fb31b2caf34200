"""Made-up functions by networks: errors, sets, curves and the time of an epoch. Deep kernels (2020)."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.data import REPOSITORY
from benchmarks.figures import Figure
from benchmarks.functions import FUNCTIONS, KEPT, Fit, Fits
from benchmarks.timing import seconds
from termwise import DeepKernelRegressor

PUBLISHED = REPOSITORY / "benchmarks" / "published" / "interpretable-deep-kernel-2020.csv"
SEEDS = 5
METHODS = ("D-IOK", "D-OK", "DNN", "D-RBF")
CLOSE, FEWER = 1.1, 0.15  # times the paper's error, and times the parameters of D-RBF
BEST = 6  # of seven functions
EPOCH_ROWS, EPOCH_COLUMNS = 5875, 20  # those of the parkinsons table


def run(quick: bool = False) -> Iterator[Figure]:
    """All functions with all seeds; quick the first with one, and without the large networks."""
    names = ["F1"] if quick else list(FUNCTIONS)
    methods = METHODS[:1] if quick else METHODS
    kept, means = Fits(None if quick else KEPT), {}
    for name in names:
        fits = {
            method: [kept.of(name, method, seed) for seed in range(1 if quick else SEEDS)]
            for method in methods
        }
        means[name] = {method: float(np.mean([fit.rmse for fit in found])) for method, found in fits.items()}
        yield from errors(name, fits)
    if not quick:
        best = sum(min(row, key=lambda method: row[method]) == "D-IOK" for row in means.values())
        yield Figure("functions on which D-IOK is below all others", best, "", None, BEST)
    yield from curves()
    yield from epochs()


def errors(name: str, fits: dict[str, list[Fit]]) -> Iterator[Figure]:
    """Table 3, and table 5 by the way: the mean error of each method, and the sets that are found."""
    paper = published()
    for method, found in fits.items():
        rmse = [fit.rmse for fit in found]
        mean, limit = float(np.mean(rmse)), CLOSE * paper[name, method] if method == "D-IOK" else None
        yield Figure(f"{name}, {method}: RMSE (paper {paper[name, method]:g})", mean, "", limit)
        yield Figure("  sd over the seeds", float(np.std(rmse)))
        yield Figure("  seconds of a fit", float(np.mean([fit.seconds for fit in found])), "s")
    yield from sets(name, fits["D-IOK"])
    if "D-RBF" in fits:
        ratio = fits["D-IOK"][0].parameters / fits["D-RBF"][0].parameters
        yield Figure("  parameters of D-IOK to those of D-RBF", ratio, "", FEWER)


def sets(name: str, fits: Sequence[Fit]) -> Iterator[Figure]:
    """How far down the ranks the last of the true sets stands, and how many others are kept beside them."""
    count = len(FUNCTIONS[name].sets)
    true = {":".join(map(str, columns)) for columns in FUNCTIONS[name].sets}
    yield Figure(f"{name}: rank of the last of {count} true sets, at worst", max(fit.rank for fit in fits))
    yield Figure("  seeds in which it is the last", sum(fit.rank == count for fit in fits))
    others = [len(set(fit.kept.split()) - true) for fit in fits]
    yield Figure("  other sets kept, on average", float(np.mean(others)))


def curves() -> Iterator[Figure]:
    """Figure 2: sin(x1) and x2^2 as terms of F3."""
    X, y, *_ = FUNCTIONS["F3"].rows(0)
    model = DeepKernelRegressor(sets=["x0", "x1", "x2:x3:x4"]).fit(X, y)
    explanation = model.explain(terms=["x0", "x1"])
    for column, (label, truth) in enumerate({"sin(x1)": np.sin, "-x2^2": lambda x: -(x**2)}.items()):
        effect = explanation.effect(f"x{column}")
        wanted = truth(effect.axes[0]) - truth(X[:, column]).mean()
        yield Figure(
            f"figure 2, {label}: RMSE of the curve", float(np.sqrt(np.mean((effect.mean - wanted) ** 2)))
        )


def epochs() -> Iterator[Figure]:
    """The seconds of an epoch of both kernels, of as many rows as the parkinsons table has."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((EPOCH_ROWS, EPOCH_COLUMNS))
    y = X[:, 0] * X[:, 1] + rng.standard_normal(EPOCH_ROWS)
    sets = [f"x{i}:x{i + 1}" for i in range(0, EPOCH_COLUMNS, 2)]
    time = {}
    for method, options in {"D-IOK": {"sets": sets}, "D-OK": {"kernel": "ok"}}.items():
        few, many = (
            seconds(lambda n=n, o=options: DeepKernelRegressor(max_epochs=n, **o).fit(X, y)) for n in (1, 5)
        )
        time[method] = (many - few) / 4.0
        yield Figure(f"{method}: an epoch of {EPOCH_ROWS} rows", time[method], "s")
    yield Figure("D-IOK to D-OK", time["D-IOK"] / time["D-OK"], "", 0.5)


def published(path: Path = PUBLISHED) -> dict[tuple[str, str], float]:
    """The errors of table 3, by function and method."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["table"] == "deep-kernel-3"]
    return {(row["dataset"], row["method"]): float(row["mean"]) for row in rows}
