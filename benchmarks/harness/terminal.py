"""A table of scores in aligned columns, for the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.harness.grid import Entry, Grid, mark

WIDTH = 110  # characters of a line
NAME_WIDTH, HEAD_WIDTH = 20, 9  # where names of sets are cut, and heads of columns broken
SPACE = "  "  # between columns


@dataclass(frozen=True)
class _Column:
    """The lines of a head and the entries below, all padded to one width."""

    head: tuple[str, ...]
    entries: tuple[str, ...]

    @property
    def width(self) -> int:
        return len(self.entries[0])


def as_text(grid: Grid, *, width: int = WIDTH) -> str:
    """The table with a star at the best of each row, and its notes below.

    Deviations are left out if they do not fit; columns that still do not fit follow below, beside the sets.
    """
    full = _blocks(grid, width, deviations=True)
    blocks = full if len(full) == 1 else _blocks(grid, width, deviations=False)
    what = "mean (standard deviation)" if blocks is full else "mean"
    notes = [
        textwrap.fill(f"{mark(place)} {note}", width, subsequent_indent=SPACE)
        for place, note in enumerate(grid.notes, start=1)
    ]
    head = textwrap.fill(f"{grid.caption}: {what} over splits, * whom the fewest beat on shared ones", width)
    return "\n\n".join([head, *blocks, *(["\n".join(notes)] if notes else [])]) + "\n"


def _blocks(grid: Grid, width: int, *, deviations: bool) -> list[str]:
    """The columns side by side, in as many blocks as it takes."""
    names = _names([*grid.rows, *grid.foot])
    rows = [*grid.rows.values(), *grid.foot.values()]
    blocks: list[list[_Column]] = []
    for place, name in enumerate(grid.columns):
        column = _column(name, [row[place] for row in rows], deviations)
        if not blocks or _width([names, *blocks[-1], column]) > width:
            blocks.append([])
        blocks[-1].append(column)
    return [_block([names, *block], len(grid.rows)) for block in blocks]


def _names(names: Sequence[str]) -> _Column:
    short = [name if len(name) <= NAME_WIDTH else name[: NAME_WIDTH - 1] + "…" for name in names]
    wide = max(map(len, ["set", *short]))
    return _Column(("set".ljust(wide),), tuple(name.ljust(wide) for name in short))


def _column(name: str, entries: Sequence[Entry], deviations: bool) -> _Column:
    """Numbers flush right, with their stars and marks behind, so that the points are in line."""
    texts = [entry.full if deviations else entry.mean for entry in entries]
    marks = ["*" * entry.best + mark(entry.note) for entry in entries]
    behind = max(map(len, marks))
    body = max(map(len, texts))
    head = textwrap.wrap(name, max(HEAD_WIDTH, body + behind), break_long_words=False)
    body = max(body, *(len(line) - behind for line in head))
    return _Column(
        tuple(line.rjust(body).ljust(body + behind) for line in head),
        tuple(text.rjust(body) + sign.ljust(behind) for text, sign in zip(texts, marks, strict=True)),
    )


def _width(columns: Sequence[_Column]) -> int:
    return sum(column.width for column in columns) + len(SPACE) * (len(columns) - 1)


def _block(columns: Sequence[_Column], sets: int) -> str:
    high = max(len(column.head) for column in columns)
    heads = [(" " * column.width,) * (high - len(column.head)) + column.head for column in columns]
    lines = [SPACE.join(parts) for parts in zip(*heads, strict=True)]
    body = [SPACE.join(parts) for parts in zip(*(column.entries for column in columns), strict=True)]
    rule = "-" * _width(columns)
    return "\n".join(line.rstrip() for line in [*lines, rule, *body[:sets], rule, *body[sets:]])
