"""Sparse inference: the collapsed bound over any number of rows, its gradient, and the posterior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import ClassVar

import numpy as np

from termwise.inference.blocks import Chunk, Pull, Push, Reached, Setting, adjoint, statistics
from termwise.inference.bound import Bound, Decoupled, Sums, shrinkage_root
from termwise.inference.kept import Kept
from termwise.inference.learnable import Learnable
from termwise.inference.workers import LocalWorkers, Workers
from termwise.kernels.fused import run
from termwise.linalg.cholesky import factorise
from termwise.linalg.in_place import turned
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior

# Of the mean of Kuu's diagonal, always added to it: rows that have come close to each other while the
# lengthscales grew must not make a step fail that the next would undo.
JITTER = 1e-10


@dataclass(eq=False)
class SparseObjective:
    """A lower bound on log p(y | theta), plus log p(theta); with all rows inducing it is the exact objective.

    Rows come as chunks, which `workers` add up.
    """

    model: Learnable
    chunks: Sequence[Chunk]
    inducing: Array
    workers: Workers
    kept: Kept = field(default_factory=Kept)
    jitter: float = 0.0
    evaluations: int = 0
    orthogonal: Decoupled | None = None  # whether the last inducing rows are so
    rested: ClassVar[bool] = True  # there are no sites

    def value_and_gradient(self, theta: Array, *, late: bool = True) -> tuple[float, Array]:
        """The objective and its gradient, for late parameters only if wanted; sets `jitter`."""
        value, gradient, _ = self.value_and_gradients(theta, late=late)
        return value, gradient

    def value_and_gradients(self, theta: Array, *, late: bool = True) -> tuple[float, Array, run.Rows]:
        """The same, and the gradient for what the loops read of the inducing rows."""
        self.evaluations += 1
        self.kept.begin(late=late)
        push, bound = self._bound(Setting(self.model, theta, self.inducing, kept_by(self.workers, self.kept)))
        noise, root = push.setting.noise, push.root
        pull = Pull(push.setting, turned(root, bound.curvature), np.sqrt(noise) * (root @ bound.mean), late)
        reached: Reached = reduce(add, self.workers.map(adjoint, self.chunks, pull))
        columns, by_variance, by_rows = through_inducing(push.setting, root, bound.inner, reached)
        _, dvariances = self.model.orders.variances(self.model.order_parameters(theta))
        prior, gradient = self.model.log_prior(theta)
        likelihood = np.concatenate([columns, dvariances @ by_variance, [noise * reached.noise]])
        return bound.value + prior, gradient + likelihood, by_rows

    def _bound(self, setting: Setting) -> tuple[Push, Bound]:
        push, self.jitter = push_of(setting)
        sums: Sums = reduce(add, self.workers.map(statistics, self.chunks, push))
        return push, Bound.of(sums, self.orthogonal)

    def posterior(self, theta: Array) -> Solution:
        """What is known at theta, with the inducing rows as centres."""
        push, bound = self._bound(Setting(self.model, theta, self.inducing))
        noise = push.setting.noise
        root, taken = np.sqrt(noise) * push.root, shrinkage_root(bound.outer)
        posterior = self.model.posterior(theta, self.inducing, root @ bound.mean, root @ taken, noise)
        value = bound.value + self.model.log_prior(theta)[0]
        return Solution(posterior, float(value), float(np.sum(taken**2)))


@dataclass(frozen=True, eq=False)
class Solution:
    """A posterior, the objective there, and the effective number of parameters that the rows have fixed."""

    posterior: Posterior
    objective: float
    effective: float


def kept_by(workers: Workers, kept: Kept) -> Kept | None:
    """What is kept stays in this process, so it is for its own threads only."""
    return kept if isinstance(workers, LocalWorkers) else None


def push_of(setting: Setting) -> tuple[Push, float]:
    """What makes a_n of k_n, and all that was added to the diagonal of Kuu."""
    rows = setting.layout.rows
    K = run.cross(setting.weights, rows, rows, 1)
    jitter = JITTER * float(np.mean(np.diag(K)))

    def fill(out: Array) -> None:
        out[:] = K
        out.reshape(-1)[:: len(K) + 1] += jitter

    factor = factorise(np.empty(K.shape), fill)
    root = np.ascontiguousarray(factor.inverse_root()) / np.sqrt(setting.noise)
    return Push(setting, root), jitter + factor.jitter


def through_inducing(
    setting: Setting, root: Array, inner: Array, reached: Reached, threads: int = 1
) -> tuple[Array, Array, run.Rows]:
    """Add what the inducing rows bring: their own kernel, and their side of that with the rows.

    The gradient for their kernel Kuu is U^-1 inner U^-T / 2.
    """
    G = 0.5 * setting.noise * turned(root, inner, threads)
    np.fill_diagonal(G, np.diag(G) + JITTER * np.mean(np.diag(G)))
    rows = setting.layout.rows
    # By one thread, so that it is the same to the last bit whoever the workers are.
    own = run.adjoint_cross(setting.weights, rows, rows, G, 1)
    by_rows = run.Rows(own.x.u + own.z.u + reached.u, own.x.a + own.z.a + reached.a)
    both = run.Cotangents(own.variances, own.weight, own.tables, by_rows, by_rows)
    columns, common = setting.layout.row_gradient(both, np.zeros(setting.layout.own_kernel.shape))
    columns = columns + setting.layout.common_gradient(common + reached.common)
    return reached.columns + columns, reached.variances + own.variances, by_rows
