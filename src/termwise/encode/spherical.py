"""Rows lengthened by a constant: what a kernel of the angle reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from termwise.encode.dense import DenseEncoder
from termwise.encode.scale import Array
from termwise.table import Schema, Table


@dataclass(frozen=True, eq=False)
class SphericalEncoder:
    """Tables to rows (scale_1 x_1, .., scale_D x_D, 1, tag), x being the numbers of `dense`.

    The tag is zero, which is that of a row.
    """

    dense: DenseEncoder
    scales: Array

    @property
    def schema(self) -> Schema:
        """The columns of the table."""
        return self.dense.encoder.schema

    @property
    def used(self) -> tuple[str, ...]:
        """The columns of the table that have an effect."""
        return self.dense.encoder.names

    @property
    def names(self) -> tuple[()]:
        """No column has an effect by itself."""
        return ()

    @property
    def labels(self) -> tuple[()]:
        """None."""
        return ()

    @property
    def columns(self) -> tuple[()]:
        """None."""
        return ()

    def transform(self, table: Table, *, owner: str = "the model") -> Array:
        """The rows lengthened, (n, D + 2)."""
        numbers = self.dense.transform(table, owner=owner) * self.scales
        n = len(numbers)
        return np.column_stack([numbers, np.ones(n), np.zeros(n)])
