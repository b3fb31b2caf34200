"""All that is learned, in one vector, and rows as the compiled loops read them at such a vector."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from termwise.inference.columns import NO_TABLE, Cotangent, State, TrainableColumn
from termwise.inference.orders import Orders
from termwise.inference.summed import Summed
from termwise.kernels.additive import AdditiveKernel, pack_weights
from termwise.kernels.fused import run
from termwise.kernels.fused.block import TABLE
from termwise.kernels.fused.loops import symmetric_polynomials
from termwise.likelihoods import Likelihood
from termwise.measures.base import Array

OF_CELLS = ("u", "a", "du", "da")  # what a state has of every cell
NOISES = (1e-5, 2.0)  # in units of the variance of y


@dataclass(frozen=True, eq=False)
class Model:
    """Columns, order variances and noise, in one vector (columns, orders, log noise).

    With a likelihood its own parameters stand in the place of the noise, if it has any.
    """

    columns: tuple[TrainableColumn, ...]
    orders: Orders
    likelihood: Likelihood | None = None

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
        return theta[self._order_slice]

    @property
    def _order_slice(self) -> slice:
        return slice(self._n_column_parameters, self._n_column_parameters + self.orders.size)

    def likelihood_parameters(self, theta: Array) -> Array:
        """The part of the vector that belongs to the likelihood: by default the log noise."""
        return theta[self._order_slice.stop :]

    @property
    def _n_likelihood_parameters(self) -> int:
        return 1 if self.likelihood is None else self.likelihood.parameters.size

    def bounds(self) -> list[tuple[float, float]]:
        """Bounds of the whole vector."""
        columns = [pair for column in self.columns for pair in column.bounds()]
        noise = [(float(np.log(NOISES[0])), float(np.log(NOISES[1])))]
        return [*columns, *self.orders.bounds(), *(self.likelihood.bounds() if self.likelihood else noise)]

    def late(self) -> NDArray[np.bool_]:
        """Which parameters are learned only after the others have settled."""
        columns = [late for column in self.columns for late in column.late()]
        return np.array([*columns, *[False] * (self.orders.size + self._n_likelihood_parameters)])

    def start(self, lengthscales: Array, noise: float) -> Array:
        """A vector to start from, in which every order contributes alike."""
        columns = [c.start(float(length)) for c, length in zip(self.columns, lengthscales, strict=True)]
        more = np.zeros(self.orders.size + self._n_likelihood_parameters)
        e = self._mean_of_orders(np.concatenate([*columns, more]))
        last = [np.log(noise)] if self.likelihood is None else self.likelihood.parameters
        return np.concatenate([*columns, self.orders.start(e), last])

    def _mean_of_orders(self, theta: Array) -> Array:
        """What each order has at x = x' on average, before its variance."""
        nothing = np.full((len(self.columns), 1), np.nan)  # whose variance is the mean variance
        e = np.empty((self.orders.max_order + 1, 1))
        symmetric_polynomials(Layout.of(self, theta, nothing).own_kernel, e)
        return e[:, 0]

    def variance_of_terms(self, theta: Array) -> float:
        """The prior variance of all terms together, without that of the constant."""
        variances, _ = self.orders.variances(self.order_parameters(theta))
        return float(variances[1:] @ self._mean_of_orders(theta)[1:])

    def revived(self, theta: Array, share: float, lengthscale: float) -> Array:
        """The vector with what the orders have at least this share of their start at a lengthscale."""
        lengthscales = np.full(len(self.columns), lengthscale)
        orders = self._order_slice
        raised = theta.copy()
        raised[orders] = np.maximum(theta[orders], self.start(lengthscales, 1.0)[orders] + np.log(share))
        return raised

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """Sum of the log priors, and its gradient."""
        parts = [column.log_prior(t) for column, t in zip(self.columns, self.by_column(theta), strict=True)]
        parts.append(self.orders.log_prior(self.order_parameters(theta)))
        nothing = np.zeros(self._n_likelihood_parameters)
        return sum(value for value, _ in parts), np.concatenate([*(slope for _, slope in parts), nothing])

    def kernel(self, theta: Array) -> AdditiveKernel:
        """The additive kernel as a value."""
        components = [c.component(t) for c, t in zip(self.columns, self.by_column(theta), strict=True)]
        variances, _ = self.orders.variances(self.order_parameters(theta))
        return AdditiveKernel(tuple(components), tuple(variances.tolist()))

    def encoded(self, theta: Array, X: Array) -> Array:
        """Rows (n, D) with what was learned of their encoding behind it: those that `kernel` reads."""
        columns = X.T.copy()
        for x, column, part in zip(columns, self.columns, self.by_column(theta), strict=True):
            for step in column.steps(part):
                x[:] = step.forward(x)
        return np.ascontiguousarray(columns.T)


