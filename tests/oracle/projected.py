"""Projected additive kernels the slow and obvious way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

PROFILES = {
    "se": lambda r: np.exp(-(r**2) / 2),
    "matern12": lambda r: np.exp(-r),
    "matern32": lambda r: (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r),
    "matern52": lambda r: (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r),
    "imq": lambda r: (1 + r**2) ** -0.5,
    "cosine": np.cos,
}


def part(kind: str, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """k(x, z) of one group of coordinates, row by row; zero where a coordinate is missing."""
    K = np.zeros((len(X), len(Z)))
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            distance = np.sqrt(np.sum((x - z) ** 2))
            K[i, j] = 0.0 if np.isnan(distance) else PROFILES[kind](distance)
    return K


def matrix(
    kind: str,
    groups: Sequence[int],
    weights: Sequence[float],
    variances: Sequence[float],
    X: np.ndarray,
    Z: np.ndarray,
) -> np.ndarray:
    """s_0 + s_1 sum_j weight_j k_j, all kernels of one kind."""
    K, begin = np.full((len(X), len(Z)), float(variances[0])), 0
    for size, weight in zip(groups, weights, strict=True):
        columns = slice(begin, begin + size)
        K += variances[1] * weight * part(kind, X[:, columns], Z[:, columns])
        begin += size
    return K
