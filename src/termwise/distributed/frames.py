"""A Dask dataframe as chunks that its workers hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from termwise.distributed.cluster import release
from termwise.errors import SchemaError, TableError
from termwise.table import Chunk
from termwise.table.arrow import Content, content_of, joint_content, pyarrow
from termwise.table.names import quoted


@dataclass(frozen=True, eq=False)
class Held:
    """Rows in memory, in the place of a piece of a file."""

    table: Any

    def to_table(self, schema: Any, columns: Sequence[str]) -> Any:
        """Some columns of the rows."""
        return self.table.select(columns)


def is_dask(data: Any) -> bool:
    """Whether it is a collection of Dask, without importing Dask for it."""
    return type(data).__module__.split(".")[0] in ("dask", "dask_expr")


def partitions(frame: Any, client: Any) -> tuple[Sequence[Any], Sequence[Chunk]]:
    """Futures of the partitions that have rows, as chunks, and what is known of them."""
    if not any(kind.__name__ == "DataFrame" for kind in type(frame).__mro__):
        raise TableError(
            f"the data is a {type(frame).__name__} of Dask, expected a dataframe; give the dataframe "
            "that it belongs to, or make one of it"
        )
    tables = client.map(_as_arrow, client.compute(frame.to_delayed()), pure=False)
    asked = client.map(_contents, tables, pure=False)
    try:
        found = client.gather(asked)
    finally:
        release(asked)
    filled = [number for number, (n_rows, _) in enumerate(found) if n_rows]
    if not filled:
        raise TableError("the dataframe has no rows; expected at least one row in one of its partitions")
    names, contents = _agreed({number: found[number][1] for number in filled})
    about = [Chunk(None, found[i][0], f"partition {i}", names, contents) for i in filled]
    return client.map(_with_rows, about, [tables[i] for i in filled], pure=False), about


def _as_arrow(partition: Any) -> Any:
    pa = pyarrow()
    try:
        return pa.Table.from_pandas(partition, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise TableError(
            f"a partition of the dataframe cannot be read: {reason}; give each column one type"
        ) from None


def _contents(table: Any) -> tuple[int, dict[str, Content]]:
    found = {}
    for field in table.schema:
        content = content_of(field.type)
        if content is None:
            raise TableError(
                f"column {field.name!r} has the type {field.type}; every cell must be a string, a truth "
                "value, a date or a real number: split it into columns or drop the column"
            )
        missing = table.num_rows and table.column(field.name).null_count == table.num_rows
        found[field.name] = Content.NOTHING if missing else content
    return table.num_rows, found


def _agreed(parts: Mapping[int, dict[str, Content]]) -> tuple[tuple[str, ...], tuple[Content, ...]]:
    """What every column holds, by the number of the partition."""
    agreed = dict(next(iter(parts.values())))
    for number, part in parts.items():
        if part.keys() != agreed.keys():
            odd = quoted(sorted(part.keys() ^ agreed.keys()))
            raise SchemaError(
                f"the column {odd} is not in all partitions of the dataframe; add it or drop it"
            )
        for name, found in part.items():
            content = joint_content(agreed[name], found)
            if content is None:
                raise SchemaError(
                    f"column {name!r} holds {found} in partition {number}, but {agreed[name]} before it; "
                    "give the column one type"
                )
            agreed[name] = content
    return tuple(agreed), tuple(agreed.values())


def _with_rows(chunk: Chunk, table: Any) -> Chunk:
    return Chunk(Held(table), chunk.n_rows, chunk.name, chunk.names, chunk.contents)
