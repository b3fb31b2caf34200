"""Counts: y is Poisson with mean exp(f). An exposure is a constant added to f, by whoever calls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp, wrightomega, xlogy

from termwise.likelihoods.base import Expected, Likelihood
from termwise.measures.base import Array

LARGEST = 300.0  # of f: its exponential, and the square of it, are still numbers
STIRLING = 50.0  # counts from which three terms of Stirling's series have all digits
# Nodes about the mode, in widths of it: on the left the density falls as slowly as exp(f), on the right fast.
LEFT, RIGHT, STEP = 40.0, 12.0, 0.125
LEAST_VARIANCE = 1e-14  # of f: less changes no digit of the rate


def _rate(f: Array) -> Array:
    rate: Array = np.exp(np.minimum(f, LARGEST))
    return rate


def _log_density(y: Array, f: Array, half: Array | float = 0.0) -> Array:
    """y f - exp(f + half) - log y!, about its largest value: of a million events few digits would be left."""
    some = y > 0.0
    d = np.minimum(f, LARGEST) - np.log(np.where(some, y, 1.0))
    near = np.clip(d + half, -1.0, 1.0)
    rate = _rate(f + half)
    excess = np.where(near == d + half, y * np.expm1(near), rate - y)
    value: Array = np.where(some, y * d - excess + _largest(y), -rate)
    return value


def _largest(y: Array) -> Array:
    """y log y - y - log y!, the log density of a count at its own rate."""
    many = np.maximum(y, STIRLING)
    series = 1.0 / (12.0 * many) - 1.0 / (360.0 * many**3) + 1.0 / (1260.0 * many**5)
    few = np.minimum(y, STIRLING)
    direct = xlogy(few, few) - few - gammaln(few + 1.0)
    return np.where(y > STIRLING, -0.5 * np.log(2.0 * np.pi * many) - series, direct)


def _mode(y: Array, mean: Array, variance: Array) -> Array:
    """Where y f - exp(f) - (f - mean)^2 / 2 variance is largest."""
    a = mean + variance * y
    f = a - wrightomega(a + np.log(variance)).real
    for _ in range(2):  # of a large count the difference has lost its last digits
        f -= (_rate(f) - y + (f - mean) / variance) / (_rate(f) + 1.0 / variance)
    mode: Array = f
    return mode


@dataclass(frozen=True)
class Poisson(Likelihood):
    """p(y | f) = exp(y f - exp(f)) / y!."""

    def log_density(self, y: Array, f: Array) -> Array:
        """log p(y | f)."""
        return _log_density(y, f)

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """The first three derivatives for f."""
        rate = _rate(f)
        return y - rate, -rate, -rate

    def start(self, y: Array) -> Array:
        """About the logarithm of the count: from far below it a step of Newton's would go far beyond."""
        return np.log(y + 0.5)

    def sharpness(self, y: Array) -> Array:
        """The curvature at the mode, and at least that of a small count."""
        return np.maximum(y, 1.0)

    def expected(self, y: Array, mean: Array, variance: Array) -> Expected:
        """In closed form: E exp(f) = exp(mean + variance / 2)."""
        rate = _rate(mean + 0.5 * variance)
        return Expected(_log_density(y, mean, 0.5 * variance), y - rate, -0.5 * rate)

    def _log_average(self, y: Array, mean: Array, variance: Array) -> Array:
        """By quadrature about the mode of density times normal: that of a large count is a narrow peak."""
        v = np.maximum(variance, LEAST_VARIANCE)
        mode = _mode(y, mean, v)
        width = 1.0 / np.sqrt(_rate(mode) + 1.0 / v)
        f = mode[:, None] + width[:, None] * np.arange(-LEFT, RIGHT, STEP)
        logs = _log_density(y[:, None], f) - 0.5 * (f - mean[:, None]) ** 2 / v[:, None]
        value: Array = logsumexp(logs, axis=1) + np.log(STEP * width / np.sqrt(2.0 * np.pi * v))
        return value

    def moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Mean and variance of a new count: those of exp(f), and the count's own."""
        rate = _rate(mean + 0.5 * variance)
        return rate, rate + rate**2 * np.expm1(np.minimum(variance, LARGEST))
