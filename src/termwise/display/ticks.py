"""Names and numbers at the edges of a panel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MOST_LABELS = 30
MOST_LETTERS = 30  # that stand side by side, with a space behind each name
LONG = 20_000.0  # numbers of five digits; years have four


def level_ticks(axis: Any, names: Sequence[str], beside: Sequence[str] = ()) -> None:
    """The names of the levels; of very many, every second, third, .., but all that stand beside them."""
    step = -(-len(names) // MOST_LABELS)
    places = [*range(0, len(names), step), *range(len(names), len(names) + len(beside))]
    labels = [*names[::step], *beside]
    crowded = sum(map(len, labels)) + len(labels) > MOST_LETTERS and axis.axis_name == "x"
    axis.set_ticks(places, labels=labels)
    small = len(labels) > 8 or crowded
    axis.set_tick_params(rotation=90.0 if crowded else 0.0, labelsize="small" if small else "medium")


def number_ticks(axis: Any) -> None:
    """Few round numbers, and 50k for 50000, so that long ones do not touch."""
    from matplotlib.ticker import EngFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    if max(map(abs, axis.get_view_interval())) >= LONG:
        axis.set_major_formatter(EngFormatter(sep=""))
