"""P(new observation <= y), of whatever is predicted: what checks compare with the rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import gammaincc, ndtr, stdtr

from termwise.likelihoods import Poisson, Student
from termwise.likelihoods.base import latent_nodes
from termwise.measures.base import Array
from termwise.posterior.noise import Noise

BLOCK = 512  # rows whose nodes are in memory together
RESOLVED, FINEST = 0.5, 5  # sd of f, in widths of the likelihood, that the coarsest nodes resolve; halvings


def normal_distribution(noise: Noise, residuals: Array, known: Array) -> Array:
    """sum_k weight_k Phi((residual - mean_k) / sqrt(known + variance_k))."""
    sd = np.sqrt(known[:, None] + np.asarray(noise.variances))
    value: Array = ndtr((residuals[:, None] - np.asarray(noise.means)) / sd) @ np.asarray(noise.weights)
    return value


def student_distribution(likelihood: Student, y: Array, mean: Array, variance: Array) -> Array:
    """E T((y - f) / scale) over a normal f, T the distribution function of Student's t."""
    return _expectation(
        lambda y, f: stdtr(likelihood.degrees, (y - f) / likelihood.scale),
        y,
        mean,
        variance,
        width=np.full(y.shape, likelihood.scale),
    )


def count_distribution(likelihood: Poisson, y: Array, mean: Array, variance: Array) -> Array:
    """E P(count <= y | f) over a normal f; zero for y below zero."""
    whole = np.floor(y)
    value = _expectation(
        # The distribution function of a Poisson count is an incomplete gamma function of its rate.
        lambda y, f: gammaincc(np.maximum(y, 0.0) + 1.0, np.exp(np.minimum(f, 300.0))),
        whole,
        mean,
        variance,
        width=1.0 / np.sqrt(np.maximum(whole, 1.0)),
    )
    return np.where(whole < 0.0, 0.0, value)


def randomised(below: Array, upto: Array, seed: int) -> Array:
    """Values between P(count < y) and P(count <= y): uniform if the model is right, as counts alone are not.

    Czado, Gneiting and Held (2009). The seed is fixed, so that the same rows have the same values.
    """
    u = np.random.default_rng(seed).random(below.size)
    value: Array = below + u * (upto - below)
    return value


def _expectation(
    function: Callable[[Array, Array], Array], y: Array, mean: Array, variance: Array, *, width: Array
) -> Array:
    """E function(y, f) over f ~ N(mean, variance), the nodes as close as the width asks."""
    out = np.empty(y.size)
    for start in range(0, y.size, BLOCK):
        cut = slice(start, start + BLOCK)
        sharp = float(np.max(np.sqrt(variance[cut]) / width[cut]))
        halvings = int(np.clip(np.ceil(np.log2(max(sharp / RESOLVED, 1e-9))), 0, FINEST))
        f, weights = latent_nodes(mean[cut], variance[cut], halvings)
        out[cut] = function(y[cut, None], f) @ weights
    return out
