"""Tables of the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termwise.report.markup import Markup, element


def table(name: str, head: Sequence[str], rows: Sequence[Sequence[Any]], *, numbers: bool = True) -> Markup:
    """A table with a name for each row; what is behind it are numbers, or texts."""
    side = "number" if numbers else None
    names = [element("th", text, scope="col", class_=side if i else None) for i, text in enumerate(head)]
    lines = [
        element("tr", element("th", first, scope="row"), [element("td", cell, class_=side) for cell in rest])
        for first, *rest in rows
    ]
    return scrolling(name, element("table", element("thead", element("tr", names)), element("tbody", lines)))


def scrolling(name: str, content: Markup) -> Markup:
    """What scrolls by itself on a narrow screen, also by keyboard."""
    return element("div", content, class_="scroll", tabindex=0, role="region", aria_label=name)
