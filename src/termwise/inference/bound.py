"""The collapsed bound on the log marginal likelihood, as a function of sums over rows. Titsias (2009).

With Kuu = U'U the kernel between inducing rows, k_n that between them and row n, a_n = U^-T k_n and w_n the
precision of row n,

    2 F = sum_n [log w_n - w_n y_n^2 - w_n (k_nn - |a_n|^2) - log 2 pi] - log|I + A| + b' (I + A)^-1 b,
    A = sum_n w_n a_n a_n',  b = sum_n w_n y_n a_n.

Sums of a_n and not of k_n: products with Kuu^-1 afterwards would lose as many digits as Kuu's condition has.

The last of the inducing variables may be orthogonal: what is known of them is kept apart from what is known
of the others, q(u) q(v'). As U is triangular, a_n has first what the first inducing variables tell of row n,
and behind it what is left for the others. So the means are those of one regression, and instead of I + A its
two blocks on the diagonal stand in the determinant and in the covariance. Spherical (2023), section 3.3.
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

    C is the covariance: (I + A)^-1, or the inverse of its two blocks. With `mean` = (I + A)^-1 b and H, the
    `curvature` I - C - mean mean', dF/dk_n = w_n U^-1 (H a_n + y_n mean) and dF/dKuu = U^-1 inner U^-T / 2.
    """

    value: float
    mean: Array
    curvature: Array
    inner: Array
    outer: Array  # A, or its blocks that the covariance is made of

    @classmethod
    def of(cls, sums: Sums, orthogonal: Decoupled | None = None) -> Bound:
        """Evaluate it; the last of the inducing variables may be orthogonal to the others."""
        identity = np.eye(sums.linear.size)
        outer = np.triu(sums.outer) + np.triu(sums.outer, 1).T
        whole = _factor(identity + outer)
        mean = cho_solve(whole, sums.linear)
        constant = sums.n_rows * np.log(2.0 * np.pi)
        if orthogonal is None:
            taken, factor, left = outer, whole, 0.0
        else:
            taken, left = orthogonal.apart(outer)
            factor = _factor(identity + taken)
        log_determinant = 2.0 * float(np.sum(np.log(np.diag(factor[0]))))
        value = 0.5 * (sums.own - constant - log_determinant - left + float(sums.linear @ mean))
        curvature = identity - cho_solve(factor, identity) - np.outer(mean, mean)
        if orthogonal is None:
            return cls(value, mean, curvature, curvature - outer, outer)
        # With blocks F depends on U itself and not on U'U alone: the gradient for U has the lower triangle of
        # sum_n a_n (dF/da_n)', and that for Kuu is symmetric with it.
        back = curvature @ outer + np.outer(mean, sums.linear)
        return cls(value, mean, curvature, -(np.tril(back) + np.tril(back, -1).T), taken)


@dataclass(frozen=True)
class Decoupled:
    """How many inducing variables, the last of them, are orthogonal to the others.

    With `mean_only` nothing is learned of their covariance: they mend the mean alone.
    """

    count: int
    mean_only: bool = False

    def apart(self, outer: Array) -> tuple[Array, float]:
        """The blocks of A on the diagonal of which the covariance is made, and the trace of what is left."""
        blocks, first = outer.copy(), len(outer) - self.count
        blocks[:first, first:] = blocks[first:, :first] = 0.0
        left = float(np.trace(outer[first:, first:])) if self.mean_only else 0.0
        if self.mean_only:
            blocks[first:, first:] = 0.0
        return blocks, left


def _factor(matrix: Array) -> tuple[Array, bool]:
    try:
        factor, lower = cho_factor(matrix, lower=True)
    except (LinAlgError, ValueError) as error:  # not finite, where lengthscales and noise are extreme
        raise NumericalError(f"the sums over rows are no numbers to compute with: {error}") from None
    return factor, lower


def shrinkage_root(outer: Array) -> Array:
    """R with R R' = I - (I + A)^-1: how much of the prior variance the rows have taken.

    The sum of its squares is the effective number of parameters.
    """
    eigenvalues, vectors = np.linalg.eigh(outer)
    a = np.maximum(eigenvalues, 0.0)
    root: Array = vectors * np.sqrt(a / (1.0 + a))
    return root
