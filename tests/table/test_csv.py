"""CSV files of every dialect, and the ways in which they are broken."""

from __future__ import annotations

import csv
import gzip
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from termwise.errors import TableError, TargetError
from termwise.table import Kind, Schema, read_csv, read_table, split_target

TEXT = 'age,city,note\n31,Oslo,"a, ""b"""\n,Bern,NA\n58.5,?,"two\nlines"\n'


def written(folder: Path, content: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def check_text(table: Any) -> None:
    assert table.names == ("age", "city", "note")
    assert table.named
    np.testing.assert_array_equal(table.column("age"), [31.0, np.nan, 58.5])
    assert table.column("city").tolist() == ["Oslo", "Bern", "?"]
    assert table.column("note").tolist() == ['a, "b"', None, "two\nlines"]


@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        b"\xef\xbb\xbf" + TEXT.encode(),
        gzip.compress(TEXT.encode(), mtime=0),
        TEXT.rstrip("\n"),
        "\n" + TEXT.replace("\n,Bern", "\n\n,Bern"),
        TEXT.replace("age,city", ' age ,"city"').replace("31,", " 31 ,"),
        TEXT.replace(",,", ", NaN ,").replace("\n,", "\nnull,"),
    ],
    ids=["plain", "bom", "gzip", "no last newline", "blank lines", "spaces", "null"],
)
def test_the_dialects_are_read_alike(tmp_path: Path, content: str | bytes) -> None:
    check_text(read_csv(written(tmp_path, content)))
    check_text(read_csv(str(written(tmp_path, content, "table.csv.gz"))))


def test_windows_line_ends(tmp_path: Path) -> None:
    table = read_csv(written(tmp_path, b"a,b\r\n1,x\r\n2,y\r\n"))
    assert table.column("b").tolist() == ["x", "y"]


def test_open_files_are_read_and_stay_open(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeff" + TEXT)
    with open(path, encoding="utf-8", newline="") as text, open(path, "rb") as binary:
        check_text(read_csv(text))
        check_text(read_csv(binary))
        assert not text.closed
        assert not binary.closed
    check_text(read_csv(io.BytesIO(TEXT.encode())))


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(TEXT.encode(), mtime=0))))
    check_text(read_csv("-"))


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters_understand_a_decimal_comma(tmp_path: Path, delimiter: str) -> None:
    lines = ["a|b|c", "1,5|2.5|x,y", "-2|1e3|z", "NA||1,5"]
    table = read_csv(written(tmp_path, "\n".join(lines).replace("|", delimiter)))
    np.testing.assert_array_equal(table.column("a"), [1.5, -2.0, np.nan])
    np.testing.assert_array_equal(table.column("b"), [2.5, 1000.0, np.nan])
    assert table.column("c").tolist() == ["x,y", "z", "1,5"]


def test_a_quoted_delimiter_in_the_header_does_not_count(tmp_path: Path) -> None:
    assert read_csv(written(tmp_path, '"a;b;c",d\n1,2\n')).names == ("a;b;c", "d")


def test_kinds_of_a_csv_file(tmp_path: Path) -> None:
    text = (
        "flag,truth,day,empty,none\n0,True,2020-01-01,,None\n1,false,2020-01-02,NA,b\n0,True,2020-01-05,,c\n"
    )
    schema = Schema.infer(read_csv(written(tmp_path, text)))
    assert schema.kinds == (Kind.BINARY, Kind.BINARY, Kind.CONTINUOUS, Kind.CONTINUOUS, Kind.CATEGORICAL)
    assert schema.columns[4].levels == ("None", "b", "c")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty; expected a header line"),
        ("\n \n", "is empty; expected a header line"),
        ("a,b\n", "has a header line but no rows; expected at least one row"),
        ("a,b\n1,2\n\n3\n", "line 4: found 1 cells, but the header has 2; add or remove cells, or quote"),
        ('a,b\n"x\ny",2\n1,2,3\n', "line 4: found 3 cells"),
        ("a,b,a\n1,2,3\n", "the header has 'a' more than once; rename or drop"),
        (",a\n0,1\n", r"column 1 has no name.*index=False"),
        (b"a,b\n\xff,1\n", r"is not UTF-8 text \(byte 0xff\); save it as CSV in UTF-8"),
        ("a\n1\n".encode("utf-16"), "is not UTF-8 text"),
        ('a,b\n1,"2\n3,4\n', "line 3: unexpected end of data; check the quotes"),
        (gzip.compress(TEXT.encode(), mtime=0)[:-9], "is a damaged gzip file.*compress it again"),
        (b"\x1f\x8b\x08nonsense and more nonsense", "is a damaged gzip file.*compress it again"),
        ("a\n1\ninf\n", "'a' has an infinite value in row 1"),
    ],
)
def test_a_broken_file_is_refused_in_one_line(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(TableError, match=message) as caught:
        read_csv(written(tmp_path, content))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"nowhere\.csv' cannot be read: No such file.*check the path"):
        read_csv(tmp_path / "nowhere.csv")
    with pytest.raises(TableError, match="cannot be read: Is a directory"):
        read_csv(tmp_path)


cells = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), max_size=6)


@given(st.lists(st.tuples(cells, st.floats(allow_nan=False, allow_infinity=False)), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_what_the_csv_module_writes_is_read_back(rows: list[tuple[str, float]]) -> None:
    file = io.StringIO(newline="")
    csv.writer(file).writerows([("text", "number"), *(("x" + text + "x", number) for text, number in rows)])
    table = read_csv(io.StringIO(file.getvalue(), newline=""))
    assert table.column("number").tolist() == [number for _, number in rows]
    assert table.column("text").tolist() == ["x" + text + "x" for text, _ in rows]


def test_the_target_is_taken_out() -> None:
    features, target = split_target(read_table({"a": [1, 2], "price": [3, 4], "b": ["x", "y"]}), "price")
    assert features.names == ("a", "b")
    assert features.named
    assert target.tolist() == [3.0, 4.0]


def test_a_target_that_is_not_there_is_named_with_the_closest() -> None:
    table = read_table({"age": [1], "price": [2]})
    message = r"no column 'prise' for the target \(did you mean 'price'\?\); the columns are 'age', 'price'"
    with pytest.raises(TargetError, match=message):
        split_target(table, "prise")
    many = read_table(np.zeros((1, 50)))
    with pytest.raises(TargetError, match=r"'x19', \.\.\. \(30 more\)"):
        split_target(many, "zzz")
    with pytest.raises(TargetError, match=r"'price' is the only column.*add columns"):
        split_target(table.select(["price"]), "price")
