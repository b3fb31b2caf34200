"""What inference asks of a likelihood, and how quadrature answers it.

The latent value f of a row is normal, N(mean, variance), under the posterior (variational inference) or with
the row's own site taken out (expectation propagation). Rows are independent, and everything is by row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Self

import numpy as np

from termwise.measures.base import Array

# Evenly spaced nodes: their error falls like exp(-2 pi d / step), the nearest pole being d sd of the normal
# away. For the logit at variance 9 it is 2e-14, at variance 25 5e-9.
WIDEST, STEP = 8.6, 0.2  # in sd
RESOLVED = 2.0  # sd of f, in widths of the likelihood, that this step resolves
HALVINGS = (-2, 4)  # of the step, at least and at most: below, it would not resolve the normal itself
BLOCK = 4096  # rows whose nodes are in memory together
Look = Callable[[Array, Array, Array, Array], tuple[Array, ...]]


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

    def start(self, y: Array) -> Array:
        """Latent values from which a search for the posterior is safe."""
        return np.zeros(y.shape)

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

    @abstractmethod
    def sharpness(self, y: Array) -> Array:
        """About the largest curvature of -log p(y | f) in f: quadrature must not step over it."""

    def expected(self, y: Array, mean: Array, variance: Array) -> Expected:
        """The expectation by quadrature; derivatives of an expectation are expectations of derivatives."""

        def look(y: Array, f: Array, weights: Array, power: Array) -> tuple[Array, ...]:
            slope, curvature, _ = self.derivatives(y, f)
            return self.log_density(y, f) @ weights, slope @ weights, 0.5 * (curvature @ weights)

        return Expected(*self._by_quadrature(look, y, mean, variance))

    def expected_by_parameters(self, y: Array, mean: Array, variance: Array) -> Array:
        """Derivatives of the expectation for the parameters, (parameters, n)."""

        def look(y: Array, f: Array, weights: Array, power: Array) -> tuple[Array, ...]:
            return (self.by_parameters(y, f) @ weights,)

        return self._by_quadrature(look, y, mean, variance)[0]

    def tilted(self, y: Array, mean: Array, variance: Array, power: Array | None = None) -> Tilted:
        """log E p(y | f)^power by quadrature; power is one if not given."""

        def look(y: Array, f: Array, weights: Array, power: Array) -> tuple[Array, ...]:
            log_value, share = _shares(power * self.log_density(y, f), weights)
            slope, curvature, _ = self.derivatives(y, f)
            first = np.sum(share * power * slope, axis=1)
            second = np.sum(share * (power * curvature + (power * slope) ** 2), axis=1)
            return log_value, first, second - first**2

        return Tilted(*self._by_quadrature(look, y, mean, variance, power))

    def log_predictive(self, y: Array, mean: Array, variance: Array) -> Array:
        """log E p(y | f), of any number of rows, wherever f is: the value of `tilted`."""
        cuts = [slice(start, start + BLOCK) for start in range(0, y.size, BLOCK)]
        parts = [self._log_average(y[cut], mean[cut], variance[cut]) for cut in cuts]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _log_average(self, y: Array, mean: Array, variance: Array) -> Array:
        def look(y: Array, f: Array, weights: Array, power: Array) -> tuple[Array, ...]:
            return (_shares(self.log_density(y, f), weights)[0],)

        return self._by_quadrature(look, y, mean, variance)[0]

    def tilted_by_parameters(
        self, y: Array, mean: Array, variance: Array, power: Array | None = None
    ) -> Array:
        """Derivatives of `tilted` for the parameters, (parameters, n)."""

        def look(y: Array, f: Array, weights: Array, power: Array) -> tuple[Array, ...]:
            _, share = _shares(power * self.log_density(y, f), weights)
            return (np.sum(share * power * self.by_parameters(y, f), axis=-1),)

        return self._by_quadrature(look, y, mean, variance, power)[0]

    def _by_quadrature(
        self, look: Look, y: Array, mean: Array, variance: Array, power: Array | None = None
    ) -> tuple[Array, ...]:
        """What `look` makes of the densities at the nodes; nodes are closer where the likelihood is sharp."""
        powers = np.ones(y.size) if power is None else power
        sharp = np.sqrt(variance * self.sharpness(y) * np.maximum(powers, 1.0))
        halvings = np.clip(np.ceil(np.log2(np.maximum(sharp / RESOLVED, 1e-9))), *HALVINGS)
        if halvings.size and np.all(halvings == halvings[0]):
            f, weights = latent_nodes(mean, variance, int(halvings[0]))
            return look(y[:, None], f, weights, powers[:, None])
        parts: dict[int, tuple[Array, ...]] = {}
        for k in np.unique(halvings).astype(int).tolist():
            here = halvings == k
            f, weights = latent_nodes(mean[here], variance[here], k)
            parts[k] = look(y[here, None], f, weights, powers[here, None])
        found = []
        for i in range(len(next(iter(parts.values())))):
            shape = next(iter(parts.values()))[i].shape[:-1]
            whole = np.empty((*shape, y.size))
            for k, part in parts.items():
                whole[..., halvings == k] = part[i]
            found.append(whole)
        return tuple(found)


@cache
def normal_nodes(halvings: int = 0) -> tuple[Array, Array]:
    """Nodes and weights for the expectation under a standard normal, the step halved so many times."""
    step = STEP * 2.0**-halvings
    nodes = np.arange(-WIDEST, WIDEST + 0.5 * step, step)
    weights = np.exp(-0.5 * nodes**2)
    return nodes, weights / np.sum(weights)


def latent_nodes(mean: Array, variance: Array, halvings: int = 0) -> tuple[Array, Array]:
    """The latent values (n, nodes) at which quadrature looks, and their weights."""
    nodes, weights = normal_nodes(halvings)
    return mean[:, None] + np.sqrt(variance)[:, None] * nodes, weights


def _shares(log_values: Array, weights: Array) -> tuple[Array, Array]:
    """log sum_i weight_i exp(value_i) of each row, and what part of the sum each node has."""
    best = np.max(log_values, axis=1, keepdims=True)
    parts = np.exp(log_values - best) * weights
    total = np.sum(parts, axis=1, keepdims=True)
    return (np.log(total) + best)[:, 0], parts / total
