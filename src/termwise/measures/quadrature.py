"""Composite Gauss-Legendre rules, the fallback for every integral without a closed form."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

NODES_PER_PANEL = 8


@cache
def legendre(order: int) -> tuple[Array, Array]:
    """Nodes and weights of the Gauss-Legendre rule on [-1, 1], exact to degree 2 order - 1."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    # The cache hands out the same arrays to everyone.
    nodes.setflags(write=False)
    weights.setflags(write=False)
    return nodes, weights


def composite(edges: Array, *, order: int = NODES_PER_PANEL) -> tuple[Array, Array]:
    """Nodes and weights of sum over panels [e_i, e_i+1] of the Gauss-Legendre rule; edges may be complex."""
    nodes, weights = legendre(order)
    half = 0.5 * np.diff(edges)
    middle = 0.5 * (edges[1:] + edges[:-1])
    points = middle[:, None] + half[:, None] * nodes
    return points.ravel(), (half[:, None] * weights).ravel()


def subdivided(edges: Array, width: float) -> Array:
    """The same edges with every panel cut into equal parts no wider than `width`."""
    parts = np.maximum(1, np.ceil(np.diff(edges).real / width).astype(int))
    start = np.repeat(edges[:-1], parts)
    step = np.repeat(np.diff(edges) / parts, parts)
    within = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    return np.append(start + within * step, edges[-1])
