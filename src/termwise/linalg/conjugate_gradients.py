"""Preconditioned conjugate gradients for several right-hand sides, and what their steps tell besides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from termwise.errors import NumericalError
from termwise.measures.base import Array

Linear = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Solved:
    """K x = b for the columns of b, and how near it is: `residual` is |b - K x| / |b| of each.

    `diagonals` and `beside` are the tridiagonal matrices of Lanczos, (k, steps) and (k, steps - 1), as far as
    a column was not solved yet; a solved one goes on with ones and zeros, whose logarithm is zero.
    """

    x: Array
    residual: Array
    steps: int
    converged: bool
    diagonals: Array
    beside: Array

    def of(self, columns: slice) -> Solved:
        """The same of some of the right-hand sides."""
        x, residual = self.x[:, columns], self.residual[columns]
        diagonals, beside = self.diagonals[columns], self.beside[columns]
        return replace(self, x=x, residual=residual, diagonals=diagonals, beside=beside)


def solve(K: Linear, b: Array, preconditioner: Linear, *, tolerance: float, most_steps: int) -> Solved:
    """Solve K x = b to |b - K x| <= tolerance |b|, K and the preconditioner being positive definite.

    The preconditioner is about the inverse of K; both take and give (n, k).
    """
    x, r = np.zeros(b.shape), b.copy()
    z = preconditioner(r)
    p, rz = z.copy(), _inner(r, z)
    size = np.sqrt(_inner(b, b))
    size[size == 0.0] = 1.0
    lengths: list[Array] = []
    turns: list[Array] = []
    residual = np.sqrt(_inner(r, r)) / size
    while len(lengths) < most_steps and np.any(residual > tolerance):
        active = residual > tolerance
        Kp = K(p)
        bend = _inner(p, Kp)
        if np.any(bend[active] <= 0.0):
            raise NumericalError("an iterated matrix is not positive definite; use more noise")
        length = np.where(active, rz / np.where(active, bend, 1.0), 0.0)
        x += length * p
        r -= length * Kp
        z = preconditioner(r)
        new = _inner(r, z)
        turn = np.where(active & (rz > 0.0), new / np.where(rz > 0.0, rz, 1.0), 0.0)
        p = np.where(active, z + turn * p, 0.0)
        rz = new
        lengths.append(length)
        turns.append(turn)
        residual = np.where(active, np.sqrt(_inner(r, r)) / size, residual)
    diagonals, beside = _tridiagonal(np.array(lengths).reshape(-1, b.shape[1]), np.array(turns))
    return Solved(x, residual, len(lengths), bool(np.all(residual <= tolerance)), diagonals, beside)


def _inner(a: Array, b: Array) -> Array:
    product: Array = np.einsum("nk,nk->k", a, b)
    return product


def _tridiagonal(lengths: Array, turns: Array) -> tuple[Array, Array]:
    """Lanczos' matrix: 1 / a_i + b_{i-1} / a_{i-1} on the diagonal, sqrt(b_i) / a_i beside it."""
    steps, count = lengths.shape
    diagonals, beside = np.ones((count, steps)), np.zeros((count, max(steps - 1, 0)))
    for i in range(steps):
        active = lengths[i] > 0.0
        inverse = 1.0 / np.where(active, lengths[i], 1.0)
        diagonals[active, i] = inverse[active]
        if i > 0:
            before = np.where(active, turns[i - 1] / np.where(active, lengths[i - 1], 1.0), 0.0)
            diagonals[:, i] += before
            beside[:, i - 1] = np.where(
                active, np.sqrt(turns[i - 1]) / np.where(active, lengths[i - 1], 1.0), 0.0
            )
    return diagonals, beside
