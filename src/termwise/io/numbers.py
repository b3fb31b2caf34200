"""Numbers of a file, which may be anything until they are looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
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


def noise_of(document: Mapping[str, Any]) -> float:
    """The variance of the noise."""
    noise = number(document["noise"])
    if noise < 0.0:
        raise ValueError(f"the noise is {noise}")
    return noise


def built(kind: type[Kind], data: Mapping[str, Any]) -> Kind:
    """A dataclass of numbers and tuples of numbers, from the values of all its fields."""
    given = {field.name: "tuple" in str(field.type) for field in fields(kind) if field.init}  # type: ignore[arg-type]
    if data.keys() != given.keys():
        raise ValueError(
            f"a {kind.__name__} has the parameters {sorted(data)[:10]}, expected {sorted(given)}"
        )
    return kind(**{name: numbers(v) if given[name] else number(v) for name, v in data.items()})
