"""One column of a schema: its name, its kind and its levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from termwise.errors import OptionError, SchemaError
from termwise.table.cells import Level
from termwise.table.names import quoted


class Kind(StrEnum):
    """What the values of a column are."""

    CONTINUOUS = "continuous"
    BINARY = "binary"
    CATEGORICAL = "categorical"


@dataclass(frozen=True)
class Column:
    """One column; its levels are sorted, so that the order of the rows does not matter.

    Levels are all str, all bool or all float; a continuous column has none.
    """

    name: str
    kind: Kind
    levels: tuple[Level, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise SchemaError(f"a column has the name {self.name!r}, expected a text; use str(name)")
        object.__setattr__(self, "kind", as_kind(self.kind, self.name))
        object.__setattr__(self, "levels", _sorted_levels(self.name, self.levels))
        _check_level_count(self)

    @property
    def is_discrete(self) -> bool:
        """Whether the values are levels and not numbers on a line."""
        return self.kind is not Kind.CONTINUOUS

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return {"name": self.name, "kind": self.kind.value, "levels": list(self.levels)}

    @classmethod
    def from_dict(cls, data: Any) -> Column:
        """The column written by to_dict."""
        # JSON writers other than Python's write 1.0 as 1, but a number among the levels is always a float
        levels = tuple(float(level) if type(level) is int else level for level in data["levels"])
        return cls(data["name"], data["kind"], levels)


def as_kind(value: Any, name: str) -> Kind:
    """The kind written as a text, such as "continuous"."""
    try:
        return Kind(value)
    except ValueError as error:
        kinds = quoted(kind.value for kind in Kind)
        raise OptionError(
            f"column {name!r} is given the kind {value!r}, expected one of {kinds}; correct it"
        ) from error


def _sorted_levels(name: str, levels: Sequence[Level]) -> tuple[Level, ...]:
    types = {type(level) for level in levels}
    if len(types) > 1 or not types <= {str, bool, float}:
        found = quoted(sorted(kind.__name__ for kind in types))
        raise SchemaError(
            f"column {name!r} has levels of type {found}, expected all str, all bool or all "
            "float; convert them"
        )
    if any(level != level for level in levels) or len(set(levels)) < len(levels):
        raise SchemaError(f"column {name!r} has a level that is NaN or occurs twice; drop it")
    return tuple(sorted(levels))


def _check_level_count(column: Column) -> None:
    count = len(column.levels)
    if column.kind is Kind.CONTINUOUS and count:
        raise SchemaError(
            f"column {column.name!r} is continuous but has {count} levels; declare it categorical"
        )
    if column.kind is Kind.BINARY and count > 2:
        raise SchemaError(
            f"column {column.name!r} is declared binary but has {count} levels "
            f"({quoted(map(str, column.levels))}); declare it categorical"
        )
