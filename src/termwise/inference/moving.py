"""Moving the inducing rows to where the bound is highest; levels stay levels, and missing cells missing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from termwise.errors import NumericalError
from termwise.inference.climb import WORST, Effort, Watch
from termwise.inference.sparse import SparseObjective
from termwise.measures.base import Array


def move_rows(objective: SparseObjective, theta: Array, effort: Effort, watch: Watch) -> SparseObjective:
    """The objective with its inducing rows where it is highest for these parameters."""
    movable = objective.model.movable(objective.inducing)

    def negative(cells: Array) -> tuple[float, Array]:
        moved = with_cells(objective.inducing, movable, cells)
        there = replace(objective, inducing=moved)
        try:
            value, _, by_rows = there.value_and_gradients(theta, late=False)
        except NumericalError:
            return WORST, np.zeros(cells.size)  # the line search takes a shorter step
        objective.evaluations += 1
        watch(objective.evaluations, value)
        slope = objective.model.cells_gradient(theta, moved, by_rows)[movable]
        return -value / effort.per, -slope / effort.per

    options = {"maxiter": effort.max_steps, "ftol": effort.tolerance, "maxcor": 30}
    found = minimize(negative, objective.inducing[movable], jac=True, method="L-BFGS-B", options=options)
    return replace(objective, inducing=with_cells(objective.inducing, movable, found.x))


def with_cells(inducing: Array, movable: NDArray[np.bool_], cells: Array) -> Array:
    """The inducing rows with other numbers where they can be moved."""
    moved = inducing.copy()
    moved[movable] = cells
    return moved
