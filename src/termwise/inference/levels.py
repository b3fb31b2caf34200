"""A column of levels while it is learned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from termwise.inference.columns import (
    LOG_RELEVANCES,
    RELEVANCE_RATE,
    Cotangent,
    State,
    TrainableColumn,
    exponential_log_prior,
)
from termwise.kernels.categorical import Categorical
from termwise.kernels.component import Component
from termwise.kernels.fused.block import TABLE
from termwise.measures.base import Array
from termwise.measures.discrete import Discrete

LOADINGS, LOG_KAPPAS = (-10.0, 10.0), (-5.0, 5.0)
FIRST_LOG_RELEVANCE = float(np.log(0.5))  # about what the constraint leaves of a number at lengthscale one


@dataclass(frozen=True, eq=False)
class LevelColumn(TrainableColumn):
    """Levels: (log relevance, loadings W, log kappa), A = W W' + diag(kappa). OAK eq. 19, 20.

    The table is divided by the mean of its diagonal, under the frequencies if it is constrained, so that its
    scale is the relevance. With two levels the constraint leaves one direction, and the relevance is all.
    """

    measure: Discrete
    constrained: bool
    first_loadings: tuple[float, ...]

    @property
    def kind(self) -> int:
        """Which compiled loop evaluates the kernel."""
        return TABLE

    @property
    def _n_levels(self) -> int:
        return len(self.measure.probabilities)

    @property
    def _shaped(self) -> bool:
        return self._n_levels > 2 or (self._n_levels == 2 and not self.constrained)

    def start(self, lengthscale: float) -> Array:
        """Loadings by the mean target of each level: the order of the levels does not matter."""
        return np.concatenate([[FIRST_LOG_RELEVANCE], self.first_loadings, np.zeros(self._n_levels)])

    def bounds(self) -> list[tuple[float, float]]:
        """Relevance, loadings, kappas."""
        if not self._shaped:
            fixed = [(value, value) for value in self.start(1.0)[1:]]
            return [LOG_RELEVANCES, *fixed]
        return [LOG_RELEVANCES, *[LOADINGS] * self._n_levels, *[LOG_KAPPAS] * self._n_levels]

    @property
    def _averaged_by(self) -> Array:
        """The weights of the diagonal in its mean; without a constraint there is no measure."""
        p = np.asarray(self.measure.probabilities)
        return p if self.constrained else np.full(p.size, 1.0 / p.size)

    def _tables(self, theta: Array) -> tuple[Array, Array, float]:
        """A, the constrained B before it is scaled, and the mean of B's diagonal."""
        p = np.asarray(self.measure.probabilities)
        w, kappa = theta[1 : 1 + p.size], np.exp(theta[1 + p.size :])
        A = np.outer(w, w) + np.diag(kappa)
        q = A @ p
        B = A - np.outer(q, q) / (p @ q) if self.constrained else A
        return A, B, float(self._averaged_by @ np.diag(B))

    def state(self, theta: Array, x: Array, *, late: bool = True, like: State | None = None) -> State:
        """The scaled table, with a level of zeros for missing cells."""
        table = self._scaled_table(theta) if like is None else like.table
        u = np.where(np.isnan(x), float(self._n_levels), x)
        empty, none = np.zeros((0, x.size)), np.zeros(0)
        return State(u, np.zeros(x.size), 1.0, float(np.exp(theta[0])), table, empty, empty, none, none)

    def _scaled_table(self, theta: Array) -> Array:
        _, B, mean = self._tables(theta)
        table = np.zeros((len(B) + 1, len(B) + 1))
        table[:-1, :-1] = np.exp(theta[0]) * B / mean
        return table

    def row_gradient(self, state: State, by_u: Array, by_a: Array) -> Array:
        """Nothing: levels have no coordinates, and all is in the table."""
        return np.zeros(1 + 2 * self._n_levels)

    def gradient(self, theta: Array, state: State, given: Cotangent) -> Array:
        """Back through B = relevance B0 / mean, B0 = A - q q' / v, q = A p, v = p'q, A = W W' + diag k."""
        size = self._n_levels
        G = given.table[:size, :size]
        S, B = 0.5 * (G + G.T), state.table[:size, :size]
        by_relevance = float(np.sum(S * B)) + given.mean_variance * state.mean_variance
        if not self._shaped:
            return np.concatenate([[by_relevance], np.zeros(2 * size)])
        A, B0, mean = self._tables(theta)
        p = np.asarray(self.measure.probabilities)
        scale = state.mean_variance / mean
        S = scale * S - (scale / mean) * float(np.sum(S * B0)) * np.diag(self._averaged_by)
        if self.constrained:
            q = A @ p
            v = p @ q
            outer = np.outer(S @ q, p)
            S = S - (outer + outer.T) / v + (q @ S @ q) / v**2 * np.outer(p, p)
        w, kappa = theta[1 : 1 + size], np.exp(theta[1 + size :])
        return np.concatenate([[by_relevance], 2.0 * S @ w, np.diag(S) * kappa])

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """Exponential for the relevance, standard normal for loadings and log kappas."""
        value, slope = exponential_log_prior(theta[0], RELEVANCE_RATE)
        if not self._shaped:
            return value, np.concatenate([[slope], np.zeros(theta.size - 1)])
        return value - 0.5 * float(theta[1:] @ theta[1:]), np.concatenate([[slope], -theta[1:]])

    def component(self, theta: Array) -> Component:
        """The kernel as a value."""
        size = self._n_levels
        kernel = Categorical(tuple(theta[1 : 1 + size].tolist()), tuple(np.exp(theta[1 + size :]).tolist()))
        weight = float(np.exp(theta[0])) / self._tables(theta)[2]
        return Component(kernel, self.measure if self.constrained else None, weight)
