"""Measurements that take hours, one line each in a file: what was made before is not made again.

Each line is written as soon as it is known. Delete it to have it measured anew. Seconds are of machines that
did other things too.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Hashable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

KINDS = {"int": int, "float": float}


class Line(Protocol):
    """A dataclass of texts and numbers, which says what was measured."""

    __dataclass_fields__: Any

    @property
    def key(self) -> Hashable:
        """What was measured."""


L = TypeVar("L", bound=Line)


class Kept(Generic[L]):
    """The lines of a file, and more as they are asked for; without a file they are forgotten."""

    def __init__(self, kind: type[L], path: Path | None) -> None:
        self.kind, self.path = kind, path

    def of(self, key: Hashable, make: Callable[[], L]) -> L:
        """The one that was made before, by whomever, or a new one."""
        found = {line.key: line for line in self.read()}.get(key)
        return self._keep(make()) if found is None else found

    def read(self) -> list[L]:
        """All that there are."""
        if self.path is None or not self.path.exists():
            return []
        kinds = {field.name: KINDS.get(str(field.type), str) for field in fields(self.kind)}
        with open(self.path, encoding="utf-8", newline="") as file:
            return [
                self.kind(**{name: kinds[name](text) for name, text in row.items()})
                for row in csv.DictReader(file)
            ]

    def _keep(self, line: L) -> L:
        if self.path is not None:
            new = not self.path.exists()
            with open(self.path, "a", encoding="utf-8", newline="") as file:
                table = csv.DictWriter(file, [field.name for field in fields(line)], lineterminator="\n")
                if new:
                    table.writeheader()
                table.writerow({name: _short(value) for name, value in asdict(line).items()})
        return line


def _short(value: float | str) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
