"""A Dask dataframe as chunks that its workers hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from termwise.distributed.cluster import release
from termwise.encode.encoded import encode_rows
from termwise.encode.encoder import Encoder
from termwise.encode.scale import Standardise
from termwise.errors import SchemaError, TableError
from termwise.inference.blocks import ArrayChunk
from termwise.inference.source import Look
from termwise.inference.workers import Workers
from termwise.table import Chunk, Values
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


@dataclass(frozen=True, eq=False)
class FrameSource:
    """The partitions of a dataframe, each in the memory of some worker; Dask makes a lost one again."""

    client: Any
    chunks: Sequence[Any]
    about: Sequence[Chunk]
    workers: Workers

    @classmethod
    def of(cls, frame: Any, client: Any, workers: Workers) -> FrameSource:
        """The partitions that have rows."""
        if not any(kind.__name__ == "DataFrame" for kind in type(frame).__mro__):
            raise TableError(
                f"the data is a {type(frame).__name__} of Dask, expected a dataframe; give the dataframe "
                "that it belongs to, or make one of it"
            )
        partitions = client.map(_as_arrow, client.compute(frame.to_delayed()), pure=False)
        asked = client.map(_contents, partitions, pure=False)
        try:
            found = client.gather(asked)
        finally:
            release(asked)
        filled = [number for number, (n_rows, _) in enumerate(found) if n_rows]
        if not filled:
            raise TableError("the dataframe has no rows; expected at least one row in one of its partitions")
        names, contents = _agreed({number: found[number][1] for number in filled})
        about = [Chunk(None, found[i][0], f"partition {i}", names, contents) for i in filled]
        chunks = client.map(_with_rows, about, [partitions[i] for i in filled], pure=False)
        return cls(client, chunks, about, workers)

    def looks(self, positions: Sequence[Values]) -> Sequence[Any]:
        """Futures of a look at each chunk."""
        return self.client.map(Look, self.chunks, positions, pure=False)

    def encoded(self, encoder: Encoder, target: str, scale: Standardise) -> Sequence[Any]:
        """Futures of encoded chunks, held by the workers."""
        encode = partial(_encoded, encoder=encoder, target=target, scale=scale)
        return self.client.map(encode, self.chunks, pure=False)

    def close(self) -> None:
        """Nothing to do: what the workers hold goes with the futures."""


def _encoded(chunk: Chunk, encoder: Encoder, target: str, scale: Standardise) -> ArrayChunk:
    return ArrayChunk(*encode_rows(chunk.read((*encoder.schema.names, target)), encoder, target, scale))


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
