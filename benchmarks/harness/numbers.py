"""Columns as the peers want them: all numbers, codes of levels, factors, or cells as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.harness.model import Columns

MISSING, UNSEEN = -1, -2


@dataclass(frozen=True, eq=False)
class Number:
    """A column of numbers; a scale of 0 says that all of them are the same."""

    mean: float
    scale: float
    missing: bool  # some cells of training, but not all

    @classmethod
    def of(cls, x: np.ndarray) -> Number:
        """Learn from a column of training."""
        x = np.asarray(x, dtype=float)
        known = x[~np.isnan(x)]
        # A constant column may get a tiny standard deviation by rounding.
        varies = known.size > 0 and known.min() < known.max()
        mean, scale = (float(known.mean()), float(known.std())) if varies else (0.0, 0.0)
        return cls(mean, scale, 0 < known.size < x.size)

    def parts(self, x: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        """The standardised numbers, the mean where one is missing; then where they are missing."""
        x = np.asarray(x, dtype=float)
        missing = np.isnan(x)
        if self.scale:
            yield "number", np.where(missing, 0.0, (x - self.mean) / self.scale)
        if self.missing:
            yield "factor", missing.astype(float)


@dataclass(frozen=True, eq=False)
class Labels:
    """A column of labels, text or numbers: its levels in order."""

    levels: np.ndarray
    missing: bool  # some cells of training
    common: int  # the most frequent code of training

    @classmethod
    def of(cls, x: np.ndarray) -> Labels:
        """Learn from a column of training."""
        cells, missing = _cells(x)
        levels, counts = np.unique(cells[~missing], return_counts=True)
        absent = int(missing.sum())
        common = levels.size if absent > counts.max(initial=0) else int(np.argmax(counts))
        return cls(levels, absent > 0, common)

    @property
    def size(self) -> int:
        """How many levels training has; a missing cell counts as a level of its own."""
        return self.levels.size + self.missing

    def codes(self, x: np.ndarray) -> np.ndarray:
        """The position of each level; MISSING or UNSEEN where there is none."""
        cells, missing = _cells(x)
        codes = np.full(cells.size, UNSEEN)
        if self.levels.size:
            places = np.minimum(np.searchsorted(self.levels, cells), self.levels.size - 1)
            codes = np.where(self.levels[places] == cells, places, UNSEEN)
        return np.where(missing, MISSING, codes)

    def parts(self, x: np.ndarray) -> Iterator[np.ndarray]:
        """One column of 0 and 1 for each level; none if there is but one level."""
        if self.size < 2:
            return
        codes = self.codes(x)
        for code in [*range(self.levels.size), *([MISSING] if self.missing else [])]:
            yield (codes == code).astype(float)

    def factor(self, x: np.ndarray) -> np.ndarray:
        """Codes from 0 on, the last for a missing cell; a level never seen gets the most frequent code."""
        codes = self.codes(x)
        unknown = (codes == UNSEEN) | ((codes == MISSING) & (not self.missing))
        return np.where(unknown, self.common, np.where(codes == MISSING, self.levels.size, codes))


@dataclass(frozen=True, eq=False)
class Numbers:
    """All columns as numbers: standardised, or 0 and 1 for each level; a level never seen is all 0."""

    columns: dict[str, Number | Labels]

    @classmethod
    def of(cls, X: Columns, categorical: Sequence[str]) -> Numbers:
        """Learn from the columns of training."""
        return cls(_learned(X, categorical))

    def rows(self, X: Columns) -> np.ndarray:
        """A matrix of rows."""
        found: list[np.ndarray] = []
        for name, column in self.columns.items():
            if isinstance(column, Number):
                found += [part for _, part in column.parts(X[name])]
            else:
                found += column.parts(X[name])
        return _matrix(found, X)


@dataclass(frozen=True, eq=False)
class Codes:
    """Numbers as they are and levels as codes, NaN where a cell is missing or its level never seen."""

    columns: dict[str, Number | Labels]

    @classmethod
    def of(cls, X: Columns, categorical: Sequence[str]) -> Codes:
        """Learn from the columns of training."""
        return cls(_learned(X, categorical))

    @property
    def labels(self) -> list[int]:
        """The positions of the columns of labels."""
        return [at for at, column in enumerate(self.columns.values()) if isinstance(column, Labels)]

    def rows(self, X: Columns) -> np.ndarray:
        """A matrix of rows."""
        return _matrix([self._column(name, X[name]) for name in self.columns], X)

    def _column(self, name: str, x: np.ndarray) -> np.ndarray:
        column = self.columns[name]
        if isinstance(column, Number):
            return np.asarray(x, dtype=float)
        codes = column.codes(x)
        return np.where(codes < 0, np.nan, codes)


@dataclass(frozen=True, eq=False)
class Factors:
    """Standardised numbers and levels as codes, without any missing cell; `kinds` says which is which."""

    columns: dict[str, Number | Labels]
    kinds: tuple[str, ...]  # "number" or "factor"

    @classmethod
    def of(cls, X: Columns, categorical: Sequence[str]) -> Factors:
        """Learn from the columns of training."""
        columns = _learned(X, categorical)
        kinds = [kind for name, column in columns.items() for kind, _ in _factors(column, X[name])]
        return cls(columns, tuple(kinds))

    def rows(self, X: Columns) -> np.ndarray:
        """A matrix of rows."""
        return _matrix(
            [part for name, column in self.columns.items() for _, part in _factors(column, X[name])], X
        )


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells as they are, labels as text and None where they are missing."""

    columns: dict[str, Number | Labels]

    @classmethod
    def of(cls, X: Columns, categorical: Sequence[str]) -> Cells:
        """Learn from the columns of training."""
        return cls(_learned(X, categorical))

    @property
    def kinds(self) -> list[str]:
        """Of each column, "nominal" or "continuous"."""
        return ["nominal" if isinstance(c, Labels) else "continuous" for c in self.columns.values()]

    def rows(self, X: Columns) -> np.ndarray:
        """A matrix of numbers; of objects if there are labels, which takes longer to read."""
        if all(isinstance(column, Number) for column in self.columns.values()):
            return _matrix([X[name] for name in self.columns], X)
        found = np.empty((_count(X), len(self.columns)), dtype=object)
        for at, (name, column) in enumerate(self.columns.items()):
            if isinstance(column, Number):
                found[:, at] = np.asarray(X[name], dtype=float)
            else:
                cells, missing = _cells(X[name])
                found[:, at] = np.where(missing, None, cells.astype(str).astype(object))
        return found


def _learned(X: Columns, categorical: Sequence[str]) -> dict[str, Number | Labels]:
    return {
        name: Labels.of(x) if name in categorical or not _is_number(x) else Number.of(x)
        for name, x in X.items()
    }


def _factors(column: Number | Labels, x: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    if isinstance(column, Number):
        yield from column.parts(x)
    elif column.size > 1:
        yield "factor", column.factor(x)


def _cells(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The labels, numbers or text, and where they are missing."""
    if _is_number(x):
        cells = np.asarray(x, dtype=float)
        return cells, np.isnan(cells)
    # NaN is the only value that is not itself.
    missing = np.array([cell is None or cell != cell for cell in x.tolist()], dtype=bool)
    return np.where(missing, "", x).astype(str), missing


def _is_number(x: np.ndarray) -> bool:
    return x.dtype.kind in "biuf"


def _matrix(columns: Sequence[np.ndarray], X: Columns) -> np.ndarray:
    if not columns:
        return np.empty((_count(X), 0))
    return np.column_stack(columns).astype(float)


def _count(X: Columns) -> int:
    return len(next(iter(X.values())))
