"""One pass over the chunks of a data set learns what all rows in memory would tell."""

from __future__ import annotations

import datetime as dt
import operator
import pickle
import warnings
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from termwise.errors import OptionError, SchemaError, TableError, TargetError, TermwiseWarning
from termwise.table import (
    Kind,
    Schema,
    Survey,
    open_dataset,
    read_table,
    split_target,
    stacked,
    survey_chunk,
    surveyed_schema,
)
from termwise.table import survey as survey_module
from termwise.table.infer import discrete_names
from termwise.table.survey import TargetSurvey

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

DAY = dt.date(2020, 1, 1)
COLUMNS = {
    "number": pa.array([1.5, None, 3.0, 4.0, 1.5, 9.0]),
    "whole": pa.array([3, 1, 2, None, 3, 1]),
    "two": pa.array([0, 1, 1, None, 0, 0]),
    "same": pa.array([2.0, None, 2.0, 2.0, 2.0, 2.0]),
    "none": pa.array([None] * 6, pa.float64()),
    "null": pa.nulls(6),
    "word": pa.array(["b", " a", None, "", "c", "a "]),
    "pair": pa.array(["m", "f", "f", None, "m", "m"]),
    "alone": pa.array(["m", None, "m", "m", "m", "m"]),
    "no text": pa.array([None, "", " ", None, None, None], pa.string()),
    "text numbers": pa.array(["1", "01", " 2.5", None, "", "1e1"]),
    "text pair": pa.array(["0", "1", "1.0", None, "0", "00"]),
    "text dates": pa.array(
        ["2020-01-01", None, "2020-01-02", "2020-02-01T12:00", "2020-01-01", "2020-01-01"]
    ),
    "text date pair": pa.array(["2020-01-01", None, "2020-01-02", "2020-01-01", "2020-01-01", "2020-01-01"]),
    "text nan": pa.array(["0", "1", "nan", None, "0", "1"]),
    "text mixed": pa.array(["1", "2020-01-02", "3", None, "4", "5"]),
    "late word": pa.array(["1", "01", "3", None, "4", "five"]),
    "underscore": pa.array(["1", "1_0", "3", None, "4", "5"]),
    "basic dates": pa.array(["2020-01-01", "20200102", "2020-01-03", None, "2020-01-03", "2020-01-03"]),
    "truth": pa.array([True, None, False, True, True, True]),
    "only true": pa.array([True, None, True, True, True, True]),
    "no truth": pa.array([None] * 6, pa.bool_()),
    "declared": pa.array(["1", "2", None, "1", "1", "1"]).dictionary_encode(),
    "declared three": pa.array(["1", "2", None, "3", "1", "1"]).dictionary_encode(),
    "declared none": pa.array([None] * 6, pa.string()).dictionary_encode(),
    "date": pa.array([DAY, None, dt.date(2021, 5, 5), dt.date(2021, 5, 6), DAY, DAY]),
    "date pair": pa.array([DAY, None, dt.date(2021, 5, 5), DAY, DAY, DAY]),
    "stamp": pa.array([dt.datetime(2020, 1, 1, 6, index) for index in range(6)]),
}
TABLE = pa.table({**COLUMNS, "y": pa.array([1.0, 2.0, 3.0, 5.0, 8.0, 13.0])})
CHOICES: list[Any] = [
    "auto",
    ["whole", "two", "text numbers", "text dates", "text nan", "date", "no text", "word", "same"],
    [0, -1, "number"],
    {"whole": "categorical", "two": "continuous", "text pair": "continuous", "truth": "continuous"},
    {"declared": "continuous", "declared three": "continuous", "pair": "categorical", "whole": "categorical"},
    {
        "text dates": "categorical",
        "text date pair": "binary",
        "number": "continuous",
        "text nan": "continuous",
    },
]


