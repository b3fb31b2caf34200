"""The numbers of a figure, whichever library draws them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from termwise.display.style import Style
from termwise.errors import TermError
from termwise.explain.effects import BAND, Effect
from termwise.explain.terms import Term
from termwise.measures.base import Array
from termwise.table import level_text

BINS = 30
FOOT = 1.0 / 9.0  # of the height of a panel, for the bars that say where the rows are
MARGIN = 0.05  # of the height, above and below the curves
MOST_POINTS = 500  # rows shown as points on a surface


@dataclass(frozen=True)
class Mark:
    """The effect where a feature has no value, which stands beside the others; rows, if they are known."""

    label: str
    mean: float
    low: float
    high: float
    count: int | None = None


@dataclass(frozen=True, eq=False)
class Panel:
    """One panel of a figure: an effect of one or two features, what stands above it, and its marks."""

    title: str
    effect: Effect
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class Scales:
    """What panels have in common: the height of curves and points, and the largest colour."""

    low: float
    high: float
    limit: float


def panels_of(effect: Effect, title: str, *, others: bool = False) -> list[Panel]:
    """The panels of an effect: one, or of three features one for each slice. `others` marks unseen levels."""
    if effect.term.order <= 2:
        return [Panel(title, effect, marks_of(effect, others=others))]
    if effect.term.order > 3:
        raise TermError(
            f"the term {effect.term.name!r} has {effect.term.order} features; terms of up to three can be "
            "drawn, others are read by explain(X)"
        )
    feature, values = effect.features[-1], effect.axes[-1]
    return [
        Panel(f"{title}\n{feature} = {value_text(value)}", _slice(effect, i))
        for i, value in enumerate(values)
    ]


def scales_of(panels: Sequence[Panel], style: Style) -> list[Scales]:
    """The scales of each panel: one for all, so that a small effect looks small, or each its own."""
    if not style.same_scale:
        return [_scales([panel], style) for panel in panels]
    return [_scales(panels, style)] * len(panels)


def _scales(panels: Sequence[Panel], style: Style) -> Scales:
    limit = max(float(np.max(np.abs(panel.effect.mean))) for panel in panels) or 1.0
    flat = [panel for panel in panels if not is_map(panel.effect)]
    if not flat:
        return Scales(-limit, limit, limit)
    low, high = min(reach(panel)[0] for panel in flat), max(reach(panel)[1] for panel in flat)
    room = MARGIN * (high - low) or 1.0
    # the bars of the rows stand in the room below the curves
    return Scales(low - (3.0 * room if style.rows else room), high + room, limit)


def reach(panel: Panel) -> tuple[float, float]:
    """The lowest and highest point of the bands, and of the marks beside them."""
    lows = [float(np.min(panel.effect.low)), *(mark.low for mark in panel.marks)]
    highs = [float(np.max(panel.effect.high)), *(mark.high for mark in panel.marks)]
    return min(lows), max(highs)


def marks_of(effect: Effect, *, others: bool) -> tuple[Mark, ...]:
    """What the effect is without a value: missing in training rows, or a level that none of them has."""
    mean, low, high = effect.missing_mean, effect.missing_low, effect.missing_high
    if mean is None or low is None or high is None:  # of more than one feature
        return ()
    found = [Mark("missing", mean, low, high, effect.n_missing)] if effect.n_missing else []
    if others and has_levels(effect.axes[0]):
        # an unseen level is marginalised as a missing cell is
        found.append(Mark("(other)", mean, low, high))
    return tuple(found)


def axis_name(effect: Effect, position: int = 0) -> str:
    """The feature along the lower edge; of two, with the rows that lack a value, as marks have no room."""
    lost = effect.n_missing if effect.term.order > 1 else 0
    return effect.axis_labels[position] + (f"\n({lost:,} rows lack a value)" if lost else "")


def has_levels(axis: np.ndarray) -> bool:
    """Whether an axis has levels; otherwise numbers."""
    return axis.dtype == object


def is_map(effect: Effect) -> bool:
    """Whether both axes are features, and the effect is a colour."""
    return effect.term.order == 2 and len({has_levels(axis) for axis in effect.axes}) == 1


def doubt(effect: Effect) -> Array:
    """By how much the standard deviation is larger than the mean: above zero even the sign is a guess."""
    beyond: Array = (effect.high - effect.low) / (2.0 * BAND) - np.abs(effect.mean)
    return beyond


def effect_label(effect: Effect, style: Style) -> str:
    """What the numbers of an effect are; which label they speak of is said whatever the target is called."""
    plain = effect.quantity == Effect.quantity
    if style.target and not plain:
        return f"{effect.quantity} {effect.target} ({style.target})"
    return f"{effect.quantity} {style.target or effect.target}"


def value_text(value: Any) -> str:
    """A level or a number, in short; "missing" if it is."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "missing"
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else level_text(value)


def histogram(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts of the known numbers, and the edges between them."""
    counts, edges = np.histogram(values[~np.isnan(values)], bins=BINS)
    return counts, edges


def level_counts(levels: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """How many rows have each level."""
    return np.array([int(np.sum(rows == level)) for level in levels])


def foot_heights(counts: np.ndarray) -> Array:
    """Counts as parts of the height of a panel."""
    heights: Array = FOOT * counts / max(int(np.max(counts, initial=0)), 1)
    return heights


def some_rows(effect: Effect) -> tuple[np.ndarray, ...]:
    """So many of the rows that the surface below them can still be seen."""
    step = max(1, -(-len(effect.rows[0]) // MOST_POINTS))
    return tuple(values[::step] for values in effect.rows)


def most_frequent(levels: np.ndarray, rows: np.ndarray, most: int) -> list[int]:
    """Positions of the levels with the most rows, in the order of the levels."""
    leading = np.argsort(-level_counts(levels, rows), kind="stable")[:most]
    return sorted(int(i) for i in leading)


def side_places(axis: np.ndarray, count: int) -> tuple[list[float], float]:
    """Where marks stand beside a curve, and where its panel ends."""
    low, high = float(axis[0]), float(axis[-1])
    if not count:
        return [], high
    step = 0.14 * (high - low)
    return [high + (0.7 + i) * step for i in range(count)], high + (0.4 + count) * step


def by_level(effect: Effect) -> tuple[int, int, list[Array]]:
    """The positions of the number and of the levels among two features; low, mean, high by level first."""
    number, level = (1, 0) if has_levels(effect.axes[0]) else (0, 1)
    parts = (effect.low, effect.mean, effect.high)
    return number, level, [np.moveaxis(part, level, 0) for part in parts]


def _slice(effect: Effect, i: int) -> Effect:
    """An effect of three features with the last held at one of its values."""
    features = effect.features[:2]
    std = None if effect.std is None else effect.std[..., i]
    band = None if effect.band is None else (effect.band[0][..., i], effect.band[1][..., i])
    here = (effect.axes[:2], effect.mean[..., i], std, effect.rows[:2], band)
    said = (effect.quantity, effect.target)
    return Effect(Term(features, (0, 1)), *here, *said, n_missing=effect.n_missing)
