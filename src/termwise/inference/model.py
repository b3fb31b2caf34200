"""The additive model while it is learned: its columns, and rows as their states."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from termwise.inference.columns import NO_TABLE, Cotangent, State, TrainableColumn, alike_log_prior
from termwise.inference.learnable import Common, Layout, Learnable, Lines
from termwise.inference.orders import Orders
from termwise.kernels.additive import AdditiveKernel, pack_weights
from termwise.kernels.fused import run
from termwise.kernels.fused.block import KINDS, TABLE
from termwise.kernels.selection import EVERY, Selection
from termwise.likelihoods import Likelihood
from termwise.measures.base import Array

OF_CELLS = ("u", "a", "du", "da")  # what a state has of every cell


@dataclass(frozen=True, eq=False)
class Model(Learnable):
    """A sum over subsets of columns, each of which has parameters of its own.

    If columns are `alike`, this is the prior sd of the log lengthscales of numbers about their mean.
    """

    columns: tuple[TrainableColumn, ...]
    orders: Orders
    likelihood: Likelihood | None = None
    selection: Selection = EVERY
    alike: float | None = None
    # Short, as a climb finds its way from short lengthscales to long ones but seldom back.
    first_lengthscale: ClassVar[float] = 0.3  # type: ignore[misc]

    def with_likelihood(self, likelihood: Likelihood) -> Model:
        """The same with another likelihood."""
        return replace(self, likelihood=likelihood)

    def wider(self) -> Model | None:
        """The same with one more order, if the orders may be more."""
        orders = self.orders.wider()
        return None if orders is None else replace(self, orders=orders)

    @cached_property
    def _slices(self) -> list[slice]:
        sizes = [len(column.bounds()) for column in self.columns]
        ends = np.cumsum([0, *sizes])
        return [slice(int(start), int(end)) for start, end in pairwise(ends)]

    def by_column(self, theta: Array) -> list[Array]:
        """The part of the vector that belongs to each column."""
        return [theta[here] for here in self._slices]

    @property
    def n_columns(self) -> int:
        """How many columns there are."""
        return len(self.columns)

    @property
    def levels(self) -> NDArray[np.bool_]:
        """Which columns are by table."""
        return np.array([column.kind == TABLE for column in self.columns])

    @property
    def lines(self) -> Lines | None:
        """The columns, if all are numbers and no two of them act together."""
        kinds = {column.kind for column in self.columns}
        kernels = [name for name, code in KINDS.items() if kinds == {code}]
        alone = self.orders.max_order == 1 and self.selection.terms is None
        return Lines(kernels[0], self.n_columns) if kernels and alone else None

    def kernel_bounds(self) -> list[tuple[float, float]]:
        """Those of all columns."""
        return [pair for column in self.columns for pair in column.bounds()]

    def kernel_late(self) -> list[bool]:
        """Those of all columns."""
        return [late for column in self.columns for late in column.late()]

    def kernel_start(self, lengthscales: Array) -> Array:
        """Every column at its lengthscale."""
        pairs = zip(self.columns, lengthscales, strict=True)
        return np.concatenate([column.start(float(length)) for column, length in pairs])

    def kernel_log_prior(self, part: Array) -> tuple[float, Array]:
        """The sum over columns, and how far their lengthscales are apart if they are alike."""
        parts = [column.log_prior(t) for column, t in zip(self.columns, self.by_column(part), strict=True)]
        value, gradient = sum(value for value, _ in parts), np.concatenate([slope for _, slope in parts])
        if self.alike is not None and not np.all(self.levels):
            lengthscales = np.array([here.start for here in self._slices])[~self.levels]
            more, slope = alike_log_prior(part[lengthscales], self.alike)
            value, gradient[lengthscales] = value + more, gradient[lengthscales] + slope
        return value, gradient

    def layout(
        self, theta: Array, cells: Array, *, late: bool = True, like: Layout | None = None
    ) -> ColumnLayout:
        """Evaluate all columns."""
        others = like.states if isinstance(like, ColumnLayout) else [None] * len(self.columns)
        parts = zip(self.columns, self.by_column(theta), cells, others, strict=True)
        states = [column.state(part, x, late=late, like=other) for column, part, x, other in parts]
        return ColumnLayout(self, theta, cells, states)

    def kernel(self, theta: Array) -> AdditiveKernel:
        """The additive kernel as a value."""
        components = [c.component(t) for c, t in zip(self.columns, self.by_column(theta), strict=True)]
        variances, _ = self.orders.variances(self.order_parameters(theta))
        return AdditiveKernel(tuple(components), tuple(variances.tolist()))

    def encoded(self, theta: Array, X: Array) -> Array:
        """Each column through the steps that were learned."""
        columns = X.T.copy()
        for x, column, part in zip(columns, self.columns, self.by_column(theta), strict=True):
            for step in column.steps(part):
                x[:] = step.forward(x)
        return np.ascontiguousarray(columns.T)


@dataclass(frozen=True, eq=False)
class ColumnLayout(Layout):
    """Rows as the states of their columns."""

    model: Model
    theta: Array
    cells: Array
    states: list[State]

    @property
    def size(self) -> int:
        """The numbers that were computed of all cells."""
        return sum(getattr(state, name).size for state in self.states for name in OF_CELLS)

    def copied_to(self, memory: Array) -> ColumnLayout:
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

    def weights(self, variances: Array) -> run.Kernel:
        """What the loops read besides the rows."""
        kinds, states = [column.kind for column in self.model.columns], self.states
        every = pack_weights(kinds, [s.weight for s in states], [s.table for s in states], variances)
        return self.model.selection.loops(every)

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

    def row_gradient(self, given: run.Cotangents, by_own: Array) -> tuple[Array, Common]:
        """Column by column, through the tangents of their states."""
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
