"""The variance of every term, summed over a tile of pairs of centres, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, fastmath=True)
def add_terms(L, root, max_order, totals):
    """totals[t] += sum_p root_p prod_{d in u_t} L[d, p] over the subsets u_t of at most max_order columns.

    Subsets come in depth-first order: (0), (0, 1), (0, 1, 2), .., (0, 2), .., (1), ... A subset reuses the
    product of the subset it extends.
    """
    D, P = L.shape
    products = np.empty((max_order + 1, P))
    products[0] = root
    chosen = np.empty(max_order + 1, dtype=np.int64)
    depth, column, t = 0, 0, 0
    while True:
        if column < D and depth < max_order:
            depth += 1
            chosen[depth] = column
            above, here, factor = products[depth - 1], products[depth], L[column]
            total = 0.0
            for p in range(P):
                here[p] = above[p] * factor[p]
                total += here[p]
            totals[t] += total
            t += 1
            column += 1
        else:
            if depth == 0:
                return
            column = chosen[depth] + 1
            depth -= 1
