"""Log determinants from what Lanczos' tridiagonal matrices tell of eigenvalues: stochastic quadrature."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh_tridiagonal

from termwise.errors import NumericalError
from termwise.linalg.conjugate_gradients import Solved
from termwise.measures.base import Array


def log_quadratics(solved: Solved, squares: Array) -> Array:
    """z' P^-1/2 log(P^-1/2 K P^-1/2) P^-1/2 z for each right-hand side z, `squares` being z' P^-1 z.

    For z with the covariance P the mean of it is log det K - log det P (Dong et al. 2017).
    """
    found = np.zeros(squares.size)
    for k, square in enumerate(squares):
        if solved.steps:
            eigenvalues, vectors = eigh_tridiagonal(solved.diagonals[k], solved.beside[k])
            if eigenvalues[0] <= 0.0:
                raise NumericalError("an iterated matrix is not positive definite; use more noise")
            found[k] = square * float(np.sum(vectors[0] ** 2 * np.log(eigenvalues)))
    return found