@dataclass(frozen=True, eq=False)
class Common(Summed):
    """Gradients for what all rows have in common: weights and mean variances by column, tables of levels."""

    weight: Array
    mean_variance: Array
    tables: Array


@dataclass(frozen=True, eq=False)
class Layout:
    """Some rows at one vector: what the loops read of them, and the way back to the parameters.

    `cells` are the encoded columns (D, n) with NaN for what is missing.
    """

    model: Model
    theta: Array
    cells: Array
    states: list[State]

    @classmethod
    def of(
        cls, model: Model, theta: Array, cells: Array, *, late: bool = True, like: Layout | None = None
    ) -> Layout:
        """Evaluate all columns; tangents of late parameters only if they are wanted.

        `like` has other rows at the same vector: what all rows have in common is taken from there.
        """
        others = [None] * len(model.columns) if like is None else like.states
        parts = zip(model.columns, model.by_column(theta), cells, others, strict=True)
        states = [column.state(part, x, late=late, like=other) for column, part, x, other in parts]
        return cls(model, theta, cells, states)

    @property
    def size(self) -> int:
        """The numbers that were computed of all cells."""
        return sum(getattr(state, name).size for state in self.states for name in OF_CELLS)

    def copied_to(self, memory: Array) -> Layout:
        """The same, with those numbers in this memory."""
        states, start = [], 0
        for state in self.states:
            moved: dict[str, Any] = {}
            for name in OF_CELLS:
                numbers = getattr(state, name)
                moved[name] = memory[start : start + numbers.size].reshape(numbers.shape)
                moved[name][:] = numbers
                start += numbers.size
            states.append(replace(state, **moved))
        return replace(self, states=states)

    @cached_property
    def rows(self) -> run.Rows:
        """Coordinates and amplitudes."""
        return run.Rows(np.array([s.u for s in self.states]), np.array([s.a for s in self.states]))

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """Which cells are missing, (D, n)."""
        return np.isnan(self.cells)

    def weights(self, variances: Array) -> run.Weights:
        """What the loops read besides the rows."""
        kinds = [column.kind for column in self.model.columns]
        return pack_weights(kinds, [s.weight for s in self.states], [s.table for s in self.states], variances)

    @cached_property
    def own_kernel(self) -> Array:
        """z_d(x_i, x_i), and its mean where the cell is missing."""
        z = np.empty(self.cells.shape)
        for d, state in enumerate(self.states):
            if self.model.columns[d].kind == TABLE:
                z[d] = np.diag(state.table)[state.u.astype(np.intp)]
            else:
                z[d] = state.weight - state.a**2
            z[d, self.missing[d]] = state.mean_variance
        return z

    def gradient(self, given: run.Cotangents, by_own: Array) -> Array:
        """Gradient for the parameters of the columns.

        `given` are the gradients for what the loops read (its `x` for these rows), `by_own` those for
        `own_kernel`.
        """
        by_rows, common = self.row_gradient(given, by_own)
        return by_rows + self.common_gradient(common)

    def row_gradient(self, given: run.Cotangents, by_own: Array) -> tuple[Array, Common]:
        """The same as far as it goes through these rows, and what is left for `common_gradient`.

        The tables that are given are added to, as they may be large.
        """
        parts, by_mean = [], np.zeros(len(self.states))
        weight, tables, tables_before = given.weight.copy(), given.tables, 0
        for d, (column, state) in enumerate(zip(self.model.columns, self.states, strict=True)):
            known = np.where(self.missing[d], 0.0, by_own[d])
            if column.kind == TABLE:
                codes = state.u.astype(np.intp)
                np.add.at(tables[tables_before], (codes, codes), known)
                tables_before += 1
            else:
                weight[d] += np.sum(known)
            by_mean[d] = np.sum(by_own[d], where=self.missing[d])
            parts.append(column.row_gradient(state, given.x.u[d], given.x.a[d] - 2.0 * state.a * known))
        return np.concatenate(parts), Common(weight, by_mean, tables)

    def common_gradient(self, given: Common) -> Array:
        """Gradient for the parameters of the columns, of what all rows have in common."""
        parts, tables = [], iter(given.tables)
        for d, part in enumerate(self.model.by_column(self.theta)):
            column, state = self.model.columns[d], self.states[d]
            table = next(tables) if column.kind == TABLE else NO_TABLE
            here = Cotangent(float(given.weight[d]), float(given.mean_variance[d]), table)
            parts.append(column.gradient(part, state, here))
        return np.concatenate(parts)