def written(folder: Path, table: Any, cuts: Any = ()) -> Any:
    """The table in files that end at the cuts, with row groups of two rows."""
    for old in folder.glob("*.parquet"):
        old.unlink()
    ends = sorted({0, *cuts, table.num_rows})
    for number, (start, end) in enumerate(pairwise(ends)):
        pq.write_table(table.slice(start, end - start), folder / f"{number}.parquet", row_group_size=2)
    return open_dataset(folder)


def surveyed(chunks: Any, target: str = "y", discrete: Any = ()) -> Survey:
    return reduce(operator.add, [survey_chunk(chunk, target, discrete=discrete)[0] for chunk in chunks])


def same(one: Any, two: Any) -> bool:
    return one.dtype == two.dtype and [repr(cell) for cell in one] == [repr(cell) for cell in two]


@pytest.mark.parametrize("categorical", CHOICES, ids=str)
@pytest.mark.parametrize("cuts", [(), (1, 2, 3, 4, 5), (3,)], ids=str)
def test_the_schema_and_the_rows_are_those_of_the_whole_table(
    tmp_path: Path, categorical: Any, cuts: Any
) -> None:
    features, _ = split_target(read_table(TABLE), "y")
    options = {"kinds": categorical} if isinstance(categorical, dict) else {"categorical": categorical}
    expected = Schema.infer(features, **options)
    chunks = written(tmp_path, TABLE, cuts)
    discrete = discrete_names(features.names, categorical)
    found = surveyed_schema(surveyed(chunks, discrete=discrete), categorical)
    for one, two in zip(found.columns, expected.columns, strict=True):
        assert one == two
        assert list(map(type, one.levels)) == list(map(type, two.levels))
    rows = stacked([found.check(chunk.read(found.names)) for chunk in chunks])
    whole = expected.check(features)
    for name, one, two in zip(rows.names, rows.columns, whole.columns, strict=True):
        assert same(one, two), name


cells = {
    "number": st.sampled_from([None, 0.0, 1.0, 2.5, -3.0]),
    "truth": st.sampled_from([None, True, False]),
    "text": st.sampled_from([None, "", " a", "a", "b", "1", "01", "2.5", "nan", "2020-01-01"]),
    "numeric text": st.sampled_from([None, " ", "1", "01", "2.5", "nan"]),
    "dated text": st.sampled_from([None, "2020-01-01", "2020-01-02", "2021-01-01"]),
    "category": st.sampled_from([None, "1", "2", " 2"]),
}
TYPES = {"number": pa.float64(), "truth": pa.bool_()}


@st.composite
def tables(draw: Any) -> Any:
    n_rows = draw(st.integers(1, 9))
    columns = {}
    for name, cell in cells.items():
        drawn = draw(st.lists(cell, min_size=n_rows, max_size=n_rows))
        columns[name] = pa.array(drawn, TYPES.get(name, pa.string()))
    columns["category"] = columns["category"].dictionary_encode()
    target = draw(st.lists(st.floats(-1e6, 1e6), min_size=n_rows, max_size=n_rows))
    return pa.table({**columns, "y": pa.array(target)})


