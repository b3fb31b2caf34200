"""Rows of a data set larger than memory, encoded when they are read."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from termwise.encode.encoder import Encoder
from termwise.encode.rows import ArrayChunk
from termwise.encode.target import TargetColumn
from termwise.table import Table

CACHE_BYTES = 2**30  # encoded rows that a process keeps, so that it need not read and encode them again


class Rows(Protocol):
    """A reference to rows that can be read."""

    def read(self, columns: Sequence[str]) -> Table:
        """These columns of the rows."""


@dataclass(frozen=True, eq=False)
class EncodedChunk:
    """A reference to rows and how they are encoded; `key` tells it from all other chunks of all data sets."""

    chunk: Rows
    encoder: Encoder
    target: TargetColumn
    key: tuple[str, int]

    def read(self) -> ArrayChunk:
        """The encoded rows."""
        kept = _cache.get(self.key)
        if kept is None:
            kept = self._encode()
            _cache.keep(self.key, kept)
        return kept

    def _encode(self) -> ArrayChunk:
        return encode_rows(self.chunk, self.encoder, self.target)


def encode_rows(rows: Rows, encoder: Encoder, target: TargetColumn) -> ArrayChunk:
    """Read rows and encode them."""
    table = rows.read((*encoder.schema.names, *target.columns))
    return target.beside(encoder.transform(table.select(encoder.schema.names)), table)


class _Cache:
    """Encoded rows up to a number of bytes. What is kept stays: rows are read round after round."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int], ArrayChunk] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: tuple[str, int]) -> ArrayChunk | None:
        """What is kept of this key."""
        return self._kept.get(key)

    def keep(self, key: tuple[str, int], rows: ArrayChunk) -> None:
        """Keep rows if there is room; those of other data sets make room."""
        size = rows.nbytes
        with self._lock:
            if key in self._kept:  # another thread was quicker
                return
            if self._bytes + size > CACHE_BYTES:
                self._forget(other_than=key[0])
            if self._bytes + size <= CACHE_BYTES:
                self._kept[key] = rows
                self._bytes += size

    def forget(self, data_set: str) -> None:
        """Let go the rows of one data set."""
        with self._lock:
            for key in [key for key in self._kept if key[0] == data_set]:
                self._bytes -= self._kept.pop(key).nbytes

    def _forget(self, other_than: str) -> None:
        for key in [key for key in self._kept if key[0] != other_than]:
            self._bytes -= self._kept.pop(key).nbytes


_cache = _Cache()


def forget(data_set: str) -> None:
    """Let go what this process has kept of a data set."""
    _cache.forget(data_set)
