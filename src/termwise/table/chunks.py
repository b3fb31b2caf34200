"""A data set larger than memory, as references to pieces of it that fit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from termwise.errors import CellError, SchemaError, TableError
from termwise.table.arrow import Cells, Codes, Content, cells_of, content_of, joint_content, pyarrow
from termwise.table.names import did_you_mean, duplicates, quoted
from termwise.table.paths import find_files, refuse_index
from termwise.table.table import Table, Values


@dataclass(frozen=True, eq=False)
class Chunk:
    """A reference to some rows, small and picklable: whoever holds it can read them, here or elsewhere.

    ``fragment`` is one row group of a Parquet file, or a file of another format. ``names`` and
    ``contents`` are those of the whole data set, the same for all its chunks. ``partition`` is an Arrow
    table of one row with the columns that are in the names of the folders and not in the file, and
    ``types`` the Arrow schema to read a file with that has no types of its own, such as CSV.
    """

    fragment: Any
    n_rows: int
    name: str
    names: tuple[str, ...]
    contents: tuple[Content, ...]
    partition: Any = None
    types: Any = None

    def read(self, columns: Sequence[str] | None = None) -> Table:
        """These columns of the rows, or all; a row is read the same whatever other rows are there.

        Numbers are float64, dates days since 1970-01-01 (UTC), all others levels. A text stays a text even
        if it reads as a number, since the rest of the column, elsewhere, may not.
        """
        cells = self.cells(self.names if columns is None else columns)
        values = [part.values() if isinstance(part, Codes) else part for part in cells.values()]
        try:
            return Table(tuple(cells), tuple(values))
        except TableError as error:
            raise TableError(f"{self.name}: {error}") from error

    def cells(self, columns: Sequence[str]) -> dict[str, Cells]:
        """The same by name and with levels as codes, which take less room and are quick to count."""
        for column in columns:
            if column not in self.names:
                hint = did_you_mean(column, self.names)
                raise TableError(
                    f"{self.name} has no column {column!r}{hint}; the columns are {quoted(self.names)}"
                )
        stored = self._stored(columns)
        content = dict(zip(self.names, self.contents, strict=True))
        # each column goes when it is done, so that no two copies of the whole chunk are in memory
        return {name: cells_of(name, stored.pop(name), content[name]) for name in dict.fromkeys(columns)}

    def _stored(self, columns: Sequence[str]) -> dict[str, Any]:
        pa = pyarrow()
        partition = self.partition
        folders = (
            {} if partition is None else dict(zip(partition.column_names, partition.columns, strict=True))
        )
        in_file = [name for name in dict.fromkeys(columns) if name not in folders]
        options = {}
        if _is_parquet(self.fragment):
            # checksums cost next to nothing, and where a file has them a flipped bit is found
            check = pa.dataset.ParquetFragmentScanOptions(page_checksum_verification=True)
            options = {"fragment_scan_options": check}
        with _readable(self.name, self.fragment):
            found = self.fragment.to_table(schema=self.types, columns=in_file, **options)
        if found.num_rows != self.n_rows:
            raise TableError(
                f"{self.name} has {found.num_rows} rows, but had {self.n_rows} when it was opened; open the "
                "data set again, and do not write to it meanwhile"
            )
        first = pa.array(np.zeros(self.n_rows, dtype=np.int32))
        return {
            name: folders[name].take(first) if name in folders else found.column(name) for name in columns
        }


def open_dataset(data: Any) -> tuple[Chunk, ...]:
    """The chunks of a data set that need not fit in memory, at most one row group each, none empty.

    ``data`` is the path of a Parquet file or of a folder, a pattern such as 'data/*.parquet', a list of
    these, or a pyarrow.dataset.Dataset. Only the footers of the files are read, to check that all have
    the same columns; the order of the columns is that of the first file.
    """
    pa = pyarrow()
    is_dataset = isinstance(data, pa.dataset.Dataset)
    parts = _parts_of_dataset(data) if is_dataset else _parts_of_files(data)
    filled = [part for part in parts if part.groups]
    if not filled:
        raise TableError("the data set has no rows; expected at least one row in one of its files")
    contents = _agreed(filled)
    if is_dataset:
        contents = _as_declared(contents, data.schema, filled[0])
    names, kinds = tuple(contents), tuple(contents.values())
    return tuple(
        Chunk(fragment, n_rows, name, names, kinds, part.partition, part.types)
        for part in filled
        for fragment, n_rows, name in part.groups
    )


def sample_positions(chunks: Sequence[Chunk], size: int, rng: np.random.Generator) -> list[Values]:
    """For each chunk the sorted positions of its rows in a uniform sample of all rows, none of them twice.

    All rows if there are not more than ``size``.
    """
    ends = np.cumsum([chunk.n_rows for chunk in chunks])
    total = int(ends[-1])
    if size >= total:
        return [np.arange(chunk.n_rows) for chunk in chunks]
    rows = np.sort(rng.choice(total, size, replace=False, shuffle=False))
    parts = np.split(rows, np.searchsorted(rows, ends[:-1]))
    return [part - (end - chunk.n_rows) for part, end, chunk in zip(parts, ends, chunks, strict=True)]


@dataclass(frozen=True, eq=False)
class _Part:
    """One file: what it holds, and its pieces that have rows (fragment, number of rows, name)."""

    label: str
    contents: dict[str, Content]
    groups: tuple[tuple[Any, int, str], ...]
    partition: Any = None
    types: Any = None

    def is_missing(self, name: str) -> bool:
        """Whether a column is known to have missing cells only, as an empty category of pandas has."""
        if not _is_parquet(self.groups[0][0]):
            return False
        for fragment, n_rows, _ in self.groups:
            group = fragment.metadata.row_group(fragment.row_groups[0].id)
            columns = (group.column(index) for index in range(group.num_columns))
            column = next((column for column in columns if column.path_in_schema == name), None)
            statistics = column.statistics if column is not None else None
            if statistics is None or not statistics.has_null_count or statistics.null_count < n_rows:
                return False
        return True


def _parts_of_files(data: Any) -> Iterator[_Part]:
    pa = pyarrow()
    from pyarrow.fs import LocalFileSystem

    parquet, disk = pa.dataset.ParquetFileFormat(), LocalFileSystem()
    for file in find_files(data):
        # a worker may run in another folder, so the path does not stay relative
        fragment = parquet.make_fragment(os.path.abspath(file.path), disk)
        names, values = [key for key, _ in file.partition], [[value] for _, value in file.partition]
        schema = pa.schema([(name, pa.string()) for name in names])
        partition = pa.table(values, schema=schema) if names else None
        yield _part(fragment, repr(file.path), partition)


def _parts_of_dataset(data: Any) -> Iterator[_Part]:
    pa = pyarrow()
    try:
        fragments = list(data.get_fragments())
    except ValueError as error:  # pyarrow's word for a dataset with a filter
        raise TableError(
            f"the rows of the dataset cannot be divided: {error} Give the dataset without filter, or write "
            "the rows that are meant to a file of their own"
        ) from error
    for fragment in fragments:
        if not hasattr(fragment, "path"):
            raise TableError(
                "the dataset holds its rows in memory, expected files; give the table itself instead of the "
                "dataset"
            )
        keys = pa.dataset.get_partition_keys(fragment.partition_expression)
        fields = [field for field in data.schema if field.name in keys]
        columns = [_single(keys[field.name], field.type) for field in fields]
        partition = pa.table(columns, names=[field.name for field in fields]) if fields else None
        in_file = pa.schema([field for field in data.schema if field.name not in keys])
        has_types = fragment.format.default_extname not in {"csv", "json"}
        types = None if has_types else in_file
        yield _part(fragment, repr(fragment.path), partition, types, data.schema.names)


def _single(value: Any, kind: Any) -> Any:
    pa = pyarrow()
    if pa.types.is_dictionary(kind):
        return pa.array([value], kind.value_type).dictionary_encode()
    return pa.array([value], kind)


def _part(
    fragment: Any, label: str, partition: Any, types: Any = None, wanted: Sequence[str] | None = None
) -> _Part:
    with _readable(label, fragment):
        fields = list(fragment.physical_schema if types is None else types)
        groups = tuple(_groups(fragment, label))
    if not groups:  # of a file without rows not even the types are known: pandas writes any
        return _Part(label, {}, ())
    names = [field.name for field in fields]
    repeated = duplicates(names)
    if repeated:
        raise TableError(f"{label} has the column {quoted(repeated)} more than once; rename or drop one")
    refuse_index(label, names)
    if partition is not None:
        fields += partition.schema
    # of a column that the dataset leaves out, only the name is compared
    contents = {
        field.name: _content(field, label) if wanted is None or field.name in wanted else Content.NOTHING
        for field in fields
    }
    return _Part(label, contents, groups, partition, types)


def _groups(fragment: Any, label: str) -> Iterator[tuple[Any, int, str]]:
    if not _is_parquet(fragment):
        n_rows = fragment.count_rows()
        if n_rows:
            yield fragment, n_rows, label
        return
    for group in fragment.split_by_row_group():
        (info,) = group.row_groups
        if info.num_rows:
            yield group, info.num_rows, f"{label}, row group {info.id}"


def _is_parquet(fragment: Any) -> bool:
    return isinstance(fragment, pyarrow().dataset.ParquetFileFragment)


def _content(field: Any, label: str) -> Content:
    content = content_of(field.type)
    if content is None:
        raise CellError(
            f"column {field.name!r} of {label} has the type {field.type}; every cell must be a string, a "
            "truth value, a date or a real number: split it into columns or drop the column"
        )
    return content


def _agreed(parts: Sequence[_Part]) -> dict[str, Content]:
    """What every column holds, by name in the order of the first file; all files must have the same."""
    first, agreed = parts[0], dict(parts[0].contents)
    for count, part in enumerate(parts):
        _same_names(first, part)
        for name, found in part.contents.items():
            content = joint_content(agreed[name], found)
            if content is not None:
                agreed[name] = content
            elif part.is_missing(name):
                continue
            elif all(before.is_missing(name) for before in parts[:count]):
                agreed[name] = found
            else:
                raise SchemaError(
                    f"column {name!r} holds {found} in {part.label}, but {agreed[name]} in the files before "
                    f"it, such as {first.label}; write the files with one type, or leave one out"
                )
    return agreed


def _same_names(first: _Part, part: _Part) -> None:
    missing = [name for name in first.contents if name not in part.contents]
    extra = [name for name in part.contents if name not in first.contents]
    if missing:
        hint = did_you_mean(missing[0], extra)
        raise SchemaError(
            f"{part.label} has no column {quoted(missing)}{hint}, which {first.label} has; add it, filled "
            "with missing values if it is not known, or leave the file out"
        )
    if extra:
        raise SchemaError(
            f"{part.label} has the column {quoted(extra)}, which {first.label} does not have; drop it, or "
            "add it to all files, filled with missing values where it is not known"
        )


def _as_declared(found: dict[str, Content], schema: Any, first: _Part) -> dict[str, Content]:
    """The columns that a dataset says it has: it may leave some out, or declare a text a category."""
    declared = {}
    for field in schema:
        if field.name not in found:
            raise SchemaError(
                f"the schema of the dataset has the column {field.name!r}, which {first.label} does not "
                "have; make the dataset with the columns that the files have"
            )
        content = _content(field, "the dataset")
        joint = joint_content(content, found[field.name])
        if joint is None and first.is_missing(field.name):  # the schema is that of the first file
            joint = found[field.name]
        if joint is None:
            raise SchemaError(
                f"column {field.name!r} holds {content} in the schema of the dataset, but "
                f"{found[field.name]} in the files; make the dataset with the types of the files"
            )
        declared[field.name] = joint
    return declared


@contextmanager
def _readable(label: str, fragment: Any) -> Iterator[None]:
    """Any failure to read as one error that names the file."""
    pa = pyarrow()
    try:
        yield
    except pa.ArrowMemoryError:  # no fault of the file
        raise
    except (OSError, pa.ArrowException) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        form = "Parquet" if _is_parquet(fragment) else fragment.format.default_extname
        remedy = "write it again or leave it out"
        if form == "Parquet" and ".csv" in label.lower():
            remedy = "a CSV file is for read_csv and fit, or write it as Parquet"
        raise TableError(f"{label} cannot be read as {form}: {reason}; {remedy}") from error
