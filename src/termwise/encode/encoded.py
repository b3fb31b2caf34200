"""Rows of a data set larger than memory, encoded when they are read."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from termwise.encode.encoder import Encoder
from termwise.encode.scale import Array, Standardise
from termwise.errors import TargetError
from termwise.table import Table, split_target
from termwise.table.match import continuous_values

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
    target: str
    scale: Standardise
    key: tuple[str, int]

    def read(self) -> tuple[Array, Array]:
        """The encoded rows (n, D) and the standardised target."""
        kept = _cache.get(self.key)
        if kept is None:
            kept = self._encode()
            _cache.keep(self.key, kept)
        return kept

    def _encode(self) -> tuple[Array, Array]:
        table = self.chunk.read((*self.encoder.schema.names, self.target))
        return encode_rows(table, self.encoder, self.target, self.scale)


def encode_rows(table: Table, encoder: Encoder, target: str, scale: Standardise) -> tuple[Array, Array]:
    """The encoded rows (n, D) of a table and its standardised target."""
    features, y = split_target(table, target)
    numbers = continuous_values(target, y)
    if not np.all(np.isfinite(numbers)):
        raise TargetError(
            f"the target {target!r} was finite in every row and is not any more; fit again, and do not write "
            "to the data set meanwhile"
        )
    return encoder.transform(features), scale.forward(numbers)


class _Cache:
    """Encoded rows up to a number of bytes. What is kept stays: rows are read round after round, in order."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int], tuple[Array, Array]] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: tuple[str, int]) -> tuple[Array, Array] | None:
        """What is kept of this key."""
        return self._kept.get(key)

    def keep(self, key: tuple[str, int], rows: tuple[Array, Array]) -> None:
        """Keep rows if there is room; those of other data sets make room."""
        size = sum(part.nbytes for part in rows)
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
                self._bytes -= sum(part.nbytes for part in self._kept.pop(key))

    def _forget(self, other_than: str) -> None:
        for key in [key for key in self._kept if key[0] != other_than]:
            self._bytes -= sum(part.nbytes for part in self._kept.pop(key))


_cache = _Cache()


def forget(data_set: str) -> None:
    """Let go what this process has kept of a data set."""
    _cache.forget(data_set)