@given(tables(), st.sets(st.integers(1, 8)), st.booleans())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_division_into_chunks_gives_the_same(
    tmp_path: Path, table: Any, cuts: set[int], with_levels: bool
) -> None:
    discrete = ["number", "numeric text"] if with_levels else []
    pq.write_table(table, tmp_path / "whole")
    (one_chunk,) = open_dataset(tmp_path / "whole")
    whole, *_ = survey_chunk(one_chunk, "y", discrete=discrete)
    parts = surveyed(
        written(tmp_path, table, [cut for cut in cuts if cut < table.num_rows]), discrete=discrete
    )
    assert parts.n_rows == whole.n_rows == table.num_rows
    assert parts.columns == whole.columns
    np.testing.assert_allclose(parts.target.mean, whole.target.mean, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(parts.target.squares, whole.target.squares, rtol=1e-9, atol=1e-9)
    assert (parts.target.least, parts.target.largest) == (whole.target.least, whole.target.largest)
    features, _ = split_target(read_table(table), "y")
    assert surveyed_schema(parts, discrete or "auto") == Schema.infer(features, discrete or "auto")


def test_counts_and_ranges(tmp_path: Path) -> None:
    found = {
        column.name: column for column in surveyed(written(tmp_path, TABLE, (3,)), discrete=["whole"]).columns
    }
    assert found["word"].levels == {"b": 1, "a": 2, "c": 1}
    assert found["word"].known == 4
    assert found["word"].numbers is None
    assert found["whole"].levels == {3.0: 2, 1.0: 2, 2.0: 1}
    assert found["number"].levels is None
    numbers = found["number"].numbers
    assert numbers is not None
    assert (numbers.least, numbers.largest, numbers.few) == (1.5, 9.0, None)
    assert found["two"].numbers is not None
    assert found["two"].numbers.few == (0.0, 1.0)
    assert found["truth"].levels == {True: 4, False: 1}
    assert [found[name].has_single_levels for name in ("word", "late word", "stamp")] == [False, True, False]


def test_a_level_or_a_word_that_comes_last_is_seen(tmp_path: Path) -> None:
    cells = ["1", "2", "3", "4", "5", "six"]
    table = pa.table({"a": cells, "b": [*"uvuvuw"], "y": np.arange(6.0)})
    chunks = written(tmp_path, table, (2, 4))
    before = surveyed_schema(surveyed(chunks[:-1]))
    after = surveyed_schema(surveyed(chunks))
    assert before.kinds == (Kind.CONTINUOUS, Kind.BINARY)
    assert after.kinds == (Kind.CATEGORICAL, Kind.CATEGORICAL)
    assert after.columns[0].levels == tuple(cells)
    assert after.columns[1].levels == ("u", "v", "w")


def test_levels_of_a_declared_category_that_do_not_occur_do_not_count(tmp_path: Path) -> None:
    coded = pa.DictionaryArray.from_arrays([0, 1, 0, 1], ["a", "b", "never"])
    schema = surveyed_schema(surveyed(written(tmp_path, pa.table({"x": coded, "y": np.arange(4.0)}))))
    assert schema.columns[0].levels == ("a", "b")


def test_the_target_is_surveyed_without_cancellation(tmp_path: Path) -> None:
    y = np.random.default_rng(0).normal(1e9, 1.0, size=999)
    table = pa.table({"x": np.arange(999.0), "y": y})
    found = surveyed(written(tmp_path, table, (100, 101, 500))).target
    exact = np.longdouble(y)
    squares = float(np.sum((exact - exact.mean()) ** 2))
    np.testing.assert_allclose(found.mean, float(exact.mean()), rtol=1e-15)
    np.testing.assert_allclose(found.squares, squares, rtol=1e-7)
    np.testing.assert_allclose(found.variance, squares / 999, rtol=1e-7)
    assert (found.count, found.least, found.largest) == (999, y.min(), y.max())
    # sums of y and y^2 would lose all digits
    assert abs(np.sum(y**2) - np.sum(y) ** 2 / 999 - squares) > 0.01 * squares
    far = TargetSurvey.of(np.array([1.0])) + TargetSurvey.of(np.array([3.0, 5.0]))
    assert (far.mean, far.squares) == (3.0, 8.0)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (pa.array(["1", " 02 ", "2.5", "1e3"]), [1.0, 2.0, 2.5, 1000.0]),
        (pa.array(["1", "2", "2", "1"]).dictionary_encode(), [1.0, 2.0, 2.0, 1.0]),
        (pa.DictionaryArray.from_arrays([0, 1, 0, 1], ["1", "2", "never"]), [1.0, 2.0, 1.0, 2.0]),
        (pa.array([True, False, True, True]), [1.0, 0.0, 1.0, 1.0]),
        (pa.array([1, 2, 3, 4], pa.int8()), [1.0, 2.0, 3.0, 4.0]),
        (pa.array([DAY] * 4), [18262.0] * 4),
    ],
)
def test_targets_that_are_numbers_however_they_are_written(
    tmp_path: Path, target: Any, expected: Any
) -> None:
    chunks = written(tmp_path, pa.table({"x": np.arange(4.0), "y": target}), (3,))
    found = [survey_chunk(chunk, "y", rows=range(chunk.n_rows))[2] for chunk in chunks]
    assert np.concatenate(found).tolist() == expected


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            [1.0, 2.0, 3.0, None],
            r"0\.parquet', row group 1: the target 'y' is missing in row 1 \(counting from 0; 1 such row h",
        ),
        (
            [1.0, 2.0, np.nan, None],
            r"row group 1: the target 'y' is missing in row 0 \(counting from 0; 2 such rows here\)",
        ),
        (
            [1.0, 2.0, 3.0, -np.inf],
            "row group 1: the target 'y' is infinite in row 1.*write the files without",
        ),
        (["1", "2", "3", " "], "row group 1: the target 'y' is missing in row 1"),
        (["1", "2", "3", "nan"], "row group 1: the target 'y' is missing in row 1"),
        (["1", "2", "3", "inf"], "row group 1: the target 'y' is infinite in row 1"),
        (["1", "2", "3", "high"], "row group 1: the target 'y' has the text 'high' in row 1.*correct it"),
        (["1", "2", "3", "1_0"], "row group 1: the target 'y' has the text '1_0' in row 1"),
        (["1", "2", "3", "2020-01-01"], "row group 1: the target 'y' has the text '2020-01-01' in row 1"),
        (
            ["1", "2", "2020-01-01", "2020-01-02"],
            "row group 1: the target 'y' has the text '2020-01-01' in row 0",
        ),
        ([None, True, True, True], "row group 0: the target 'y' is missing in row 0"),
        ([None, None, None, None], "row group 0: the target 'y' is missing in row 0"),
    ],
)
def test_a_target_that_cannot_be_fitted_is_shown_with_its_place(
    tmp_path: Path, target: Any, message: str
) -> None:
    with pytest.raises(TargetError, match=message):
        surveyed(written(tmp_path, pa.table({"x": np.arange(4.0), "y": target})))


