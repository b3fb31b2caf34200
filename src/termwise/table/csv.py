"""Reading a table from a CSV file, with the standard library and numpy only."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import IO, Any, TypeAlias

import numpy as np

from termwise.errors import TableError
from termwise.table.cells import object_array, parse_numbers
from termwise.table.names import duplicates, quoted
from termwise.table.table import Table, Values

Source: TypeAlias = str | os.PathLike[str] | IO[str] | IO[bytes]

MISSING = frozenset({"", "NA", "N/A", "NaN", "nan", "null"})
_DELIMITERS = ",;\t"
_ROWS_AT_ONCE = 1_000


def read_csv(source: Source) -> Table:
    """Read a CSV file with a header line: a path, an open file, or "-" for standard input.

    UTF-8 with or without byte order mark, plain or gzip; comma, semicolon or tab, found from the header;
    with the latter two, a decimal comma is understood. The cells '', NA, N/A, NaN, nan and null are
    missing ('?' and 'None' are levels like any other). Blank lines are skipped. A column in which every
    cell reads as a number is numeric, one in which every cell is an ISO date is days since 1970-01-01.
    """
    label = _label(source)
    try:
        return _read(_text(source), label)
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise TableError(f"{label} is not UTF-8 text (byte {byte:#04x}); save it as CSV in UTF-8") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TableError(f"{label} is a damaged gzip file ({error}); compress it again") from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise TableError(f"{label} cannot be read: {reason}; check the path and its permissions") from error


def _label(source: Source) -> str:
    if isinstance(source, (str, os.PathLike)):
        return "standard input" if source == "-" else repr(os.fspath(source))
    name = getattr(source, "name", None)
    return repr(name) if isinstance(name, str) else "the file"


def _text(source: Source) -> IO[str]:
    """The whole source as text in memory, so that files of the caller stay open and can be a pipe."""
    content = _content(source)
    if isinstance(content, str):
        return io.StringIO(content.removeprefix("\ufeff"), newline="")
    if content.startswith(b"\x1f\x8b"):  # gzip, whatever the name, as a pipe has none
        content = gzip.decompress(content)
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="")


def _content(source: Source) -> Any:
    if source == "-":
        return sys.stdin.buffer.read()
    if isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as file:
            return file.read()
    return source.read()


def _read(lines: IO[str], label: str) -> Table:
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise TableError(f"{label} is empty; expected a header line with the column names, then rows")
    lines.seek(0)
    delimiter = _delimiter(first)
    # strict: a stray quote would otherwise swallow the rest of the file in silence
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        names = _header(next(row for row in reader if row), label)
        cells = _cells_by_column(reader, names, label)
    except csv.Error as error:
        raise TableError(
            f"{label}, line {reader.line_num}: {error}; check the quotes of this line"
        ) from error
    columns = []
    while cells:  # texts take ten times the room of numbers, so each column goes when it is done
        columns.append(_column(cells.pop(0), decimal_comma=delimiter != ","))
    return Table(names, tuple(columns))


def _delimiter(header: str) -> str:
    """The delimiter that occurs most in the header, outside quotes; a comma if none does."""
    unquoted = re.sub(r'"[^"]*"', "", header)
    return max(_DELIMITERS, key=unquoted.count)


def _header(cells: list[str], label: str) -> tuple[str, ...]:
    names = tuple(cell.strip() for cell in cells)
    if "" in names:
        raise TableError(
            f"{label}: column {names.index('') + 1} has no name in the header line; name it, or if it is a "
            "row index write the file without it (in pandas: to_csv(..., index=False))"
        )
    repeated = duplicates(names)
    if repeated:
        raise TableError(
            f"{label}: the header has {quoted(repeated)} more than once; rename or drop a column"
        )
    return names


def _cells_by_column(reader: Any, names: tuple[str, ...], label: str) -> list[Values]:
    # blocks of numpy, because the garbage collector would walk through growing lists again and again
    columns: list[list[Values]] = [[] for _ in names]
    rows = _full_rows(reader, len(names), label)
    while block := list(islice(rows, _ROWS_AT_ONCE)):
        for column, cells in zip(columns, zip(*block, strict=True), strict=True):
            column.append(object_array(cells))
    if not columns[0]:
        raise TableError(f"{label} has a header line but no rows; expected at least one row of values")
    return [np.concatenate(blocks) for blocks in columns]


def _full_rows(reader: Any, width: int, label: str) -> Iterator[list[str]]:
    for row in reader:
        if len(row) == width:
            yield row
        elif row:
            raise TableError(
                f"{label}, line {reader.line_num}: found {len(row)} cells, but the header has {width}; add "
                "or remove cells, or quote a cell that contains the delimiter"
            )


def _column(cells: Values, decimal_comma: bool) -> Values:
    numbers = parse_numbers(cells)  # most columns are plain numbers, and this is the fast way
    if numbers is not None:
        return numbers
    stripped = [cell.strip() for cell in cells]
    texts = [None if cell in MISSING else cell for cell in stripped]
    numbers = parse_numbers(texts)
    if numbers is None and decimal_comma:
        numbers = parse_numbers([None if text is None else text.replace(",", ".") for text in texts])
    return object_array(texts) if numbers is None else numbers
