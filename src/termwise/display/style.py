"""What all figures share: how they look, where they are drawn, and how a share is written."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from termwise.errors import OptionError

LONGEST = 48  # letters of a name beside a bar


@dataclass(frozen=True)
class Style:
    """How a figure looks; the colours can be told apart by the colour-blind (Okabe and Ito)."""

    target: str | None = None  # what effects are on; if None, what the explanation says
    n_columns: int = 3  # panels side by side
    panel_width: float = 3.7  # inches
    panel_height: float = 2.9
    colour: str = "#0072b2"  # of curves, points and bars
    second_colour: str = "#d55e00"  # of what stands against them: falling scores, rising contributions
    level_colours: tuple[str, ...] = (
        "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000",
    )  # fmt: skip
    colormap: str = "RdBu_r"  # of surfaces and heat maps; a name of matplotlib
    rows: bool = True  # show where the training rows are
    same_scale: bool = True  # one height and one scale of colours for all panels


def style_from(options: Mapping[str, Any]) -> Style:
    """The style with some options changed, or an error that lists them."""
    known = [field.name for field in fields(Style)]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise OptionError(f"there is no style {', '.join(unknown)}; use one of {', '.join(known)}")
    return Style(**options)


def new_figure(width: float, height: float) -> Any:
    """A figure that needs no window and no global state."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise OptionError("drawing needs matplotlib; install it: pip install termwise[plot]") from None
    return Figure(figsize=(width, height), layout="constrained")


def given_axes(axes: Any, count: int) -> list[Any]:
    """The first `count` of one matplotlib axes or an array of them."""
    listed = list(np.atleast_1d(np.asarray(axes, dtype=object)).ravel())
    if len(listed) < count:
        raise OptionError(f"axes has {len(listed)} axes; pass at least {count}, or leave it out")
    return listed[:count]


def tidy(ax: Any) -> None:
    """No frame where there is no scale, and a faint line at zero."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.axhline(0.0, color="0.75", linewidth=0.8, zorder=0)


def png(figure: Any) -> bytes:
    """The figure as the bytes of a PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()


def percent(share: float) -> str:
    """A share as a whole per cent, or "<1" if it would be zero."""
    return "<1" if 0.0 < share < 0.005 else f"{100.0 * share:.0f}"


def share_text(share: float, low: float, high: float) -> str:
    """A share with its interval, if there is one: "31 % (24-39 %)"."""
    if np.isnan(low) or np.isnan(high) or percent(high) == "<1":
        return f"{percent(share)} %"
    return f"{percent(share)} % ({percent(low)}–{percent(high)} %)"
