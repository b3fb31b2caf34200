"""How well and how fast the defaults predict, beside the official code of the OAK paper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from benchmarks.data import Split, load
from benchmarks.figures import Figure
from benchmarks.timing import lapack_seconds, seconds
from termwise import OAKRegressor

TIMES_FASTER = 20.0
YARDSTICK = 0.017  # seconds of potrf + potri at 1000 rows on the machine of the official figures
MOST_MEAN_RMSE, LEAST_MEAN_DENSITY = 0.246, -0.02
MOST_AIRFOIL_RMSE = 0.20


@dataclass(frozen=True)
class Official:
    """Figures of the official code, with its own defaults, on the first split of a set."""

    seconds: float
    rmse: float
    density: float


OFFICIAL = {
    "autompg": Official(73.0, 0.331, -0.346),
    "concrete": Official(359.0, 0.204, 0.321),
    "housing": Official(35.0, 0.223, 0.091),
    "yacht": Official(17.0, 0.227, -0.158),
}
SMALL = ("autompg", "yacht")


@dataclass(frozen=True)
class Score:
    """How well the test rows are predicted; coverage is that of the 90 % interval."""

    rmse: float
    density: float
    coverage: float
    seconds: float
    inducing: int | None  # rows; None if inference was exact


def run(quick: bool = False) -> Iterator[Figure]:
    """The scores set by set, and their means."""
    warm_up()
    speed = lapack_seconds(1000) / YARDSTICK
    yield Figure("potrf + potri at 1000 rows, over the yardstick", speed, "x")
    scores = []
    for name in SMALL if quick else OFFICIAL:
        score = scored(load(name))
        scores.append(score)
        yield from _beside_official(name, score, OFFICIAL[name], speed)
    if quick:
        return
    rmse = float(np.mean([score.rmse for score in scores]))
    density = float(np.mean([score.density for score in scores]))
    yield Figure("RMSE, mean of the four sets", rmse, at_most=MOST_MEAN_RMSE)
    yield Figure("log density, mean of the four sets", density, at_least=LEAST_MEAN_DENSITY)
    airfoil = scored(load("airfoil"))
    yield Figure("airfoil: RMSE", airfoil.rmse, at_most=MOST_AIRFOIL_RMSE)
    yield Figure("airfoil: seconds", airfoil.seconds, "s")


def _beside_official(name: str, score: Score, official: Official, speed: float) -> Iterator[Figure]:
    yield Figure(f"{name}: RMSE (official {official.rmse})", score.rmse)
    yield Figure(f"{name}: log density (official {official.density})", score.density)
    yield Figure(f"{name}: coverage of the 90 % interval", score.coverage)
    allowed = official.seconds / TIMES_FASTER * speed
    yield Figure(f"{name}: seconds (official {official.seconds:g})", score.seconds, "s", at_most=allowed)


def scored(split: Split, model: OAKRegressor | None = None) -> Score:
    """Fit the training rows, with the defaults if no model is given, and score the test rows."""
    if model is None:
        model = OAKRegressor(categorical=split.categorical or "auto")
    time = seconds(lambda: model.fit(split.X, split.y))
    mean, std = model.predict(split.X_test, return_std=True)
    error = split.y_test - mean
    inside = np.abs(error) <= ndtri(0.95) * std
    return Score(
        rmse=float(np.sqrt(np.mean(error**2))),
        density=float(np.mean(model.log_predictive_density(split.X_test, split.y_test))),
        coverage=float(inside.mean()),
        seconds=time,
        inducing=model.fit_result_.inducing,
    )


def warm_up(inference: str = "auto") -> None:
    """Compile what a fit needs."""
    rng = np.random.default_rng(0)
    X = {"number": rng.standard_normal(40), "level": rng.choice(["a", "b"], 40)}
    model = OAKRegressor(n_restarts=1, inference=inference)
    model.fit(X, X["number"] + rng.standard_normal(40)).predict(X, return_std=True)
