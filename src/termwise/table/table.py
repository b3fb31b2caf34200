"""A table: named columns of numbers or levels, whatever library it came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from termwise.errors import TableError
from termwise.table.names import did_you_mean, duplicates, quoted

Values: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length, at least one row and one column, without infinite numbers.

    A column is a float64 array (NaN = missing), or an object array of levels: all str, all bool or all
    float (None = missing). ``named`` is False when the source had no column names and they are only
    positions, "x0", "x1", ...
    """

    names: tuple[str, ...]
    columns: tuple[Values, ...]
    named: bool = True

    def __post_init__(self) -> None:
        _check_names(self.names, len(self.columns))
        _check_shape(self.names, self.columns)
        for name, values in zip(self.names, self.columns, strict=True):
            _check_values(name, values)

    @property
    def n_rows(self) -> int:
        return len(self.columns[0])

    def column(self, name: str) -> Values:
        """The values of one column."""
        return self.columns[self.position(name)]

    def position(self, name: str) -> int:
        """Where a column stands, from 0."""
        if name not in self.names:
            hint = did_you_mean(name, self.names)
            raise TableError(f"there is no column {name!r}{hint}; the columns are {quoted(self.names)}")
        return self.names.index(name)

    def rows(self, chosen: Values) -> Table:
        """The rows at these positions, in the order given."""
        return Table(self.names, tuple(values[chosen] for values in self.columns), self.named)

    def select(self, names: Sequence[str]) -> Table:
        """The named columns, in the order given."""
        return Table(tuple(names), tuple(self.column(name) for name in names), self.named)


def position_names(count: int) -> tuple[str, ...]:
    """Names for a table that has none: "x0", "x1", ..."""
    return tuple(f"x{index}" for index in range(count))


def _check_names(names: tuple[str, ...], n_columns: int) -> None:
    assert len(names) == n_columns, (names, n_columns)
    repeated = duplicates(names)
    if repeated:
        raise TableError(
            f"column names must be unique, but {quoted(repeated)} occurs more than once; rename or drop one"
        )


def _check_shape(names: tuple[str, ...], columns: tuple[Values, ...]) -> None:
    # the words "0 sample(s)" and "0 feature(s)" are scikit-learn's, which its users and its checks look for
    n_rows = len(columns[0]) if columns else 0
    if not columns:
        raise TableError(
            f"the table has no columns: 0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is required."
        )
    for name, values in zip(names, columns, strict=True):
        if len(values) != n_rows:
            raise TableError(
                f"columns must have equal length, but {names[0]!r} has {n_rows} rows and {name!r} has "
                f"{len(values)}; mark missing cells with None instead of leaving them out"
            )
    if n_rows == 0:
        raise TableError(
            f"the table has no rows: Found array with 0 sample(s) (shape=(0, {len(columns)})) while a "
            "minimum of 1 is required."
        )


def _check_values(name: str, values: Values) -> None:
    assert values.ndim == 1, (name, values.shape)
    assert values.dtype in (np.dtype(np.float64), np.dtype(object)), (name, values.dtype)
    if values.dtype == object:
        return
    infinite = np.isinf(values)
    if infinite.any():
        raise TableError(
            f"column {name!r} has an infinite value in row {int(infinite.argmax())} (counting from 0); "
            "features must not contain infinity: mark the cell as missing (NaN) or give a finite number"
        )
