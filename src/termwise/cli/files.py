"""The tables and files that commands read and write."""

from __future__ import annotations

import csv
import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from termwise.errors import OptionError, TableError

if TYPE_CHECKING:
    from termwise.table import Table

PARQUET = (".parquet", ".pq")
_INDEX = re.compile(r"__index_level_\d+__")


def read_any(path: str) -> Table:
    """A table from CSV, gzipped or not, from Parquet by its suffix, or from stdin for '-'."""
    from termwise.table import read_csv

    return _read_parquet(path) if path.lower().endswith(PARQUET) else read_csv(path)


def _read_parquet(path: str) -> Table:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise TableError(
            f"{path!r} is a Parquet file, which needs the extra 'large'; "
            "pip install 'termwise[large]', or give a CSV file"
        ) from None
    from termwise.table import read_table

    try:
        with open(path, "rb") as file:  # the errors of open are shorter than those of pyarrow
            frame = pq.read_table(file)
    except (OSError, pa.ArrowException) as error:
        reason = " ".join((getattr(error, "strerror", None) or str(error)).split())
        raise TableError(f"{path!r} cannot be read as Parquet: {reason}; check the file") from error
    index = [name for name in frame.column_names if _INDEX.fullmatch(name)]
    if index:
        raise TableError(
            f"{path!r} has the index of a pandas frame as column {index[0]!r}; write the file without it "
            "(in pandas: to_parquet(..., index=False)), or name the index if it is a feature"
        )
    return read_table(frame)


def check_writable(path: str) -> None:
    """Refuse a path that cannot be written now, and not after a long fit."""
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    if path == "-":
        raise OptionError("a model cannot be written to stdout; give the path of a file")
    if os.path.isdir(target):
        raise OptionError(f"{path!r} is a folder; give the path of a file in it")
    if not os.path.isdir(folder):
        raise OptionError(f"the folder of {path!r} does not exist; make it, or choose another path")
    if not os.access(target if os.path.exists(target) else folder, os.W_OK):
        raise OptionError(f"{path!r} cannot be written: permission denied; choose another path")


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


def write_csv(file: BinaryIO, names: Sequence[str], columns: Sequence[Any]) -> None:
    """Write columns of numbers, with all their digits, as UTF-8 whatever the terminal is."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(zip(*(column.tolist() for column in columns), strict=True))
    rest = memoryview(text.getvalue().encode("utf-8"))
    while rest:
        rest = rest[file.write(rest) :]  # stdout without a buffer may take only a part
