"""Sums over rows that can be added field by field."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self


class Summed:
    """A dataclass of numbers, arrays and others of its kind; that of some rows and of others add up."""

    def __add__(self, other: Self) -> Self:
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        added: list[Any] = [getattr(self, name) + getattr(other, name) for name in names]
        return type(self)(*added)
