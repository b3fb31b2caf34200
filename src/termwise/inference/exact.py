"""The exact log marginal likelihood with its gradient, in the memory of one kernel matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from termwise.inference.learnable import Layout, Learnable
from termwise.kernels.fused import run
from termwise.linalg.cholesky import Factor, factorise
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior


@dataclass(eq=False)
class ExactObjective:
    """log p(y | theta) + log p(theta) for a Gaussian likelihood; value and gradient by potrf and potri."""

    model: Learnable
    X: Array
    y: Array
    threads: int
    jitter: float = 0.0
    evaluations: int = 0
    rested: ClassVar[bool] = True  # there are no sites

    @cached_property
    def _cells(self) -> Array:
        return np.ascontiguousarray(self.X.T)

    @cached_property
    def _buffer(self) -> Array:
        return np.empty((self.y.size, self.y.size))

    def value_and_gradient(self, theta: Array, *, late: bool = True) -> tuple[float, Array]:
        """The objective and its gradient, for late parameters only if wanted; sets `jitter`."""
        self.evaluations += 1
        layout = self.model.layout(theta, self._cells, late=late)
        variances, dvariances = self.model.orders.variances(self.model.order_parameters(theta))
        noise = float(np.exp(theta[-1]))
        weights, z = layout.weights(variances), layout.own_kernel
        factor = self._factor(layout, variances, noise)
        alpha = factor.solve(self.y)
        n = self.y.size
        likelihood = -0.5 * (self.y @ alpha + factor.log_determinant + n * np.log(2.0 * np.pi))
        inverse = factor.inverse_in_place()
        # d likelihood / dK = (alpha alpha' - K^-1) / 2; the loops form it on the fly
        total = run.adjoint_below(weights, layout.rows, inverse, -alpha, alpha, self.threads)
        own = 0.5 * (alpha**2 - np.diag(inverse))
        by_variance, by_z = self.model.selection.adjoint(z, variances, own)
        by_column = layout.gradient(_scaled(total, -0.5), by_z)
        prior, gradient = self.model.log_prior(theta)
        orders = dvariances @ (by_variance - 0.5 * total.variances)
        likelihood_gradient = np.concatenate([by_column, orders, [noise * float(np.sum(own))]])
        return float(likelihood + prior), gradient + likelihood_gradient

    def posterior(self, theta: Array) -> Posterior:
        """What is known at theta, with all rows as centres."""
        layout = self.model.layout(theta, self._cells, late=False)
        variances, _ = self.model.orders.variances(self.model.order_parameters(theta))
        noise = float(np.exp(theta[-1]))
        factor = self._factor(layout, variances, noise)
        return self.model.posterior(theta, self.X, factor.solve(self.y), factor.inverse_root(), noise)

    def _factor(self, layout: Layout, variances: Array, noise: float) -> Factor:
        """The Cholesky factor of K + noise I; sets `jitter`."""
        weights = layout.weights(variances)
        own = variances @ self.model.selection.by_order(layout.own_kernel, variances.size - 1)

        def fill(out: Array) -> None:
            run.gram_below(weights, layout.rows, out, self.threads)
            out.reshape(-1)[:: self.y.size + 1] = own + noise

        factor = factorise(self._buffer, fill)
        self.jitter = factor.jitter
        return factor


def _scaled(c: run.Cotangents, factor: float) -> run.Cotangents:
    rows = run.Rows(factor * c.x.u, factor * c.x.a)
    return run.Cotangents(factor * c.variances, factor * c.weight, factor * c.tables, rows, rows)
