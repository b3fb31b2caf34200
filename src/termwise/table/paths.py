"""The Parquet files that a path, a folder or a pattern stands for."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from termwise.errors import TableError
from termwise.table.names import duplicates, quoted

SUFFIXES = (".parquet", ".pq")
_INDEX = re.compile(r"__index_level_\d+__")
_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class DataFile:
    """One file, with the columns that the names of its folders give, as in 'year=2024/month=1/a.parquet'."""

    path: str
    partition: tuple[tuple[str, str | None], ...] = ()


def find_files(data: Any) -> tuple[DataFile, ...]:
    """The files of a path, a folder, a pattern such as 'data/*.parquet', or a list of these.

    The files of a folder or a pattern are sorted; a list keeps its order. A folder name of the form
    key=value counts as a column if it stands below the folder that all entries have in common.
    """
    entries = _entries(data)
    found = [_expand(entry) for entry in entries]
    paths = [path for _, matches in found for path in matches]
    repeated = duplicates([os.path.realpath(path) for path in paths])
    if repeated:
        raise TableError(f"{quoted(repeated)} is given more than once; give every file once")
    base = os.path.commonpath([os.path.abspath(folder) for folder, _ in found])
    return tuple(DataFile(path, _partition(path, base)) for path in paths)


def _entries(data: Any) -> list[str]:
    listed = [data] if isinstance(data, (str, os.PathLike)) else data
    # By the class: a lazy frame would look for its columns.
    if any(hasattr(type(data), name) for name in ("columns", "dtype", "keys")):
        raise TableError(
            f"the data is a {type(data).__name__}, expected files; for a table in memory use fit(X, y) and "
            "predict(X), and write what is lazy or elsewhere to Parquet"
        )
    if not isinstance(listed, Iterable):
        raise TableError(f"the data is a {type(data).__name__}; {_EXPECTED}")
    entries = list(listed)
    for entry in entries:
        if not isinstance(entry, (str, os.PathLike)):
            raise TableError(f"the list of paths has a {type(entry).__name__}; {_EXPECTED}")
    if not entries:
        raise TableError(f"the list of paths is empty; {_EXPECTED}")
    return [os.fspath(entry) for entry in entries]


_EXPECTED = (
    "expected the path of a Parquet file or of a folder, a pattern such as 'data/*.parquet', a list of "
    "paths, or a pyarrow.dataset.Dataset"
)


def _expand(entry: str) -> tuple[str, list[str]]:
    """The folder below which key=value counts, and the files."""
    if os.path.isfile(entry):
        return os.path.dirname(os.path.abspath(entry)), [entry]
    if os.path.isdir(entry):
        files = _files_below(entry)
        if not files:
            endings = " or ".join(SUFFIXES)
            raise TableError(
                f"the folder {entry!r} has no file that ends in {endings}; check the path, or give a "
                "pattern such as 'data/*' if the files have other names"
            )
        return entry, files
    if not glob.has_magic(entry):
        remote = "; for what is elsewhere give a pyarrow.dataset.Dataset" if "://" in entry else ""
        raise TableError(f"{entry!r} cannot be read: No such file or folder; check the path{remote}")
    base = _fixed_part(entry)
    matches = [
        match for match in sorted(glob.glob(entry, recursive=True)) if not _is_below_hidden(match, base)
    ]
    files = [
        path for match in matches for path in ([match] if os.path.isfile(match) else _files_below(match))
    ]
    if not files:
        raise TableError(f"no file matches the pattern {entry!r}; check the path and the pattern")
    return base, list(dict.fromkeys(files))


def _files_below(folder: str) -> list[str]:
    found = []
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not _is_hidden(name)]
        found += [os.path.join(parent, name) for name in files if name.lower().endswith(SUFFIXES)]
    return sorted(path for path in found if not _is_hidden(path))


def _is_hidden(path: str) -> bool:
    # as everywhere with Parquet: such names are notes of the writer, like _SUCCESS or _delta_log
    return os.path.basename(path).startswith(("_", "."))


def _is_below_hidden(path: str, base: str) -> bool:
    return any(map(_is_hidden, os.path.relpath(path, base).split(os.sep)))


def _fixed_part(pattern: str) -> str:
    folder = os.path.dirname(os.path.abspath(pattern))
    while glob.has_magic(folder):
        folder = os.path.dirname(folder)
    return folder


def _partition(path: str, base: str) -> tuple[tuple[str, str | None], ...]:
    folders = os.path.relpath(os.path.dirname(os.path.abspath(path)), base).split(os.sep)
    pairs = (folder.split("=", 1) for folder in folders if "=" in folder)
    return tuple((unquote(key), None if value == _NULL else unquote(value)) for key, value in pairs)


def refuse_index(label: str, names: Iterable[str]) -> None:
    """Refuse a file with the nameless index of a pandas frame, which would pass for a feature."""
    index = [name for name in names if _INDEX.fullmatch(name)]
    if index:
        raise TableError(
            f"{label} has the index of a pandas frame as column {index[0]!r}; write the file without it "
            "(in pandas: to_parquet(..., index=False)), or name the index if it is a feature"
        )
