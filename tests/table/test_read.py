"""Every kind of table in memory gives the same columns."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from termwise.errors import CellError, TableError
from termwise.table import Table, read_table

pa = pytest.importorskip("pyarrow")

RECORDS: dict[str, list[Any]] = {
    "age": [31, None, 58],
    "height": [1.5, 2.5, None],
    "smoker": [True, None, False],
    "city": ["Oslo", None, "  "],
    "born": [dt.datetime(1970, 1, 2, 12), None, dt.datetime(1969, 12, 31)],
}


def as_pandas_nullable(records: dict[str, list[Any]]) -> pd.DataFrame:
    return pd.DataFrame(records).astype({"age": "Int64", "smoker": "boolean", "city": "string"})


FRAMES = {
    "pandas": pd.DataFrame,
    "pandas nullable": as_pandas_nullable,
    "pandas object": lambda records: pd.DataFrame(records, dtype=object),
    "pandas on arrow": lambda records: pa.table(records).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "dict": dict,
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_every_frame_gives_the_same_table(frame: Any) -> None:
    table = read_table(frame(RECORDS))
    assert table.names == tuple(RECORDS)
    assert table.named
    assert table.n_rows == 3
    np.testing.assert_array_equal(table.column("age"), [31.0, np.nan, 58.0])
    np.testing.assert_array_equal(table.column("height"), [1.5, 2.5, np.nan])
    np.testing.assert_array_equal(table.column("born"), [1.5, np.nan, -1.0])
    assert table.column("smoker").tolist() == [True, None, False]
    assert [type(cell) for cell in table.column("smoker")] == [bool, type(None), bool]
    assert table.column("city").tolist() == ["Oslo", None, None]
    assert [values.dtype for values in table.columns] == [float, float, object, object, float]


def test_a_table_is_read_as_itself() -> None:
    table = read_table(RECORDS)
    assert read_table(table) is table


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": pd.Categorical(["1", "2", None])}),
        pl.DataFrame({"x": pl.Series(["1", "2", None], dtype=pl.Categorical)}),
        pl.DataFrame({"x": pl.Series(["1", "2", None], dtype=pl.Enum(["2", "1"]))}),
        pa.table({"x": pa.array(["1", "2", None]).dictionary_encode()}),
    ],
    ids=["pandas", "polars", "polars enum", "pyarrow"],
)
def test_a_declared_category_stays_a_level_even_if_it_reads_as_a_number(frame: Any) -> None:
    assert read_table(frame).column("x").tolist() == ["1", "2", None]


def test_a_category_of_numbers_keeps_them_as_numbers() -> None:
    assert read_table(pd.DataFrame({"x": pd.Categorical([3, 1, None])})).column("x").tolist() == [
        3.0,
        1.0,
        None,
    ]


def test_texts_that_all_read_as_numbers_are_numbers() -> None:
    table = read_table(
        {"x": ["1", " 2.5 ", "", None], "y": ["1", "two", "3", "4"], "code": ["1_0", "2", "3", "4"]}
    )
    np.testing.assert_array_equal(table.column("x"), [1.0, 2.5, np.nan, np.nan])
    assert table.column("y").tolist() == ["1", "two", "3", "4"]
    assert table.column("code").tolist() == ["1_0", "2", "3", "4"]


def test_texts_that_all_are_iso_dates_are_days() -> None:
    table = read_table({"day": ["1970-01-03", None], "zone": ["1970-01-02T01:00:00+01:00", "1970-01-01"]})
    np.testing.assert_array_equal(table.column("day"), [2.0, np.nan])
    np.testing.assert_array_equal(table.column("zone"), [1.0, 0.0])
    assert read_table({"x": ["1970-01-03", "later"]}).column("x").tolist() == ["1970-01-03", "later"]


def test_dates_durations_and_times_of_every_origin_are_days() -> None:
    cells = {
        "date": [dt.date(1970, 1, 3)],
        "timestamp": [pd.Timestamp("1970-01-03")],
        "zone": [pd.Timestamp("1970-01-03 02:00", tz="Europe/Oslo")],
        "numpy": [np.datetime64("1970-01-03")],
        "duration": [dt.timedelta(hours=12)],
        "time": [dt.time(6)],
        "nothing": [pd.NaT],
    }
    found = [float(values[0]) for values in read_table(cells).columns]
    np.testing.assert_allclose(found, [2, 2, 2 + 1 / 24, 2, 0.5, 0.25, np.nan])
    stamps = np.array([["1970-01-02", "NaT"]], dtype="datetime64[D]")
    assert read_table(stamps).columns[0] == [1.0]
    assert np.isnan(read_table(stamps).columns[1][0])
    frame = pl.DataFrame({"d": [dt.date(1970, 1, 3)], "t": [dt.timedelta(hours=12)], "h": [dt.time(6)]})
    assert [float(values[0]) for values in read_table(frame).columns] == [2.0, 0.5, 0.25]


def test_cells_of_mixed_kind_become_numbers_if_they_can_and_texts_if_not() -> None:
    rows = [[1, True, "1", Decimal("0.5")], [2.5, 3, 2, None], [None, 0, "a", np.float32(2)]]
    table = read_table(rows)
    assert not table.named
    assert table.names == ("x0", "x1", "x2", "x3")
    np.testing.assert_array_equal(table.columns[0], [1.0, 2.5, np.nan])
    np.testing.assert_array_equal(table.columns[1], [1.0, 3.0, 0.0])
    assert table.columns[2].tolist() == ["1", "2", "a"]
    np.testing.assert_array_equal(table.columns[3], [0.5, np.nan, 2.0])


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint64, np.float16, object, str])
def test_numpy_numbers_are_float64(dtype: Any) -> None:
    table = read_table(np.array([[1, 2], [3, 4]], dtype=dtype))
    assert [values.dtype for values in table.columns] == [np.float64, np.float64]
    np.testing.assert_array_equal(np.column_stack(table.columns), [[1, 2], [3, 4]])


def test_numpy_truth_values_are_levels() -> None:
    assert read_table(np.array([[True], [False]])).columns[0].tolist() == [True, False]


def test_a_mask_marks_missing_cells() -> None:
    masked = np.ma.MaskedArray([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [False, False]])
    np.testing.assert_array_equal(read_table(masked).columns[1], [np.nan, 4.0])


def test_the_array_of_the_caller_is_not_shared() -> None:
    array = np.ones((2, 1))
    table = read_table(array)
    array[:] = 7
    assert table.columns[0].tolist() == [1.0, 1.0]


def test_integer_names_of_pandas_are_positions() -> None:
    table = read_table(pd.DataFrame(np.eye(2)))
    assert (table.names, table.named) == (("x0", "x1"), False)
    assert read_table(pd.DataFrame([[1, 2]], columns=["a", 7])).names == ("a", "7")


def test_an_all_missing_column_is_numeric_unless_it_is_declared_categorical() -> None:
    table = read_table(pd.DataFrame({"a": [None, None], "b": pd.Categorical([None, None], categories=["u"])}))
    assert table.column("a").dtype == np.float64
    assert table.column("b").tolist() == [None, None]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.arange(3.0), "Reshape your data"),
        ([1.0, 2.0], "Reshape your data"),
        (pd.Series([1.0, 2.0]), "Reshape your data"),
        (pl.Series([1.0, 2.0]), "Reshape your data"),
        (np.zeros((2, 2, 2)), "dim 3"),
        (np.zeros((2, 2)) + 1j, "Complex data not supported"),
        (np.zeros((0, 2)), r"Found array with 0 sample\(s\)"),
        (np.zeros((2, 0)), r"0 feature\(s\) \(shape=\(2, 0\)\) while a minimum of 1 is required"),
        (pd.DataFrame({"a": []}), r"Found array with 0 sample\(s\)"),
        (pl.DataFrame(), r"0 feature\(s\)"),
        ({"a": [1, 2], "b": [1]}, "'a' has 2 rows and 'b' has 1; mark missing cells with None"),
        ({"a": 1.0}, r"'a' is a single float, expected a list of cells; write \[value\]"),
        ({"a": "abc"}, "'a' is a single str"),
        ([[1, 2], [3]], "row 0 has 2 cells and row 1 has 1 cells; mark missing cells with None"),
        ([[1, 2], 3], "row 1 has no list of cells"),
        (pl.LazyFrame({"a": [1]}), r"lazy frame.*call \.collect\(\)"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "unique; rename or drop a column.*'a' 2 times"),
        (pd.DataFrame([[1, 2]], columns=["1", 1]), "unique, but '1' occurs more than once; rename or drop"),
        ({"x": [1.0, 2.0, np.inf]}, "'x' has an infinite value in row 2.*infinity.*missing"),
        (np.array([[0.0, -np.inf]]), "'x1' has an infinite value in row 0.*infinity"),
        ({"x": ["1", "inf"]}, "'x' has an infinite value in row 1"),
        (None, "Expected 2D array"),
        ("table.csv", "if it is a path use fit_dataset"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_remedy(data: Any, message: str) -> None:
    with pytest.raises(TableError, match=message) as caught:
        read_table(data)
    assert isinstance(caught.value, ValueError)


def test_sparse_input_is_the_type_error_of_scikit_learn() -> None:
    with pytest.raises(TypeError, match=r"[Ss]parse data was passed"):
        read_table(sparse.csr_matrix(np.eye(2)))


@pytest.mark.parametrize("cell", [{"foo": "bar"}, [1, 2], b"bytes", object()])
def test_a_cell_that_is_no_value_is_refused(cell: Any) -> None:
    with pytest.raises(CellError, match=r"argument must be a string.* number.*drop the column") as caught:
        read_table({"x": [1.0, cell]})
    assert f"'x' has a {type(cell).__name__} in row 1" in str(caught.value)
    assert isinstance(caught.value, TypeError)


def test_nested_columns_of_a_frame_are_refused() -> None:
    with pytest.raises(CellError, match="'x' has a list in row 0"):
        read_table(pl.DataFrame({"x": [[1, 2], [3, 4]]}))


def test_a_complex_cell_is_refused() -> None:
    with pytest.raises(TableError, match=r"Complex data not supported.*'x'.*row 1.*two columns"):
        read_table({"x": [1.0, 1j]})


def test_columns_are_selected_by_name() -> None:
    table = read_table({"a": [1.0], "b": [2.0], "income": [3.0]})
    assert table.select(["b", "a"]).names == ("b", "a")
    assert table.select(["b", "a"]).columns[0] is table.column("b")
    with pytest.raises(
        TableError, match=r"no column 'Incme' \(did you mean 'income'\?\); the columns are 'a', 'b'"
    ):
        table.column("Incme")


def test_a_table_is_frozen() -> None:
    with pytest.raises(AttributeError):
        Table(("a",), (np.ones(1),)).names = ()  # type: ignore[misc]