def test_a_target_that_is_not_there_is_named(tmp_path: Path) -> None:
    (chunk,) = written(tmp_path, pa.table({"x": [1.0], "price": [2.0]}))
    with pytest.raises(TargetError, match=r"no column 'prise' for the target \(did you mean 'price'\?\)"):
        survey_chunk(chunk, "prise")
    (alone,) = written(tmp_path, pa.table({"price": [2.0]}))
    with pytest.raises(TargetError, match=r"'price' is the only column.*add columns"):
        survey_chunk(alone, "price")


def test_sampled_rows_come_with_the_survey(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "0.parquet")
    (chunk,) = open_dataset(tmp_path)
    _, nothing, no_target = survey_chunk(chunk, "y")
    assert nothing is None
    assert no_target.size == 0
    _, sample, y = survey_chunk(chunk, "y", rows=np.array([1, 4]))
    assert sample is not None
    assert y.tolist() == [2.0, 8.0]
    whole = chunk.read()
    assert sample.names == whole.names[:-1]
    for name, values in zip(sample.names, sample.columns, strict=True):
        assert same(values, whole.column(name)[[1, 4]]), name


def test_everything_can_be_sent_to_another_process(tmp_path: Path) -> None:
    chunks = written(tmp_path, TABLE, (3,))
    parts = [survey_chunk(chunk, "y", rows=[0], discrete=["whole"]) for chunk in chunks]
    again = pickle.loads(pickle.dumps(parts))
    for (one, table, y), (two, other, z) in zip(parts, again, strict=True):
        assert one == two
        assert table is not None
        assert all(same(a, b) for a, b in zip(table.columns, other.columns, strict=True))
        assert same(y, z)


