"""The kernel of a column with levels: a covariance matrix between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from termwise.errors import OptionError
from termwise.kernels.column import ColumnKernel
from termwise.measures.base import Array


@dataclass(frozen=True)
class Categorical(ColumnKernel):
    """A = W W' + diag(kappa) between level codes 0 .. L-1, with W of rank one. OAK eq. 19."""

    name: ClassVar[str] = "categorical"

    loadings: tuple[float, ...] = (0.0, 0.0)
    kappa: tuple[float, ...] = (1.0, 1.0)

    def __post_init__(self) -> None:
        if len(self.loadings) != len(self.kappa) or not self.kappa:
            raise OptionError(
                f"{len(self.loadings)} loadings and {len(self.kappa)} kappas; give one of each a level"
            )
        if min(self.kappa) <= 0.0:
            raise OptionError(f"kappa is {min(self.kappa)}; it must be above zero")

    @property
    def table(self) -> Array:
        """A for all pairs of levels."""
        return np.outer(self.loadings, self.loadings) + np.diag(self.kappa)

    def evaluate(self, x: Array, y: Array) -> Array:
        """A[x, y] element by element."""
        value: Array = self.table[np.asarray(x).astype(np.intp), np.asarray(y).astype(np.intp)]
        return value
