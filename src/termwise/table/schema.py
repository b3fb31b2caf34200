"""What a fitted table looks like: the columns, and how a new table is matched with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from termwise.errors import ModelFileError, SchemaError, TermwiseError
from termwise.table.column import Column, Kind
from termwise.table.infer import infer_columns
from termwise.table.match import fitted_values, match_by_name, match_by_position, warn_about_names
from termwise.table.names import duplicates, quoted
from termwise.table.table import Table


@dataclass(frozen=True)
class Schema:
    """The columns of a table; ``named`` is False if they are known by their position only."""

    columns: tuple[Column, ...]
    named: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        repeated = duplicates(self.names)
        if repeated:
            raise SchemaError(
                f"column names must be unique, but {quoted(repeated)} occurs more than once; rename"
            )

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(column.kind for column in self.columns)

    @classmethod
    def infer(
        cls,
        table: Table,
        categorical: str | Sequence[str | int] = "auto",
        kinds: Mapping[str, Kind | str] | None = None,
    ) -> Schema:
        """Find the kind of every column by itself.

        Truth values are binary; texts and declared categories are categorical, or binary if there are two
        levels; numbers are binary if there are exactly two distinct ones, and otherwise continuous.
        ``categorical`` names further columns (or their positions) whose numbers are levels. ``kinds``
        sets the kind of single columns and is obeyed to the letter.
        """
        return cls(infer_columns(table, categorical, kinds or {}), table.named)

    def check(self, table: Table, *, owner: str = "the model") -> Table:
        """The fitted columns of a new table, in fitted order, as numbers and fitted levels.

        A table with names is matched by name, whatever the order of its columns. Extra columns are
        ignored, since one often predicts on a table that still has the target. A table without names is
        matched by position and must have as many columns as in fit. Levels not seen in fit are kept as
        they are: what becomes of them is for the encoding to decide. ``owner`` is named in the messages.
        """
        by_name = self.named and table.named
        match = match_by_name if by_name else match_by_position
        if self.named != table.named:
            warn_about_names(self.named, owner)
        found = match(self.names, table, owner)
        converted = tuple(map(fitted_values, self.columns, found))
        return Table(self.names, converted, self.named)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return {"named": self.named, "columns": [column.to_dict() for column in self.columns]}

    @classmethod
    def from_dict(cls, data: Any) -> Schema:
        """The schema written by to_dict."""
        try:
            named, columns = data["named"], data["columns"]
            if not isinstance(named, bool):
                raise TypeError(f"'named' is {named!r}, expected true or false")
            return cls(tuple(Column.from_dict(entry) for entry in columns), named)
        except (KeyError, TypeError, TermwiseError) as error:
            raise ModelFileError(
                f"the schema in the model file cannot be read ({type(error).__name__}: {error}); the file is "
                "damaged or was changed: save the model again"
            ) from error
