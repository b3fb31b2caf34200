"""The tables and files that commands read and write."""

from __future__ import annotations

import csv
import glob
import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from termwise.errors import OptionError

if TYPE_CHECKING:
    from termwise.table import Table

PARQUET = (".parquet", ".pq")
TEXT = (".csv", ".tsv", ".txt")


def is_dataset(paths: Sequence[str]) -> bool:
    """Whether it is Parquet, read in pieces: files by their suffix, folders, patterns, several files."""
    first = paths[0]
    if len(paths) > 1:
        _refuse_text(paths)
    is_pattern = glob.has_magic(first) and not os.path.exists(first)
    return len(paths) > 1 or first.lower().endswith(PARQUET) or os.path.isdir(first) or is_pattern


def _refuse_text(paths: Sequence[str]) -> None:
    text = [path for path in paths if path == "-" or path.lower().removesuffix(".gz").endswith(TEXT)]
    if text:
        raise OptionError(
            f"{text[0]!r} is one of several tables, and only Parquet can be read in several pieces; put the "
            "CSV files together, or write them as Parquet"
        )


def read_one(paths: Sequence[str]) -> Table:
    """A table from a CSV file, gzipped or not, or from stdin for '-'."""
    from termwise.table import read_csv

    return read_csv(paths[0])


def read_whole(path: str) -> Table:
    """A table from a CSV file or from Parquet, all of it in memory."""
    if not is_dataset([path]):
        return read_one([path])
    from termwise.table import open_dataset, stacked

    return stacked([chunk.read(chunk.names) for chunk in open_dataset(path)])


def check_writable(path: str) -> None:
    """Refuse a path that cannot be written now, and not after a long fit."""
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    if path == "-":
        raise OptionError("it cannot be written to stdout; give the path of a file")
    if os.path.isdir(target):
        raise OptionError(f"{path!r} is a folder; give the path of a file in it")
    if not os.path.isdir(folder):
        raise OptionError(f"the folder of {path!r} does not exist; make it, or choose another path")
    if not os.access(target if os.path.exists(target) else folder, os.W_OK):
        raise OptionError(f"{path!r} cannot be written: permission denied; choose another path")


def refuse_to_replace(path: str, tables: Sequence[str]) -> None:
    """Refuse an output that is one of the tables, or of the files that a folder or a pattern stands for."""
    from termwise.table.paths import find_files

    if not os.path.exists(path):
        return
    files = [file.path for file in find_files(list(tables))] if is_dataset(tables) else tables
    for file in files:
        if os.path.exists(file) and os.path.samefile(path, file):
            raise OptionError(f"the output would replace the table {file!r}; give another path with -o")


@contextmanager
def output(path: str | None) -> Iterator[BinaryIO]:
    """Where results go: stdout, or a file that is there only if all of it could be written."""
    from termwise.io import replaced_file

    if path is None or path == "-":
        sys.stdout.flush()
        yield sys.stdout.buffer
        return
    check_writable(path)
    with replaced_file(path) as file:
        yield file


def write_header(file: BinaryIO, names: Sequence[str]) -> None:
    """Write the line of names, as UTF-8 whatever the terminal is."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerow(names)
    _write(file, text)


def write_rows(file: BinaryIO, columns: Sequence[Any]) -> None:
    """Write columns of numbers, with all their digits."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows(zip(*(column.tolist() for column in columns), strict=True))
    _write(file, text)


def _write(file: BinaryIO, text: io.StringIO) -> None:
    rest = memoryview(text.getvalue().encode("utf-8"))
    while rest:
        rest = rest[file.write(rest) :]  # stdout without a buffer may take only a part
