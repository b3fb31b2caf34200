"""Moving the inducing rows to where the bound is highest; levels stay levels, and missing cells missing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from termwise.errors import NumericalError
from termwise.inference.climb import WORST, Effort, Watch
from termwise.inference.learnable import Learnable
from termwise.inference.sparse import SparseObjective
from termwise.kernels.fused.run import Rows
from termwise.measures.base import Array

STEP = 1e-5  # of a central difference, in sd of the column


def move_rows(objective: SparseObjective, theta: Array, effort: Effort, watch: Watch) -> SparseObjective:
    """The objective with its inducing rows where it is highest for these parameters."""
    movable = movable_cells(objective.model, objective.inducing)

    def negative(cells: Array) -> tuple[float, Array]:
        moved = _with_cells(objective.inducing, movable, cells)
        there = replace(objective, inducing=moved)
        try:
            value, _, by_rows = there.value_and_gradients(theta, late=False)
        except NumericalError:
            return WORST, np.zeros(cells.size)  # the line search takes a shorter step
        objective.evaluations += 1
        watch(objective.evaluations, value)
        slope = inducing_gradient(objective.model, theta, moved, by_rows)[movable]
        return -value / effort.per, -slope / effort.per

    options = {"maxiter": effort.max_steps, "ftol": effort.tolerance, "maxcor": 30}
    found = minimize(negative, objective.inducing[movable], jac=True, method="L-BFGS-B", options=options)
    return replace(objective, inducing=_with_cells(objective.inducing, movable, found.x))


def movable_cells(model: Learnable, inducing: Array) -> NDArray[np.bool_]:
    """The known numbers among the cells of the inducing rows, (M, D)."""
    movable: NDArray[np.bool_] = ~model.levels & ~np.isnan(inducing)
    return movable


def inducing_gradient(model: Learnable, theta: Array, inducing: Array, by_rows: Rows) -> Array:
    """Chain the gradient for coordinates and amplitudes to the cells, (M, D).

    Both are functions of one cell, so their slopes are two evaluations of each column; a central difference
    has nine digits, and no column needs to know more than its state.
    """
    cells = np.ascontiguousarray(inducing.T)
    number = ~model.levels[:, None]  # a level has no neighbours
    above, below = (
        model.layout(theta, np.where(number, cells + step, cells), late=False).rows for step in (STEP, -STEP)
    )
    slope = by_rows.u * (above.u - below.u) + by_rows.a * (above.a - below.a)
    return np.where(movable_cells(model, inducing), slope.T / (2.0 * STEP), 0.0)


def _with_cells(inducing: Array, movable: NDArray[np.bool_], cells: Array) -> Array:
    moved = inducing.copy()
    moved[movable] = cells
    return moved
