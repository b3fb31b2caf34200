"""How observations scatter about the function: normally, or otherwise if the residuals say so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from termwise.measures.base import Array

STEPS = 300
LEAST_ROWS = 1000  # with fewer residuals of rows that were learned from their tails are not known
LEAST_WEIGHT = 1e-6
# Components are in units of the noise: (mean, variance). All about zero, they make tails of any weight.
CENTRED = np.array([(0.0, 2.0**k) for k in range(-8, 9)])
# Those beside it make scatter that is skewed or ends; for each variance they are a standard deviation apart.
FARTHEST = {2.0**-4: 3.0, 2.0**-2: 3.0, 1.0: 4.0, 4.0: 4.0}
BESIDE = np.array(
    [
        (side * step * np.sqrt(variance), variance)
        for variance, farthest in FARTHEST.items()
        for step in range(1, int(farthest / np.sqrt(variance)) + 1)
        for side in (-1.0, 1.0)
    ]
)
# Nats that a mixture about zero, or one of all, must be worth: normal residuals gain less, and so little is
# not worth its unevenness.
LEAST_GAIN, LEAST_GAIN_BESIDE = 6.0, 18.0


@dataclass(frozen=True)
class Noise:
    """sum_k weight_k N(mean_k, variance_k): a mixture of normals about the function, of mean zero."""

    variances: tuple[float, ...]
    weights: tuple[float, ...]
    means: tuple[float, ...]

    @classmethod
    def normal(cls, variance: float) -> Self:
        """One normal."""
        return cls((variance,), (1.0,), (0.0,))

    @classmethod
    def fit(cls, residuals: Array, known: Array, variance: float, *, least_rows: int = LEAST_ROWS) -> Self:
        """The mixture under which the residuals are most likely, `known` being the variance of the function.

        Components are fixed and only the weights are learned, by EM: the likelihood is concave in them, so
        there is one optimum. A normal if there are few residuals or they are about as likely under it,
        and components about zero unless others are far better.
        """
        normal = cls.normal(variance)
        if residuals.size < least_rows:
            return normal
        shapes = (CENTRED, np.vstack([CENTRED, BESIDE]))
        tried = [normal, *(cls._mixture(shape, residuals, known, variance) for shape in shapes)]
        return max(tried, key=lambda one: float(np.sum(one.log_density(residuals, known))) - one.least_gain)

    @classmethod
    def _mixture(cls, units: Array, residuals: Array, known: Array, variance: float) -> Self:
        """The most likely mixture of these components."""
        means, variances = np.sqrt(variance) * units[:, 0], variance * units[:, 1]
        normal = (units == (0.0, 1.0)).all(axis=1)
        log_density = _log_normal(residuals[:, None] - means, known[:, None] + variances)
        # Relative to the best of each row: far out all densities are zero in floating point.
        best = np.max(log_density, axis=1, keepdims=True)
        density = np.exp(log_density - best)
        weights = np.full(means.size, 1.0 / means.size)
        for _ in range(STEPS):
            # The sum over rows of each component's share in the density of the row.
            share = weights * ((1.0 / (density @ weights)) @ density)
            # One row more, of the normal that was learned from all rows: these residuals may lack the tails.
            weights = (share + normal) / (residuals.size + 1)
        kept = weights > LEAST_WEIGHT
        weights = weights[kept] / np.sum(weights[kept])
        # The mean of the function is what it is: the scatter about it has none.
        means = means[kept] - weights @ means[kept]
        return cls(tuple(variances[kept].tolist()), tuple(weights.tolist()), tuple(means.tolist()))

    @property
    def least_gain(self) -> float:
        """By how many nats it must be likelier than a normal to be believed."""
        if len(self.weights) == 1:
            return 0.0
        return LEAST_GAIN_BESIDE if any(self.means) else LEAST_GAIN

    @property
    def variance(self) -> float:
        """The variance of an observation about the function."""
        return float(np.dot(np.add(self.variances, np.square(self.means)), self.weights))

    def widened(self, variance: float) -> Self:
        """The same with independent normal noise of this variance on top."""
        return type(self)(tuple(own + variance for own in self.variances), self.weights, self.means)

    def log_density(self, residuals: Array, known: Array) -> Array:
        """log p of observations so far from the mean of the function, of which the variance is `known`."""
        apart = residuals[:, None] - np.asarray(self.means)
        each = _log_normal(apart, known[:, None] + np.asarray(self.variances))
        value: Array = np.logaddexp.reduce(each + np.log(self.weights), axis=1)
        return value


def _log_normal(x: Array, variance: Array) -> Array:
    value: Array = -0.5 * (np.log(2.0 * np.pi * variance) + x**2 / variance)
    return value
