"""The collapsed bound on the log marginal likelihood, as a function of sums over rows. Titsias (2009).

With Kuu = U'U the kernel between inducing rows, k_n that between them and row n, a_n = U^-T k_n and w_n the
precision of row n,

    2 F = sum_n [log w_n - w_n y_n^2 - w_n (k_nn - |a_n|^2) - log 2 pi] - log|I + A| + b' (I + A)^-1 b,
    A = sum_n w_n a_n a_n',  b = sum_n w_n y_n a_n.

Sums of a_n and not of k_n: products with Kuu^-1 afterwards would lose as many digits as Kuu's condition has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from termwise.errors import NumericalError
from termwise.inference.summed import Summed
from termwise.measures.base import Array


@dataclass(frozen=True, eq=False)
class Sums(Summed):
    """What the bound needs of some rows; sums of different rows can be added."""

    n_rows: int
    own: float  # sum_n log w_n - w_n y_n^2 - w_n (k_nn - |a_n|^2)
    outer: Array  # A, of which only the upper triangle is read
    linear: Array


@dataclass(frozen=True, eq=False)
class Bound:
    """The bound, and what its gradient and the posterior need, in the coordinates of a_n.

    `mean` is (I + A)^-1 b and `curvature` is H = I - (I + A)^-1 - mean mean'. Then
    dF/dk_n = w_n U^-1 (H a_n + y_n mean) and dF/dKuu = U^-1 (H - A) U^-T / 2.
    """

    value: float
    mean: Array
    curvature: Array
    outer: Array

    @classmethod
    def of(cls, sums: Sums) -> Bound:
        """Evaluate it."""
        identity = np.eye(sums.linear.size)
        outer = np.triu(sums.outer) + np.triu(sums.outer, 1).T
        try:
            factor = cho_factor(identity + outer, lower=True)
        except (LinAlgError, ValueError) as error:  # not finite, where lengthscales and noise are extreme
            raise NumericalError(f"the sums over rows are no numbers to compute with: {error}") from None
        mean = cho_solve(factor, sums.linear)
        log_determinant = 2.0 * float(np.sum(np.log(np.diag(factor[0]))))
        constant = sums.n_rows * np.log(2.0 * np.pi)
        value = 0.5 * (sums.own - constant - log_determinant + float(sums.linear @ mean))
        curvature = identity - cho_solve(factor, identity) - np.outer(mean, mean)
        return cls(value, mean, curvature, outer)


def shrinkage_root(outer: Array) -> Array:
    """R with R R' = I - (I + A)^-1: how much of the prior variance the rows have taken.

    The sum of its squares is the effective number of parameters.
    """
    eigenvalues, vectors = np.linalg.eigh(outer)
    a = np.maximum(eigenvalues, 0.0)
    root: Array = vectors * np.sqrt(a / (1.0 + a))
    return root
