"""Numbers of a file, which may be anything until they are looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeVar

Kind = TypeVar("Kind")


def known(table: Mapping[str, Kind], name: Any, what: str) -> Kind:
    """What has this name in a table."""
    if not isinstance(name, str) or name not in table:
        raise ValueError(f"there is no {what} {str(name)[:80]!r}")
    return table[name]


def number(value: Any) -> float:
    """A finite number."""
    # NumPy takes very large whole numbers for objects.
    if (
        type(value) not in (int, float)
        or not math.isfinite(value)
        or (type(value) is int and abs(value) > 2**53)
    ):
        raise ValueError(f"{str(value)[:80]!r} stands where a finite number is expected")
    return float(value)


def numbers(values: Any) -> tuple[float, ...]:
    """Finite numbers."""
    if not isinstance(values, list):
        raise ValueError(f"{str(values)[:80]!r} stands where a list of numbers is expected")
    return tuple(number(value) for value in values)
