"""Data sets in files: what is found, what is refused, and that a row is read alike wherever it stands."""

from __future__ import annotations

import datetime as dt
import multiprocessing
import os
import pickle
import sys
from concurrent.futures import ProcessPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from termwise.errors import CellError, SchemaError, TableError
from termwise.table import Chunk, open_dataset, read_table, sample_positions, stacked
from termwise.table.arrow import Codes, Content, cells_of

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
ds = pytest.importorskip("pyarrow.dataset")

SMALL = {"age": [31.0, None, 58.0, 4.0], "city": ["Oslo", " Bern ", "", None], "y": [1, 2, 3, 4]}


def write(path: Path, data: Any = SMALL, **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(data if isinstance(data, pa.Table) else pa.table(data), path, **options)
    return path


def ages(chunks: tuple[Chunk, ...]) -> list[float]:
    return [float(age) for chunk in chunks for age in chunk.read(["age"]).columns[0]]


def rows_of(chunks: tuple[Chunk, ...], names: Any = None) -> list[tuple[Any, ...]]:
    table = stacked([chunk.read(names) for chunk in chunks])
    columns = [[None if cell != cell else cell for cell in values.tolist()] for values in table.columns]
    return list(zip(*columns, strict=True))


def test_a_file_is_one_chunk_for_each_row_group(tmp_path: Path) -> None:
    chunks = open_dataset(write(tmp_path / "a.parquet", row_group_size=3))
    assert [chunk.n_rows for chunk in chunks] == [3, 1]
    assert [chunk.names for chunk in chunks] == [("age", "city", "y")] * 2
    assert chunks[1].name == f"{str(tmp_path / 'a.parquet')!r}, row group 1"
    assert rows_of(chunks) == [(31.0, "Oslo", 1.0), (None, "Bern", 2.0), (58.0, None, 3.0), (4.0, None, 4.0)]
    assert chunks[0].read(["y", "age"]).names == ("y", "age")
    with pytest.raises(
        TableError, match=r"row group 0 has no column 'Age' \(did you mean 'age'\?\); the col"
    ):
        chunks[0].read(["Age"])


def test_files_are_found_by_folder_pattern_list_and_dataset(tmp_path: Path) -> None:
    for name, age in (("b.parquet", 2.0), ("a.pq", 1.0), ("sub/c.PARQUET", 3.0)):
        write(tmp_path / name, {"age": [age], "y": [0]})
    for hidden in ("_SUCCESS", ".a.parquet", "_log/d.parquet", "notes.txt", "_metadata.parquet"):
        (tmp_path / hidden).parent.mkdir(exist_ok=True)
        (tmp_path / hidden).write_bytes(b"")
    assert ages(open_dataset(tmp_path)) == [1.0, 2.0, 3.0]
    assert ages(open_dataset(str(tmp_path / "*.p*q*"))) == [1.0, 2.0]
    assert ages(open_dataset(tmp_path / "**" / "*.[pP]*")) == [1.0, 2.0, 3.0]
    assert ages(open_dataset([tmp_path / "b.parquet", str(tmp_path / "a.pq")])) == [2.0, 1.0]
    assert ages(open_dataset([tmp_path / "b.parquet", tmp_path / "sub"])) == [2.0, 3.0]
    dataset = ds.dataset([str(tmp_path / "b.parquet"), str(tmp_path / "a.pq")])
    assert ages(open_dataset(dataset)) == [2.0, 1.0]
    assert ages(open_dataset(write(tmp_path / "odd[1].parquet", {"age": [7.0], "y": [0]}))) == [7.0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("nowhere.parquet", r"nowhere\.parquet' cannot be read: No such file or folder; check the path$"),
        ("no*.parquet", r"no file matches the pattern '.*no\*.parquet'; check the path and the pattern"),
        ("empty", r"the folder '.*empty' has no file that ends in \.parquet or \.pq; check.* pattern"),
        (["a.parquet", "./a.parquet"], r"a\.parquet' is given more than once; give every file once"),
        ([], "the list of paths is empty; expected the path of a Parquet file"),
        (7, r"the data is a int; expected the path.*pyarrow\.dataset\.Dataset"),
        ([7], "the list of paths has a int; expected the path"),
        (
            "s3://bucket/a.parquet",
            r"'s3:.*No such file or folder.*for what is elsewhere give a pyarrow",
        ),
    ],
)
def test_what_cannot_be_found_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: Any, message: str
) -> None:
    (tmp_path / "empty").mkdir()
    write(tmp_path / "a.parquet")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TableError, match=message):
        open_dataset(data)


