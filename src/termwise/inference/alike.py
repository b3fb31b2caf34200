"""How alike the scales of features are before rows are seen, where all features act together.

Many scales that are free turn directions until few rows are learned by heart, whatever they say: the more
features there are to a row, the more alike they are taken to be. A few may still stand out, so the density of
their logarithms has heavy tails.
"""

from __future__ import annotations

import numpy as np

from termwise.measures.base import Array

ALIKE, ROWS_EACH = 0.25, 10.0  # how far logarithms are from their mean, with so many rows to a feature
APART = 2.0  # the same where they are left to themselves: best for what is as plain as the angle of a face


def alike_of(n_rows: int, n_features: int) -> float:
    """How far the logarithms of the scales of features are from their mean."""
    return ALIKE * min(1.0, float(np.sqrt(n_rows / (ROWS_EACH * n_features))))


def alike_log_prior(logs: Array, alike: float) -> tuple[float, Array]:
    """The log of a hyperbolic density about the mean of all, and its gradient."""
    apart = logs - np.mean(logs)
    away = np.hypot(1.0, apart / alike)
    slope = -apart / (away * alike**2)
    return float(logs.size - np.sum(away)), slope - np.mean(slope)
