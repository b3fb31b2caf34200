"""Reading any table that is in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from termwise.errors import CellError, TableError
from termwise.table.cells import column_of_cells, days_since_epoch
from termwise.table.frame import read_frame
from termwise.table.table import Table, Values, position_names


def read_table(data: Any) -> Table:
    """Read a frame (pandas, polars, pyarrow), a 2-D array, a list of rows or a dict of columns.

    Truth values, texts and categorical columns become levels; texts that all read as numbers become
    numbers; dates become days since 1970-01-01 (UTC) and durations days. None, NaN, NaT, pandas' NA and
    blank texts are missing; a mask of a masked array marks missing cells.
    """
    if isinstance(data, Table):
        return data
    if isinstance(data, (str, os.PathLike)):
        raise TableError(
            f"{str(data)[:80]!r} is a text, expected a table; if it is a path use fit_dataset(path, "
            "target=...) for Parquet, or read the file first"
        )
    if sp.issparse(data):  # before the dicts, of which scipy's dok_array is one
        raise CellError("Sparse data was passed, but dense data is required; use .toarray()")
    if isinstance(data, Mapping):
        return _read_columns(data)
    table = read_frame(data)
    if table is not None:
        return table
    return _read_array(data)


def _read_columns(data: Mapping[Any, Any]) -> Table:
    columns = []
    for name, values in data.items():
        if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
            raise TableError(
                f"column {name!r} is a single {type(values).__name__}, expected a list of cells; "
                "write [value] for a table of one row"
            )
        columns.append(_column(str(name), values if isinstance(values, np.ndarray) else list(values)))
    return Table(tuple(map(str, data)), tuple(columns))


def _read_array(data: Any) -> Table:
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        data = _array_of_rows(data)
    if isinstance(data, np.ma.MaskedArray):
        cells = data.data.astype(object)
        cells[np.ma.getmaskarray(data)] = None  # check_array would forget the mask
        data = cells
    try:
        array = check_array(data, dtype=None, ensure_all_finite=False)
    except ValueError as error:
        raise TableError(str(error)) from error
    names = position_names(array.shape[1])
    columns = tuple(_column(name, array[:, index]) for index, name in enumerate(names))
    return Table(names, columns, named=False)


def _array_of_rows(rows: Sequence[Any]) -> Values:
    """An object array, because numpy would turn a mixed row such as [1, None, "a"] into texts."""
    lengths = [_length(row) for row in rows]
    odd = next((index for index, length in enumerate(lengths) if length != lengths[0]), None)
    if odd is not None:
        raise TableError(
            f"rows must have equal length, but row 0 has {_cells(lengths[0])} and row {odd} has "
            f"{_cells(lengths[odd])}; mark missing cells with None instead of leaving them out"
        )
    return np.array(rows, dtype=object)


def _length(row: Any) -> int:
    is_row = isinstance(row, (Sequence, np.ndarray)) and not isinstance(row, (str, bytes))
    return len(row) if is_row else -1


def _cells(length: int) -> str:
    return "no list of cells" if length < 0 else f"{length} cells"


def _column(name: str, values: Any) -> Values:
    if isinstance(values, np.ndarray) and values.ndim == 1:
        if values.dtype.kind in "iuf":
            return values.astype(np.float64)
        if values.dtype.kind in "mM":
            return days_since_epoch(values)
        return column_of_cells(name, values.tolist())
    return column_of_cells(name, values)
