"""Taking the target out of a table."""

from __future__ import annotations

from collections.abc import Sequence

from termwise.errors import TargetError
from termwise.table.names import did_you_mean, quoted
from termwise.table.table import Table, Values


def split_target(table: Table, name: str) -> tuple[Table, Values]:
    """The features, and the values of the target: float64, or levels if it is not a number."""
    return table.select(feature_names(table.names, name)), table.column(name)


def feature_names(names: Sequence[str], target: str) -> tuple[str, ...]:
    """The columns other than the target, which must be there and not alone."""
    if not isinstance(target, str):
        raise TargetError(
            f"the target is {type(target).__name__} {str(target)[:40]!r}; give the name of one column, such "
            f"as target={names[-1]!r}"
        )
    if target not in names:
        hint = did_you_mean(target, names)
        raise TargetError(
            f"there is no column {target!r} for the target{hint}; the columns are {quoted(names)}"
        )
    features = tuple(name for name in names if name != target)
    if not features:
        raise TargetError(
            f"the target {target!r} is the only column of the table; add columns to predict it from"
        )
    return features
