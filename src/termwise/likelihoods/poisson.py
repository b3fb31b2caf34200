"""Counts: y is Poisson with mean exp(f). An exposure is a constant added to f, by whoever calls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from termwise.likelihoods.base import Expected, Likelihood
from termwise.measures.base import Array

LARGEST = 300.0  # of f: its exponential, and the square of it, are still numbers


def _rate(f: Array) -> Array:
    rate: Array = np.exp(np.minimum(f, LARGEST))
    return rate


@dataclass(frozen=True)
class Poisson(Likelihood):
    """p(y | f) = exp(y f - exp(f)) / y!."""

    def log_density(self, y: Array, f: Array) -> Array:
        """log p(y | f)."""
        value: Array = y * f - _rate(f) - gammaln(y + 1.0)
        return value

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """The first three derivatives for f."""
        rate = _rate(f)
        return y - rate, -rate, -rate

    def sharpness(self, y: Array) -> Array:
        """The curvature at the mode, and at least that of a small count."""
        return np.maximum(y, 1.0)

    def expected(self, y: Array, mean: Array, variance: Array) -> Expected:
        """In closed form: E exp(f) = exp(mean + variance / 2)."""
        rate = _rate(mean + 0.5 * variance)
        return Expected(y * mean - rate - gammaln(y + 1.0), y - rate, -0.5 * rate)

    def moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Mean and variance of a new count: those of exp(f), and the count's own."""
        rate = _rate(mean + 0.5 * variance)
        return rate, rate + rate**2 * np.expm1(np.minimum(variance, LARGEST))
