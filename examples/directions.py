"""Pictures of kernels and models along directions, for `figures.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import termwise as tw
from benchmarks.harness.sets import problem
from benchmarks.harness.tables import TABLES
from termwise.kernels.directions import diverse_directions, random_directions
from termwise.kernels.projected import PROFILES

EXTENT, POINTS = 4.0, 161  # of a contour plot
CONTOURED = 16  # directions of the two sums in it
COUNTS = (2, 4, 8, 16, 32, 64, 128, 256)
FEATURES, PAIRS, REPEATS = 4, 2000, 20  # behind the distances from the limit
SETS, TRIED, SPLITS = ("autompg", "concreteslump", "servo"), (1, 2, 5, 10, 20, 40), 5
COLOURS = {"random": "#d55e00", "diverse": "#0072b2", "diverse, ARD": "#009e73", "RBF": "0.25", "IMQ": "0.6"}
MADE = {"random": random_directions, "diverse": diverse_directions}


def directions() -> Figure:
    """Kernels of two features as contours, and how fast sums of them come to their limits. PAGP figure 1."""
    figure = Figure(figsize=(12.5, 5.6), layout="constrained")
    axes = figure.subplots(2, 4, height_ratios=(1.0, 1.1))
    line = np.linspace(-EXTENT, EXTENT, POINTS)
    X = np.stack(np.meshgrid(line, line), axis=-1)
    rng = np.random.default_rng(0)
    kernels = {
        "of both features": PROFILES["se"](np.sum(X**2, axis=-1)),
        "of one each (GAM)": _summed("se", X, np.eye(2)),
        **{
            f"{CONTOURED} {name} directions": _summed("se", X, make(CONTOURED, 2, rng))
            for name, make in MADE.items()
        },
    }
    for ax, (name, K) in zip(axes[0], kernels.items(), strict=True):
        ax.contour(line, line, K, levels=np.linspace(0.1, 0.9, 9), cmap="viridis")
        ax.set_title(name, fontsize="medium", loc="left")
        ax.set_aspect("equal")
    for ax in axes[1]:
        ax.remove()
    below = axes[0, 0].get_gridspec()
    for place, (kind, limit, called) in enumerate(
        (
            ("se", "imq", "squared exponentials to the inverse multiquadric"),
            ("cosine", "se", "cosines to the squared exponential"),
        )
    ):
        _draw_distances(figure.add_subplot(below[1, 2 * place : 2 * place + 2]), kind, limit, called)
    return figure


def _summed(kind: str, X: np.ndarray, projection: np.ndarray) -> np.ndarray:
    """The mean over directions of the kernel between X and the origin."""
    along = X @ projection.T
    return np.mean(PROFILES[kind](along**2), axis=-1)


def _draw_distances(ax: Axes, kind: str, limit: str, called: str) -> None:
    """How far the kernel of some directions is from that of infinitely many, at points drawn."""
    for name, make in MADE.items():
        found = [_distance(kind, limit, make, count) for count in COUNTS]
        ax.loglog(COUNTS, found, "o-", color=COLOURS[name], label=f"{name} directions", markersize=4)
    first = _distance(kind, limit, random_directions, COUNTS[0])
    ax.loglog(COUNTS, first * np.sqrt(COUNTS[0] / np.array(COUNTS)), ":", color="0.5", label="J^(−1/2)")
    ax.set_title(f"{called}, {FEATURES} features", fontsize="medium", loc="left")
    ax.set_xlabel("directions J")
    ax.set_ylabel("distance, root mean square")
    ax.legend(frameon=False, fontsize="small")


def _distance(kind: str, limit: str, make: Any, count: int) -> float:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((PAIRS, FEATURES))
    truth = PROFILES[limit](np.sum(X**2, axis=1))
    squares = [np.mean((_summed(kind, X, _as_drawn(make, count, rng)) - truth) ** 2) for _ in range(REPEATS)]
    return float(np.sqrt(np.mean(squares)))


def _as_drawn(make: Any, count: int, rng: np.random.Generator) -> np.ndarray:
    """Directions with the lengths of normal ones, which is what the limits are of."""
    drawn: np.ndarray = make(count, FEATURES, rng)
    lengths = (
        np.sqrt(rng.chisquare(FEATURES, count))
        if make is diverse_directions
        else np.linalg.norm(drawn, axis=1)
    )
    return lengths[:, None] * drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def projections() -> Figure:
    """Errors by the number of directions on three small tables. PAGP figure 3."""
    figure = Figure(figsize=(12.5, 3.8), layout="constrained")
    for ax, name in zip(figure.subplots(1, len(SETS)), SETS, strict=True):
        for called, options in {
            "random": {"directions": "random", "ard": False},
            "diverse": {"ard": False},
            "diverse, ARD": {},
        }.items():
            errors = np.array([_errors(name, {**options, "n_directions": count}) for count in TRIED])
            ax.plot(TRIED, errors.mean(axis=1), "o-", color=COLOURS[called], label=called, markersize=4)
            if called == "diverse, ARD":
                spread = errors.std(axis=1) / np.sqrt(SPLITS)
                low, high = errors.mean(axis=1) - 2.0 * spread, errors.mean(axis=1) + 2.0 * spread
                ax.fill_between(TRIED, low, high, color=COLOURS[called], alpha=0.15, linewidth=0.0)
        for called, kernel in {"RBF": "se", "IMQ": "imq"}.items():
            error = np.mean(_errors(name, {"directions": "none", "kernel": kernel}))
            ax.axhline(error, color=COLOURS[called], linestyle="--", linewidth=1.2, label=f"{called}, ARD")
        ax.set_xscale("log")
        ax.set_xticks(TRIED, [str(count) for count in TRIED])
        ax.set_title(name, fontsize="medium", loc="left")
        ax.set_xlabel("directions")
    figure.axes[0].set_ylabel("RMSE, in standard deviations")
    figure.axes[-1].legend(frameon=False, fontsize="small")
    return figure


def _errors(name: str, options: dict[str, Any]) -> Sequence[float]:
    found = []
    for split in range(SPLITS):
        rows = problem(TABLES["projected"].asked, name, split)
        model = tw.ProjectedGPRegressor(**options, inference="exact", n_restarts=1, random_state=split)
        error = model.fit(rows.X, rows.y).predict(rows.X_test) - rows.y_test
        found.append(float(np.sqrt(np.mean(error**2))))
    return found
