"""The compiled loops for a list of terms: sum_u s_|u| prod_{d in u} z_d, and its adjoint.

As in `loops`, but the products of the terms that are asked for stand in the place of the polynomials of all
of them. `terms` is (T, R), with the columns of a term from the left and -1 behind them.
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
    column_adjoint,
    dot,
    slope_block,
    value_block,
)
from termwise.kernels.fused.factors import factor_block
from termwise.kernels.fused.loops import OPTIONS


@njit(inline="always", fastmath=FAST)
def size_of(terms, t):
    """How many columns a term has."""
    size = 0
    for place in range(terms.shape[1]):
        if terms[t, place] >= 0:
            size += 1
    return size


@njit(inline="always", fastmath=FAST)
def product_block(terms, t, size, without, own, out):
    """out[0] = the product of z_d over the columns of term t, but for the one at the place `without`."""
    for b in range(BLOCK):
        out[0, b] = 1.0
    for place in range(size):
        if place != without:
            d = terms[t, place]
            for b in range(BLOCK):
                out[0, b] *= own[d, VALUE, b]


@njit(**OPTIONS)
def listed_rows(kinds, weight, tables, s, terms, X, a_x, shift, right, K, symmetric, start, step):
    """K[i, j] = s_0 + sum_u s_|u| prod_{d in u} z_d; all else as in `gram_rows`."""
    D, n = X.shape
    own, z, product = np.empty((D, 1, BLOCK)), np.empty(BLOCK), np.empty((1, BLOCK))
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
                for d in range(D):
                    x, w, ai = X[d, i], weight[d], a_x[d, i]
                    if kinds[d] >= TABLE:
                        for b in range(BLOCK):
                            z[b] = tables[kinds[d] - TABLE, int(x), int(right[d, j, COORDINATE, b])]
                    else:
                        value_block(
                            kinds[d], x, left[d, 0, UP, m], left[d, 0, DOWN, m], w, ai, right, d, j, z
                        )
                    for b in range(BLOCK):
                        own[d, VALUE, b] = z[b]
                for b in range(BLOCK):
                    z[b] = s[0]
                for t in range(terms.shape[0]):
                    order = size_of(terms, t)
                    product_block(terms, t, order, -1, own, product)
                    for b in range(BLOCK):
                        z[b] += s[order] * product[0, b]
                for b in range(size):
                    K[i, first + b] = z[b]


@njit(**OPTIONS)
def listed_adjoint_rows(
    kinds, weight, tables, s, terms, X, a_x, shift, right, G, outer, inner, symmetric, start, step
):
    """Gradients of sum_ij (G_ij + outer_i inner_j) K_ij for all that listed_rows read; as `adjoint_rows`."""
    D, n = X.shape
    g_s, g_weight, g_tables = np.zeros(s.shape[0]), np.zeros(D), np.zeros(tables.shape)
    g_X, g_ax = np.zeros(X.shape), np.zeros(X.shape)
    g_right = np.zeros((D, right.shape[1], 2, BLOCK))
    own, by_own, product = np.empty((D, 2, BLOCK)), np.empty((D, BLOCK)), np.ones((1, BLOCK))
    g, given = np.empty(BLOCK), np.zeros((2, BLOCK))
    left = np.zeros((D, 1, 4, BLOCK))  # the factors of a tile of rows
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
                    for b in range(BLOCK):
                        by_own[d, b] = 0.0
                for b in range(BLOCK):
                    product[0, b] = 1.0
                g_s[0] += dot(g, product, 0)
                for t in range(terms.shape[0]):
                    order = size_of(terms, t)
                    for place in range(order):
                        d = terms[t, place]
                        product_block(terms, t, order, place, own, product)
                        for b in range(BLOCK):
                            by_own[d, b] += s[order] * g[b] * product[0, b]
                    for b in range(BLOCK):  # all but the last, and the last
                        product[0, b] *= own[terms[t, order - 1], VALUE, b]
                    g_s[order] += dot(g, product, 0)
                for d in range(D):
                    if kinds[d] >= TABLE:
                        table = kinds[d] - TABLE
                        for b in range(size):
                            g_tables[table, int(X[d, i]), int(right[d, j, COORDINATE, b])] += by_own[d, b]
                    else:
                        for b in range(BLOCK):
                            given[0, b] = by_own[d, b]
                        w = weight[d]
                        column_adjoint(d, i, j, w, given, own, a_x, right, g_weight, g_X, g_ax, g_right)
    return g_s, g_weight, g_tables, g_X, g_ax, g_right
