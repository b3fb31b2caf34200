"""Matching the columns and the values of a new table with those of the fitted one."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from termwise.errors import SchemaError, TermwiseWarning
from termwise.table.cells import Level, level_text, number_of, object_array, parse_numbers
from termwise.table.column import Column
from termwise.table.names import did_you_mean, quoted
from termwise.table.table import Table, Values


def match_by_name(names: Sequence[str], table: Table, owner: str) -> tuple[Values, ...]:
    """The columns with these names, in this order; others are left out."""
    missing = [name for name in names if name not in table.names]
    if missing:
        hint = did_you_mean(missing[0], [name for name in table.names if name not in names])
        # the second sentence is scikit-learn's, which its users look for
        raise SchemaError(
            f"the table has no column {quoted(missing)}{hint}, which {owner} was fitted with; add it, filled "
            "with missing values if it is not known. The feature names should match those that were passed "
            f"during fit; the table has {quoted(table.names)}"
        )
    return tuple(table.column(name) for name in names)


def match_by_position(names: Sequence[str], table: Table, owner: str) -> tuple[Values, ...]:
    """All columns as they stand; there must be as many as in fit."""
    found, expected = len(table.names), len(names)
    if found != expected:
        # the first part is scikit-learn's, which its users and its checks look for
        raise SchemaError(
            f"X has {found} features, but {owner} is expecting {expected} features as input; give the "
            f"columns of the fitted table in the same order: {quoted(names)}"
        )
    return table.columns


def warn_about_names(fitted_named: bool, owner: str) -> None:
    """Names on one side only: worth a word, in scikit-learn's words."""
    found = (
        f"X does not have valid feature names, but {owner} was fitted with feature names"
        if fitted_named
        else f"X has feature names, but {owner} was fitted without feature names"
    )
    warnings.warn(f"{found}; its columns are matched by position", TermwiseWarning, stacklevel=3)


def continuous_values(name: str, values: Values) -> Values:
    """A column as numbers; an error that shows the first cell that is not one."""
    if values.dtype != object:
        return values
    texts = [None if cell is None else level_text(cell) for cell in _plain(values)]
    numbers = parse_numbers(texts)
    if numbers is not None:
        return numbers
    row = _first_unreadable(texts)
    raise SchemaError(
        f"column {name!r} must be numbers, but has the text {values[row]!r} in row {row} (counting from 0); "
        "correct the cell, mark it as missing, or fit with the column as categorical"
    )


def _first_unreadable(texts: Sequence[str | None]) -> int:
    for row, text in enumerate(texts):
        if text is not None and parse_numbers([text]) is None:
            return row
    # every cell can be read by itself, so dates stand among numbers: show the first date
    return next(row for row, text in enumerate(texts) if text is not None and number_of(text) is None)


def discrete_values(column: Column, values: Values) -> Values:
    """A column as fitted levels; other values stay as they are, missing ones are None."""
    known = _by_key(column.levels)
    if values.dtype == object:
        matched = {cell: _match(known, cell) for cell in set(values.tolist()) if cell is not None}
        return object_array([matched.get(cell) for cell in values.tolist()])
    distinct, position = np.unique(values, return_inverse=True)
    levels = [None if np.isnan(value) else _match(known, value) for value in distinct.tolist()]
    return object_array(levels)[position]


def fitted_values(column: Column, values: Values) -> Values:
    """A column of a new table as numbers or as fitted levels, whichever it was in fit."""
    return discrete_values(column, values) if column.is_discrete else continuous_values(column.name, values)


def _plain(values: Values) -> list[Any]:
    # a truth value counts as 0 or 1
    return [float(cell) if isinstance(cell, bool) else cell for cell in values.tolist()]


def _keys(level: Level) -> tuple[Level | None, ...]:
    """Ways to compare a level, from exact to loose: as it is, as text, as number, as true or false."""
    text = level_text(level)
    truth = text.lower() if text.lower() in {"true", "false"} else None
    return level, text, number_of(level), truth


def _by_key(levels: tuple[Level, ...]) -> list[dict[Level | None, Level]]:
    """For each way to compare, the level with that key; the first one if several share it."""
    pairs = [(_keys(level), level) for level in reversed(levels)]
    return [{keys[way]: level for keys, level in pairs} for way in range(4)]


def _match(known: list[dict[Level | None, Level]], value: Level) -> Level:
    # way by way, so that with levels "01" and "1" the number 1 is "1", an exact text before an equal number
    for key, levels in zip(_keys(value), known, strict=True):
        if key is not None and key in levels:
            return levels[key]
    return value
