"""Rows that the workers of a cluster read, encode and keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from termwise.encode.encoded import encode_rows
from termwise.encode.encoder import Encoder
from termwise.encode.target import TargetColumn
from termwise.inference.source import Look
from termwise.inference.workers import Workers
from termwise.table import Chunk, Values


@dataclass(frozen=True, eq=False)
class ClusterSource:
    """Chunks of files that all workers can read, or futures of chunks that some worker holds.

    Encoded rows stay with the worker that encoded them, which Dask asks first to work on them; it writes
    them to disk where memory is short, and makes them again when a worker is lost.
    """

    client: Any
    chunks: Sequence[Any]
    about: Sequence[Chunk]
    workers: Workers

    def looks(self, positions: Sequence[Values]) -> Sequence[Any]:
        """Futures of a look at each chunk."""
        return self.client.map(Look, self.chunks, positions, pure=False)

    def encoded(self, encoder: Encoder, target: TargetColumn) -> Sequence[Any]:
        """Futures of encoded chunks, held by the workers."""
        encode = partial(encode_rows, encoder=encoder, target=target)
        return self.client.map(encode, self.chunks, pure=False)

    def close(self) -> None:
        """Nothing to do: what the workers hold goes with the futures."""
