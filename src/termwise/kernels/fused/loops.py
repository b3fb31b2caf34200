"""The compiled loops over pairs of rows: the additive kernel and its adjoint.

For a pair of rows the column kernels z_1 .. z_D are evaluated, the elementary symmetric polynomials
follow from e_r <- e_r + z_d e_{r-1} (stable, unlike Newton-Girard), and only sum_r s_r e_r is kept:
nothing of size D x N x N ever exists. The adjoint repeats the recursion keeping its D prefixes in a
block that fits the first-level cache, then runs it backwards.

Every function takes `start` and `step`, the rows it is to do, and releases the GIL: the number of
threads is the caller's choice, and no threading layer of Numba is involved.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from termwise.kernels.fused.block import (
    BLOCK,
    COORDINATE,
    DOWN,
    FAST,
    TABLE,
    UP,
    VALUE,
    add_column,
    add_up,
    column_adjoint,
    dot,
    extend,
    retract,
    slope_block,
    value_block,
)
from termwise.kernels.fused.factors import factor_block

OPTIONS = {"cache": True, "nogil": True, "fastmath": FAST, "error_model": "numpy"}


@njit(**OPTIONS)
def gram_rows(kinds, weight, tables, s, X, a_x, shift, right, K, symmetric, start, step):
    """K[i, j] = sum_r s_r e_r(z), z_d = weight_d k(x, x') - a(x) a(x') or table_d[x, x'].

    A column by table has the kind TABLE + its position among the tables.

    X, a_x are (D, n), the other rows as `fill_blocks` lays them out. Tiles of rows meet one block after the
    other, which stays in the first-level cache. When symmetric only the part strictly below the diagonal is
    filled.
    """
    (D, n), R = X.shape, s.shape[0] - 1
    e, z = np.ones((R + 1, BLOCK)), np.empty(BLOCK)
    left = np.zeros((D, 1, 4, BLOCK))  # the factors of a tile of rows
    for tile in range(start, n, BLOCK * step):
        for d in range(D):
            if kinds[d] < 0:
                factor_block(-kinds[d], shift[d], X, d, tile, step, left, 0)
        for j in range(right.shape[1]):
            first = j * BLOCK
            for m in range(min(BLOCK, (n - tile + step - 1) // step)):
                i = tile + m * step
                size = min(BLOCK, (i if symmetric else K.shape[1]) - first)
                if size <= 0:
                    continue
                for r in range(1, R + 1):
                    for b in range(BLOCK):
                        e[r, b] = 0.0
                for d in range(D):
                    x, w, ai = X[d, i], weight[d], a_x[d, i]
                    if kinds[d] >= TABLE:
                        for b in range(BLOCK):
                            z[b] = tables[kinds[d] - TABLE, int(x), int(right[d, j, COORDINATE, b])]
                    else:
                        value_block(
                            kinds[d], x, left[d, 0, UP, m], left[d, 0, DOWN, m], w, ai, right, d, j, z
                        )
                    add_column(z, e, min(R, d + 1))
                for b in range(BLOCK):
                    z[b] = s[0]
                for r in range(1, R + 1):
                    for b in range(BLOCK):
                        z[b] += s[r] * e[r, b]
                for b in range(size):
                    K[i, first + b] = z[b]


@njit(**OPTIONS)
def adjoint_rows(kinds, weight, tables, s, X, a_x, shift, right, G, outer, inner, symmetric, start, step):
    """Gradients of sum_ij (G_ij + outer_i inner_j) K_ij for all that gram_rows read.

    When symmetric the sum is over i > j and counts twice. Returns the gradients of s, weight, tables,
    X, a_x and the coordinates and amplitudes in right, as far as the rows start, start + step, .. contribute.
    """
    (D, n), R = X.shape, s.shape[0] - 1
    g_s, g_weight, g_tables = np.zeros(R + 1), np.zeros(D), np.zeros(tables.shape)
    g_X, g_ax = np.zeros(X.shape), np.zeros(X.shape)
    g_right = np.zeros((D, right.shape[1], 2, BLOCK))
    prefix = np.zeros((D + 1, R + 1, BLOCK))  # e_r of the first d columns stays zero for r > d
    last = prefix[D]
    own = np.empty((D, 2, BLOCK))
    back, g, given = np.empty((R + 1, BLOCK)), np.empty(BLOCK), np.zeros((2, BLOCK))
    left = np.zeros((D, 1, 4, BLOCK))  # the factors of a tile of rows
    prefix[:, 0] = 1.0
    for tile in range(start, n, BLOCK * step):
        for d in range(D):
            if kinds[d] < 0:
                factor_block(-kinds[d], shift[d], X, d, tile, step, left, 0)
        for j in range(right.shape[1]):
            first = j * BLOCK
            for m in range(min(BLOCK, (n - tile + step - 1) // step)):
                i = tile + m * step
                size = min(BLOCK, (i if symmetric else G.shape[1]) - first)
                if size <= 0:
                    continue
                scale = 2.0 if symmetric else 1.0
                for b in range(size):
                    g[b] = scale * (G[i, first + b] + outer[i] * inner[first + b])
                for b in range(size, BLOCK):
                    g[b] = 0.0
                for d in range(D):
                    x, w, ai = X[d, i], weight[d], a_x[d, i]
                    if kinds[d] >= TABLE:
                        for b in range(BLOCK):
                            own[d, VALUE, b] = tables[
                                kinds[d] - TABLE, int(x), int(right[d, j, COORDINATE, b])
                            ]
                    else:
                        slope_block(
                            kinds[d], x, left[d, 0, UP, m], left[d, 0, DOWN, m], w, ai, right, d, j, own
                        )
                    if R > 2:
                        extend(prefix, own, d, min(R, d + 1))
                if R <= 2:
                    add_up(own, s, last, g, given)
                else:
                    for r in range(1, R + 1):
                        for b in range(BLOCK):
                            back[r, b] = s[r] * g[b]
                for r in range(R + 1):
                    g_s[r] += dot(g, last, r)
                for d in range(D - 1, -1, -1):
                    if R > 2:
                        retract(prefix, own, d, min(R, d + 1), back, given)
                    if kinds[d] >= TABLE:
                        table = kinds[d] - TABLE
                        for b in range(size):
                            dz = given[0, b] + given[1, b] * own[d, VALUE, b]
                            g_tables[table, int(X[d, i]), int(right[d, j, COORDINATE, b])] += dz
                    else:
                        w = weight[d]
                        column_adjoint(d, i, j, w, given, own, a_x, right, g_weight, g_X, g_ax, g_right)
    return g_s, g_weight, g_tables, g_X, g_ax, g_right


@njit(**OPTIONS)
def symmetric_polynomials(z, e):
    """e[r, i] = e_r(z[0, i], .., z[D-1, i]) for r = 0 .. R."""
    D, n = z.shape
    R = e.shape[0] - 1
    e[0, :] = 1.0
    e[1:, :] = 0.0
    for d in range(D):
        for r in range(min(R, d + 1), 0, -1):
            for i in range(n):
                e[r, i] += z[d, i] * e[r - 1, i]


@njit(**OPTIONS)
def symmetric_polynomials_adjoint(z, s, g):
    """Gradients of sum_i g_i sum_r s_r e_r(z[:, i]) for s and z."""
    D, n = z.shape
    R = s.shape[0] - 1
    g_s, g_z = np.zeros(R + 1), np.empty((D, n))
    prefix, back = np.empty((D + 1, R + 1)), np.empty(R + 1)
    for i in range(n):
        for r in range(R + 1):
            prefix[0, r] = 1.0 if r == 0 else 0.0
        for d in range(D):
            prefix[d + 1, 0] = 1.0
            for r in range(1, R + 1):
                prefix[d + 1, r] = prefix[d, r] + z[d, i] * prefix[d, r - 1]
        for r in range(R + 1):
            g_s[r] += g[i] * prefix[D, r]
            back[r] = s[r] * g[i]
        for d in range(D - 1, -1, -1):
            dz = 0.0
            for r in range(1, R + 1):
                dz += back[r] * prefix[d, r - 1]
            g_z[d, i] = dz
            for r in range(1, R + 1):
                back[r - 1] += z[d, i] * back[r]
    return g_s, g_z
