"""Surfaces and heat maps with matplotlib: effects of two features as colours, white at zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from termwise.display.parts import Panel, Scales, effect_label, missing_note, some_rows, unsure
from termwise.display.style import Style
from termwise.display.ticks import level_ticks, note
from termwise.explain.effects import Effect
from termwise.table import level_text

MOST_NUMBERS = 36  # cells of a heat map that have room for a number
STEPS = 21  # an even number of colours: white is between the two in the middle
HATCH, HATCH_COLOUR = "////", "0.55"


def surface(ax: Any, panel: Panel, scales: Scales, style: Style) -> None:
    """Two numbers: filled contours of the mean, hatched where it is smaller than its standard deviation."""
    effect, limit = panel.effect, scales.limit
    steps = np.linspace(-limit, limit, STEPS)
    filled = ax.contourf(*effect.axes, effect.mean.T, levels=steps, cmap=style.colormap)
    ax.contour(*effect.axes, effect.mean.T, levels=steps, colors="0.35", linewidths=0.4)
    wide = unsure(effect)
    if wide.any():
        doubt = np.where(wide, 1.0, 0.0).T
        hatched = ax.contourf(*effect.axes, doubt, levels=[0.5, 1.5], colors="none", hatches=[HATCH])
        hatched.set(edgecolor=HATCH_COLOUR, linewidth=0.0)
    if style.rows:
        ax.plot(*some_rows(effect), ".", color="black", markersize=2.0, alpha=0.3)
    note(ax, missing_note(effect))
    _colour_bar(ax, filled, effect, style)


def heat_map(ax: Any, panel: Panel, scales: Scales, style: Style) -> None:
    """Two columns of levels: a coloured cell for each pair, hatched where even the sign is a guess."""
    effect, limit = panel.effect, scales.limit
    image = ax.imshow(
        effect.mean.T, cmap=style.colormap, vmin=-limit, vmax=limit, origin="lower", aspect="auto"
    )
    level_ticks(ax.xaxis, [level_text(level) for level in effect.axes[0]])
    level_ticks(ax.yaxis, [level_text(level) for level in effect.axes[1]])
    _hatch_cells(ax, unsure(effect))
    if effect.mean.size <= MOST_NUMBERS:
        for (i, j), value in np.ndenumerate(effect.mean):
            shade = "white" if abs(value) > 0.6 * limit else "black"
            ax.text(i, j, f"{value:.2g}", ha="center", va="center", color=shade, fontsize="small")
    note(ax, missing_note(effect))
    _colour_bar(ax, image, effect, style)


def _hatch_cells(ax: Any, wide: np.ndarray) -> None:
    from matplotlib.patches import Rectangle

    for i, j in np.argwhere(wide):
        look = {"fill": False, "hatch": HATCH, "edgecolor": HATCH_COLOUR, "linewidth": 0.0}
        ax.add_patch(Rectangle((i - 0.5, j - 0.5), 1.0, 1.0, **look))


def _colour_bar(ax: Any, drawn: Any, effect: Effect, style: Style) -> None:
    from matplotlib import ticker

    ax.set_xlabel(effect.features[0])
    ax.set_ylabel(effect.features[1])
    label = effect_label(effect, style)
    if unsure(effect).any():
        label += "\n(hatched: sd > |mean|)"
    bar = ax.figure.colorbar(drawn, ax=ax)
    bar.set_label(label, fontsize="small")
    bar.locator = ticker.MaxNLocator(5, symmetric=True)
    bar.update_ticks()
