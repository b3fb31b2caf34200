"""The compiled loops of a sum of radial kernels, each on some columns of its own, and their adjoint.

K = constant + sum_j weight_j phi(|u_j - v_j|^2), where u_j are the coordinates of group j. Columns of a group
stand beside each other: group j has those from ends[j - 1] to ends[j]. As in `loops`, every function takes
the rows it is to do, `start` and `step`, and releases the GIL.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from termwise.kernels.fused.block import (
    BLOCK,
    FAST,
    MATERN12,
    MATERN32,
    MATERN52,
    SE,
    SQRT3,
    SQRT5,
    dot,
    exponential,
)

COSINE, IMQ = 10, 11  # codes of kernels that are no column kernels; those below are of `block`
RADIAL = {
    "se": SE,
    "matern12": MATERN12,
    "matern32": MATERN32,
    "matern52": MATERN52,
    "cosine": COSINE,
    "imq": IMQ,
}
OPTIONS = {"cache": True, "nogil": True, "fastmath": FAST, "error_model": "numpy"}
VALUE, SLOPE = range(2)  # what own[j] holds of group j: phi and its derivative for the squared distance
NOWHERE = 1e150  # squared distance of a missing cell, for a kernel that does not fall off by itself
TINY = 1e-300  # squared distance that stands for none, where a slope divides by the distance


@njit(inline="always", fastmath=FAST)
def values(kind, squared, out):
    """out = phi(squared distance), for a block."""
    if kind == SE:
        for b in range(BLOCK):
            out[b] = exponential(-0.5 * squared[b])
    elif kind == MATERN52:
        for b in range(BLOCK):
            t = SQRT5 * math.sqrt(squared[b])
            out[b] = exponential(-t) * (1.0 + t + t * t / 3.0)
    elif kind == MATERN32:
        for b in range(BLOCK):
            t = SQRT3 * math.sqrt(squared[b])
            out[b] = exponential(-t) * (1.0 + t)
    elif kind == MATERN12:
        for b in range(BLOCK):
            out[b] = exponential(-math.sqrt(squared[b]))
    elif kind == IMQ:
        for b in range(BLOCK):
            out[b] = 1.0 / math.sqrt(1.0 + squared[b])
    else:
        for b in range(BLOCK):
            out[b] = math.cos(math.sqrt(squared[b])) if squared[b] < NOWHERE else 0.0


@njit(inline="always", fastmath=FAST)
def values_and_slopes(kind, squared, own, j):
    """own[j] = phi and its derivative for the squared distance; Matern 1/2 has none at distance zero."""
    if kind == SE:
        for b in range(BLOCK):
            k = exponential(-0.5 * squared[b])
            own[j, VALUE, b] = k
            own[j, SLOPE, b] = -0.5 * k
    elif kind == MATERN52:
        for b in range(BLOCK):
            t = SQRT5 * math.sqrt(squared[b])
            k = exponential(-t)
            own[j, VALUE, b] = k * (1.0 + t + t * t / 3.0)
            own[j, SLOPE, b] = -5.0 / 6.0 * k * (1.0 + t)
    elif kind == MATERN32:
        for b in range(BLOCK):
            t = SQRT3 * math.sqrt(squared[b])
            k = exponential(-t)
            own[j, VALUE, b] = k * (1.0 + t)
            own[j, SLOPE, b] = -1.5 * k
    elif kind == MATERN12:
        for b in range(BLOCK):
            r = math.sqrt(squared[b])
            k = exponential(-r)
            own[j, VALUE, b] = k
            own[j, SLOPE, b] = -0.5 * k / r if squared[b] > TINY else 0.0
    elif kind == IMQ:
        for b in range(BLOCK):
            k = 1.0 / math.sqrt(1.0 + squared[b])
            own[j, VALUE, b] = k
            own[j, SLOPE, b] = -0.5 * k * k * k
    else:
        for b in range(BLOCK):
            r = math.sqrt(squared[b])
            known = 1.0 if squared[b] < NOWHERE else 0.0
            own[j, VALUE, b] = known * math.cos(r)
            own[j, SLOPE, b] = known * (-0.5 * math.sin(r) / r if squared[b] > TINY else -0.5)


@njit(inline="always", fastmath=FAST)
def squared_distances(X, i, right, block, first, last, out):
    """out = the squared distances of row i to the rows of a block, in the columns from first to last."""
    for b in range(BLOCK):
        out[b] = 0.0
    for c in range(first, last):
        x = X[c, i]
        for b in range(BLOCK):
            apart = x - right[c, block, b]
            out[b] += apart * apart


@njit(fastmath=True, forceinline=True)
def column_adjoint(c, i, block, given, X, right, g_X, g_right):
    """Carry `given`, the gradient for half the squared distances of a group, back to one of its columns."""
    x, by_row = X[c, i], 0.0
    for b in range(BLOCK):
        moved = given[b] * (x - right[c, block, b])
        by_row += moved
        g_right[c, block, b] -= moved
    g_X[c, i] += by_row


@njit(**OPTIONS)
def radial_rows(kind, ends, weight, constant, X, right, K, symmetric, start, step):
    """Fill K between the rows X, (C, n), and those of right, (C, blocks, BLOCK), for some of the rows.

    When symmetric only the part strictly below the diagonal is filled.
    """
    n = X.shape[1]
    squared, phi, total = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    for tile in range(start, n, BLOCK * step):
        for block in range(right.shape[1]):
            first = block * BLOCK
            for m in range(min(BLOCK, (n - tile + step - 1) // step)):
                i = tile + m * step
                size = min(BLOCK, (i if symmetric else K.shape[1]) - first)
                if size <= 0:
                    continue
                for b in range(BLOCK):
                    total[b] = constant
                begin = 0
                for j in range(ends.shape[0]):
                    squared_distances(X, i, right, block, begin, ends[j], squared)
                    values(kind, squared, phi)
                    for b in range(BLOCK):
                        total[b] += weight[j] * phi[b]
                    begin = ends[j]
                for b in range(size):
                    K[i, first + b] = total[b]


@njit(**OPTIONS)
def radial_adjoint_rows(kind, ends, weight, constant, X, right, G, outer, inner, symmetric, start, step):
    """Gradients of sum_ij (G_ij + outer_i inner_j) K_ij for the constant, weight, X and right.

    When symmetric the sum is over i > j and counts twice.
    """
    n, groups = X.shape[1], ends.shape[0]
    g_constant, g_weight = np.zeros(1), np.zeros(groups)
    g_X, g_right = np.zeros(X.shape), np.zeros(right.shape)
    squared, g, given = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    own, ones = np.empty((1, 2, BLOCK)), np.ones((1, BLOCK))
    for tile in range(start, n, BLOCK * step):
        for block in range(right.shape[1]):
            first = block * BLOCK
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
                g_constant[0] += dot(g, ones, 0)
                begin = 0
                for j in range(groups):
                    squared_distances(X, i, right, block, begin, ends[j], squared)
                    values_and_slopes(kind, squared, own, 0)
                    g_weight[j] += dot(g, own[0], VALUE)
                    for b in range(BLOCK):
                        given[b] = 2.0 * weight[j] * g[b] * own[0, SLOPE, b]
                    for c in range(begin, ends[j]):
                        column_adjoint(c, i, block, given, X, right, g_X, g_right)
                    begin = ends[j]
    return g_constant, g_weight, g_X, g_right
