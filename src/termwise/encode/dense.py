"""All columns as numbers beside each other: for models that mix columns before they look at them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from termwise.encode.encoder import Encoder, LevelEncoder
from termwise.encode.scale import Array
from termwise.table import Schema, Table, level_text


@dataclass(frozen=True)
class DenseEncoder:
    """Numbers standardised, levels one-hot, and where cells were missing a number that says so.

    `parts` has for each column that is encoded how often it was missing, and the frequencies of its levels
    among the others, if it has some. A column of levels has a total variance of one, as a number has. A
    missing cell and an unknown level stand at the mean.
    """

    encoder: Encoder
    parts: tuple[tuple[float, ...], ...]

    @classmethod
    def fit(cls, encoder: Encoder, X: Array) -> DenseEncoder:
        """Count levels and missing cells in encoded rows."""
        parts = []
        for column, x in zip(encoder.columns, X.T, strict=True):
            known = x[~np.isnan(x)]
            frequencies: list[float] = []
            if isinstance(column, LevelEncoder):
                counts = np.bincount(known.astype(np.intp), minlength=len(column.levels))
                frequencies = (counts / max(known.size, 1)).tolist()
            parts.append((1.0 - known.size / x.size, *frequencies))
        return cls(encoder, tuple(parts))

    @property
    def names(self) -> tuple[str, ...]:
        """What each number says: "age", "city=Oslo", "age missing"."""
        return tuple(name for name, _ in self._features())

    @property
    def sources(self) -> tuple[int, ...]:
        """The position of the column that each number comes from, among those that are encoded."""
        return tuple(source for _, source in self._features())

    def _features(self) -> list[tuple[str, int]]:
        found = []
        for place, (name, column) in enumerate(zip(self.encoder.names, self.encoder.columns, strict=True)):
            if isinstance(column, LevelEncoder):
                found += [(f"{name}={level_text(level)}", place) for level in column.levels]
            else:
                found.append((name, place))
            found += [(f"{name} missing", place)] * (self.parts[place][0] > 0.0)
        return found

    def spread(self, X: Array) -> Array:
        """Encoded rows as numbers alone, (n, features)."""
        out, place = np.empty((len(X), len(self.names))), 0
        for column, (lost, *part), x in zip(self.encoder.columns, self.parts, X.T, strict=True):
            missing = np.isnan(x)
            if isinstance(column, LevelEncoder):
                scale = np.sqrt(1.0 - sum(frequency**2 for frequency in part))
                for level, frequency in enumerate(part):
                    out[:, place + level] = np.where(missing, 0.0, ((x == level) - frequency) / scale)
                place += len(part)
            else:
                out[:, place] = np.where(missing, 0.0, x)
                place += 1
            if lost > 0.0:
                out[:, place] = (missing - lost) / np.sqrt(lost * (1.0 - lost))
                place += 1
        return out

    def variance_along(self, slopes: Array) -> Array:
        """The variance of a function of such slopes, (n, features), as the cells of each column vary, (n, D).

        All levels of a column vary together: a row has one of them.
        """
        out, place = np.zeros((len(slopes), len(self.parts))), 0
        for d, (column, (lost, *part)) in enumerate(zip(self.encoder.columns, self.parts, strict=True)):
            if isinstance(column, LevelEncoder):
                own, f = slopes[:, place : place + len(part)], np.array(part)
                out[:, d] = (1.0 - lost) * ((own**2) @ f - (own @ f) ** 2) / (1.0 - f @ f)
                place += len(part)
            else:
                out[:, d] = (1.0 - lost) * slopes[:, place] ** 2
                place += 1
            if lost > 0.0:
                out[:, d] += slopes[:, place] ** 2
                place += 1
        return out

    def transform(self, table: Table, *, owner: str = "the model") -> Array:
        """The rows of a table as numbers alone."""
        return self.spread(self.encoder.transform(table, owner=owner))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {**self.encoder.to_dict(), "parts": [list(part) for part in self.parts]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> DenseEncoder:
        """Read what `to_dict` wrote."""
        return cls(Encoder.from_dict(data), tuple(tuple(map(float, part)) for part in data["parts"]))


@dataclass(frozen=True, eq=False)
class MixedEncoder:
    """Abstract: the way of a table to rows in which the numbers of `dense` are mixed."""

    dense: DenseEncoder

    @property
    def schema(self) -> Schema:
        """The columns of the table."""
        return self.dense.encoder.schema

    @property
    def used(self) -> tuple[str, ...]:
        """The columns of the table that have an effect."""
        return self.dense.encoder.names
