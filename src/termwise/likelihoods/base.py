"""What inference asks of a likelihood, and how quadrature answers it.

The latent value f of a row is normal, N(mean, variance), under the posterior (variational inference) or with
the row's own site taken out (expectation propagation). Rows are independent, and everything is by row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Self

import numpy as np

from termwise.measures.base import Array

# Evenly spaced nodes: their error falls like exp(-2 pi d / step), the nearest pole being d sd of the normal
# away. For the logit at variance 9 it is 2e-14, at variance 25 5e-9.
WIDEST, STEP = 8.6, 0.2  # in sd


@dataclass(frozen=True, eq=False)
class Expected:
    """E log p(y | f) under a normal f, and its derivatives for the normal's mean and variance."""

    value: Array
    by_mean: Array
    by_variance: Array


@dataclass(frozen=True, eq=False)
class Tilted:
    """log E p(y | f) under a normal f, and its first two derivatives for the normal's mean."""

    value: Array
    slope: Array
    curvature: Array


class Likelihood(ABC):
    """log p(y | f) of every row, y being a number; with parameters of its own if it has any."""

    log_concave: ClassVar[bool] = True  # in f: then every rule for sites finds precisions above zero

    @abstractmethod
    def log_density(self, y: Array, f: Array) -> Array:
        """log p(y | f)."""

    @abstractmethod
    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """The first three derivatives of the log density for f."""

    @abstractmethod
    def moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Mean and variance of a new observation where f is normal."""

    @property
    def parameters(self) -> Array:
        """What is learned of the likelihood itself, as logarithms."""
        return np.zeros(0)

    def bounds(self) -> list[tuple[float, float]]:
        """Lower and upper bound of every parameter."""
        return []

    def with_parameters(self, parameters: Array) -> Self:
        """The same likelihood at other parameters."""
        assert parameters.size == 0, "this likelihood has no parameters"
        return self

    def by_parameters(self, y: Array, f: Array) -> Array:
        """Derivatives of the log density for the parameters, on a new first axis."""
        return np.zeros((0, *np.broadcast_shapes(y.shape, f.shape)))

    def expected(self, y: Array, mean: Array, variance: Array) -> Expected:
        """The expectation by quadrature; derivatives of an expectation are expectations of derivatives."""
        f, weights = latent_nodes(mean, variance)
        slope, curvature, _ = self.derivatives(y[:, None], f)
        value = self.log_density(y[:, None], f) @ weights
        return Expected(value, slope @ weights, 0.5 * (curvature @ weights))

    def expected_by_parameters(self, y: Array, mean: Array, variance: Array) -> Array:
        """Derivatives of the expectation for the parameters, (parameters, n)."""
        f, weights = latent_nodes(mean, variance)
        value: Array = self.by_parameters(y[:, None], f) @ weights
        return value

    def tilted(self, y: Array, mean: Array, variance: Array, power: Array | None = None) -> Tilted:
        """log E p(y | f)^power by quadrature; power is one if not given."""
        f, weights = latent_nodes(mean, variance)
        by = 1.0 if power is None else power[:, None]
        log_value, share = _shares(by * self.log_density(y[:, None], f), weights)
        slope, curvature, _ = self.derivatives(y[:, None], f)
        first = np.sum(share * by * slope, axis=1)
        second = np.sum(share * (by * curvature + (by * slope) ** 2), axis=1)
        return Tilted(log_value, first, second - first**2)

    def tilted_by_parameters(
        self, y: Array, mean: Array, variance: Array, power: Array | None = None
    ) -> Array:
        """Derivatives of `tilted` for the parameters, (parameters, n)."""
        f, weights = latent_nodes(mean, variance)
        by = 1.0 if power is None else power[:, None]
        _, share = _shares(by * self.log_density(y[:, None], f), weights)
        value: Array = np.sum(share * by * self.by_parameters(y[:, None], f), axis=-1)
        return value


@cache
def normal_nodes() -> tuple[Array, Array]:
    """Nodes and weights for the expectation under a standard normal."""
    nodes = np.arange(-WIDEST, WIDEST + 0.5 * STEP, STEP)
    weights = np.exp(-0.5 * nodes**2)
    return nodes, weights / np.sum(weights)


def latent_nodes(mean: Array, variance: Array) -> tuple[Array, Array]:
    """The latent values (n, nodes) at which quadrature looks, and their weights."""
    nodes, weights = normal_nodes()
    return mean[:, None] + np.sqrt(variance)[:, None] * nodes, weights


def _shares(log_values: Array, weights: Array) -> tuple[Array, Array]:
    """log sum_i weight_i exp(value_i) of each row, and what part of the sum each node has."""
    best = np.max(log_values, axis=1, keepdims=True)
    parts = np.exp(log_values - best) * weights
    total = np.sum(parts, axis=1, keepdims=True)
    return (np.log(total) + best)[:, 0], parts / total
