"""One panel for each kind of effect: of numbers, of levels, and of two of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from termwise.display.style import Style, tidy
from termwise.errors import TermError
from termwise.explain.effects import Effect
from termwise.measures.base import Array
from termwise.table import level_text

MOST_LABELS = 30
MOST_NUMBERS = 36  # cells of a heat map that have room for a number

Panel = Callable[[Any, Effect, Style], None]


def panel_of(effect: Effect) -> Panel:
    """The panel that draws an effect."""
    kinds = tuple(has_levels(axis) for axis in effect.axes)
    if kinds not in PANELS:
        raise TermError(
            f"the term {effect.term.name!r} has {len(kinds)} features; terms of one or two can be drawn"
        )
    return PANELS[kinds]


def has_levels(axis: np.ndarray) -> bool:
    """Whether an axis has levels; otherwise numbers."""
    return axis.dtype == object


def reach(effect: Effect) -> tuple[float, float]:
    """The lowest and highest point of the bands."""
    return float(np.min(effect.low)), float(np.max(effect.high))


def effect_label(effect: Effect, style: Style) -> str:
    """What the numbers of an effect are."""
    return f"{effect.quantity} {style.target or effect.target}"


def curve(ax: Any, effect: Effect, style: Style) -> None:
    """A number: the mean, its band, and where the rows are."""
    tidy(ax)
    _line_with_band(ax, effect.axes[0], (effect.low, effect.mean, effect.high), style.colour)
    ax.set_xlabel(effect.term.features[0])
    if style.rows:
        _histogram(ax, effect.rows[0])


def points(ax: Any, effect: Effect, style: Style) -> None:
    """Levels: a point with its band as a bar for each."""
    tidy(ax)
    places = np.arange(len(effect.axes[0]))
    lengths = np.array([effect.mean - effect.low, effect.high - effect.mean])
    ax.errorbar(places, effect.mean, lengths, fmt="o", color=style.colour, capsize=3, markersize=6)
    ax.set_xlim(-0.6, len(places) - 0.4)
    _level_ticks(ax.xaxis, effect.axes[0])
    ax.set_xlabel(effect.term.features[0])


def lines(ax: Any, effect: Effect, style: Style) -> None:
    """A number and levels: a line with its band for each of the most frequent levels."""
    tidy(ax)
    number, level = (1, 0) if has_levels(effect.axes[0]) else (0, 1)
    low, mean, high = (np.moveaxis(part, level, 0) for part in (effect.low, effect.mean, effect.high))
    levels = effect.axes[level]
    shown = _most_frequent(levels, effect.rows[level], len(style.level_colours))
    for colour, i in zip(style.level_colours, shown, strict=False):
        band = (low[i], mean[i], high[i])
        _line_with_band(ax, effect.axes[number], band, colour, level_text(levels[i]))
    ax.set_xlabel(effect.term.features[number])
    title = effect.term.features[level]
    if len(shown) < len(levels):
        title += f" ({len(shown)} of {len(levels)})"
    ax.legend(title=title, fontsize="small", title_fontsize="small", frameon=False)
    if style.rows:
        _histogram(ax, effect.rows[number])


def surface(ax: Any, effect: Effect, style: Style) -> None:
    """Two numbers: filled contours of the mean, white at zero, with the rows as faint points."""
    limit = _limit(effect)
    steps = np.linspace(-limit, limit, 16)
    filled = ax.contourf(*effect.axes, effect.mean.T, levels=steps, cmap=style.colormap)
    if style.rows:
        ax.plot(*effect.rows, ".", color="black", markersize=2.5, alpha=0.35)
    _colour_bar(ax, filled, effect, style)


def heat_map(ax: Any, effect: Effect, style: Style) -> None:
    """Two columns of levels: a coloured cell for each pair."""
    limit = _limit(effect)
    image = ax.imshow(
        effect.mean.T, cmap=style.colormap, vmin=-limit, vmax=limit, origin="lower", aspect="auto"
    )
    _level_ticks(ax.xaxis, effect.axes[0])
    _level_ticks(ax.yaxis, effect.axes[1])
    if effect.mean.size <= MOST_NUMBERS:
        for (i, j), value in np.ndenumerate(effect.mean):
            shade = "white" if abs(value) > 0.6 * limit else "black"
            ax.text(i, j, f"{value:.2g}", ha="center", va="center", color=shade, fontsize="small")
    _colour_bar(ax, image, effect, style)


PANELS: dict[tuple[bool, ...], Panel] = {  # by whether each feature has levels
    (False,): curve,
    (True,): points,
    (False, False): surface,
    (False, True): lines,
    (True, False): lines,
    (True, True): heat_map,
}


def _line_with_band(
    ax: Any, x: np.ndarray, band: tuple[Array, Array, Array], colour: str, label: str | None = None
) -> None:
    low, mean, high = band
    ax.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0.0)
    ax.plot(x, mean, color=colour, linewidth=2.0, label=label)
    ax.set_xlim(float(x[0]), float(x[-1]))


def _histogram(ax: Any, values: np.ndarray) -> None:
    """Bars at the foot of the panel, as high as a ninth of it."""
    known = values[~np.isnan(values)]
    counts, edges = np.histogram(known, bins=30)
    foot = ax.get_xaxis_transform()  # x in the units of the feature, y as a part of the panel
    heights = counts / max(int(np.max(counts)), 1) / 9.0
    ax.bar(
        edges[:-1], heights, np.diff(edges), align="edge", color="0.6", alpha=0.6, transform=foot, zorder=0
    )


def _level_ticks(axis: Any, levels: np.ndarray) -> None:
    """The names of the levels; of very many, every second, third, .."""
    names = [level_text(level) for level in levels]
    step = -(-len(names) // MOST_LABELS)
    crowded = sum(map(len, names)) > 26 and axis.axis_name == "x"
    axis.set_ticks(range(0, len(names), step), labels=names[::step])
    axis.set_tick_params(rotation=90.0 if crowded else 0.0, labelsize="small" if len(names) > 8 else "medium")


def _most_frequent(levels: np.ndarray, rows: np.ndarray, most: int) -> list[int]:
    """Positions of the levels with the most rows, in the order of the levels."""
    counts = [int(np.sum(rows == level)) for level in levels]
    leading = np.argsort(np.negative(counts), kind="stable")[:most]
    return sorted(int(i) for i in leading)


def _limit(effect: Effect) -> float:
    """Half the range of a colour scale that is centred at zero."""
    return float(np.max(np.abs(effect.mean))) or 1.0


def _colour_bar(ax: Any, drawn: Any, effect: Effect, style: Style) -> None:
    ax.set_xlabel(effect.term.features[0])
    ax.set_ylabel(effect.term.features[1])
    bar = ax.figure.colorbar(drawn, ax=ax, label=effect_label(effect, style))
    bar.locator = _ticker().MaxNLocator(5, symmetric=True)
    bar.update_ticks()


def _ticker() -> Any:
    from matplotlib import ticker

    return ticker
