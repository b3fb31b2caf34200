"""Surfaces and heat maps with matplotlib: effects of two features as colours, white at zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from termwise.display.parts import Panel, Scales, axis_name, doubt, effect_label, some_rows
from termwise.display.style import Style
from termwise.display.ticks import level_ticks, number_ticks
from termwise.explain.effects import Effect
from termwise.table import level_text

MOST_NUMBERS = 36  # cells of a heat map that have room for a number
STEPS = 22  # between them an odd number of colours, so that what is nearly zero is white
HATCH, HATCH_COLOUR = "////", "0.55"
SEEN = 0.03  # part of a map above which its hatches are seen, and explained


def surface(ax: Any, panel: Panel, scales: Scales, style: Style) -> Any:
    """Two numbers: filled contours of the mean, hatched where it is smaller than its standard deviation.

    Returns what a colour bar needs.
    """
    effect, limit = panel.effect, scales.limit
    steps = np.linspace(-limit, limit, STEPS)
    filled = ax.contourf(*effect.axes, effect.mean.T, levels=steps, cmap=style.colormap)
    ax.contour(*effect.axes, effect.mean.T, levels=steps, colors="0.35", linewidths=0.4, linestyles="solid")
    beyond = doubt(effect)
    if np.max(beyond) > 0.0:
        levels = [0.0, float(np.max(beyond))]
        hatched = ax.contourf(*effect.axes, beyond.T, levels=levels, colors="none", hatches=[HATCH])
        hatched.set(edgecolor=HATCH_COLOUR, linewidth=0.0)
    if style.rows:
        ax.plot(*some_rows(effect), ".", color="black", markersize=2.0, alpha=0.3)
    _name_axes(ax, effect)
    number_ticks(ax.xaxis)
    number_ticks(ax.yaxis)
    return filled


def heat_map(ax: Any, panel: Panel, scales: Scales, style: Style) -> Any:
    """Two columns of levels: a coloured cell for each pair, hatched where even the sign is a guess."""
    effect, limit = panel.effect, scales.limit
    image = ax.imshow(
        effect.mean.T, cmap=style.colormap, vmin=-limit, vmax=limit, origin="lower", aspect="auto"
    )
    level_ticks(ax.xaxis, [level_text(level) for level in effect.axes[0]])
    level_ticks(ax.yaxis, [level_text(level) for level in effect.axes[1]])
    _hatch_cells(ax, doubt(effect) > 0.0)
    if effect.mean.size <= MOST_NUMBERS:
        for (i, j), value in np.ndenumerate(effect.mean):
            shade = "white" if abs(value) > 0.6 * limit else "black"
            ax.text(i, j, f"{value:.2g}", ha="center", va="center", color=shade, fontsize="small")
    _name_axes(ax, effect)
    return image


def _hatch_cells(ax: Any, wide: np.ndarray) -> None:
    from matplotlib.patches import Rectangle

    for i, j in np.argwhere(wide):
        look: dict[str, Any] = {"fill": False, "hatch": HATCH, "edgecolor": HATCH_COLOUR, "linewidth": 0.0}
        ax.add_patch(Rectangle((i - 0.5, j - 0.5), 1.0, 1.0, **look))


def _name_axes(ax: Any, effect: Effect) -> None:
    ax.set_xlabel(axis_name(effect))
    ax.set_ylabel(effect.axis_labels[1])


def colour_bar(drawn: Any, axes: Any, effects: Sequence[Effect], style: Style) -> None:
    """What colours mean, beside one map or beside all of them."""
    from matplotlib import ticker

    label = effect_label(effects[0], style)
    if any(np.mean(doubt(effect) > 0.0) >= SEEN for effect in effects):
        label += "\n(hatched: sd > |mean|)"
    bar = drawn.figure.colorbar(drawn, ax=axes, pad=0.02)
    bar.set_label(label, fontsize="small")
    bar.locator = ticker.MaxNLocator(5, symmetric=True)
    bar.update_ticks()
