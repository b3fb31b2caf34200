"""Encoded rows in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from termwise.encode.scale import Array


@dataclass(frozen=True, eq=False)
class ArrayChunk:
    """Encoded rows (n, D) and their target, perhaps with weights and offsets of their likelihood."""

    X: Array
    y: Array
    weight: Array | None = None
    offset: Array | None = None

    def read(self) -> ArrayChunk:
        """The rows themselves: what is in memory need not be read."""
        return self

    def rows(self, chosen: slice | NDArray[Any]) -> ArrayChunk:
        """Some of the rows."""
        weight, offset = (None if part is None else part[chosen] for part in (self.weight, self.offset))
        return ArrayChunk(self.X[chosen], self.y[chosen], weight, offset)

    @property
    def nbytes(self) -> int:
        """The memory of all arrays."""
        parts = (self.X, self.y, self.weight, self.offset)
        return sum(part.nbytes for part in parts if part is not None)
