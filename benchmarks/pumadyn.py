"""How few terms and how few inducing rows the robot arm needs. OAK figures 1, 3 and 5."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.data import REPOSITORY, Split, load
from benchmarks.figures import Figure
from benchmarks.timing import seconds
from termwise import AdditiveGPRegressor, OAKRegressor
from termwise.estimators.regressor import AdditiveRegressor

FOLDS = 5
INDUCING = (10, 20, 50, 100, 200, 400)
QUICK_FOLDS, QUICK_INDUCING = 2, (10, 50)
EXPLAINED, MOST_TERMS = 0.99, 3
CLOSE = 1.02  # times the best RMSE
RESULTS = REPOSITORY / "benchmarks" / "results"

OAK = "OAK"
MODELS: dict[str, Callable[[int], AdditiveRegressor]] = {
    OAK: lambda count: OAKRegressor(inference="sparse", n_inducing=count),
    "unconstrained": lambda count: AdditiveGPRegressor(kind="additive", inference="sparse", n_inducing=count),
    "squared exponential": lambda count: AdditiveGPRegressor(kind="se", inference="sparse", n_inducing=count),
}

Curves = Mapping[str, np.ndarray]  # the RMSE (folds, counts of inducing rows) of each model


def run(quick: bool = False) -> Iterator[Figure]:
    """Terms, then inducing rows; quick with few of these and without writing results."""
    folds = [load("pumadyn8nh", fold, masks="pumadyn8nh_oak5") for fold in range(FOLDS)]
    if quick:
        folds = folds[:QUICK_FOLDS]
    yield from terms(folds[:1] if quick else folds)
    counts = QUICK_INDUCING if quick else INDUCING
    curves = {}
    for name in MODELS:
        time = seconds(lambda name=name: curves.update({name: curve(name, folds, counts)}))
        for count, rmse in zip(counts, curves[name].T, strict=True):
            yield Figure(f"{name}, M = {count}: RMSE", rmse.mean())
            yield Figure("  sd over the folds", rmse.std(ddof=1))
        yield Figure(f"{name}: seconds of all fits", time, "s")
    yield from needed(curves, counts)
    if not quick:
        write(curves, counts, RESULTS)
        draw(curves, counts, RESULTS)


def terms(folds: Sequence[Split]) -> Iterator[Figure]:
    """How many terms explain nearly all, with the defaults, and how well these few predict."""
    for fold, split in enumerate(folds):
        model = OAKRegressor().fit(split.X, split.y)
        shares = model.sobol_["share"]
        count = int(np.searchsorted(np.cumsum(shares), EXPLAINED)) + 1
        parts = model.predict_terms(split.X_test)
        leading = ", ".join(term.name for term in model.terms_[:MOST_TERMS])
        yield Figure(f"fold {fold}: terms of 99 % of the variance", count, at_most=MOST_TERMS)
        yield Figure(f"  share of {leading}", shares[:MOST_TERMS].sum())
        all_terms = _rmse(split, model.constant_ + parts.sum(axis=1))
        few = _rmse(split, model.constant_ + parts[:, :MOST_TERMS].sum(axis=1))
        yield Figure("  RMSE with all terms", all_terms)
        yield Figure(f"  RMSE with the first {MOST_TERMS}", few)


def curve(name: str, folds: Sequence[Split], counts: Sequence[int]) -> np.ndarray:
    """The test RMSE of a model, (folds, counts)."""
    return np.array([[_fitted_rmse(MODELS[name](count), split) for count in counts] for split in folds])


def _fitted_rmse(model: AdditiveRegressor, split: Split) -> float:
    return _rmse(split, model.fit(split.X, split.y).predict(split.X_test))


def _rmse(split: Split, mean: np.ndarray) -> float:
    return float(np.sqrt(np.mean((split.y_test - mean) ** 2)))


def needed(curves: Curves, counts: Sequence[int]) -> Iterator[Figure]:
    """The fewest inducing rows with which a model is close to its own best, and to the best of all."""
    means = {name: rmse.mean(axis=0) for name, rmse in curves.items()}
    best = min(mean.min() for mean in means.values())
    for what, reference in (("its own best", None), ("the best of all", best)):
        fewest = {name: _fewest(mean, reference or mean.min(), counts) for name, mean in means.items()}
        others = [count for name, count in fewest.items() if name != OAK and count is not None]
        for name, count in fewest.items():
            if count is None:
                print(f"  {name}: never within 2 % of {what}")
                continue
            limit = min(others, default=None) if name == OAK else None
            yield Figure(f"{name}: fewest M within 2 % of {what}", count, at_most=limit)


def _fewest(means: np.ndarray, reference: float, counts: Sequence[int]) -> int | None:
    close = np.flatnonzero(means <= CLOSE * reference)
    return counts[close[0]] if close.size else None


def write(curves: Curves, counts: Sequence[int], folder: Path) -> None:
    """The numbers of the picture as a table."""
    with open(folder / "pumadyn_inducing.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["model", "fold", "inducing", "rmse"])
        for name, rmse in curves.items():
            for fold, row in enumerate(rmse):
                table.writerows([name, fold, count, f"{v:.6f}"] for count, v in zip(counts, row, strict=True))


def draw(curves: Curves, counts: Sequence[int], folder: Path) -> None:
    """The mean over the folds and one standard deviation to either side. OAK figure 3."""
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(5.0, 3.4), layout="constrained")
    ax = picture.subplots()
    for (name, rmse), style in zip(curves.items(), ("-", "--", ":"), strict=True):
        mean, sd = rmse.mean(axis=0), rmse.std(axis=0, ddof=1)
        (line,) = ax.plot(counts, mean, style, marker="o", markersize=4, label=name)
        ax.fill_between(counts, mean - sd, mean + sd, alpha=0.2, color=line.get_color(), linewidth=0)
    ax.set_xscale("log")
    ax.set_xticks(counts, [str(count) for count in counts])
    ax.minorticks_off()
    ax.set(xlabel="inducing rows", ylabel="test RMSE", title=f"pumadyn8nh, {len(rmse)} folds")
    ax.legend(frameon=False)
    picture.savefig(folder / "pumadyn_inducing.png", dpi=150)
