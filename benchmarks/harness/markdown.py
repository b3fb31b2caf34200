"""A table of scores in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable

from benchmarks.harness.grid import Entry, Grid, mark


def as_markdown(grid: Grid) -> str:
    """The table with the best of each row in bold, and its notes below."""
    lines = [
        f"{grid.caption}: mean (standard deviation) over splits, in bold whom the fewest beat on the splits "
        "that both have run",
        "",
        _pipes(["set", *grid.columns]),
        _pipes([":--", *("--:" for _ in grid.columns)]),
    ]
    lines += [_pipes([name, *map(_marked, row)]) for name, row in grid.rows.items()]
    lines += [_pipes([f"*{name}*", *map(_marked, row)]) for name, row in grid.foot.items()]
    notes = [f"- {mark(place)} {_escaped(note)}" for place, note in enumerate(grid.notes, start=1)]
    return "\n".join([*lines, *([""] if notes else []), *notes]) + "\n"


def _marked(entry: Entry) -> str:
    return (f"**{entry.full}**" if entry.best else entry.full) + mark(entry.note)


def _pipes(entries: Iterable[str]) -> str:
    return "| " + " | ".join(entry.replace("|", "\\|") for entry in entries) + " |"


def _escaped(text: str) -> str:
    """Text that Markdown leaves as it is: an error may well have an underscore or a bracket."""
    return re.sub(r"([\\`*_<\[\]])", r"\\\1", text)
