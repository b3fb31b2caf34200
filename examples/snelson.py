"""Pictures of activation features on one column of numbers, for `figures.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks import snelson
from benchmarks.data import read
from benchmarks.snelson import KINDS, LONG, MENDED, SETTINGS, SHORT, Fitted, Setting, fitted, variance_parts

GRID, NEAR = {"x": np.linspace(-2.0, 8.0, 301)}, {"x": np.linspace(-0.5, 6.5, 301)}
BLUE, ORANGE = "#0072b2", "#d55e00"
NAMES = {
    "matern52": "Matérn 5/2",
    "se": "SE",
    "arccos1": "arc-cosine",
    "relu": "ReLU",
    "softplus": "softplus",
}
MARKS = {SHORT: (BLUE, "o"), LONG: (ORANGE, "o"), MENDED: (BLUE, "X")}
LEAST = 1e-6  # coefficients that are still shown


def waves() -> Figure:
    """Means and two standard deviations of observations. Spherical figures 3.6 and 3.7."""
    whole = read("snelson")
    figure, axes = _panels(len(SETTINGS), 2.05)
    for row, setting in zip(axes, SETTINGS, strict=True):
        for ax, kind in zip(row, KINDS, strict=True):
            found = fitted(*kind, setting)
            mean, sd = found.model.predict(GRID), found.sd(GRID, noisy=True)
            ax.plot(whole.X["x"], whole.y, ".", color="0.55", markersize=2.5)
            ax.plot(GRID["x"], mean, color=BLUE, linewidth=1.4)
            ax.fill_between(GRID["x"], mean - 2 * sd, mean + 2 * sd, color=BLUE, alpha=0.18, linewidth=0.0)
            ax.set_ylim(-3.8, 3.2)
            ax.set_xticks((0, 2, 4, 6))
            ax.text(0.04, 0.03, f"ELBO −{-found.bound:.0f}", transform=ax.transAxes, fontsize="small")
            ax.tick_params(labelleft=ax is row[0])
        row[0].set_ylabel(setting.name)
    return figure


def variances() -> Figure:
    """What the variance of the function is made of. Spherical figure 3.8."""
    figure, axes = _panels(2, 2.6)
    for column, kind in zip(axes.T, KINDS, strict=True):
        tops = [_draw_parts(ax, fitted(*kind, one)) for ax, one in zip(column, (SHORT, MENDED), strict=True)]
        for ax in column:
            ax.set_ylim(0.0, 1.15 * max(tops))
            ax.set_xlim(NEAR["x"][0], NEAR["x"][-1])
            ax.set_xticks((0, 2, 4, 6))
    for ax, setting in zip(axes[:, 0], (SHORT, MENDED), strict=True):
        ax.set_ylabel(f"variance, {setting.name}")
    handles, labels = axes[1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(handles), frameon=False)
    return figure


def _draw_parts(ax: Axes, found: Fitted) -> float:
    """The parts and their sum; says how high they go where there are rows."""
    x = NEAR["x"]
    parts = variance_parts(found.model, NEAR)
    curves: list[tuple[str, np.ndarray, dict[str, Any]]] = [
        (r"$K_{ff} - Q_{ff}$", parts.beyond, {"color": "#00466e"}),
        (r"$+\,Q_{fu} C_u Q_{uf}$", parts.left[0], {"color": "#56b4e9"}),
    ]
    if found.model.n_orthogonal:
        curves += [
            (r"$-\,S_{fv} S_{vv}^{-1} S_{vf}$", parts.known[1], {"color": ORANGE, "linestyle": "--"}),
            (r"$+\,S_{fv} S_{vv}^{-1} C_v S_{vv}^{-1} S_{vf}$", parts.left[1], {"color": "#e69f00"}),
        ]
    ax.fill_between(x, parts.whole, color="0.85", linewidth=0.0, label="= variance of the function")
    for name, values, style in curves:
        ax.plot(x, values, linewidth=1.4, label=name, **style)
    inside = (x > 0.2) & (x < 5.8)
    return max(float(values[inside].max()) for _, values, _ in curves)


def spectra() -> Figure:
    """Coefficients of kernels and activations, and bounds against speed. Spherical figures 3.5 and 3.9."""
    figure, axes = _panels(2, 2.5)
    for ax, kind in zip(axes[0], KINDS, strict=True):
        for values, colour, sign, name in zip(
            snelson.spectra(*kind), (BLUE, ORANGE), "o^", ("kernel, √λ", "activation, |ζ|"), strict=True
        ):
            shown = np.where(values > LEAST, values, np.nan)
            ax.semilogy(shown, sign, color=colour, markersize=3.0, label=name)
        ax.set_ylim(LEAST, 2.0)
        ax.set_xlim(-1.5, snelson.SHOWN_DEGREES + 1.5)
        ax.tick_params(labelleft=ax is axes[0, 0])
        ax.set_xlabel("degree")
    snelson.measure()
    for ax, kind in zip(axes[1], KINDS, strict=True):
        for setting in SETTINGS:
            _draw_speeds(ax, kind, setting)
        ax.set_xlim(left=0.0)
        ax.set_xlabel("evaluations a second")
    axes[0, 0].set_ylabel("coefficient")
    axes[1, 0].set_ylabel("ELBO")
    axes[0, -1].legend(frameon=False, fontsize="small")
    axes[1, -1].legend(frameon=False, fontsize="small")
    return figure


def _draw_speeds(ax: Axes, kind: tuple[str, str], setting: Setting) -> None:
    """All repetitions, pale, and their mean."""
    found = np.array([(one.throughput, one.bound) for one in snelson.repeated(*kind, setting)])
    colour, sign = MARKS[setting]
    style: dict[str, Any] = {"color": colour, "marker": sign, "linestyle": "none", "markeredgewidth": 0.0}
    ax.plot(*found.T, markersize=5, alpha=0.35, **style)
    ax.plot(*found.mean(axis=0), markersize=8, label=setting.name, **style)


def _panels(rows: int, height: float) -> tuple[Figure, np.ndarray]:
    """A row of panels for every kernel with every activation."""
    figure = Figure(figsize=(14.0, rows * height + 0.3), layout="constrained")
    axes = figure.subplots(rows, len(KINDS), squeeze=False)
    for ax, kind in zip(axes[0], KINDS, strict=True):
        ax.set_title(" × ".join(NAMES.get(part, part) for part in kind), fontsize="medium", loc="left")
    for ax in axes.ravel():
        ax.tick_params(labelsize="small")
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes
