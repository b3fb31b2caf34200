"""Curves and points with matplotlib: of numbers, of levels, and of a number with levels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from termwise.display.maps import heat_map, surface
from termwise.display.parts import (
    Mark,
    Panel,
    Scales,
    axis_name,
    by_level,
    foot_heights,
    has_levels,
    histogram,
    level_counts,
    most_frequent,
    side_places,
)
from termwise.display.style import Style, tidy
from termwise.display.ticks import level_ticks, number_ticks
from termwise.measures.base import Array
from termwise.table import level_text

GREY = "0.6"

Draw = Callable[[Any, Panel, Scales, Style], Any]


def draw_panel(ax: Any, panel: Panel, scales: Scales, style: Style) -> Any:
    """Draw an effect by what its features are; returns what a colour bar needs, or None."""
    ax.set_title(panel.title, fontsize="medium", loc="left")
    return PANELS[tuple(has_levels(axis) for axis in panel.effect.axes)](ax, panel, scales, style)


def curve(ax: Any, panel: Panel, scales: Scales, style: Style) -> None:
    """A number: the mean, its band, where the rows are, and beside it the rows without a value."""
    effect = panel.effect
    _heights(ax, scales)
    _line_with_band(ax, effect.axes[0], (effect.low, effect.mean, effect.high), style.colour)
    places, end = side_places(effect.axes[0], len(panel.marks))
    ax.set_xlim(float(effect.axes[0][0]), end)
    number_ticks(ax.xaxis)
    if style.rows:
        _histogram(ax, effect.rows[0])
    if panel.marks:
        _side_ticks(ax, float(effect.axes[0][-1]), places, panel.marks)
        _bars(ax, np.array(places), panel.marks, style)
    ax.set_xlabel(axis_name(effect))


def points(ax: Any, panel: Panel, scales: Scales, style: Style) -> None:
    """Levels: a point with its band as a bar for each, and how many rows have it."""
    effect, marks = panel.effect, panel.marks
    _heights(ax, scales)
    levels = effect.axes[0]
    places = np.arange(len(levels))
    lengths = np.array([effect.mean - effect.low, effect.high - effect.mean])
    ax.errorbar(places, effect.mean, lengths, fmt="o", color=style.colour, capsize=3, markersize=6)
    beside = len(levels) + np.arange(len(marks))
    if marks:
        _bars(ax, beside, marks, style)
        ax.axvline(len(levels) - 0.5, color="0.75", linewidth=0.8, linestyle=":")
    if style.rows:
        counts = [*level_counts(levels, effect.rows[0]), *(mark.count or 0 for mark in marks)]
        heights, foot = foot_heights(np.array(counts)), ax.get_xaxis_transform()
        ax.bar([*places, *beside], heights, 0.7, color=GREY, alpha=0.6, transform=foot, zorder=0)
    ax.set_xlim(-0.6, len(levels) + len(marks) - 0.4)
    level_ticks(ax.xaxis, [level_text(level) for level in levels], [mark.label for mark in marks])
    ax.set_xlabel(effect.features[0])


def lines(ax: Any, panel: Panel, scales: Scales, style: Style) -> None:
    """A number and levels: a line with its band for each of the most frequent levels."""
    effect = panel.effect
    _heights(ax, scales)
    number, level, (low, mean, high) = by_level(effect)
    levels = effect.axes[level]
    shown = most_frequent(levels, effect.rows[level], len(style.level_colours))
    for colour, i in zip(style.level_colours, shown, strict=False):
        band = (low[i], mean[i], high[i])
        _line_with_band(ax, effect.axes[number], band, colour, level_text(levels[i]))
    ax.set_xlabel(axis_name(effect, number))
    number_ticks(ax.xaxis)
    title = effect.features[level]
    if len(shown) < len(levels):
        title += f" ({len(shown)} of {len(levels)})"
    ax.legend(title=title, fontsize="small", title_fontsize="small", frameon=False)
    if style.rows:
        _histogram(ax, effect.rows[number])


PANELS: dict[tuple[bool, ...], Draw] = {  # by whether each feature has levels
    (False,): curve,
    (True,): points,
    (False, False): surface,
    (False, True): lines,
    (True, False): lines,
    (True, True): heat_map,
}


def _heights(ax: Any, scales: Scales) -> None:
    tidy(ax)
    ax.set_ylim(scales.low, scales.high)


def _line_with_band(
    ax: Any, x: np.ndarray, band: tuple[Array, Array, Array], colour: str, label: str | None = None
) -> None:
    low, mean, high = band
    ax.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0.0)
    ax.plot(x, mean, color=colour, linewidth=2.0, label=label)
    ax.set_xlim(float(x[0]), float(x[-1]))


def _histogram(ax: Any, values: np.ndarray) -> None:
    """Bars at the foot of the panel."""
    counts, edges = histogram(values)
    foot = ax.get_xaxis_transform()  # x in the units of the feature, y as a part of the panel
    widths = np.diff(edges)
    look = {"align": "edge", "color": GREY, "alpha": 0.6, "transform": foot, "zorder": 0}
    ax.bar(edges[:-1], foot_heights(counts), widths, **look)


def _bars(ax: Any, places: np.ndarray, marks: tuple[Mark, ...], style: Style) -> None:
    """Marks as open points, so that they are not taken for levels."""
    middle = np.array([mark.mean for mark in marks])
    lengths = np.array([[mark.mean - mark.low for mark in marks], [mark.high - mark.mean for mark in marks]])
    look = {"color": style.colour, "markerfacecolor": "white", "capsize": 3, "markersize": 6}
    ax.errorbar(places, middle, lengths, fmt="o", **look)


def _side_ticks(ax: Any, end: float, places: list[float], marks: tuple[Mark, ...]) -> None:
    """Names below the marks, and no number so near to the end that it would touch them."""
    start = ax.get_xlim()[0]
    ticks = [tick for tick in ax.get_xticks() if start <= tick <= end - 0.08 * (end - start)]
    ax.set_xticks(ticks)
    ax.axvline(end + 0.25 * (places[0] - end), color="0.75", linewidth=0.8, linestyle=":")
    for place, mark in zip(places, marks, strict=True):
        text = mark.label if mark.count is None else f"{mark.label}\n({mark.count:,})"
        look = {"ha": "center", "va": "top", "fontsize": "x-small", "color": "0.3"}
        ax.text(place, -0.02, text, transform=ax.get_xaxis_transform(), **look)
