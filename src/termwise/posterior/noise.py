"""How observations scatter about the function: normally, or with heavier tails if the residuals say so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from termwise.measures.base import Array

POWERS = np.arange(-8, 9)  # variances of the mixture are the noise variance times 2^k
LEAST_ROWS = 1000  # with fewer residuals of rows that were learned from their tails are not known
STEPS = 300
LEAST_WEIGHT = 1e-6
LEAST_GAIN = 6.0  # nats; normal residuals gain less by a mixture, and so little is not worth its unevenness


@dataclass(frozen=True)
class Noise:
    """sum_k weight_k N(0, variance_k): a mixture of normals about the function."""

    variances: tuple[float, ...]
    weights: tuple[float, ...]

    @classmethod
    def normal(cls, variance: float) -> Self:
        """One normal."""
        return cls((variance,), (1.0,))

    @classmethod
    def fit(cls, residuals: Array, known: Array, variance: float, *, least_rows: int = LEAST_ROWS) -> Self:
        """The mixture under which the residuals are most likely, `known` being the variance of the function.

        Variances are a fixed ladder and only the weights are learned, by EM: the likelihood is concave in
        them, so there is one optimum. A normal if there are few residuals or they are as likely under it.
        """
        if residuals.size < least_rows:
            return cls.normal(variance)
        ladder = variance * 2.0**POWERS
        log_density = _log_normal(residuals[:, None], known[:, None] + ladder)
        # Relative to the best rung of each row: far out all densities are zero in floating point.
        best = np.max(log_density, axis=1, keepdims=True)
        density = np.exp(log_density - best)
        weights = np.full(ladder.size, 1.0 / ladder.size)
        for _ in range(STEPS):
            joint = density * weights
            share = np.sum(joint / np.sum(joint, axis=1, keepdims=True), axis=0)
            # One row more, on the rung that was learned from all rows: these residuals may lack the tails.
            weights = (share + (POWERS == 0)) / (residuals.size + 1)
        gain = np.log(density @ weights) + best[:, 0] - log_density[:, POWERS == 0][:, 0]
        if np.sum(gain) < LEAST_GAIN:
            return cls.normal(variance)
        kept = weights > LEAST_WEIGHT
        weights = weights[kept] / np.sum(weights[kept])
        return cls(tuple(ladder[kept].tolist()), tuple(weights.tolist()))

    @property
    def variance(self) -> float:
        """The variance of an observation about the function."""
        return float(np.dot(self.variances, self.weights))

    def widened(self, variance: float) -> Self:
        """The same with independent normal noise of this variance on top."""
        return type(self)(tuple(own + variance for own in self.variances), self.weights)

    def log_density(self, residuals: Array, known: Array) -> Array:
        """log p of observations so far from the mean of the function, of which the variance is `known`."""
        each = _log_normal(residuals[:, None], known[:, None] + np.asarray(self.variances))
        value: Array = np.logaddexp.reduce(each + np.log(self.weights), axis=1)
        return value


def _log_normal(x: Array, variance: Array) -> Array:
    value: Array = -0.5 * (np.log(2.0 * np.pi * variance) + x**2 / variance)
    return value
