"""The compiled loops of kernels of the angle between two rows, and their adjoint.

Between two things with directions x, z of unit length and cosine t

    K = variance  a_x a_z  (kappa(t) or sum_l c_l P_l(t))

kappa if both are rows, the sum if one or both are features, with the c_l of such a pair. As in `loops`, every
function takes the rows it is to do, `start` and `step`, and releases the GIL.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from termwise.kernels.fused.block import BLOCK, FAST, dot, exponential

ARC0, ARC1, ARC2, SE, MATERN32, MATERN52 = range(6)  # by which kernels/zonal.py calls them
OPTIONS = {"cache": True, "nogil": True, "fastmath": FAST, "error_model": "numpy"}
VALUE, SLOPE, BY_SCALE = range(3)  # of kappa: itself, for t, for the log lengthscale
NEAR = 1.0 - 1e-14  # from here on a cosine is that of no angle
SMALL = 1e-12  # of 1 - t^2, below which the slope of the arc-cosine of order zero stays what it is there
DEGREE = 23  # of arccos(x) / sqrt(1 - x), which is smooth on [0, 1], in powers of 2 x - 1


def _arc_polynomial() -> np.ndarray:
    y = np.cos(np.pi * (np.arange(64) + 0.5) / 64)
    x = 0.5 * (y + 1.0)
    smooth = np.arccos(x) / np.sqrt(1.0 - x)
    return np.polynomial.chebyshev.cheb2poly(np.polynomial.chebyshev.chebfit(y, smooth, DEGREE))


ARC = _arc_polynomial()


@njit(inline="always", fastmath=FAST)
def arc_cosines(t, y, out):
    """out = arccos(t) for a block, without a call to the library, which would not be made vector code."""
    for b in range(BLOCK):
        y[b] = 2.0 * abs(t[b]) - 1.0
        out[b] = ARC[DEGREE]
    for k in range(DEGREE - 1, -1, -1):
        c = ARC[k]
        for b in range(BLOCK):
            out[b] = out[b] * y[b] + c
    for b in range(BLOCK):
        angle = out[b] * math.sqrt(1.0 - abs(t[b]))
        out[b] = angle if t[b] >= 0.0 else math.pi - angle


@njit(inline="always", fastmath=FAST)
def shapes(kind, rate, t, y, angle, own):
    """own = kappa, its slope and its derivative for the log lengthscale, for a block.

    `rate` is 1 / l^2 of the squared exponential and sqrt(2 nu) / l of Matern kernels.
    """
    if kind <= ARC2:
        arc_cosines(t, y, angle)
        for b in range(BLOCK):
            # The root of what rounding leaves of no angle would be an angle.
            apart = 1.0 if t[b] < NEAR else 0.0
            left = 1.0 - apart * angle[b] / math.pi
            squared = apart * (1.0 - t[b]) * (1.0 + t[b])
            sine = math.sqrt(max(squared, 0.0)) / math.pi
            if kind == ARC0:
                own[VALUE, b] = left
                own[SLOPE, b] = 1.0 / (math.pi * math.sqrt(max(squared, SMALL)))
            elif kind == ARC1:
                own[VALUE, b] = sine + left * t[b]
                own[SLOPE, b] = left
            else:
                own[VALUE, b] = sine * t[b] + left * (1.0 + 2.0 * t[b] * t[b]) / 3.0
                own[SLOPE, b] = 4.0 / 3.0 * (sine + left * t[b])
            own[BY_SCALE, b] = 0.0
    elif kind == SE:
        for b in range(BLOCK):
            x = rate * (1.0 - t[b])
            k = exponential(-x)
            own[VALUE, b] = k
            own[SLOPE, b] = rate * k
            own[BY_SCALE, b] = 2.0 * x * k
    else:
        for b in range(BLOCK):
            x = rate * math.sqrt(max(2.0 - 2.0 * t[b], 0.0))
            k = exponential(-x)
            by_square = 0.5 * k if kind == MATERN32 else k * (1.0 + x) / 6.0  # minus that
            own[VALUE, b] = k * (1.0 + x) if kind == MATERN32 else k * (1.0 + x + x * x / 3.0)
            own[SLOPE, b] = 2.0 * rate * rate * by_square
            own[BY_SCALE, b] = 2.0 * x * x * by_square


@njit(inline="always", fastmath=FAST)
def cosines(X, i, right, block, t):
    """t = the cosines of row i with the rows of a block, none beyond one."""
    for b in range(BLOCK):
        t[b] = 0.0
    for c in range(X.shape[0]):
        x = X[c, i]
        for b in range(BLOCK):
            t[b] += x * right[c, block, b]
    for b in range(BLOCK):
        t[b] = min(max(t[b], -1.0), 1.0)


@njit(inline="always", fastmath=FAST)
def series(c, dimension, t, P, D, own):
    """own = sum_l c_l P_l(t) and its slope, for a block; P and D keep the P_l and their slopes."""
    first = c[1] if c.size > 1 else 0.0
    for b in range(BLOCK):
        P[0, b], P[1, b], D[0, b], D[1, b] = 1.0, t[b], 0.0, 1.0
        own[VALUE, b], own[SLOPE, b] = c[0] + first * t[b], first
    for k in range(2, c.size):
        back = (k - 1.0) / (k + dimension - 3.0)
        grow, weight = 1.0 + back, c[k]
        for b in range(BLOCK):
            D[k, b] = grow * (P[k - 1, b] + t[b] * D[k - 1, b]) - back * D[k - 2, b]
            P[k, b] = grow * t[b] * P[k - 1, b] - back * P[k - 2, b]
            own[VALUE, b] += weight * P[k, b]
            own[SLOPE, b] += weight * D[k, b]


@njit(**OPTIONS)
def angle_rows(kind, rate, variance, C, X, scale, tag, right, scales, blocks, K, symmetric, start, step):
    """Fill K between the rows X, (d, n), and those of right, (d, blocks, BLOCK), for some of the rows.

    scale and scales are a_x and a_z, `tag` is what each row on the left is, and C[tag, other] are the c_l of
    a pair; rows have the tag zero. `blocks` has for each block on the right its first row, how many it has,
    and what all of them are. When symmetric only the part strictly below the diagonal is filled.
    """
    n, dimension = X.shape[1], X.shape[0]
    degrees = max(C.shape[2], 2)
    t, y, angle, own = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK), np.empty((3, BLOCK))
    P, D = np.empty((degrees, BLOCK)), np.empty((degrees, BLOCK))
    for tile in range(start, n, BLOCK * step):
        for block in range(right.shape[1]):
            first, count, other = blocks[block, 0], blocks[block, 1], blocks[block, 2]
            for m in range(min(BLOCK, (n - tile + step - 1) // step)):
                i = tile + m * step
                size = min(count, i - first) if symmetric else count
                if size <= 0:
                    continue
                cosines(X, i, right, block, t)
                if tag[i] == 0 and other == 0:
                    shapes(kind, rate, t, y, angle, own)
                else:
                    series(C[tag[i], other], dimension, t, P, D, own)
                for b in range(size):
                    K[i, first + b] = variance * scale[i] * scales[block, b] * own[VALUE, b]


@njit(**OPTIONS)
def angle_adjoint_rows(
    kind, rate, variance, C, X, scale, tag, right, scales, blocks, G, outer, inner, symmetric, start, step
):
    """Gradients of sum_ij (G_ij + outer_i inner_j) K_ij for all that K is made of.

    In this order: variance and log lengthscale, C, X, scale, right, scales. When symmetric the sum is over
    i > j and counts twice.
    """
    n, dimension = X.shape[1], X.shape[0]
    g_common, g_C = np.zeros(2), np.zeros(C.shape)
    g_X, g_scale = np.zeros(X.shape), np.zeros(scale.shape)
    g_right, g_scales = np.zeros(right.shape), np.zeros(scales.shape)
    degrees = max(C.shape[2], 2)
    t, y, angle, own = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK), np.empty((3, BLOCK))
    P, D, g, by_t = np.empty((degrees, BLOCK)), np.empty((degrees, BLOCK)), np.empty(BLOCK), np.empty(BLOCK)
    for tile in range(start, n, BLOCK * step):
        for block in range(right.shape[1]):
            first, count, other = blocks[block, 0], blocks[block, 1], blocks[block, 2]
            for m in range(min(BLOCK, (n - tile + step - 1) // step)):
                i = tile + m * step
                size = min(count, i - first) if symmetric else count
                if size <= 0:
                    continue
                times = 2.0 * variance if symmetric else variance
                for b in range(size):  # the gradient for what stands in the brackets, but for a_x
                    g[b] = times * scales[block, b] * (G[i, first + b] + outer[i] * inner[first + b])
                for b in range(size, BLOCK):
                    g[b] = 0.0
                cosines(X, i, right, block, t)
                if tag[i] == 0 and other == 0:
                    shapes(kind, rate, t, y, angle, own)
                    g_common[1] += scale[i] * dot(g, own, BY_SCALE)
                else:
                    series(C[tag[i], other], dimension, t, P, D, own)
                    for k in range(C.shape[2]):
                        g_C[tag[i], other, k] += scale[i] * dot(g, P, k)
                g_scale[i] += dot(g, own, VALUE)
                for b in range(BLOCK):
                    g[b] *= scale[i]
                    g_scales[block, b] += own[VALUE, b] * g[b] / scales[block, b]
                    by_t[b] = own[SLOPE, b] * g[b]
                for c in range(dimension):
                    direction_adjoint(c, i, block, by_t, X, right, g_X, g_right)
    g_common[0] = np.sum(g_scale * scale) / variance
    return g_common, g_C, g_X, g_scale, in_order(blocks, g_right), in_order(blocks, g_scales[None])[0]


@njit(**OPTIONS)
def in_order(blocks, parts):
    """What stands in blocks, (d, blocks, BLOCK), row after row."""
    last = blocks.shape[0] - 1
    out = np.empty((parts.shape[0], blocks[last, 0] + blocks[last, 1]))
    for c in range(parts.shape[0]):
        for block in range(blocks.shape[0]):
            for b in range(blocks[block, 1]):
                out[c, blocks[block, 0] + b] = parts[c, block, b]
    return out


@njit(fastmath=True, forceinline=True)
def direction_adjoint(c, i, block, by_t, X, right, g_X, g_right):
    """Carry the gradient for the cosines back to one coordinate of both directions."""
    x, by_row = X[c, i], 0.0
    for b in range(BLOCK):
        by_row += by_t[b] * right[c, block, b]
        g_right[c, block, b] += by_t[b] * x
    g_X[c, i] += by_row
