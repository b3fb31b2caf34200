"""Names and notes at the edges of a panel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MOST_LABELS = 30


def level_ticks(axis: Any, names: Sequence[str], beside: Sequence[str] = ()) -> None:
    """The names of the levels; of very many, every second, third, .., but all that stand beside them."""
    step = -(-len(names) // MOST_LABELS)
    places = [*range(0, len(names), step), *range(len(names), len(names) + len(beside))]
    labels = [*names[::step], *beside]
    crowded = sum(map(len, labels)) > 26 and axis.axis_name == "x"
    axis.set_ticks(places, labels=labels)
    small = len(labels) > 8 or crowded
    axis.set_tick_params(rotation=90.0 if crowded else 0.0, labelsize="small" if small else "medium")


def number_ticks(axis: Any) -> None:
    """So few numbers that long ones do not touch."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(5))


def note(ax: Any, text: str) -> None:
    """A small remark in the upper right corner, on white so that it can be read over colours."""
    if text:
        box = {"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 1.5}
        place = {"ha": "right", "va": "top", "transform": ax.transAxes}
        ax.text(0.99, 0.98, text, fontsize="x-small", color="0.25", bbox=box, **place)
