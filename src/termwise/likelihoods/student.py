"""Numbers with outliers: y is Student-t about f, and what is far away has little say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import digamma, gammaln, logsumexp, ndtr, stdtrit

from termwise.likelihoods.base import Expected, Likelihood
from termwise.measures.base import Array

LOG_SCALES = (float(np.log(1e-3)), float(np.log(10.0)))  # in sd of the target
VANISHED, NODES = 40.0, 400  # nats below the largest; of the precision of a mixture of normals
LOG_DEGREES = (float(np.log(2.1)), float(np.log(100.0)))  # above two there is a variance


@dataclass(frozen=True)
class Student(Likelihood):
    """Student's t with this scale and these degrees of freedom; both are learned."""

    scale: float = 0.3
    degrees: float = 4.0
    log_concave: ClassVar[bool] = False

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
        return self._by_square(((y - f) / self.scale) ** 2)

    def _by_square(self, square: Array) -> Array:
        nu = self.degrees
        constant = gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * nu) - 0.5 * np.log(nu * np.pi)
        value: Array = constant - np.log(self.scale) - 0.5 * (nu + 1.0) * np.log1p(square / nu)
        return value

    def expected(self, y: Array, mean: Array, variance: Array) -> Expected:
        """A bound from below, in closed form, whose sites are all positive.

        Student's t is a mixture of normals over their precision; the bound is that of a posterior in which
        the precision of a row and f are independent. It has the expected square in the place of the square.
        """
        square = ((y - mean) ** 2 + variance) / self.scale**2
        tau = (self.degrees + 1.0) / (self.scale**2 * (self.degrees + square))
        return Expected(self._by_square(square), tau * (y - mean), -0.5 * tau)

    def expected_by_parameters(self, y: Array, mean: Array, variance: Array) -> Array:
        """The derivatives of the bound."""
        return self._parameters_by_square(((y - mean) ** 2 + variance) / self.scale**2)

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """The first three derivatives for f."""
        nu, s = self.degrees, self.scale
        r = (y - f) / s
        wide = nu + r**2
        # By ratios, as powers of what is far out are no numbers any more.
        first = (nu + 1.0) / s * (r / wide)
        second = (nu + 1.0) / s**2 * ((r**2 - nu) / wide / wide)
        third = -2.0 * (nu + 1.0) / s**3 * (r / wide) * ((3.0 * nu - r**2) / wide / wide)
        return first, second, third

    def sharpness(self, y: Array) -> Array:
        """The curvature at the mode."""
        return np.full(y.shape, (self.degrees + 1.0) / (self.degrees * self.scale**2))

    def by_parameters(self, y: Array, f: Array) -> Array:
        """For the log scale and the log degrees of freedom."""
        return self._parameters_by_square(((y - f) / self.scale) ** 2)

    def _parameters_by_square(self, square: Array) -> Array:
        nu = self.degrees
        pull = (nu + 1.0) * square / (nu + square)
        psi = digamma(0.5 * (nu + 1.0)) - digamma(0.5 * nu)
        by_degrees = 0.5 * (nu * (psi - np.log1p(square / nu)) - 1.0 + pull)
        return np.stack([pull - 1.0, by_degrees])

    def _log_average(self, y: Array, mean: Array, variance: Array) -> Array:
        """As the mixture of normals that it is, over the logarithm t of their precision.

        However narrow the likelihood is beside the normal of f, this integrand is smooth.
        """
        half, square = 0.5 * self.degrees, ((y - mean) / self.scale) ** 2
        # Where exp(half (1 + t - e^t)) has vanished; the residual asks for a precision as low as that.
        nothing = VANISHED / half
        high = min(np.sqrt(2.0 * nothing), np.log1p(2.0 * nothing) + 1.0)
        low = np.log((self.degrees + 1.0) / (self.degrees + square)) - nothing - 1.0
        low = np.minimum(low, -nothing - 1.0)
        t = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, NODES)
        log_gamma = half * (np.log(half) + t - np.exp(t)) - gammaln(half)
        total = variance[:, None] + self.scale**2 * np.exp(-t)
        log_normal = -0.5 * ((y - mean)[:, None] ** 2 / total + np.log(2.0 * np.pi * total))
        value: Array = logsumexp(log_gamma + log_normal, axis=1) + np.log((high - low) / (NODES - 1))
        return value

    def moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Mean and variance of a new observation where f is normal."""
        return mean, variance + self.scale**2 * self.degrees / (self.degrees - 2.0)

    @property
    def middle_variance(self) -> float:
        """The variance of the normal whose central 68 % are as wide: the scatter, outliers aside.

        With degrees of freedom near two the variance itself is nearly all of the tails.
        """
        return float((self.scale * stdtrit(self.degrees, ndtr(1.0))) ** 2)
