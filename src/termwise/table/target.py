"""Taking the target out of a table."""

from __future__ import annotations

from termwise.errors import TargetError
from termwise.table.names import did_you_mean, quoted
from termwise.table.table import Table, Values


def split_target(table: Table, name: str) -> tuple[Table, Values]:
    """The features, and the values of the target: float64, or levels if it is not a number."""
    if name not in table.names:
        hint = did_you_mean(name, table.names)
        raise TargetError(
            f"there is no column {name!r} for the target{hint}; the columns are {quoted(table.names)}"
        )
    features = [other for other in table.names if other != name]
    if not features:
        raise TargetError(
            f"the target {name!r} is the only column of the table; add columns to predict it from"
        )
    return table.select(features), table.column(name)
