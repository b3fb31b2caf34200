"""One column under a learned warp: its coordinates, its amplitude and their derivatives, compiled.

The rows and the nodes of the empirical measure move with the parameters of the warp, so values and
tangents are carried along together (forward mode).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from termwise.kernels.fused.block import (
    AMPLITUDE,
    BLOCK,
    DOWN,
    FAST,
    MISSING,
    SLOPE,
    UP,
    VALUE,
    dot,
    slope_block,
)
from termwise.kernels.fused.factors import by_factors, factor_block, fill_blocks

TANGENTS = 3  # log lengthscale, skew, log tail


@njit(cache=True, nogil=True)
def warped(x, log_lengthscale, skew, log_tail, tangents):
    """u = sinh(tail arcsinh(x) + skew) / (tail cosh(skew) lengthscale), and its first `tangents` derivatives.

    The slope at zero is 1 / lengthscale for every warp, so the lengthscale keeps its meaning.
    """
    n = x.shape[0]
    u, du = np.empty(n), np.zeros((tangents, n))
    tail = np.exp(log_tail)
    scale = 1.0 / (tail * np.cosh(skew) * np.exp(log_lengthscale))
    for i in range(n):
        if np.isnan(x[i]):
            u[i] = MISSING
            continue
        angle = np.arcsinh(x[i])
        h = tail * angle + skew
        u[i] = np.sinh(h) * scale
        du[0, i] = -u[i]
        if tangents == TANGENTS:
            slope = np.cosh(h) * scale
            du[1, i] = slope - u[i] * np.tanh(skew)
            du[2, i] = slope * tail * angle - u[i]
    return u, du


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def node_means(kinds, x, dx, shift, right, dnodes):
    """c(x) = sum_q w_q k(x, t_q) (n,) and its tangents (P, n), for x (1, n) and one column of nodes.

    The nodes are laid out as right-hand rows, with their weights in place of amplitudes.
    """
    P, n = dx.shape
    c, dc = np.zeros(n), np.zeros((P, n))
    own, q = np.empty((1, 2, BLOCK)), np.empty(BLOCK)
    only = own[0]
    left = np.zeros((1, 1, 4, BLOCK))
    kind = by_factors(kinds, x, shift)[0]
    for i in range(n):
        m = i % BLOCK
        if kind < 0 and m == 0:
            factor_block(-kind, shift[0], x, 0, i, 1, left, 0)
        for j in range(right.shape[1]):
            slope_block(kind, x[0, i], left[0, 0, UP, m], left[0, 0, DOWN, m], 1.0, 0.0, right, 0, j, own)
            for b in range(BLOCK):
                q[b] = right[0, j, AMPLITUDE, b]
                only[SLOPE, b] *= right[0, j, AMPLITUDE, b]
            c[i] += dot(q, only, VALUE)
            for p in range(P):
                for b in range(BLOCK):
                    q[b] = dx[p, i] - dnodes[p, j, b]
                dc[p, i] += dot(q, only, SLOPE)
    return c, dc


@njit(cache=True, nogil=True)
def warped_column(kind, x, points, weights, log_lengthscale, skew, log_tail, tangents):
    """u, a = c / sqrt(v) and the residual E k~ = 1 - E c^2 / v of one column, each with its tangents.

    points and weights are padded to a multiple of BLOCK, with weight zero.
    """
    blocks = points.shape[0] // BLOCK
    u, du = warped(x, log_lengthscale, skew, log_tail, tangents)
    t, dt = warped(points, log_lengthscale, skew, log_tail, tangents)
    kinds, shift, right = np.empty(1, np.int64), np.empty(1), np.zeros((1, blocks, 4, BLOCK))
    kinds[0], nodes, dnodes = kind, t.reshape(1, t.shape[0]), dt.reshape(tangents, blocks, BLOCK)
    fill_blocks(kinds, nodes, weights.reshape(1, t.shape[0]), shift, right)
    c, dc = node_means(kinds, u.reshape(1, u.shape[0]), du, shift, right, dnodes)
    ct, dct = node_means(kinds, nodes, dt, shift, right, dnodes)
    v, square = 0.0, 0.0
    dv, dsquare = np.zeros(tangents), np.zeros(tangents)
    for q in range(points.shape[0]):
        v += weights[q] * ct[q]
        square += weights[q] * ct[q] * ct[q]
        for p in range(tangents):
            dv[p] += weights[q] * dct[p, q]
            dsquare[p] += 2.0 * weights[q] * ct[q] * dct[p, q]
    root = np.sqrt(v)
    a, da = c / root, np.empty_like(dc)
    for p in range(tangents):
        da[p] = dc[p] / root - 0.5 * a * (dv[p] / v)
    for i in range(x.shape[0]):
        if np.isnan(x[i]):
            a[i] = 0.0
            da[:, i] = 0.0
    residual = 1.0 - square / v
    dresidual = -(dsquare - square * dv / v) / v
    return u, du, a, da, residual, dresidual