def test_empty_row_groups_and_files_are_skipped(tmp_path: Path) -> None:
    table = pa.table(SMALL)
    with pq.ParquetWriter(tmp_path / "b.parquet", table.schema) as writer:
        for part in (table.slice(0, 0), table.slice(0, 3), table.slice(0, 0), table.slice(3)):
            writer.write_table(part)
    write(tmp_path / "a.parquet", pa.table({"age": pa.array([], pa.string()), "other": pa.array([])}))
    chunks = open_dataset(tmp_path)
    assert [chunk.n_rows for chunk in chunks] == [3, 1]
    assert "row group 3" in chunks[1].name
    assert [row[2] for row in rows_of(chunks)] == [1.0, 2.0, 3.0, 4.0]
    with pytest.raises(TableError, match="the data set has no rows; expected at least one row"):
        open_dataset(tmp_path / "a.parquet")


def numbers_file(path: Path, **options: Any) -> Path:
    rng = np.random.default_rng(0)
    return write(
        path, {"x": rng.normal(size=4000), "y": rng.normal(size=4000)}, use_dictionary=False, **options
    )


@pytest.mark.parametrize("kept", [0, 3, 100, -1, -20])
def test_a_truncated_file_is_refused_when_it_is_opened(tmp_path: Path, kept: int) -> None:
    write(tmp_path / "a.parquet", {"x": [1.0], "y": [2.0]})
    path = numbers_file(tmp_path / "b.parquet")
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(
        TableError, match=r"b\.parquet' cannot be read as Parquet: .*; write it again"
    ) as caught:
        open_dataset(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "options", [{"compression": "gzip"}, {"compression": "none", "write_page_checksum": True}]
)
def test_a_damaged_page_is_refused_when_it_is_read(tmp_path: Path, options: dict[str, Any]) -> None:
    path = numbers_file(tmp_path / "a.parquet", row_group_size=2000, **options)
    page = pq.read_metadata(path).row_group(1).column(0)
    content = bytearray(path.read_bytes())
    middle = page.data_page_offset + page.total_compressed_size // 2
    content[middle : middle + 8] = bytes(255 - byte for byte in content[middle : middle + 8])
    path.write_bytes(content)
    sound, broken = open_dataset(path)
    assert sound.read(["x", "y"]).n_rows == 2000
    assert broken.read(["y"]).n_rows == 2000
    with pytest.raises(TableError, match=r"a\.parquet', row group 1 cannot be read as Parquet.*leave it out"):
        broken.read(["x"])


def test_a_file_that_is_gone_or_replaced_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet")
    chunk = pickle.loads(pickle.dumps(open_dataset(path)[0]))
    write(path, {name: cells[:2] for name, cells in SMALL.items()})
    with pytest.raises(TableError, match="has 2 rows, but had 4 when it was opened; open the data set again"):
        chunk.read()
    os.remove(path)
    with pytest.raises(TableError, match=r"cannot be read as Parquet.*No such file"):
        pickle.loads(pickle.dumps(chunk)).read()


def test_the_index_of_pandas_is_refused(tmp_path: Path) -> None:
    pd.DataFrame({"x": [1.0, 2.0]}, index=[7, 9]).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(TableError, match=r"a\.parquet' has the index.*'__index_level_0__'.*index=False"):
        open_dataset(tmp_path)


