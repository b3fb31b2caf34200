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
    FAST,
    TABLE,
    column_adjoint,
    dot,
    exp_block,
    exponent_block,
    polynomial_block,
    slope_block,
)

OPTIONS = {"cache": True, "nogil": True, "fastmath": FAST, "error_model": "numpy"}


@njit(**OPTIONS)
def gram_rows(kinds, weight, tables, s, X, a_x, Z, a_z, K, symmetric, start, step):
    """K[i, j] = sum_r s_r e_r(z), z_d = weight_d k(x, x') - a(x) a(x') or table_d[x, x'].

    A column by table has the kind TABLE + its position among the tables.

    X, a_x are (D, n); Z, a_z are (D, blocks, BLOCK), the last block padded. When symmetric only the part
    strictly below the diagonal is filled.
    """
    D, R = X.shape[0], s.shape[0] - 1
    e = np.empty((R + 1, BLOCK))
    z, q = np.empty((1, BLOCK)), np.empty(BLOCK)
    shifted, power = np.empty(BLOCK), np.empty(BLOCK)
    shifted_bits, power_bits = shifted.view(np.int64), power.view(np.int64)
    for i in range(start, X.shape[1], step):
        stop = i if symmetric else K.shape[1]
        for j in range((stop + BLOCK - 1) // BLOCK):
            first = j * BLOCK
            size = min(BLOCK, stop - first)
            for b in range(BLOCK):
                e[0, b] = 1.0
            for r in range(1, R + 1):
                for b in range(BLOCK):
                    e[r, b] = 0.0
            for d in range(D):
                x, w, ai = X[d, i], weight[d], a_x[d, i]
                if kinds[d] >= TABLE:
                    for b in range(BLOCK):
                        z[0, b] = tables[kinds[d] - TABLE, int(x), int(Z[d, j, b])]
                else:
                    exponent_block(kinds[d], x, Z, d, j, q)
                    exp_block(q, z, 0, shifted, shifted_bits, power, power_bits)
                    polynomial_block(kinds[d], q, z, 0)
                    for b in range(BLOCK):
                        z[0, b] = w * z[0, b] - ai * a_z[d, j, b]
                for r in range(min(R, d + 1), 0, -1):
                    for b in range(BLOCK):
                        e[r, b] += z[0, b] * e[r - 1, b]
            for b in range(BLOCK):
                q[b] = s[0]
            for r in range(1, R + 1):
                for b in range(BLOCK):
                    q[b] += s[r] * e[r, b]
            out = K[i, first : first + size]
            for b in range(size):
                out[b] = q[b]


@njit(**OPTIONS)
def adjoint_rows(kinds, weight, tables, s, X, a_x, Z, a_z, G, left, right, symmetric, start, step):
    """Gradients of sum_ij (G_ij + left_i right_j) K_ij for all that gram_rows read.

    When symmetric the sum is over i > j and counts twice. Returns the gradients of s, weight, tables,
    X, a_x, Z and a_z, those that only the rows start, start + step, .. contribute.
    """
    D, n = X.shape
    R = s.shape[0] - 1
    g_s, g_weight, g_tables = np.zeros(R + 1), np.zeros(D), np.zeros(tables.shape)
    g_X, g_ax, g_Z, g_az = np.zeros(X.shape), np.zeros(X.shape), np.zeros(Z.shape), np.zeros(Z.shape)
    prefix = np.zeros((D + 1, R + 1, BLOCK))  # e_r of the first d columns stays zero for r > d
    last = prefix[D]
    z, k, slope = np.empty((D, BLOCK)), np.empty((D, BLOCK)), np.empty((D, BLOCK))
    back, g, dz, q = np.empty((R + 1, BLOCK)), np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    shifted, power = np.empty(BLOCK), np.empty(BLOCK)
    shifted_bits, power_bits = shifted.view(np.int64), power.view(np.int64)
    for d in range(D + 1):
        for b in range(BLOCK):
            prefix[d, 0, b] = 1.0
    for i in range(start, n, step):
        stop = i if symmetric else G.shape[1]
        scale = 2.0 if symmetric else 1.0
        for j in range((stop + BLOCK - 1) // BLOCK):
            first = j * BLOCK
            size = min(BLOCK, stop - first)
            given, outer = G[i, first : first + size], right[first : first + size]
            for b in range(size):
                g[b] = scale * (given[b] + left[i] * outer[b])
            for b in range(size, BLOCK):
                g[b] = 0.0
            for d in range(D):
                x, w, ai = X[d, i], weight[d], a_x[d, i]
                if kinds[d] >= TABLE:
                    for b in range(BLOCK):
                        z[d, b] = tables[kinds[d] - TABLE, int(x), int(Z[d, j, b])]
                else:
                    exponent_block(kinds[d], x, Z, d, j, q)
                    exp_block(q, k, d, shifted, shifted_bits, power, power_bits)
                    slope_block(kinds[d], x, Z, d, j, q, k, slope)
                    for b in range(BLOCK):
                        z[d, b] = w * k[d, b] - ai * a_z[d, j, b]
                for r in range(1, min(R, d + 1) + 1):
                    for b in range(BLOCK):
                        prefix[d + 1, r, b] = prefix[d, r, b] + z[d, b] * prefix[d, r - 1, b]
            for r in range(R + 1):
                g_s[r] += dot(g, last, r)
                for b in range(BLOCK):
                    back[r, b] = s[r] * g[b]
            for d in range(D - 1, -1, -1):
                for b in range(BLOCK):
                    dz[b] = back[1, b]
                for r in range(2, min(R, d + 1) + 1):
                    for b in range(BLOCK):
                        dz[b] += back[r, b] * prefix[d, r - 1, b]
                        back[r - 1, b] += z[d, b] * back[r, b]
                if kinds[d] >= TABLE:
                    for b in range(size):
                        g_tables[kinds[d] - TABLE, int(X[d, i]), int(Z[d, j, b])] += dz[b]
                else:
                    column_adjoint(d, i, j, dz, k, slope, weight, a_x, a_z, g_weight, g_X, g_ax, g_Z, g_az)
    return g_s, g_weight, g_tables, g_X, g_ax, g_Z, g_az


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
