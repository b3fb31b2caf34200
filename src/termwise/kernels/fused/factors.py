"""Matern kernels without an exponential for every pair of rows.

exp(-r |u - v|) = min(exp(-r u) exp(r v), exp(r u) exp(-r v)): with these factors of every row at hand a
pair costs two products. Coordinates are taken from the middle of their range, so that the factors stay small.
"""

from __future__ import annotations

from numba import njit

from termwise.kernels.fused.block import (
    AMPLITUDE,
    BLOCK,
    COORDINATE,
    DOWN,
    FAST,
    MATERN12,
    MATERN52,
    MISSING,
    UP,
    exponential,
    rate_of,
)
from termwise.measures.base import Array

# The relative error of exp(c) is |c| times that of c: up to here about 1e-14. A column that reaches farther
# keeps its exponentials, which have a smaller argument where they matter.
LIMIT = 60.0


@njit(fastmath=FAST, error_model="numpy")
def factor_block(
    kind: int, shift: float, X: Array, d: int, first: int, step: int, out: Array, j: int
) -> None:
    """out[d, j, UP] = exp(r (x - shift)) and DOWN its inverse, for x = X[d, first], X[d, first + step], ..

    Both are zero for a missing cell, whose kernel values vanish, and behind the end of X.
    """
    rate = rate_of(kind)
    for b in range(BLOCK):
        i = first + b * step
        out[d, j, UP, b] = X[d, i] if i < X.shape[1] else MISSING
    for b in range(BLOCK):
        known = 0.0 if out[d, j, UP, b] == MISSING else 1.0
        c = rate * known * (out[d, j, UP, b] - shift)
        up = exponential(c)
        out[d, j, UP, b] = known * up
        out[d, j, DOWN, b] = known / up


@njit(cache=True, nogil=True, error_model="numpy")
def fill_blocks(kinds: Array, u: Array, a: Array, shift: Array, right: Array) -> None:
    """Lay coordinates, amplitudes and factors of the rows out in right: zeros, (D, blocks, 4, BLOCK).

    Missing cells move to the other side of the line: two of them are then as far from each other as from all
    the rest. Factors are of the distance to shift, the middle of the column; for a column too wide for them
    that is MISSING, out of reach of every row.
    """
    D, n = u.shape
    for d in range(D):
        shift[d], low, high = MISSING, MISSING, -MISSING
        for i in range(n):
            x = -MISSING if u[d, i] == MISSING else u[d, i]
            right[d, i // BLOCK, COORDINATE, i % BLOCK] = x
            right[d, i // BLOCK, AMPLITUDE, i % BLOCK] = a[d, i]
            low, high = min(low, u[d, i]), max(high, x)
        if MATERN12 <= kinds[d] <= MATERN52:
            if low > high:
                low, high = 0.0, 0.0
            if rate_of(kinds[d]) * 0.5 * (high - low) <= LIMIT:
                shift[d] = 0.5 * (low + high)
                for j in range(right.shape[1]):
                    factor_block(kinds[d], shift[d], u, d, j * BLOCK, 1, right, j)


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def by_factors(kinds: Array, u: Array, shift: Array) -> Array:
    """The kinds, negative where all left-hand rows are near enough to the middle of the right-hand ones."""
    out = kinds.copy()
    for d in range(u.shape[0]):
        if MATERN12 <= kinds[d] <= MATERN52:
            reach = 0.0
            for i in range(u.shape[1]):
                reach = max(reach, 0.0 if u[d, i] == MISSING else abs(u[d, i] - shift[d]))
            if rate_of(kinds[d]) * reach <= LIMIT:
                out[d] = -kinds[d]
    return out
