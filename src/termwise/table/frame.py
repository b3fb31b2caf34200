"""Reading pandas, polars, pyarrow and other frames, all through narwhals."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from termwise.errors import TableError
from termwise.table.cells import column_of_cells, column_of_levels, object_array
from termwise.table.table import Table, Values, position_names

_MICROSECONDS_A_DAY = 86_400e6


def read_frame(data: Any) -> Table | None:
    """The table of a data frame, or None if the data is no data frame."""
    try:
        native = nw.from_native(data, pass_through=True, allow_series=True)
        if isinstance(native, nw.DataFrame):
            return _read(native)
    except DuplicateError as error:
        listed = " ".join(str(error).split())
        raise TableError(f"column names must be unique; rename or drop a column. {listed}") from error
    if isinstance(native, nw.LazyFrame):
        raise TableError("the table is a lazy frame, which holds no rows yet; call .collect() first")
    if isinstance(native, nw.Series):
        raise TableError(
            "Expected 2D array, got 1D array instead: a single column (Series) is not a table. Reshape your "
            "data into a frame, such as frame[['age']] or series.to_frame()"
        )
    return None


def _read(frame: nw.DataFrame[Any]) -> Table:
    raw: list[Any] = list(frame.columns)
    # as in scikit-learn, names that are all integers are positions and not names
    named = any(isinstance(name, str) for name in raw)
    names = tuple(map(str, raw)) if named else position_names(len(raw))
    columns = tuple(
        _read_series(name, series) for name, series in zip(names, frame.iter_columns(), strict=True)
    )
    return Table(names, columns, named)


def _read_series(name: str, series: nw.Series[Any]) -> Values:
    dtype = series.dtype
    if dtype.is_numeric():
        return np.asarray(series.cast(nw.Float64()).to_numpy(), dtype=np.float64)
    if isinstance(dtype, (nw.Date, nw.Datetime)):
        stamps = series.dt.timestamp("us").cast(nw.Float64()).to_numpy()
        return np.asarray(stamps, dtype=np.float64) / _MICROSECONDS_A_DAY
    if isinstance(dtype, nw.Boolean) and not series.is_null().any():
        return object_array(series.to_numpy().astype(bool).tolist())
    if isinstance(dtype, (nw.Categorical, nw.Enum)):
        return column_of_levels(name, series.to_list())
    return column_of_cells(name, series.to_list())
