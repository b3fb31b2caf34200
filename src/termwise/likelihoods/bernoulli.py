"""Yes or no: y is 1 or 0, and the latent value says how likely the one is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, ndtr

from termwise.likelihoods.base import Expected, Likelihood, Tilted
from termwise.measures.base import Array

LOG_ROOT = 0.5 * float(np.log(2.0 * np.pi))


def _signs(y: Array) -> Array:
    signs: Array = np.where(y > 0.5, 1.0, -1.0)
    return signs


@dataclass(frozen=True)
class Logit(Likelihood):
    """p(1 | f) = 1 / (1 + exp(-f)): f is the logarithm of the odds."""

    def log_density(self, y: Array, f: Array) -> Array:
        """log p(y | f)."""
        value: Array = log_expit(_signs(y) * f)
        return value

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """The first three derivatives for f."""
        p, q = expit(f), expit(-f)
        bend = -p * q
        return np.where(y > 0.5, q, -p), bend, bend * (q - p)

    def expected(self, y: Array, mean: Array, variance: Array) -> Expected:
        """By quadrature, with one exponential a node instead of three."""
        signs = _signs(y)

        def look(y: Array, f: Array, weights: Array, power: Array) -> tuple[Array, ...]:
            # f is turned so that the label that was seen lies above zero.
            small = np.exp(-np.abs(f))
            larger = 1.0 / (1.0 + small)
            bend = small * larger
            missed = np.where(f > 0.0, bend, larger)
            bend *= larger
            value = np.minimum(f, 0.0) - np.log1p(small)
            return value @ weights, missed @ weights, -0.5 * (bend @ weights)

        value, slope, curvature = self._by_quadrature(look, y, signs * mean, variance)
        return Expected(value, signs * slope, curvature)

    def sharpness(self, y: Array) -> Array:
        """The curvature at f = 0."""
        return np.full(y.shape, 0.25)

    def probability(self, mean: Array, variance: Array) -> Array:
        """P(y = 1) where f is normal."""
        p: Array = np.exp(self.log_predictive(np.ones(mean.shape), mean, variance))
        return p

    def moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Mean and variance of a new observation where f is normal."""
        p = self.probability(mean, variance)
        return p, p * (1.0 - p)


@dataclass(frozen=True)
class Probit(Likelihood):
    """p(1 | f) = Phi(f), the distribution function of the standard normal."""

    def log_density(self, y: Array, f: Array) -> Array:
        """log p(y | f)."""
        value: Array = log_ndtr(_signs(y) * f)
        return value

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """The first three derivatives for f."""
        signs = _signs(y)
        ratio, bend = _ratio(signs * f)
        third = -bend * (signs * f + ratio) - ratio * (1.0 + bend)
        return signs * ratio, bend, signs * third

    def sharpness(self, y: Array) -> Array:
        """The curvature far out on the wrong side."""
        return np.ones(y.shape)

    def tilted(self, y: Array, mean: Array, variance: Array, power: Array | None = None) -> Tilted:
        """In closed form unless the density is raised to a power. Rasmussen and Williams eq. 3.58."""
        if power is not None:
            return super().tilted(y, mean, variance, power)
        signs, width = _signs(y), np.sqrt(1.0 + variance)
        t = signs * mean / width
        ratio, bend = _ratio(t)
        return Tilted(log_ndtr(t), signs * ratio / width, bend / width**2)

    def _log_average(self, y: Array, mean: Array, variance: Array) -> Array:
        value: Array = log_ndtr(_signs(y) * mean / np.sqrt(1.0 + variance))
        return value

    def probability(self, mean: Array, variance: Array) -> Array:
        """P(y = 1) where f is normal."""
        value: Array = ndtr(mean / np.sqrt(1.0 + variance))
        return value

    def moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Mean and variance of a new observation where f is normal."""
        p = self.probability(mean, variance)
        return p, p * (1.0 - p)


def _ratio(t: Array) -> tuple[Array, Array]:
    """d log Phi(t) / dt, which is phi / Phi, and the second derivative."""
    ratio = np.exp(-0.5 * t**2 - LOG_ROOT - log_ndtr(t))
    return ratio, -ratio * (t + ratio)
