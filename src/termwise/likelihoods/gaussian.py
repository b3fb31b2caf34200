"""Normal noise: with it every method is regression, which tests make use of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from termwise.likelihoods.base import Expected, Likelihood, Tilted
from termwise.measures.base import Array

LOG_NOISES = (float(np.log(1e-6)), float(np.log(1e3)))


@dataclass(frozen=True)
class Gaussian(Likelihood):
    """y is normal about f."""

    noise: float = 1.0

    @property
    def parameters(self) -> Array:
        """The logarithm of the noise variance."""
        return np.array([np.log(self.noise)])

    def bounds(self) -> list[tuple[float, float]]:
        """Of the log noise."""
        return [LOG_NOISES]

    def with_parameters(self, parameters: Array) -> Gaussian:
        """At another noise."""
        return Gaussian(float(np.exp(parameters[0])))

    def log_density(self, y: Array, f: Array) -> Array:
        """log N(y; f, noise)."""
        return _log_normal(y - f, np.asarray(self.noise))

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """The first three derivatives for f."""
        slope = (y - f) / self.noise
        return slope, np.full(slope.shape, -1.0 / self.noise), np.zeros(slope.shape)

    def by_parameters(self, y: Array, f: Array) -> Array:
        """For the log noise."""
        return np.asarray(0.5 * ((y - f) ** 2 / self.noise - 1.0))[None]

    def sharpness(self, y: Array) -> Array:
        """The precision."""
        return np.full(y.shape, 1.0 / self.noise)

    def tilted_by_parameters(
        self, y: Array, mean: Array, variance: Array, power: Array | None = None
    ) -> Array:
        """In closed form."""
        by = np.ones(mean.shape) if power is None else power
        wide = self.noise / by
        total = variance + wide
        value = 0.5 * wide * ((y - mean) ** 2 / total - 1.0) / total + 0.5 * (1.0 - by)
        return np.asarray(value)[None]

    def expected(self, y: Array, mean: Array, variance: Array) -> Expected:
        """In closed form."""
        value = self.log_density(y, mean) - 0.5 * variance / self.noise
        return Expected(value, (y - mean) / self.noise, np.full(mean.shape, -0.5 / self.noise))

    def tilted(self, y: Array, mean: Array, variance: Array, power: Array | None = None) -> Tilted:
        """In closed form: a power of a normal density is a wider one, times a constant."""
        by = np.ones(mean.shape) if power is None else power
        wide = self.noise / by
        total = variance + wide
        constant = 0.5 * (np.log(2.0 * np.pi * wide) - by * np.log(2.0 * np.pi * self.noise))
        return Tilted(_log_normal(y - mean, total) + constant, (y - mean) / total, -1.0 / total)

    def moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Mean and variance of a new observation where f is normal."""
        return mean, variance + self.noise


def _log_normal(difference: Array, variance: Array) -> Array:
    value: Array = -0.5 * (difference**2 / variance + np.log(2.0 * np.pi * variance))
    return value
