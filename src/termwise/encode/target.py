"""What is learned of a row besides its features: numbers, labels or counts, as the engines take them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from termwise.encode.rows import ArrayChunk
from termwise.encode.scale import Array, Standardise
from termwise.errors import TargetError
from termwise.table import Table
from termwise.table.cells import Level
from termwise.table.match import continuous_values


@dataclass(frozen=True)
class TargetColumn(ABC):
    """The column that is predicted, and how it is encoded."""

    name: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read for it."""
        return (self.name,)

    @abstractmethod
    def beside(self, X: Array, table: Table) -> ArrayChunk:
        """Encoded rows with the target that the table has for them."""

    def _numbers(self, name: str, table: Table) -> Array:
        numbers = continuous_values(name, table.column(name))
        if not np.all(np.isfinite(numbers)):
            raise self._changed("finite", name)
        return numbers

    def _changed(self, was: str, name: str | None = None) -> TargetError:
        return TargetError(
            f"the column {name or self.name!r} was {was} in every row and is not any more; fit again, and do "
            "not write to the data set meanwhile"
        )


@dataclass(frozen=True)
class NumberTarget(TargetColumn):
    """Numbers, standardised."""

    scale: Standardise

    def beside(self, X: Array, table: Table) -> ArrayChunk:
        """With the standardised number of each row."""
        return ArrayChunk(X, self.scale.forward(self._numbers(self.name, table)))


@dataclass(frozen=True)
class CountTarget(TargetColumn):
    """Counts, with the logarithm of what they are expected to be if no column has an effect as offset."""

    log_rate: float
    exposure: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The counts, and what they are in proportion to."""
        return (self.name,) if self.exposure is None else (self.name, self.exposure)

    def beside(self, X: Array, table: Table) -> ArrayChunk:
        """With the count of each row."""
        offset = np.full(len(X), self.log_rate)
        if self.exposure is not None:
            offset += np.log(self._numbers(self.exposure, table))
        return ArrayChunk(X, self._numbers(self.name, table), offset=offset)


@dataclass(frozen=True)
class LabelTarget(TargetColumn):
    """Labels: one for the one that is chosen, zero for the others, with a weight for each label."""

    labels: tuple[Level, ...]
    chosen: int = 1
    weights: tuple[float, ...] | None = None

    def beside(self, X: Array, table: Table) -> ArrayChunk:
        """With zero or one for each row."""
        codes = self.codes(table.column(self.name))
        weight = None if self.weights is None else np.array(self.weights)[codes]
        return ArrayChunk(X, (codes == self.chosen).astype(float), weight)

    def codes(self, cells: Sequence[Level] | Array) -> NDArray[np.intp]:
        """The position of each label."""
        values, where = np.unique(cells, return_inverse=True) if _are_numbers(cells) else (cells, None)
        positions = {label: code for code, label in enumerate(self.labels)}
        codes = np.array([positions.get(value, -1) for value in np.asarray(values).tolist()], dtype=np.intp)
        if np.any(codes < 0):
            raise self._changed(f"one of {len(self.labels)} labels")
        return codes if where is None else codes[where]


def _are_numbers(cells: Sequence[Level] | Array) -> bool:
    return isinstance(cells, np.ndarray) and cells.dtype.kind == "f"