def test_repeated_and_nested_columns_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", pa.table([[1], [2]], names=["x", "x"]))
    with pytest.raises(
        TableError, match=r"a\.parquet' has the column 'x' more than once; rename or drop one"
    ):
        open_dataset(path)
    path = write(tmp_path / "b.parquet", {"x": [[1, 2]], "y": [1.0]})
    with pytest.raises(CellError, match=r"'x' of .*b\.parquet' has the type list<.*drop the column"):
        open_dataset(path)
    path = write(tmp_path / "c.parquet", {"x": [b"bytes"]})
    with pytest.raises(CellError, match="the type binary"):
        open_dataset(path)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"x": [1.0], "word": ["a"]}, r"b\.parquet' has no column 'y', which .*a\.parquet' has; add it"),
        (
            {"x": [1.0], "word": ["a"], "Y": [1]},
            r"no column 'y' \(did you mean 'Y'\?\), which .* leave the fil",
        ),
        (
            {"x": [1.0], "word": ["a"], "y": [1], "z": [0]},
            r"b\.parquet' has the column 'z', which .*; drop it",
        ),
        (
            {"x": ["1"], "word": ["a"], "y": [1]},
            r"'x' holds texts in .*b\.parquet', but numbers in .*one type",
        ),
        ({"x": [True], "word": ["a"], "y": [1]}, "'x' holds truth values in .*, but numbers in"),
        (
            {"x": [dt.date(2020, 1, 1)], "word": ["a"], "y": [1]},
            "'x' holds dates or times in .*, but numbers",
        ),
        ({"x": [1.0], "word": [2], "y": [1]}, "'word' holds numbers in .*, but texts in"),
    ],
)
def test_files_with_other_columns_are_refused(tmp_path: Path, second: Any, message: str) -> None:
    write(tmp_path / "a.parquet", {"x": [1.0], "word": ["a"], "y": [1]})
    write(tmp_path / "b.parquet", second)
    with pytest.raises(SchemaError, match=message):
        open_dataset(tmp_path)
    with pytest.raises(SchemaError, match=message):
        open_dataset(ds.dataset(tmp_path))


def test_small_differences_between_files_do_not_matter(tmp_path: Path) -> None:
    word = pa.array(["a", " b"])
    days = pa.array([1, None], pa.date32())
    write(
        tmp_path / "a.parquet",
        pa.table({"x": pa.array([1, 2]), "word": word, "day": days, "none": [None] * 2}),
    )
    stamps = days.cast(pa.timestamp("ms"))
    half = pa.array([0.5, None], pa.float32())
    coded = word.dictionary_encode()
    write(tmp_path / "b.parquet", pa.table({"none": [True, None], "day": stamps, "word": coded, "x": half}))
    empty = pa.nulls(2)
    write(tmp_path / "c.parquet", pa.table({"x": empty, "none": empty, "word": empty, "day": empty}))
    expected = [
        (1.0, "a", 1.0, None),
        (2.0, "b", None, None),
        (0.5, "a", 1.0, True),
        (None, "b", None, None),
        (None, None, None, None),
        (None, None, None, None),
    ]
    for order in (("a", "b", "c"), ("c", "b", "a"), ("b", "c", "a")):
        chunks = open_dataset([tmp_path / f"{name}.parquet" for name in order])
        rows = [rows_of((chunk,), ["x", "word", "day", "none"]) for chunk in chunks]
        found = dict(zip(order, rows, strict=True))
        assert found["a"] + found["b"] + found["c"] == expected
        dtypes = [
            [values.dtype for values in chunk.read(["x", "word", "day", "none"]).columns] for chunk in chunks
        ]
        assert dtypes == [[float, object, float, object]] * 3


