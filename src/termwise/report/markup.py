"""Elements of a page from plain values; whatever is not markup itself is escaped."""

from __future__ import annotations

from html import escape
from typing import Any


class Markup(str):
    """Text that is markup and goes into a page as it is."""

    __slots__ = ()


VOID = frozenset({"meta", "input", "image", "rect", "line", "path", "circle", "polyline", "polygon"})


def element(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """<name attributes>children</name>; None is left out, and names have _ for - (class_ for class).

    A child that is a text is escaped, so that nothing of the data is ever read as markup.
    """
    pairs = [(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items()]
    text = "".join(
        f" {key}" if value is True else f' {key}="{escape(_text(value))}"'
        for key, value in pairs
        if value is not None and value is not False
    )
    if name in VOID and not children:
        return Markup(f"<{name}{text}>" if name in ("meta", "input") else f"<{name}{text}/>")
    return Markup(f"<{name}{text}>{joined(*children)}</{name}>")


def joined(*children: Any) -> Markup:
    """Children one behind the other; lists are taken apart."""
    parts: list[str] = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, (list, tuple)):
            parts.append(joined(*child))
        else:
            parts.append(child if isinstance(child, Markup) else escape(_text(child), quote=False))
    return Markup("".join(parts))


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
