"""Kinds found by themselves, and a new table brought into the form of the fitted one."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from termwise.errors import ModelFileError, OptionError, SchemaError, TermwiseWarning
from termwise.table import Column, Kind, Schema, level_text, read_table

FITTED = {
    "age": [31.0, 45.0, 58.0, None],
    "sex": ["f", "m", "f", None],
    "city": ["Oslo", "Bern", "Rome", None],
    "smoker": [True, False, True, None],
    "flag": [0, 1, 0, None],
}


def fitted() -> Schema:
    return Schema.infer(read_table(FITTED))


def test_kinds_are_found() -> None:
    schema = fitted()
    assert schema.names == tuple(FITTED)
    assert len(schema) == 5
    assert schema.columns == (
        Column("age", Kind.CONTINUOUS),
        Column("sex", Kind.BINARY, ("f", "m")),
        Column("city", Kind.CATEGORICAL, ("Bern", "Oslo", "Rome")),
        Column("smoker", Kind.BINARY, (False, True)),
        Column("flag", Kind.BINARY, (0.0, 1.0)),
    )
    assert schema.kinds[2] is Kind.CATEGORICAL
    assert [column.is_discrete for column in schema.columns] == [False, True, True, True, True]


def test_constant_and_missing_columns_are_allowed() -> None:
    schema = Schema.infer(read_table({"same": [2.0, 2.0], "none": [None, None], "word": ["a", "a"]}))
    assert schema.columns == (
        Column("same", Kind.CONTINUOUS),
        Column("none", Kind.CONTINUOUS),
        Column("word", Kind.CATEGORICAL, ("a",)),
    )


@given(st.permutations(range(6)), st.permutations(range(3)))
@settings(max_examples=20, deadline=None)
def test_the_order_of_rows_does_not_matter(rows: list[int], columns: list[int]) -> None:
    frame = pd.DataFrame({"a": list("zbbxya"), "b": [3, 1, 2, 2, 1, 9], "c": [True, False] * 3})
    moved = Schema.infer(read_table(frame.iloc[rows, columns]))
    by_name = {column.name: column for column in moved.columns}
    assert tuple(by_name[name] for name in frame) == Schema.infer(read_table(frame)).columns


@pytest.mark.parametrize("categorical", [["month"], [0], [np.int64(0)], [-2], ("month",)])
def test_numbers_are_levels_if_the_user_says_so(categorical: Any) -> None:
    table = read_table({"month": [3, 1, 2, None], "x": [1.0, 2.0, 3.0, 4.0]})
    schema = Schema.infer(table, categorical)
    assert schema.columns[0] == Column("month", Kind.CATEGORICAL, (1.0, 2.0, 3.0))
    assert schema.columns[1].kind is Kind.CONTINUOUS


def test_kinds_are_obeyed_to_the_letter() -> None:
    table = read_table({"grade": [0.0, 1.0, 0.0], "text": ["x", "y", "x"], "truth": [True, False, True]})
    schema = Schema.infer(
        table, kinds={"grade": "continuous", "text": Kind.CATEGORICAL, "truth": "continuous"}
    )
    assert schema.kinds == (Kind.CONTINUOUS, Kind.CATEGORICAL, Kind.CONTINUOUS)
    assert schema.check(table).column("truth").tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"categorical": "month"}, OptionError, r"'month'.*write categorical=\['month'\]"),
        (
            {"categorical": ["Mnth"]},
            OptionError,
            r"'Mnth', which is not there \(did you mean 'month'\?\); the col",
        ),
        ({"categorical": [2]}, OptionError, "position 2, but the table has 2 columns, from 0 to 1"),
        ({"categorical": [True]}, OptionError, "entry True; expected the name or the position"),
        ({"kinds": {"year": "binary"}}, OptionError, "kinds names the column 'year'.*the columns are"),
        (
            {"kinds": {"month": "ordinal"}},
            OptionError,
            "'month'.*'ordinal', expected one of 'continuous', 'bin",
        ),
        ({"kinds": {"month": "binary"}}, SchemaError, "binary but has 3 levels.*declare it categorical"),
        (
            {"kinds": {"word": "continuous"}},
            SchemaError,
            "'word' must be numbers.*'two' in row 1.*categorical",
        ),
    ],
)
def test_wrong_options_are_refused_with_a_remedy(options: Any, error: type, message: str) -> None:
    table = read_table({"month": [1, 2, 3], "word": ["1", "two", "3"]})
    with pytest.raises(error, match=message):
        Schema.infer(table, **options)


def test_columns_are_matched_by_name_and_extra_ones_ignored() -> None:
    frame = pl.DataFrame(FITTED).select("flag", "city", "age", "smoker", "sex").with_columns(price=1)
    table = fitted().check(read_table(frame))
    assert table.names == tuple(FITTED)
    np.testing.assert_array_equal(table.column("age"), [31.0, 45.0, 58.0, np.nan])
    assert table.column("sex").tolist() == ["f", "m", "f", None]
    assert table.column("flag").tolist() == [0.0, 1.0, 0.0, None]
    assert table.column("smoker").tolist() == [True, False, True, None]


def test_missing_columns_are_named_with_a_remedy() -> None:
    frame = pd.DataFrame(FITTED).drop(columns=["city"]).rename(columns={"age": "Age"})
    with pytest.raises(SchemaError) as caught:
        fitted().check(read_table(frame), owner="OAKRegressor")
    message = str(caught.value)
    assert "no column 'age', 'city' (did you mean 'Age'?), which OAKRegressor was fitted with" in message
    assert "add it, filled with missing values" in message
    assert "The feature names should match those that were passed during fit" in message
    assert isinstance(caught.value, ValueError)


def test_columns_without_names_are_matched_by_position() -> None:
    X = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    schema = Schema.infer(read_table(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert schema.check(read_table(X)).column("x1").tolist() == [1.0, 3.0, 5.0]
    expected = "X has 1 features, but OAKRegressor is expecting 2 features as input; give the columns"
    with pytest.raises(SchemaError, match=expected):
        schema.check(read_table(X[:, :1]), owner="OAKRegressor")


def test_names_on_one_side_only_give_the_warning_of_scikit_learn() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]})
    named, plain = Schema.infer(read_table(frame)), Schema.infer(read_table(frame.to_numpy()))
    with pytest.warns(TermwiseWarning, match="X does not have valid feature names, but M was fitted with"):
        assert named.check(read_table(frame.to_numpy()), owner="M").names == ("a", "b")
    with pytest.warns(TermwiseWarning, match="X has feature names, but M was fitted without feature names"):
        assert plain.check(read_table(frame[["b", "a"]]), owner="M").column("x0").tolist() == [4.0, 5.0, 6.0]


def test_a_text_where_a_number_belongs_is_shown() -> None:
    schema = Schema.infer(read_table({"age": [1, 2, 3], "day": ["2020-01-01", "2020-01-02", "2020-01-03"]}))
    with pytest.raises(SchemaError, match=r"'age' must be numbers, but has the text 'abc' in row 1.*missing"):
        schema.check(read_table({"age": ["7", "abc"], "day": ["2020-01-01", "2020-01-02"]}))
    with pytest.raises(SchemaError, match="'day' must be numbers, but has the text 'soon' in row 1"):
        schema.check(read_table({"age": ["7", "8"], "day": ["2020-01-01", "soon"]}))
    with pytest.raises(SchemaError, match="'day' must be numbers, but has the text '2020-01-01' in row 1"):
        schema.check(read_table({"age": ["7", "8"], "day": ["5", "2020-01-01"]}))


@pytest.mark.parametrize(
    ("levels", "given_cells", "expected"),
    [
        ([True, False], ["true", "FALSE", None], [True, False, None]),
        ([True, False], [1, 0, 7], [True, False, 7.0]),
        (["true", "false"], [True, False, None], ["true", "false", None]),
        (["1", "2", "x"], [1, 2, None], ["1", "2", None]),
        (["1", "1.50", "x"], [1.0, 1.5, 2.0], ["1", "1.50", 2.0]),
        (["01", "1", "x"], [1, 2, None], ["1", 2.0, None]),
        (["1.0", "01", "x"], [1, 2, None], ["01", 2.0, None]),
        ([0, 1], ["0", "1", "often"], [0.0, 1.0, "often"]),
        ([0, 1], [True, False, None], [1.0, 0.0, None]),
        (["2020-01-01", "soon"], ["2020-01-01", "2020-01-02", None], ["2020-01-01", 18263.0, None]),
        (["2020-01-01", "2020-01-03"], ["2020-01-01", "soon", None], [18262.0, "soon", None]),
        ([0, 1], ["1", "nan", "often"], [1.0, None, "often"]),
        (["a", "b", "c"], [None, None, None], [None, None, None]),
        (["a", "b", "c"], ["Oslo", "a", " b "], ["Oslo", "a", "b"]),
    ],
)
def test_levels_are_found_again_however_they_are_written(
    levels: Any, given_cells: Any, expected: Any
) -> None:
    schema = Schema.infer(read_table({"x": levels}))
    found = schema.check(read_table({"x": given_cells})).column("x")
    assert found.dtype == object
    assert found.tolist() == expected
    assert [type(cell) for cell in found] == [type(cell) for cell in expected]


names = st.text(min_size=1, max_size=5)
floats = st.floats(allow_nan=False, allow_infinity=False)
level_sets = st.one_of(st.sets(names), st.sets(st.booleans()), st.sets(floats, max_size=5))
columns = st.lists(st.tuples(names, level_sets), min_size=1, max_size=4, unique_by=lambda pair: pair[0])


@given(columns, st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_schema_survives_json(pairs: list[tuple[str, set[Any]]], named: bool) -> None:
    schema = Schema(tuple(Column(name, Kind.CATEGORICAL, tuple(levels)) for name, levels in pairs), named)
    again = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
    assert again == schema
    for old, new in zip(schema.columns, again.columns, strict=True):
        assert [type(level) for level in new.levels] == [type(level) for level in old.levels]


def test_a_whole_number_in_json_is_read_as_a_float() -> None:
    column = {"name": "x", "kind": "binary", "levels": [0, 1]}
    levels = Schema.from_dict({"named": True, "columns": [column]}).columns[0].levels
    assert [type(level) for level in levels] == [float, float]


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"named": 1, "columns": []},
        {"named": True, "columns": 3},
        {"named": True, "columns": [{"name": "x", "kind": "wild", "levels": []}]},
        {"named": True, "columns": [{"name": "x", "kind": "binary", "levels": [1.0, "a"]}]},
        {"named": True, "columns": [{"name": "x", "kind": "binary", "levels": [[]]}]},
        {"named": True, "columns": [{"name": 3, "kind": "continuous", "levels": []}]},
        {"named": True, "columns": [{"name": "x", "kind": "continuous", "levels": [1.0]}]},
        {"named": True, "columns": [{"name": "x", "kind": "continuous", "levels": []}] * 2},
        {"named": True, "columns": [{"name": "x", "kind": "categorical", "levels": ["a", "a"]}]},
    ],
)
def test_a_changed_schema_is_refused(data: Any) -> None:
    with pytest.raises(
        ModelFileError, match=r"schema in the model file cannot be read.*save the model again"
    ):
        Schema.from_dict(data)


def test_levels_are_shown_without_a_needless_point() -> None:
    assert [level_text(level) for level in (1.0, 1.5, -0.0, 1e20, True, "a")] == [
        "1",
        "1.5",
        "0",
        "1e+20",
        "True",
        "a",
    ]