def test_a_category_of_pandas_without_any_level_fits(tmp_path: Path) -> None:
    # pandas writes it as numbers, all missing
    for name, cells in (("a", [None, None]), ("b", ["u", None]), ("c", [None, None])):
        frame = pd.DataFrame({"x": pd.Categorical(cells), "y": [1.0, 2.0]})
        frame.to_parquet(tmp_path / f"{name}.parquet", index=False)
    assert pq.read_schema(tmp_path / "a.parquet").field("x").type == pa.float64()
    for data in (tmp_path, ds.dataset(tmp_path)):
        assert [row[0] for row in rows_of(open_dataset(data))] == [None, None, "u", None, None, None]


def test_folders_of_the_form_key_value_are_columns(tmp_path: Path) -> None:
    root = tmp_path / "fold=1"  # above what was asked for, so no column
    write(root / "year=2020" / "place=a b" / "a.parquet", {"x": [1.0, 2.0]}, row_group_size=1)
    write(root / "year=2021" / "place=r%2Fs" / "a.parquet", {"x": [3.0]})
    write(root / "year=2021" / "place=__HIVE_DEFAULT_PARTITION__" / "b.parquet", {"x": [4.0]})
    expected = [(1.0, "2020", "a b"), (2.0, "2020", "a b"), (4.0, "2021", None), (3.0, "2021", "r/s")]
    paths = sorted(root.rglob("*.parquet"))
    for data in (root, root / "*" / "*" / "*.parquet", root / "year=*", paths):
        chunks = open_dataset(data)
        assert chunks[0].names == ("x", "year", "place")
        assert rows_of(pickle.loads(pickle.dumps(chunks))) == expected
    assert chunks[0].read(["place"]).columns[0].tolist() == ["a b"]
    assert open_dataset(paths[0])[0].names == ("x",)
    numbered = [(x, float(year), place) for x, year, place in expected]
    assert rows_of(open_dataset(ds.dataset(root, partitioning="hive"))) == numbered
    declared = ds.dataset(root, partitioning=ds.HivePartitioning.discover(infer_dictionary=True))
    (year,) = open_dataset(declared)[0].read(["year"]).columns
    assert (year.dtype, year.tolist()) == (np.dtype(object), [2020.0])


def test_a_dataset_may_leave_columns_out_and_declare_categories(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"x": [1, 2], "code": ["1", "2"], "nested": [[1], [2]]})
    schema = pa.schema([("code", pa.dictionary(pa.int32(), pa.string())), ("x", pa.float64())])
    (chunk,) = open_dataset(ds.dataset(tmp_path, schema=schema))
    assert chunk.names == ("code", "x")
    assert [content.value for content in chunk.contents] == ["categories", "numbers"]
    assert rows_of((chunk,)) == [("1", 1.0), ("2", 2.0)]
    with pytest.raises(
        SchemaError, match=r"schema of the dataset has the column 'z', which .*a\.parquet' does"
    ):
        open_dataset(ds.dataset(tmp_path, schema=pa.schema([("x", pa.int64()), ("z", pa.int64())])))
    with pytest.raises(
        SchemaError, match="'x' holds texts in the schema of the dataset, but numbers in the f"
    ):
        open_dataset(ds.dataset(tmp_path, schema=pa.schema([("x", pa.string())])))


