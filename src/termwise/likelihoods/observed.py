"""The targets of some rows under a likelihood, with the weights and offsets of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from termwise.likelihoods.base import Expected, Likelihood, Tilted
from termwise.measures.base import Array

LEAST_START = 1e-3  # precision of the sites to begin with


@dataclass(frozen=True, eq=False)
class Observed:
    """Targets y, of which the log density at f + offset counts `weight` times."""

    likelihood: Likelihood
    y: Array
    weight: Array | None = None
    offset: Array | None = None

    def at(self, parameters: Array) -> Observed:
        """The same under other parameters of the likelihood."""
        return replace(self, likelihood=self.likelihood.with_parameters(parameters))

    def rows(self, chosen: slice | Array) -> Observed:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[chosen]
        offset = None if self.offset is None else self.offset[chosen]
        return Observed(self.likelihood, self.y[chosen], weight, offset)

    def _shifted(self, f: Array) -> Array:
        return f if self.offset is None else f + self.offset

    def _weighted(self, values: Array) -> Array:
        return values if self.weight is None else self.weight * values

    def start(self) -> Array:
        """Latent values from which a search for the posterior is safe."""
        f = self.likelihood.start(self.y)
        return f if self.offset is None else f - self.offset

    def start_sites(self) -> tuple[Array, Array]:
        """(tau, nu) of the site that each row would have there by itself."""
        f = self.start()
        first, second, _ = self.derivatives(f)
        tau = np.maximum(-second, LEAST_START)
        return tau, first + tau * f

    def log_density(self, f: Array) -> Array:
        """log p(y | f) of every row."""
        return self._weighted(self.likelihood.log_density(self.y, self._shifted(f)))

    def derivatives(self, f: Array) -> tuple[Array, Array, Array]:
        """The first three derivatives of the log density for f."""
        first, second, third = self.likelihood.derivatives(self.y, self._shifted(f))
        return self._weighted(first), self._weighted(second), self._weighted(third)

    def by_parameters(self, f: Array) -> Array:
        """Derivatives of the log density for the parameters, (parameters, n)."""
        return self._weighted(self.likelihood.by_parameters(self.y, self._shifted(f)))

    def expected(self, mean: Array, variance: Array) -> Expected:
        """E log p(y | f) where f is normal, and its derivatives."""
        found = self.likelihood.expected(self.y, self._shifted(mean), variance)
        parts = (found.value, found.by_mean, found.by_variance)
        return Expected(*(self._weighted(part) for part in parts))

    def expected_by_parameters(self, mean: Array, variance: Array) -> Array:
        """The derivatives of that for the parameters, (parameters, n)."""
        return self._weighted(self.likelihood.expected_by_parameters(self.y, self._shifted(mean), variance))

    def tilted(self, mean: Array, variance: Array) -> Tilted:
        """log E p(y | f)^weight where f is normal, and its derivatives for the mean."""
        return self.likelihood.tilted(self.y, self._shifted(mean), variance, self.weight)

    def tilted_by_parameters(self, mean: Array, variance: Array) -> Array:
        """The derivatives of that for the parameters, (parameters, n)."""
        return self.likelihood.tilted_by_parameters(self.y, self._shifted(mean), variance, self.weight)

    @property
    def size(self) -> int:
        """The number of rows."""
        return int(np.size(self.y))
