"""Rows along directions: what is left of a table after projection."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from termwise.encode.dense import MixedEncoder
from termwise.encode.scale import Array
from termwise.table import Table, shortened


@dataclass(frozen=True)
class Coordinate:
    """A coordinate is its own code."""

    def forward(self, values: np.ndarray) -> Array:
        """As it is."""
        return np.asarray(values, dtype=np.float64)

    def inverse(self, z: Array) -> Array:
        """As it is."""
        return z


LEADING, LEAST = 3, 0.05  # numbers that a direction is described by, and what they are at least
SHORT = 20  # letters of their names
TOGETHER = "\N{NO-BREAK SPACE}"  # where a line is not to be broken


def _made_of(loadings: Array, names: tuple[str, ...]) -> str:
    """Such as "+ 0.9 weight - 0.3 age ..": the largest loadings, in parts of the length of all."""
    parts = loadings / (float(np.linalg.norm(loadings)) or 1.0)
    leading = [i for i in np.argsort(-np.abs(parts), kind="stable")[:LEADING] if abs(parts[i]) >= LEAST]
    said = [
        f"{'-' if parts[i] < 0 else '+'} {abs(parts[i]):.1f} {shortened(names[i], SHORT)}" for i in leading
    ]
    more = [".."] if np.sum(np.abs(parts) >= LEAST) > LEADING else []
    return " ".join(part.replace(" ", TOGETHER) for part in [*said, *more])


@dataclass(frozen=True, eq=False)
class ProjectedEncoder(MixedEncoder):
    """Tables to coordinates: `projection` has a row for each, with a loading of each number of `dense`.

    `groups` are the numbers of coordinates that belong together.
    """

    projection: Array
    groups: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Such as "direction 3", or "direction 3.1" and so on if it has several coordinates."""
        found = []
        for number, size in enumerate(self.groups, start=1):
            several = [f"direction {number}.{part + 1}" for part in range(size)]
            found += [f"direction {number}"] if size == 1 else several
        return tuple(found)

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of each coordinate, and the numbers that move a row most along it."""
        pairs = zip(self.names, self.projection, strict=True)
        return tuple(f"{name}\n{_made_of(loadings, self.dense.names)}" for name, loadings in pairs)

    @property
    def columns(self) -> tuple[Coordinate, ...]:
        """How each coordinate is encoded: not at all."""
        return (Coordinate(),) * len(self.projection)

    def transform(self, table: Table, *, owner: str = "the model") -> Array:
        """The coordinates of the rows, (n, C)."""
        return self.dense.transform(table, owner=owner) @ self.projection.T