def test_datasets_of_other_formats(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("zip,x\n01,2\n02,\n")
    (tmp_path / "b.csv").write_text("zip,x\nA1,2.5\n")
    schema = pa.schema([("zip", pa.string()), ("x", pa.float64())])
    chunks = open_dataset(ds.dataset(tmp_path, format="csv", schema=schema))
    assert rows_of(pickle.loads(pickle.dumps(chunks))) == [("01", 2.0), ("02", None), ("A1", 2.5)]
    (tmp_path / "b.csv").write_text("zip,x\nA1,word\n")
    with pytest.raises(TableError, match=r"b\.csv' cannot be read as csv: .*word.*write it again"):
        chunks[1].read()
    import pyarrow.feather as feather

    coded = pa.table({"x": pa.array([3, 1, None]).dictionary_encode(), "y": [1.0, 2.0, 3.0]})
    feather.write_feather(coded, tmp_path / "c.feather")
    chunks = open_dataset(ds.dataset(tmp_path / "c.feather", format="feather"))
    assert chunks[0].read(["x"]).columns[0].tolist() == [3.0, 1.0, None]


def test_datasets_that_cannot_be_divided_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="holds its rows in memory, expected files; give the table itself"):
        open_dataset(ds.dataset(pa.table(SMALL)))
    filtered = ds.dataset(write(tmp_path / "a.parquet")).filter(ds.field("age") > 5)
    with pytest.raises(TableError, match=r"cannot be divided: .* Give the dataset without filter"):
        open_dataset(filtered)


def test_without_pyarrow_there_is_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TableError, match=r"pip install 'termwise\[large\]'"):
        open_dataset(tmp_path)


def test_a_relative_path_is_read_from_any_folder_and_a_chunk_is_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = {f"column {index}": np.arange(6.0) for index in range(100)}
    write(tmp_path / "a.parquet", wide, row_group_size=2)
    monkeypatch.chdir(tmp_path)
    chunks = open_dataset("a.parquet")
    assert chunks[1].name == "'a.parquet', row group 1"
    sent = pickle.dumps(chunks[1])
    assert len(sent) < 8_000
    monkeypatch.chdir("/")
    assert pickle.loads(sent).read(["column 7"]).columns[0].tolist() == [2.0, 3.0]


def test_chunks_are_read_in_other_processes(tmp_path: Path) -> None:
    chunks = open_dataset(write(tmp_path / "a.parquet", row_group_size=1))
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        tables = list(pool.map(Chunk.read, chunks))
    assert stacked(tables).column("city").tolist() == ["Oslo", "Bern", None, None]


MOMENTS = [dt.datetime(1970, 1, 2, 12, 0, 0, 1), None, dt.datetime(1901, 12, 31, 1)]
STORED = {
    "byte": pa.array([1, None, 3], pa.int8()),
    "unsigned": pa.array([1, 2, 2**53], pa.uint64()),
    "half": pa.array(np.array([1, 2, 0.5], np.float16)),
    "single": pa.array([0.1, None, np.nan], pa.float32()),
    "decimal": pa.array([Decimal("0.10"), None, Decimal("-3.25")]),
    "wide": pa.array([Decimal("0.10"), None, Decimal("-3.25")], pa.decimal256(40, 2)),
    "truth": pa.array([True, None, False]),
    "date": pa.array([dt.date(1970, 1, 3), None, dt.date(1901, 1, 1)]),
    **{
        f"stamp {unit}": pa.array([0, None, -1234567891], pa.timestamp(unit))
        for unit in ("s", "ms", "us", "ns")
    },
    "zone": pa.array(MOMENTS, pa.timestamp("us", "Europe/Oslo")),
    "duration": pa.array([dt.timedelta(hours=1), None, -dt.timedelta(seconds=1)], pa.duration("ms")),
    "time": pa.array([dt.time(6), None, dt.time(1, 2, 3, 4)]),
    "time ms": pa.array([dt.time(6), None, dt.time(1, 2, 3)], pa.time32("ms")),
    "text": pa.array([" a\u00a0", "\t", "b c"]),
    "large": pa.array(["a", None, "\u00e9"], pa.large_string()),
    "category": pa.array(["1", None, " 1"]).dictionary_encode(),
    "numbers in text": pa.array(["01", " 1", "x"]),
    "with.dot": pa.array([1.0, 2.0, 3.0]),
}


