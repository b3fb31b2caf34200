"""Numbers with outliers: y is Student-t about f, and what is far away has little say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln

from termwise.likelihoods.base import Likelihood
from termwise.measures.base import Array

LOG_SCALES = (float(np.log(1e-3)), float(np.log(10.0)))  # in sd of the target
LOG_DEGREES = (float(np.log(2.1)), float(np.log(100.0)))  # above two there is a variance


@dataclass(frozen=True)
class Student(Likelihood):
    """Student's t with this scale and these degrees of freedom; both are learned."""

    scale: float = 0.3
    degrees: float = 4.0

    @property
    def parameters(self) -> Array:
        """The logarithms of the scale and of the degrees of freedom."""
        return np.log([self.scale, self.degrees])

    def bounds(self) -> list[tuple[float, float]]:
        """Of both logarithms."""
        return [LOG_SCALES, LOG_DEGREES]

    def with_parameters(self, parameters: Array) -> Student:
        """At another scale and other degrees of freedom."""
        scale, degrees = np.exp(parameters).tolist()
        return Student(scale, degrees)

    def log_density(self, y: Array, f: Array) -> Array:
        """log p(y | f)."""
        nu = self.degrees
        constant = gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * nu) - 0.5 * np.log(nu * np.pi)
        square = ((y - f) / self.scale) ** 2
        value: Array = constant - np.log(self.scale) - 0.5 * (nu + 1.0) * np.log1p(square / nu)
        return value

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """The first three derivatives for f."""
        nu, s = self.degrees, self.scale
        r = (y - f) / s
        wide = nu + r**2
        first = (nu + 1.0) * r / (s * wide)
        second = (nu + 1.0) * (r**2 - nu) / (s * wide) ** 2
        third = -2.0 * (nu + 1.0) * r * (3.0 * nu - r**2) / (s * wide) ** 3
        return first, second, third

    def by_parameters(self, y: Array, f: Array) -> Array:
        """For the log scale and the log degrees of freedom."""
        nu = self.degrees
        square = ((y - f) / self.scale) ** 2
        pull = (nu + 1.0) * square / (nu + square)
        psi = digamma(0.5 * (nu + 1.0)) - digamma(0.5 * nu)
        by_degrees = 0.5 * (nu * (psi - np.log1p(square / nu)) - 1.0 + pull)
        return np.stack([pull - 1.0, by_degrees])

    def moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Mean and variance of a new observation where f is normal."""
        return mean, variance + self.scale**2 * self.degrees / (self.degrees - 2.0)
