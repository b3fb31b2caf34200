"""One column under a learned warp: its coordinates, its amplitude and their derivatives, compiled.

The rows and the nodes of the empirical measure move with the parameters of the warp, so values and
tangents are carried along together (forward mode).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from termwise.kernels.fused.block import (
    BLOCK,
    FAST,
    MISSING,
    dot,
    exp_block,
    exponent_block,
    slope_block,
)

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
def node_means(kind, x, dx, nodes, dnodes, weights):
    """c(x) = sum_q w_q k(x, t_q) (n,) and its tangents (P, n), for nodes (1, blocks, BLOCK) of weight w."""
    P, n = dx.shape
    c, dc = np.zeros(n), np.zeros((P, n))
    k, q, slope = np.empty((1, BLOCK)), np.empty(BLOCK), np.empty((1, BLOCK))
    shifted, power = np.empty(BLOCK), np.empty(BLOCK)
    shifted_bits, power_bits = shifted.view(np.int64), power.view(np.int64)
    for i in range(n):
        for j in range(nodes.shape[1]):
            exponent_block(kind, x[i], nodes, 0, j, q)
            exp_block(q, k, 0, shifted, shifted_bits, power, power_bits)
            slope_block(kind, x[i], nodes, 0, j, q, k, slope)
            for b in range(BLOCK):
                q[b] = weights[0, j, b]
                slope[0, b] *= q[b]
            c[i] += dot(q, k, 0)
            for p in range(P):
                for b in range(BLOCK):
                    q[b] = dx[p, i] - dnodes[p, j, b]
                dc[p, i] += dot(q, slope, 0)
    return c, dc


@njit(cache=True, nogil=True)
def warped_column(kind, x, points, weights, log_lengthscale, skew, log_tail, tangents):
    """u, a = c / sqrt(v) and the residual E k~ = 1 - E c^2 / v of one column, each with its tangents.

    points and weights are padded to a multiple of BLOCK, with weight zero.
    """
    blocks = points.shape[0] // BLOCK
    u, du = warped(x, log_lengthscale, skew, log_tail, tangents)
    t, dt = warped(points, log_lengthscale, skew, log_tail, tangents)
    nodes, dnodes = t.reshape(1, blocks, BLOCK), dt.reshape(tangents, blocks, BLOCK)
    wide = weights.reshape(1, blocks, BLOCK)
    c, dc = node_means(kind, u, du, nodes, dnodes, wide)
    ct, dct = node_means(kind, t, dt, nodes, dnodes, wide)
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