def test_every_type_is_read_as_in_memory_and_row_by_row(tmp_path: Path) -> None:
    table = pa.table(STORED)
    expected = read_table(table)
    whole = open_dataset(write(tmp_path / "whole.parquet", table))
    single = open_dataset(write(tmp_path / "single.parquet", table, row_group_size=1))
    assert (len(whole), len(single)) == (1, 3)
    for found in (whole[0].read(), stacked([chunk.read() for chunk in single])):
        assert found.names == expected.names
        for name, one, two in zip(found.names, found.columns, expected.columns, strict=True):
            assert one.dtype == two.dtype, name
            assert list(map(type, one.tolist())) == list(map(type, two.tolist())), name
            np.testing.assert_array_equal(one, two, err_msg=name)


def test_texts_in_several_batches_with_dictionaries_of_their_own() -> None:
    batches = [["a", None, " b"], [], ["c", "a", ""], ["b", " c", None]]
    expected = ["a", None, "b", "c", "a", None, "b", "c", None]
    arrays = [pa.array(batch, pa.string()) for batch in batches]
    coded = [array.dictionary_encode() for array in arrays]
    cut = [pa.array(["z", *batch], pa.string()).dictionary_encode().slice(1) for batch in batches]
    for parts in (arrays, coded, cut):
        cells = cells_of("x", pa.chunked_array(parts), Content.TEXTS)
        assert isinstance(cells, Codes)
        assert cells.values().tolist() == expected
        assert len(set(cells.levels)) == len(cells.levels)


def test_blanks_are_those_of_python(tmp_path: Path) -> None:
    blanks = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
    others = ["\u200b", "\ufeff", "\x00", "\u180e"]  # of no width, but no blanks
    texts = [f"{sign}a {sign}b{sign}" for sign in blanks + others] + blanks
    (chunk,) = open_dataset(write(tmp_path / "a.parquet", {"x": texts}))
    assert chunk.read().columns[0].tolist() == [text.strip() or None for text in texts]


def test_a_whole_number_beyond_the_precision_of_floats_is_rounded(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"x": pa.array([2**63 + 1, None, 5], pa.uint64())})
    np.testing.assert_array_equal(open_dataset(path)[0].read().columns[0], [2.0**63, np.nan, 5.0])


def test_a_text_stays_a_text_even_if_its_chunk_has_numbers_only(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"code": ["01", "1", "2020-01-01", "x"]}, row_group_size=1)
    assert [row[0] for row in rows_of(open_dataset(path))] == ["01", "1", "2020-01-01", "x"]


def test_an_infinite_number_is_refused_with_its_place(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"x": [1.0, 2.0, 3.0, np.inf]}, row_group_size=2)
    chunks = open_dataset(path)
    assert chunks[0].read().n_rows == 2
    with pytest.raises(
        TableError, match=r"a\.parquet', row group 1: column 'x' has an infinite value in row 1"
    ):
        chunks[1].read()


def test_a_sample_is_uniform_over_all_rows(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"x": np.arange(7.0)}, row_group_size=5)
    write(tmp_path / "b.parquet", {"x": np.arange(13.0)})
    chunks = open_dataset(tmp_path)
    assert [chunk.n_rows for chunk in chunks] == [5, 2, 13]
    rng = np.random.default_rng(3)
    hits = np.zeros(20)
    for _ in range(3000):
        parts = sample_positions(chunks, 6, rng)
        rows = np.concatenate([part + start for part, start in zip(parts, (0, 5, 7), strict=True)])
        assert np.all(np.diff(rows) > 0)
        assert all(part.max(initial=0) < chunk.n_rows for part, chunk in zip(parts, chunks, strict=True))
        assert rows.size == 6
        hits[rows] += 1
    # each row is drawn with chance 6/20; 4.5 standard deviations of a binomial of 3000
    np.testing.assert_allclose(hits, 900, atol=4.5 * np.sqrt(3000 * 0.3 * 0.7))
    for size in (20, 21):
        assert [part.tolist() for part in sample_positions(chunks, size, rng)] == [
            list(range(5)),
            list(range(2)),
            list(range(13)),
        ]
