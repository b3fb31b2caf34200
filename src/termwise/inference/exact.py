"""The exact log marginal likelihood with its gradient, in the memory of one kernel matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from termwise.inference.columns import NO_TABLE, Cotangent, State, TrainableColumn
from termwise.inference.orders import Orders
from termwise.kernels.additive import AdditiveKernel, pack_weights
from termwise.kernels.fused import run
from termwise.kernels.fused.block import TABLE
from termwise.kernels.fused.loops import symmetric_polynomials, symmetric_polynomials_adjoint
from termwise.linalg.cholesky import factorise
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior

NOISES = (1e-5, 2.0)  # in units of the variance of y


@dataclass(frozen=True, eq=False)
class Model:
    """All that is learned: columns, order variances, noise, in one vector (columns, orders, log noise)."""

    columns: tuple[TrainableColumn, ...]
    orders: Orders

    @cached_property
    def _slices(self) -> list[slice]:
        sizes = [len(column.bounds()) for column in self.columns]
        ends = np.cumsum([0, *sizes])
        return [slice(int(start), int(end)) for start, end in pairwise(ends)]

    @property
    def _n_column_parameters(self) -> int:
        return self._slices[-1].stop if self._slices else 0

    def by_column(self, theta: Array) -> list[Array]:
        """The part of the vector that belongs to each column."""
        return [theta[here] for here in self._slices]

    def order_parameters(self, theta: Array) -> Array:
        """The part of the vector that belongs to the order variances."""
        return theta[self._n_column_parameters : -1]

    def bounds(self) -> list[tuple[float, float]]:
        """Bounds of the whole vector."""
        columns = [pair for column in self.columns for pair in column.bounds()]
        return [*columns, *self.orders.bounds(), (float(np.log(NOISES[0])), float(np.log(NOISES[1])))]

    def late(self) -> NDArray[np.bool_]:
        """Which parameters are learned only after the others have settled."""
        columns = [late for column in self.columns for late in column.late()]
        return np.array([*columns, *[False] * (self.orders.size + 1)])

    def start(self, lengthscales: Array, noise: float) -> Array:
        """A vector to start from, in which every order contributes alike."""
        columns = [c.start(float(length)) for c, length in zip(self.columns, lengthscales, strict=True)]
        states = [column.state(theta) for column, theta in zip(self.columns, columns, strict=True)]
        z = np.array([[state.mean_variance] for state in states]).reshape(len(states), 1)
        e = np.empty((self.orders.max_order + 1, 1))
        symmetric_polynomials(z, e)
        return np.concatenate([*columns, self.orders.start(e[:, 0]), [np.log(noise)]])

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """Sum of the log priors, and its gradient."""
        parts = [column.log_prior(t) for column, t in zip(self.columns, self.by_column(theta), strict=True)]
        parts.append(self.orders.log_prior(self.order_parameters(theta)))
        return sum(value for value, _ in parts), np.concatenate([*(slope for _, slope in parts), [0.0]])

    def kernel(self, theta: Array) -> AdditiveKernel:
        """The additive kernel as a value."""
        components = [c.component(t) for c, t in zip(self.columns, self.by_column(theta), strict=True)]
        variances, _ = self.orders.variances(self.order_parameters(theta))
        return AdditiveKernel(tuple(components), tuple(variances.tolist()))


@dataclass(eq=False)
class ExactObjective:
    """log p(y | theta) + log p(theta) for a Gaussian likelihood; value and gradient by potrf and potri."""

    model: Model
    y: Array
    threads: int
    buffer: Array
    jitter: float = 0.0
    evaluations: int = 0

    def value_and_gradient(self, theta: Array, *, late: bool = True) -> tuple[float, Array]:
        """The objective and its gradient, for late parameters only if wanted; sets `jitter`."""
        self.evaluations += 1
        parts = zip(self.model.columns, self.model.by_column(theta), strict=True)
        states = [column.state(part, late=late) for column, part in parts]
        variances, dvariances = self.model.orders.variances(self.model.order_parameters(theta))
        noise = float(np.exp(theta[-1]))
        rows = run.Rows(np.array([s.u for s in states]), np.array([s.a for s in states]))
        weights = self._weights(states, variances)
        z = _own_kernel(states, rows)
        e = np.empty((variances.size, self.y.size))
        symmetric_polynomials(z, e)

        def fill(out: Array) -> None:
            run.gram_below(weights, rows, out, self.threads)
            out.reshape(-1)[:: self.y.size + 1] = variances @ e + noise

        factor = factorise(self.buffer, fill)
        self.jitter = factor.jitter
        alpha = factor.solve(self.y)
        n = self.y.size
        likelihood = -0.5 * (self.y @ alpha + factor.log_determinant + n * np.log(2.0 * np.pi))
        inverse = factor.inverse_in_place()
        # d likelihood / dK = (alpha alpha' - K^-1) / 2; the loops form it on the fly
        total = run.adjoint_below(weights, rows, inverse, -alpha, alpha, self.threads)
        own = 0.5 * (alpha**2 - np.diag(inverse))
        by_variance, by_z = symmetric_polynomials_adjoint(z, variances, own)
        by_column = self._by_column(theta, states, total, by_z)
        prior, gradient = self.model.log_prior(theta)
        orders = dvariances @ (by_variance - 0.5 * total.variances)
        likelihood_gradient = np.concatenate([*by_column, orders, [noise * float(np.sum(own))]])
        return float(likelihood + prior), gradient + likelihood_gradient

    def _weights(self, states: list[State], variances: Array) -> run.Weights:
        kinds = [column.kind for column in self.model.columns]
        return pack_weights(kinds, [s.weight for s in states], [s.table for s in states], variances)

    def _by_column(
        self, theta: Array, states: list[State], total: run.Cotangents, by_z: Array
    ) -> list[Array]:
        """Gradients for the parameters of each column, those through the diagonal included."""
        parts, tables_before = [], 0
        for d, (column, here) in enumerate(zip(self.model.columns, self.model.by_column(theta), strict=True)):
            state, own = states[d], by_z[d]
            missing = np.isnan(column.x)
            known = np.where(missing, 0.0, own)
            weight, table = -0.5 * float(total.weight[d]), NO_TABLE
            if column.kind == TABLE:
                table = -0.5 * total.tables[tables_before]
                tables_before += 1
                codes = state.u.astype(np.intp)
                np.add.at(table, (codes, codes), known)
            else:
                weight += float(np.sum(known))
            given = Cotangent(
                -0.5 * total.x.u[d],
                -0.5 * total.x.a[d] - 2.0 * state.a * known,
                weight,
                float(np.sum(own[missing])),
                table,
            )
            parts.append(column.gradient(here, state, given))
        return parts

    def posterior(self, theta: Array, X: Array) -> Posterior:
        """What is known at theta, with the encoded rows X as centres."""
        kernel, noise, n = self.model.kernel(theta), float(np.exp(theta[-1])), self.y.size

        def fill(out: Array) -> None:
            out[:] = kernel.gram(X, threads=self.threads)
            out.reshape(-1)[:: n + 1] += noise

        factor = factorise(self.buffer, fill)
        self.jitter = factor.jitter
        return Posterior(kernel, X, factor.solve(self.y), factor.inverse_root(), noise)


def _own_kernel(states: list[State], rows: run.Rows) -> Array:
    """z_d(x_i, x_i), and its mean where the cell is missing."""
    z = np.empty(rows.u.shape)
    for d, state in enumerate(states):
        if state.table.size > 1:
            codes = state.u.astype(np.intp)
            z[d] = np.diag(state.table)[codes]
            z[d, codes == state.table.shape[0] - 1] = state.mean_variance
        else:
            missing = state.u == run.MISSING
            z[d] = np.where(missing, state.mean_variance, state.weight - state.a**2)
    return z
