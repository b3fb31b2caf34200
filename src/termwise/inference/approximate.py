"""The approximate evidence of rows whose likelihood is not normal, and its gradient, on the kernel matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from termwise.inference.latent import Sites
from termwise.inference.learnable import Layout, Learnable
from termwise.inference.sites import Rule, Settled, settle
from termwise.kernels.fused import run
from termwise.likelihoods.observed import Observed
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior


@dataclass(eq=False)
class SiteObjective:
    """log p(y | theta), as a rule for sites gives it, + log p(theta).

    Sites begin where they came to rest the last time, so that a small step of theta takes few of theirs.
    """

    model: Learnable
    X: Array
    observed: Observed
    rule: Rule
    threads: int = 1
    jitter: float = 0.0
    evaluations: int = 0
    sites: Sites | None = None
    rested: bool = True  # whether they came to rest the last time

    @cached_property
    def _cells(self) -> Array:
        return np.ascontiguousarray(self.X.T)

    def value_and_gradient(self, theta: Array, *, late: bool = True) -> tuple[float, Array]:
        """The objective and its gradient, for late parameters only if wanted; sets `jitter` and `rested`."""
        self.evaluations += 1
        layout = self.model.layout(theta, self._cells, late=late)
        variances, dvariances = self.model.orders.variances(self.model.order_parameters(theta))
        weights = layout.weights(variances)
        settled = self._settle(theta, self._kernel_matrix(layout, variances))
        C = _by_kernel(settled)
        # `adjoint_below` reads the part below the diagonal, and counts it twice.
        nothing = np.zeros(len(C))
        total = run.adjoint_below(weights, layout.rows, C, nothing, nothing, self.threads)
        by_variance, by_z = self.model.selection.adjoint(layout.own_kernel, variances, np.diag(C).copy())
        columns = layout.gradient(total, by_z)
        orders = dvariances @ (by_variance + total.variances)
        prior, gradient = self.model.log_prior(theta)
        gradient = gradient + np.concatenate([columns, orders, settled.slope.parameters])
        return settled.evidence + prior, gradient

    def _settle(self, theta: Array, K: Array) -> Settled:
        observed = self.observed.at(self.model.likelihood_parameters(theta))
        settled = settle(self.rule, K, observed, self.sites)
        if not settled.converged and self.sites is not None:
            settled = settle(self.rule, K, observed)
        self.sites, self.rested = settled.posterior.sites, settled.converged
        self.jitter = settled.posterior.jitter
        return settled

    def posterior(self, theta: Array) -> Posterior:
        """What is known at theta, with all rows as centres; sets `jitter` and `rested`."""
        layout = self.model.layout(theta, self._cells, late=False)
        variances, _ = self.model.orders.variances(self.model.order_parameters(theta))
        found = self._settle(theta, self._kernel_matrix(layout, variances)).posterior
        return self.model.posterior(theta, self.X, found.alpha, found.half, 0.0)

    def _kernel_matrix(self, layout: Layout, variances: Array) -> Array:
        """The kernel between all rows, with the variance of terms lost in missing cells on the diagonal."""
        n = layout.cells.shape[1]
        K = np.zeros((n, n))
        run.gram_below(layout.weights(variances), layout.rows, K, self.threads)
        K += K.T
        own = variances @ self.model.selection.by_order(layout.own_kernel, variances.size - 1)
        K.reshape(-1)[:: n + 1] = own
        return K


def _by_kernel(settled: Settled) -> Array:
    """The gradient of the evidence for the kernel matrix."""
    alpha = settled.posterior.alpha
    left = alpha if settled.slope.u is None else alpha + 2.0 * settled.slope.u
    C: Array = 0.5 * (0.5 * (np.outer(left, alpha) + np.outer(alpha, left)) - settled.posterior.inverse)
    return C
