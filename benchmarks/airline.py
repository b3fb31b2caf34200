"""The delays of two million flights, beside LightGBM."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.data import Split, read
from benchmarks.figures import Figure
from benchmarks.quality import Score, scored, warm_up
from benchmarks.timing import seconds
from termwise import OAKRegressor

MODEL = {"max_order": 2, "n_inducing": 512}
HELD_OUT = 3  # one row of so many
QUICK_ROWS = 50_000
MOST_SECONDS = 15 * 60.0
MOST_RATIO = 1.03
SHOWN = 8  # shares


def run(quick: bool = False) -> Iterator[Figure]:
    """Both models on the same rows; quick with few rows, without the limits."""
    warm_up("sparse")
    split = flights(QUICK_ROWS if quick else None)
    yield Figure("training rows", split.y.size)
    yield Figure("test rows", split.y_test.size)
    model = OAKRegressor(categorical=split.categorical, **MODEL)
    ours = scored(split, model)
    yield Figure("OAK: seconds of the fit", ours.seconds, "s", at_most=None if quick else MOST_SECONDS)
    yield Figure("OAK: RMSE in sd of the training rows", ours.rmse)
    yield Figure("OAK: log density", ours.density)
    yield Figure("OAK: coverage of the 90 % interval", ours.coverage)
    yield from beside_lightgbm(split, ours, limited=not quick)
    for row in model.sobol_[:SHOWN]:
        yield Figure(f"share of {row['term']}", row["share"])


def flights(rows: int | None = None) -> Split:
    """The flights in random order, or some of them, with one third held out."""
    whole = read("airline2008")
    order = np.random.default_rng(0).permutation(whole.y.size)[:rows]
    count = order.size // HELD_OUT
    return whole.parted(order[count:], order[:count])


def beside_lightgbm(split: Split, ours: Score, *, limited: bool) -> Iterator[Figure]:
    """LightGBM with its defaults; its density is a normal as wide as its residuals in training."""
    try:
        theirs = lightgbm_scores(split)
    except ImportError as error:
        print(f"  LightGBM is not compared: {error}; install it with: pip install termwise[bench]")
        return
    yield Figure("LightGBM: seconds of the fit", theirs["seconds"], "s")
    yield Figure("LightGBM: RMSE in sd of the training rows", theirs["rmse"])
    yield Figure("LightGBM: log density", theirs["density"])
    ratio = ours.rmse / theirs["rmse"]
    yield Figure("RMSE of OAK over LightGBM's", ratio, "x", at_most=MOST_RATIO if limited else None)
    better = ours.density - theirs["density"]
    yield Figure("log density of OAK above LightGBM's", better, "nat", at_least=0.0 if limited else None)


def lightgbm_scores(split: Split) -> dict[str, float]:
    """How fast and how well LightGBM predicts the test rows."""
    from lightgbm import LGBMRegressor

    X, X_test = (np.column_stack(list(table.values())) for table in (split.X, split.X_test))
    levels = [list(split.X).index(name) for name in split.categorical]
    model = LGBMRegressor(verbose=-1)  # silent; all that it learns by is its default
    time = seconds(lambda: model.fit(X, split.y, categorical_feature=levels))
    sd = np.std(split.y - model.booster_.predict(X))
    error = (split.y_test - model.booster_.predict(X_test)) / sd
    density = -0.5 * np.mean(error**2) - np.log(sd) - 0.5 * np.log(2.0 * np.pi)
    return {"seconds": time, "rmse": sd * np.sqrt(np.mean(error**2)), "density": density}
