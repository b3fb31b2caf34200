"""Rows lengthened by a constant: what a kernel of the angle reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from termwise.encode.dense import MixedEncoder
from termwise.encode.scale import Array
from termwise.table import Table

FAR = 1e50  # beyond it the variance, a fourth power, is no number any more


@dataclass(frozen=True, eq=False)
class SphericalEncoder(MixedEncoder):
    """Tables to rows (scale_1 x_1, .., scale_D x_D, 1, tag), x being the numbers of `dense`.

    The tag is zero, which is that of a row.
    """

    scales: Array

    @property
    def names(self) -> tuple[()]:
        """No column has an effect by itself."""
        return ()

    @property
    def labels(self) -> tuple[()]:
        """There is no axis to stand at."""
        return ()

    @property
    def columns(self) -> tuple[()]:
        """No number of a row goes back to one cell."""
        return ()

    def transform(self, table: Table, *, owner: str = "the model") -> Array:
        """The rows lengthened, (n, D + 2)."""
        numbers = np.clip(self.dense.transform(table, owner=owner) * self.scales, -FAR, FAR)
        n = len(numbers)
        return np.column_stack([numbers, np.ones(n), np.zeros(n)])
