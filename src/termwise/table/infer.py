"""Finding the kind and the levels of every column of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from termwise.errors import OptionError
from termwise.table.column import Column, Kind, as_kind
from termwise.table.match import continuous_values
from termwise.table.names import did_you_mean, quoted
from termwise.table.table import Table, Values


def infer_columns(
    table: Table, categorical: str | Sequence[str | int], kinds: Mapping[str, Kind | str]
) -> tuple[Column, ...]:
    """One column of the schema for every column of the table."""
    as_levels = _categorical_names(table.names, categorical)
    declared = declared_kinds(table.names, kinds)
    return tuple(
        _declared_column(name, values, declared[name])
        if name in declared
        else _found_column(name, values, name in as_levels)
        for name, values in zip(table.names, table.columns, strict=True)
    )


def discrete_names(
    names: Sequence[str], categorical: str | Sequence[str | int] | Mapping[str, Kind | str]
) -> frozenset[str]:
    """The columns that are levels because the user says so, in a list or by a mapping to their kinds."""
    if isinstance(categorical, Mapping):
        declared = declared_kinds(names, categorical)
        return frozenset(name for name, kind in declared.items() if kind is not Kind.CONTINUOUS)
    return _categorical_names(names, categorical)


def _found_column(name: str, values: Values, as_levels: bool) -> Column:
    if values.dtype == object or as_levels:
        levels = _levels(values)
        return Column(name, Kind.BINARY if len(levels) == 2 else Kind.CATEGORICAL, levels)
    ends = _two_values(values)
    return Column(name, Kind.BINARY, ends) if ends else Column(name, Kind.CONTINUOUS)


def _declared_column(name: str, values: Values, kind: Kind) -> Column:
    if kind is Kind.CONTINUOUS:
        continuous_values(name, values)  # refuses texts that are not numbers now and not in predict
        return Column(name, kind)
    return Column(name, kind, _levels(values))


def _levels(values: Values) -> tuple[str | bool | float, ...]:
    if values.dtype == object:
        return tuple(set(values.tolist()) - {None})  # the column sorts them
    return tuple(np.unique(values[~np.isnan(values)]).tolist())


def _two_values(values: Values) -> tuple[float, float] | None:
    """The two distinct values of a column that has exactly two; without sorting it."""
    known = values[~np.isnan(values)]
    if not known.size:
        return None
    low, high = float(known.min()), float(known.max())
    if low == high or not np.all((known == low) | (known == high)):
        return None
    return low, high


def declared_kinds(names: Sequence[str], kinds: Mapping[str, Kind | str]) -> dict[str, Kind]:
    """The kinds that the user sets, by names that are there."""
    return {_known(names, name, "kinds"): as_kind(kind, name) for name, kind in kinds.items()}


def _categorical_names(names: Sequence[str], categorical: str | Sequence[str | int]) -> frozenset[str]:
    if isinstance(categorical, str):
        if categorical == "auto":
            return frozenset()
        raise OptionError(
            f"categorical={categorical!r}: expected 'auto' or a list of column names; "
            f"write categorical=[{categorical!r}] for one column"
        )
    if not isinstance(categorical, Iterable):
        raise OptionError(
            f"categorical is {categorical!r}; use 'auto' or a list of column names or positions"
        )
    return frozenset(_known(names, entry, "categorical") for entry in categorical)


def _known(names: Sequence[str], entry: str | int, option: str) -> str:
    if isinstance(entry, str):
        if entry in names:
            return entry
        hint = did_you_mean(entry, names)
        raise OptionError(
            f"{option} names the column {entry!r}, which is not there{hint}; the columns are {quoted(names)}"
        )
    count = len(names)
    if isinstance(entry, (bool, np.bool_)) or not isinstance(entry, (int, np.integer)):
        raise OptionError(f"{option} has the entry {entry!r}; expected the name or the position of a column")
    if not -count <= entry < count:
        raise OptionError(
            f"{option} has the position {entry}, but the table has {count} columns, from 0 to {count - 1}"
        )
    return names[entry]