def test_a_column_of_too_many_levels_is_left_out_with_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey_module, "MOST_LEVELS", 5)
    texts = [f"row {index}" for index in range(6)]
    table = pa.table(
        {
            "id": texts,
            "coded": pa.array(texts).dictionary_encode(),
            "five": ["a", "b", "c", "d", "e", "a"],
            "text numbers": [f"{index}.5" for index in range(6)],
            "number": np.arange(6.0),
            "month": np.arange(6.0),
            "y": np.arange(6.0),
        }
    )
    pq.write_table(table, tmp_path / "one chunk")
    for chunks in (written(tmp_path, table, (1, 3)), open_dataset(tmp_path / "one chunk")):
        found = surveyed(chunks, discrete=["month"])
        assert [column.given_up for column in found.columns] == [True, True, False, True, False, True]
        assert found.columns[0].known == 6
        assert found.columns[0].has_single_levels
        assert found.columns[0].levels is None
        with pytest.warns(
            TermwiseWarning, match=r"column .* more than 5 levels, like an identifier"
        ) as caught:
            schema = surveyed_schema(found, ["month"])
        assert [str(warning.message).split("'")[1] for warning in caught] == ["id", "coded", "month"]
        assert schema.names == ("five", "text numbers", "number")
        assert schema.kinds == (Kind.CATEGORICAL, Kind.CONTINUOUS, Kind.CONTINUOUS)
        with pytest.warns(TermwiseWarning, match="more than 5 levels"):
            schema = surveyed_schema(found, {"month": "categorical", "five": "categorical"})
        assert schema.names == ("five", "text numbers", "number")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        only = table.select(["five", "text numbers", "y"])
        assert len(surveyed_schema(surveyed(written(tmp_path, only)))) == 2


@pytest.mark.parametrize(
    ("categorical", "error", "message"),
    [
        ("month", OptionError, r"write categorical=\['month'\]"),
        (["Mnth"], OptionError, r"'Mnth', which is not there \(did you mean 'month'\?\); the columns are"),
        ([7], OptionError, "position 7, but the table has 3 columns"),
        ({"year": "binary"}, OptionError, "kinds names the column 'year'.*the columns are"),
        ({"month": "ordinal"}, OptionError, "'ordinal', expected one of"),
        ({"month": "binary"}, SchemaError, "binary but has 3 levels.*declare it categorical"),
        (
            {"word": "continuous"},
            SchemaError,
            "'word' must be numbers, but has the text 'two'; correct the cell",
        ),
        ({"mixed": "continuous"}, SchemaError, "'mixed' must be numbers, but has the text '2020-01-01'"),
    ],
)
def test_wrong_options_are_refused_as_in_memory(
    tmp_path: Path, categorical: Any, error: type[Exception], message: str
) -> None:
    columns = {"month": [1, 2, 3], "word": ["1", "two", "3"], "mixed": ["1", "2020-01-01", "2"]}
    chunks = written(tmp_path, pa.table({**columns, "y": [1, 2, 3]}))
    with pytest.raises(error, match=message):
        surveyed_schema(surveyed(chunks, discrete=["month"]), categorical)


def test_infinite_numbers_are_refused_with_their_place(tmp_path: Path) -> None:
    chunks = written(tmp_path, pa.table({"x": [1.0, 2.0, 3.0, np.inf], "y": [1, 2, 3, 4]}))
    with pytest.raises(
        TableError, match=r"0\.parquet', row group 1: column 'x' has an infinite value in row 1"
    ):
        surveyed(chunks)
    found = surveyed(written(tmp_path, pa.table({"x": ["1", "2", "3", "-inf"], "y": [1, 2, 3, 4]})))
    with pytest.raises(TableError, match="column 'x' has an infinite value; features must not contain"):
        surveyed_schema(found)
    found = surveyed(written(tmp_path, pa.table({"x": ["1", "2", "a", "-inf"], "y": [1, 2, 3, 4]})))
    assert surveyed_schema(found).columns[0].levels == ("-inf", "1", "2", "a")
