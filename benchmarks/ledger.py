"""Measurements that take hours, one line each in a file: what was made before is not made again.

Each line is written as soon as it is known. Delete it to have it measured anew. Seconds are of machines that
did other things too.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

KINDS = {"int": int, "float": float}


class LedgerError(ValueError):
    """A file that this version did not write, or not to the end."""


class Line(Protocol):
    """A dataclass of texts and numbers, which says what was measured."""

    __dataclass_fields__: Any

    @property
    def key(self) -> Hashable:
        """What was measured."""


L = TypeVar("L", bound=Line)


class Ledger(Generic[L]):
    """The lines of a file, and more as they are asked for; without a file they are forgotten."""

    def __init__(self, kind: type[L], path: Path | None) -> None:
        self.kind, self.path = kind, path
        self._columns = [field.name for field in fields(kind)]

    def of(self, key: Hashable, make: Callable[[], L]) -> L:
        """The one that was made before, by whomever, or a new one."""
        found = {line.key: line for line in self.read()}.get(key)
        return self._written(make()) if found is None else found

    def read(self) -> list[L]:
        """All that there are."""
        if self.path is None or not self.path.exists():
            return []
        text = self.path.read_text(encoding="utf-8")
        header, *lines = csv.reader(text.splitlines())
        if header != self._columns:
            raise LedgerError(f"{self.path} has other columns than this version writes; move it away")
        for number, cells in enumerate(lines, start=2):
            if len(cells) != len(header) or (number == len(lines) + 1 and not text.endswith("\n")):
                raise LedgerError(f"{self.path}, line {number}, is damaged; delete it to measure it again")
        return [self._parsed(cells) for cells in lines]

    def _parsed(self, cells: Sequence[str]) -> L:
        kinds = [KINDS.get(str(field.type), str) for field in fields(self.kind)]
        values = [kind(text) for kind, text in zip(kinds, cells, strict=True)]
        return self.kind(**dict(zip(self._columns, values, strict=True)))

    def _written(self, line: L) -> L:
        """The line as it is read again: with as many digits, whether it was there or not."""
        cells = [_short(value) for value in asdict(line).values()]
        if self.path is not None:
            new = not self.path.exists()
            with open(self.path, "a", encoding="utf-8", newline="") as file:
                table = csv.writer(file, lineterminator="\n")
                table.writerows([self._columns, cells] if new else [cells])
        return self._parsed(cells)


def _short(value: float | str) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
