"""Kernels of the angle the slow and obvious way."""

from __future__ import annotations

import numpy as np

from termwise.kernels.zonal import Zonal

# Of the angle between two directions, and of their distance through the sphere in lengthscales.
PROFILES = {
    "arccos0": lambda angle, r: 1 - angle / np.pi,
    "arccos1": lambda angle, r: (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi,
    "arccos2": lambda angle, r: (
        (3 * np.sin(angle) * np.cos(angle) + (np.pi - angle) * (1 + 2 * np.cos(angle) ** 2)) / (3 * np.pi)
    ),
    "se": lambda angle, r: np.exp(-(r**2) / 2),
    "matern32": lambda angle, r: (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r),
    "matern52": lambda angle, r: (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r),
}


def kappa(kernel: Zonal, t: np.ndarray) -> np.ndarray:
    """Between directions with cosine t."""
    angle = np.arccos(np.clip(t, -1.0, 1.0))
    return PROFILES[kernel.name](angle, 2 * np.sin(angle / 2) / getattr(kernel, "lengthscale", 1.0))
