"""Titles in as many lines as they need, so that none runs into the panel or the colours beside it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

MOST_LINES = 4
POINTS = 72.0  # of an inch
CUT = "…"


def fit_titles(axes: Sequence[Any], *, own: bool) -> None:
    """Break the titles and the names below panels where they are wider than these.

    The panels of a figure of our `own` are laid out before, as they have no width until then.
    """
    texts = [(ax, text) for ax in axes for text in (_title(ax), ax.xaxis.label) if text.get_text()]
    if own and any(_width(text, text.get_text()) > 0.5 * _room(ax) for ax, text in texts):
        axes[0].figure.draw_without_rendering()
    for ax, text in texts:
        _fit(text, _room(ax))


def _fit(text: Any, room: float) -> None:
    lines = text.get_text().split("\n")
    text.set_text("\n".join(wrapped(line, lambda part: _width(text, part) <= room) for line in lines))


def _title(ax: Any) -> Any:
    return ax.set_title(ax.get_title(loc="left"), loc="left", fontsize="medium")


def _room(ax: Any) -> float:
    """The width of a panel in inches."""
    return float(ax.bbox.width / ax.figure.dpi)


def _width(text: Any, lines: str) -> float:
    """The width in inches that lines have in the letters of a text."""
    from matplotlib.textpath import text_to_path

    font = text.get_fontproperties()
    sizes = [
        text_to_path.get_text_width_height_descent(line, font, ismath=False) for line in lines.split("\n")
    ]
    return float(max(width for width, _, _ in sizes)) / POINTS


def wrapped(title: str, fits: Callable[[str], bool]) -> str:
    """The title in lines that fit: broken behind colons and before a share, else between words.

    A word that is too long is cut, and of very many lines the middle ones are left out.
    """
    lines = [""]
    for part in re.split(r"(?<=:)|(?<=   )", title):
        if fits(lines[-1] + part.rstrip()):
            lines[-1] += part
        elif fits(part.rstrip()):
            lines.append(part)
        else:
            _add_words(lines, part, fits)
    kept = [line.rstrip() for line in lines if line.strip()]
    if len(kept) > MOST_LINES:
        kept = [*kept[: MOST_LINES - 2], CUT, kept[-1]]
    return "\n".join(kept)


def _add_words(lines: list[str], part: str, fits: Callable[[str], bool]) -> None:
    for word in re.split(r"(?<= )(?! )", part):
        if fits(lines[-1] + word.rstrip()):
            lines[-1] += word
        else:
            lines.append(word if fits(word.rstrip()) else _cut(word, fits))


def _cut(word: str, fits: Callable[[str], bool]) -> str:
    size = next((size for size in range(len(word), 0, -1) if fits(word[:size] + CUT)), 0)
    return word[:size] + CUT
