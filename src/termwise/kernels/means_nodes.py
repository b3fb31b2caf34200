"""Kernel means as sums over the nodes of a measure: exact for a discrete one, quadrature otherwise."""

from __future__ import annotations

import numpy as np

from termwise.kernels.column import ColumnKernel, Stationary
from termwise.measures.base import Array, Measure

BLOCK = 1 << 20  # entries of a block of the kernel matrix


def mean(kernel: ColumnKernel, measure: Measure, x: Array) -> Array:
    """c(x) = sum_q w_q k(x, s_q). OAK eq. 32."""
    points, weights = measure.nodes()
    flat = x.ravel()
    rows = max(1, BLOCK // points.size)
    starts = range(0, max(1, flat.size), rows)
    parts = [kernel.matrix(flat[start : start + rows], points) @ weights for start in starts]
    return np.concatenate(parts).reshape(x.shape)


def variance(kernel: ColumnKernel, measure: Measure) -> float:
    """v = sum_qr w_q w_r k(s_q, s_r). OAK eq. 32."""
    points, weights = measure.nodes()
    value: float = (weights @ mean(kernel, measure, points)).item()
    return value


def square(kernel: ColumnKernel, measure: Measure) -> float:
    """E c(X)^2 = sum_q w_q c(s_q)^2."""
    points, weights = measure.nodes()
    value: float = (weights @ mean(kernel, measure, points) ** 2).item()
    return value


def residual(kernel: ColumnKernel, measure: Measure) -> float:
    """E k(X, X) - E c(X)^2 / v; for a stationary kernel by 1 - k, which keeps the digits at long l."""
    points, weights = measure.nodes()
    if not isinstance(kernel, Stationary):
        c = mean(kernel, measure, points)
        general: float = (weights @ kernel.diag(points) - weights @ c**2 / (weights @ c)).item()
        return general
    g = kernel.deficit(kernel.distance(points[:, None], points[None, :])) @ weights
    value: float = (weights @ g - weights @ g**2).item() / variance(kernel, measure)
    return value
