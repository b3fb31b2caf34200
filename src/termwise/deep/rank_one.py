"""A kernel of rank one in closed form: f(x) = c g(x) with c ~ N(0, 1), so that k(x, x') = g(x) g(x')."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from termwise.measures.base import Array


@dataclass(frozen=True)
class Amplitude:
    """What is known of c: a normal with this mean and variance."""

    mean: float
    variance: float


def amplitude(g: Array, y: Array, noise: float) -> Amplitude:
    """c given y = c g + noise: mean g'y / (noise + g'g), variance noise / (noise + g'g)."""
    total = noise + float(g @ g)
    return Amplitude(float(g @ y) / total, noise / total)


def log_evidence(g: Array, y: Array, noise: float) -> float:
    """log N(y | 0, g g' + noise I), in time that grows with the rows, by Sherman and Morrison."""
    c, n = amplitude(g, y, noise), y.size
    # y'y - (g'y)^2 / (noise + g'g), as a sum of squares: the difference would lose the digits of a good fit.
    squares = float(np.sum((y - c.mean * g) ** 2)) + noise * c.mean**2
    log_determinant = n * np.log(noise) - np.log(c.variance)
    return -0.5 * (squares / noise + log_determinant + n * np.log(2.0 * np.pi))


def log_density(g: Array, y: Array, noise: float) -> float:
    """log N(y | g, noise I): the same where c is known to be one."""
    return -0.5 * (float(np.sum((y - g) ** 2)) / noise + y.size * np.log(2.0 * np.pi * noise))


def best_noise(g: Array, y: Array, noise: float, steps: int = 1) -> float:
    """A noise of no less evidence, by steps of EM: E mean (y - c g)^2."""
    for _ in range(steps):
        c = amplitude(g, y, noise)
        noise = float(np.mean((y - c.mean * g) ** 2 + c.variance * g**2))
    return noise
