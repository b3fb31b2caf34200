"""Figures of a comparison: average ranks with the critical difference, and ranks against seconds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import Any

from benchmarks.harness.compare import Comparison, Cost, TooFewError
from termwise.display.style import Style, new_figure

OURS, OTHERS = Style().colour, "0.35"  # colours
LETTERS = 9.5  # points
ROW, BAR, TICK = 0.25, 0.13, 0.32  # inches between labels, between bars of cliques, between ranks
# Where a label may stand beside its point, in points; the first free place is taken.
REACHES, HEIGHTS = (7, 14, 24, 36, 50), (0, 8, -8, 16, -16, 26, -26, 38, -38)


def draw_ranks(comparison: Comparison, *, ours: Collection[str] = (), title: str = "") -> Any:
    """Average ranks, best on the left; a bar joins models that do not differ. Demsar 2006, figure 1.

    Ours are in colour. Models with gaps have no rank among the others and are not drawn.
    """
    ranks = comparison.ranks.average
    names = list(ranks)
    beside = 0.8 + 0.085 * max(map(len, names))  # inches for the labels of one side
    wide = max(4.5, TICK * len(names))  # inches of the scale
    inch = (len(names) - 1) / wide  # in ranks
    bars = _levels(comparison.cliques, ranks, 0.2 * inch)
    top = 0.3 + BAR * max((level + 1 for level in bars.values()), default=0)  # of the labels, below the scale
    half = (len(names) + 1) // 2
    bottom = top + ROW * half
    above = 0.95 + 0.3 * bool(title)
    figure = new_figure(wide + 2.0 * beside, bottom + above)
    figure.set_layout_engine("none")
    # heights are in inches from the scale, which keeps rows apart however many there are
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0), ylim=(-bottom, above))
    ax.axis("off")
    low, high = 1.0, float(len(names))
    ax.set_xlim(low - beside * inch, high + beside * inch)
    _scale(ax, len(names))
    _yardstick(ax, comparison)
    for place, name in enumerate(names):
        left = place < half
        # the outermost models have the highest labels, so that no two leaders cross
        depth = top + ROW * (place if left else len(names) - 1 - place)
        end = low - 0.15 * inch if left else high + 0.15 * inch
        _leader(ax, (ranks[name], end, -depth), name, name in ours)
    for clique, level in bars.items():
        ends = ranks[clique[0]] - 0.04 * inch, ranks[clique[-1]] + 0.04 * inch
        ax.plot(ends, [-0.15 - BAR * level] * 2, color="0.1", linewidth=3.5, solid_capstyle="round", zorder=3)
    if title:
        ax.text(0.5 * (low + high), above - 0.25, title, ha="center", fontsize=LETTERS + 2.5)
    return figure


def draw_costs(costs: Mapping[str, Cost], *, ours: Collection[str] = (), title: str = "") -> Any:
    """Average rank against the median seconds of a fit, best on top.

    Hollow points did not run every set, and say how many: two of them may be of quite different sets.
    """
    if not costs:
        raise TooFewError("there is no model to draw; rank models on sets that they all have run")
    figure = new_figure(8.0, 5.2)
    ax = figure.add_subplot(xlabel="median seconds of a fit", ylabel="average rank, 1 is best")
    ax.invert_yaxis()
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="0.92", linewidth=0.8)
    ax.set_axisbelow(True)
    for name, one in costs.items():
        colour = OURS if name in ours else OTHERS
        ax.plot(
            one.seconds,
            one.rank,
            "o",
            color=colour,
            markersize=7,
            markerfacecolor=colour if one.whole else "w",
        )
    ax.margins(x=0.12, y=0.08)
    _plain_seconds(ax, [one.seconds for one in costs.values()])
    if title:
        ax.set_title(title, fontsize=LETTERS + 2.5, loc="left")
    if not all(one.whole for one in costs.values()):
        says = "rank and seconds over so many sets only"
        ax.plot([], [], "o", color=OTHERS, markerfacecolor="w", markersize=7, label=says)
        ax.legend(
            frameon=False, fontsize=LETTERS, loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.0
        )
    _label_points(figure, ax, costs, ours)
    return figure


def _levels(
    cliques: Sequence[tuple[str, ...]], ranks: Mapping[str, float], gap: float
) -> dict[tuple[str, ...], int]:
    """The level of each bar: the first on which it keeps a gap to the bar before."""
    ends: list[float] = []  # of the last bar of each level
    found = {}
    for clique in cliques:
        start, stop = ranks[clique[0]], ranks[clique[-1]]
        level = next((place for place, end in enumerate(ends) if end + gap < start), len(ends))
        ends[level : level + 1] = [stop]
        found[clique] = level
    return found


def _scale(ax: Any, count: int) -> None:
    ax.plot((1, count), (0, 0), color="0.1", linewidth=1.2)
    for rank in range(1, count + 1):
        ax.plot((rank, rank), (0.0, 0.08), color="0.1", linewidth=1.2)
        ax.text(rank, 0.12, str(rank), ha="center", va="bottom", fontsize=LETTERS)


def _yardstick(ax: Any, comparison: Comparison) -> None:
    """The critical difference as a length above the scale, in words beside it."""
    high = 0.55
    stop = 1.0 + comparison.difference
    ax.plot((1.0, stop), (high, high), color="0.1", linewidth=1.2)
    for end in (1.0, stop):
        ax.plot((end, end), (high - 0.05, high + 0.05), color="0.1", linewidth=1.2)
    p = "p < 0.001" if comparison.p_value < 0.001 else f"p = {comparison.p_value:.3f}"
    says = f"critical difference {comparison.difference:.2f}, {comparison.ranks.sets} sets; Friedman {p}"
    ax.text(1.0, high + 0.1, says, va="bottom", fontsize=LETTERS)


def _leader(ax: Any, at: tuple[float, float, float], name: str, own: bool) -> None:
    """A line from a rank down and out to its label."""
    rank, end, height = at
    colour = OURS if own else OTHERS
    ax.plot((rank, rank, end), (0.0, height, height), color=colour, linewidth=1.6 if own else 0.9)
    left = end < rank
    says = f"{name}  {rank:.2f} " if left else f" {rank:.2f}  {name}"
    style = {"color": colour, "fontsize": LETTERS, "fontweight": "bold" if own else "normal"}
    ax.text(end, height, says, ha="right" if left else "left", va="center", **style)


def _plain_seconds(ax: Any, seconds: Sequence[float]) -> None:
    """Seconds as plain numbers, with some between the powers of ten if there are few of these."""
    ax.set_xscale("log", subs=(2, 5))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter("{x:g}" if max(seconds) < 300.0 * min(seconds) else "")


def _label_points(figure: Any, ax: Any, costs: Mapping[str, Cost], ours: Collection[str]) -> None:
    """Names beside points, where they cover neither a point nor a name."""
    figure.draw_without_rendering()  # now the axes have their place
    spots = {name: ax.transData.transform((one.seconds, one.rank)) for name, one in costs.items()}
    pixels = figure.dpi / 72.0
    taken: list[tuple[float, ...]] = [
        (x - 5 * pixels, y - 5 * pixels, x + 5 * pixels, y + 5 * pixels) for x, y in spots.values()
    ]
    for name in sorted(spots, key=lambda name: name not in ours):
        one = costs[name]
        style = {
            "color": OURS if name in ours else OTHERS,
            "fontweight": "bold" if name in ours else "normal",
        }
        at = (one.seconds, one.rank)
        says = name if one.whole else f"{name}  ({one.sets})"
        label = ax.annotate(
            says, at, (0, 0), textcoords="offset points", va="center", fontsize=LETTERS, **style
        )
        label.set_in_layout(False)  # a label must not move the axes it was placed on
        taken.append(_place(label, taken, ax.bbox.extents))
        if abs(label.get_position()[0]) > REACHES[1] or abs(label.get_position()[1]) > HEIGHTS[1]:
            line = {"arrowstyle": "-", "color": "0.6", "linewidth": 0.7, "shrinkA": 0, "shrinkB": 4}
            ax.annotate("", at, label.get_position(), textcoords="offset points", arrowprops=line)


def _place(label: Any, taken: Sequence[tuple[float, ...]], frame: Sequence[float]) -> tuple[float, ...]:
    """Move a label to its first free place, and say what it takes."""
    box: tuple[float, ...] = ()
    for reach, height, side in product(REACHES, HEIGHTS, (1, -1)):
        label.set(position=(side * reach, height), ha="left" if side > 0 else "right")
        box = tuple(label.get_window_extent().extents)
        inside = box[0] >= frame[0] and box[2] <= frame[2] and box[1] >= frame[1] and box[3] <= frame[3]
        if inside and not any(_overlap(box, other) for other in taken):
            break
    return box


def _overlap(one: Sequence[float], other: Sequence[float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
