"""Cholesky factors that say how much had to be added to the diagonal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from termwise.errors import NumericalError
from termwise.linalg.in_place import in_place, invert_upper
from termwise.measures.base import Array

JITTERS = (0.0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)  # relative to the mean of the diagonal


@dataclass(frozen=True, eq=False)
class Factor:
    """U with U'U = A + jitter I, in the Fortran order of LAPACK; below the diagonal is anything."""

    upper: Array
    jitter: float

    @property
    def log_determinant(self) -> float:
        """log det(A + jitter I)."""
        return 2.0 * float(np.sum(np.log(np.diag(self.upper))))

    def solve(self, b: Array) -> Array:
        """(A + jitter I)^-1 b."""
        solution: Array = lapack.dpotrs(self.upper, b, lower=0)[0]
        return solution

    def inverse_in_place(self) -> Array:
        """The part of (A + jitter I)^-1 below the diagonal, row-major, in the memory of the factor itself."""
        info = in_place("dpotri", self.upper)
        assert info == 0, "a factor with a positive diagonal can be inverted"
        return self.upper.T

    def inverse_root(self) -> Array:
        """U^-1, upper triangular: (A + jitter I)^-1 = U^-1 U^-T."""
        root = np.array(self.upper, order="F")
        invert_upper(root)
        return np.triu(root)


def factorise(A: Array, fill: Callable[[Array], None]) -> Factor:
    """Factorise what `fill` writes into A (row-major, on and below the diagonal), in place.

    If it is not positive definite `fill` writes it again and ten times more is added to the diagonal.
    """
    n = A.shape[0]
    for relative in JITTERS:
        fill(A)
        diagonal = A.reshape(-1)[:: n + 1]
        if not np.all(np.isfinite(diagonal)):
            raise NumericalError("the kernel matrix is not finite; check the table for extreme values")
        jitter = relative * float(np.mean(diagonal))
        diagonal += jitter
        if in_place("dpotrf", A.T) == 0:
            return Factor(A.T, jitter)
    raise NumericalError(
        f"the kernel matrix of {n} rows is not positive definite even with {JITTERS[-1]:g} of its diagonal "
        "added; look for duplicate rows with a noise close to zero, or raise the lower bound of the noise"
    )
