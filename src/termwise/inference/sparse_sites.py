"""Sparse inference when the likelihood is not normal: the variational bound over any number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add

import numpy as np
from scipy.linalg import cho_factor

from termwise.inference.blocks import Chunk, Reached, Setting
from termwise.inference.bound import Bound, shrinkage_root
from termwise.inference.kept import Kept
from termwise.inference.model import Model
from termwise.inference.site_blocks import SitePull, SiteSums, View, site_adjoint, site_statistics
from termwise.inference.sites import GROWTH, LEAST_STEP, MOST_STEPS
from termwise.inference.sparse import Solution, kept_by, push_of, through_inducing
from termwise.inference.workers import Workers
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior

TOLERANCE = 1e-9  # nats a row


@dataclass(frozen=True, eq=False)
class Inducing:
    """q(u) by its natural parameters: precision I + outer, and linear; u is standard normal a priori."""

    outer: Array
    linear: Array

    @classmethod
    def prior(cls, size: int) -> Inducing:
        """Nothing known."""
        return cls(np.zeros((size, size)), np.zeros(size))

    def towards(self, sums: SiteSums, step: float) -> Inducing:
        """A part of the way to what the rows ask for."""
        outer = np.triu(sums.outer) + np.triu(sums.outer, 1).T
        return Inducing(
            self.outer + step * (outer - self.outer), self.linear + step * (sums.linear - self.linear)
        )

    def moments(self) -> tuple[Array, Array, float]:
        """The mean, an upper triangle whose square C C' is the covariance, and KL from the prior."""
        size = self.linear.size
        # C = F^-1 for the precision F'F, F upper triangular, has C C' = (F'F)^-1.
        upper, _ = cho_factor(np.eye(size) + self.outer, lower=False)
        upper = np.triu(upper)
        spread = np.linalg.solve(upper, np.eye(size))
        mean = spread @ (spread.T @ self.linear)
        log_determinant = 2.0 * float(np.sum(np.log(np.diag(upper))))
        trace = float(np.sum(spread**2))
        divergence = 0.5 * (log_determinant + trace - size + float(mean @ mean))
        return mean, np.ascontiguousarray(np.triu(spread)), divergence


@dataclass(eq=False)
class SparseSiteObjective:
    """The variational bound, at its best for the inducing values, + log p(theta).

    With all rows inducing it is the bound of the whole kernel matrix. The search for the inducing values
    begins where it ended the last time.
    """

    model: Model
    chunks: Sequence[Chunk]
    inducing: Array
    workers: Workers
    kept: Kept = field(default_factory=Kept)
    jitter: float = 0.0
    evaluations: int = 0
    known: Inducing | None = None
    tolerance: float = TOLERANCE

    def value_and_gradient(self, theta: Array, *, late: bool = True) -> tuple[float, Array]:
        """The objective and its gradient, for late parameters only if wanted; sets `jitter`."""
        self.evaluations += 1
        self.kept.begin(late=late)
        kept = kept_by(self.workers, self.kept)
        view, sums, value = self._settle(Setting(self.model, theta, self.inducing, kept))
        root, identity = view.root, np.eye(view.mean.size)
        curvature = identity - view.spread @ view.spread.T - np.outer(view.mean, view.mean)
        pull = SitePull(view, root @ curvature @ root.T, root @ view.mean, late)
        reached: Reached = reduce(add, self.workers.map(site_adjoint, self.chunks, pull))
        assert self.known is not None, "it has settled"
        bound = Bound(value, view.mean, curvature, self.known.outer)
        columns, by_variance, _ = through_inducing(view.setting, root, bound, reached)
        _, dvariances = self.model.orders.variances(self.model.order_parameters(theta))
        prior, gradient = self.model.log_prior(theta)
        likelihood = np.concatenate([columns, dvariances @ by_variance, sums.parameters])
        return value + prior, gradient + likelihood

    def _settle(self, setting: Setting) -> tuple[View, SiteSums, float]:
        """Move the inducing values until the bound stays; steps that go too far are shortened."""
        push, self.jitter = push_of(setting)
        here = self.known or Inducing.prior(len(self.inducing))
        view, sums, value = self._look(push.setting, push.root, here)
        step = 1.0
        for _ in range(MOST_STEPS):
            there = here.towards(sums, step)
            then = self._look(push.setting, push.root, there)
            change = then[2] - value
            if not change >= -self.tolerance * sums.n_rows:
                step *= 0.5
                if step < LEAST_STEP:
                    break
                continue
            here, (view, sums, value) = there, then
            if abs(change) < self.tolerance * sums.n_rows and step > 0.5:
                break
            step = min(1.0, GROWTH * step)
        self.known = here
        return view, sums, value

    def _look(self, setting: Setting, root: Array, here: Inducing) -> tuple[View, SiteSums, float]:
        mean, spread, divergence = here.moments()
        view = View(setting, root, mean, spread)
        sums: SiteSums = reduce(add, self.workers.map(site_statistics, self.chunks, view))
        return view, sums, sums.value - divergence

    def posterior(self, theta: Array) -> Solution:
        """What is known at theta, with the inducing rows as centres."""
        view, _, bound = self._settle(Setting(self.model, theta, self.inducing))
        assert self.known is not None, "it has settled"
        taken = shrinkage_root(self.known.outer)
        Z, kernel = self.model.encoded(theta, self.inducing), self.model.kernel(theta)
        posterior = Posterior(kernel, Z, view.root @ view.mean, view.root @ taken, 0.0)
        value = bound + self.model.log_prior(theta)[0]
        return Solution(posterior, float(value), float(np.sum(taken**2)))
