"""Equal rows taken as one row that counts more often, in an order that is not that of the table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from termwise.estimators.targets import Target
from termwise.measures.base import Array
from termwise.table import Table
from termwise.table.table import Values

# How many rows stand for weighted ones where encodings and measures are made.
MOST_WHOLE, MOST_EACH, MANY = 1_000_000, 10, 100_000


def merged_rows(table: Table, target: Target) -> tuple[Table, Target]:
    """The rows that count, sorted, with equal ones merged and added up how often they occur.

    The likelihood of a row to the power of that is the likelihood of so many equal rows, so a fit of the
    merged rows is that of all of them; and neither their order nor their repetition changes a bit of it. Rows
    with a missing cell are not merged: what is missing may differ between them.
    """
    times = np.ones(target.y.size) if target.times is None else target.times
    if np.any(times == 0.0):
        kept = np.flatnonzero(times > 0.0)
        table, target, times = table.rows(kept), target.rows(kept, None), times[kept]
    codes = [_codes(column) for column in (*table.columns, *_of_target(target))]
    order = np.lexsort((times, *codes[::-1]))
    differs = _some_missing(table)[order][1:]
    for code in codes:  # one after the other: there may be millions of rows
        differs |= np.diff(code[order]) != 0
    first = np.flatnonzero(np.concatenate([[True], differs]))
    total = np.add.reduceat(times[order], first)
    return table.rows(order[first]), target.rows(order[first], None if np.all(total == 1.0) else total)


def _of_target(target: Target) -> list[Array]:
    return [part for part in (target.y, target.offset, target.weight) if part is not None]


def _codes(values: Values) -> NDArray[np.int32]:
    """The position of each cell among the sorted distinct ones; missing cells come last."""
    if values.dtype != object:
        return np.unique(values, return_inverse=True)[1].astype(np.int32)
    levels = sorted({value for value in values if value is not None})
    position = {level: code for code, level in enumerate(levels)}
    return np.array([position.get(value, len(levels)) for value in values], dtype=np.int32)


def _some_missing(table: Table) -> Array:
    columns = table.columns
    each = [np.isnan(c) if c.dtype != object else np.array([v is None for v in c]) for c in columns]
    return np.asarray(np.any(each, axis=0))


def repeated_rows(times: Array | None, n_rows: int) -> Array:
    """The positions of rows, each as often as it occurs, for what takes every row once.

    Whole numbers are taken at their word. Of others it is their running sum that is rounded, to a part of
    their mean: so rows one after the other are as many as they should be, together; and no row is lost.
    """
    positions = np.arange(n_rows)
    if times is None:
        return positions
    most_whole = max(MOST_WHOLE, MOST_EACH * n_rows)
    if np.all(times == np.round(times)) and np.sum(times) <= most_whole:
        return np.repeat(positions, times.astype(np.intp))
    total = max(2 * n_rows, min(MOST_EACH * n_rows, MANY))
    upto = np.cumsum(times)
    each = np.maximum(1, np.diff(np.rint(upto * (total / upto[-1])), prepend=0.0))
    return np.repeat(positions, each.astype(np.intp))
