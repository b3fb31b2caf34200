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

_NAN_TEXTS = frozenset({"nan", "+nan", "-nan"})


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
    if values.dtype == object:
        cells = values.tolist()
        matched = _matched(column.levels, set(cells) - {None})
        return object_array([matched.get(cell) for cell in cells])
    distinct, position = np.unique(values, return_inverse=True)
    matched = _matched(column.levels, set(distinct[~np.isnan(distinct)].tolist()))
    return object_array([matched.get(value) for value in distinct.tolist()])[position]


def _matched(levels: tuple[Level, ...], cells: set[Level]) -> dict[Level, Level | None]:
    """For each cell the fitted level that it stands for, or the cell itself if there is none."""
    exact: dict[Level, Level | None] = {level: level for level in levels}
    others = [cell for cell in cells if cell not in exact]
    if others:  # looking at every level in every way is slow when there are many, and mostly in vain
        known = _by_key(levels)
        exact.update({cell: _match(known, cell) for cell in others})
        if levels and isinstance(levels[0], float):  # the fitted texts were read as numbers, NaN as missing
            exact.update({cell: None for cell in others if str(cell).lower() in _NAN_TEXTS})
    return exact


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
    return level, text, _number_or_days(level), truth


def _number_or_days(level: Level) -> float | None:
    """The number that a level stands for, or its days since 1970 if it is an ISO date."""
    number = number_of(level)
    if number is None and isinstance(level, str):
        days = parse_numbers([level])
        return float(days[0]) if days is not None and np.isfinite(days[0]) else None
    return number


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
