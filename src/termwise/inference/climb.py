"""Climbing an objective by L-BFGS-B, whichever engine evaluates it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from termwise.errors import NumericalError
from termwise.inference.learnable import Learnable
from termwise.inference.result import Status
from termwise.measures.base import Array

SPREAD = 0.3  # sd of the logarithm of lengthscales among random starts
FIRST_NOISES, NOISE_RANGE = (0.01, 0.1), (0.003, 0.3)  # in variances of the target
FIRST_TOLERANCE, TOLERANCE = 1e-3, 1e-6  # relative change of the objective that ends a climb
WORST = 1e100

Watch = Callable[[int, float], None]


class Objective(Protocol):
    """A log posterior density of the parameters that can be climbed."""

    model: Learnable
    evaluations: int

    def value_and_gradient(self, theta: Array, *, late: bool = True) -> tuple[float, Array]:
        """The objective and its gradient, for late parameters only if wanted."""


@dataclass(frozen=True)
class Effort:
    """When a climb ends, and how far each parameter is expected to move in one step.

    `per` divides the objective: by the number of rows, the tolerance is in nats a row. No parameter's first
    step is longer than `longest`: where nothing is known of the curvature, a steep slope leads astray.
    """

    tolerance: float = TOLERANCE
    max_steps: int = 500
    widths: Array | None = None
    per: float = 1.0
    longest: float = np.inf


@dataclass(frozen=True, eq=False)
class Climb:
    """Where a search has come to; `widths` are about proportional to the sd of parameters, where it moved."""

    theta: Array
    objective: float
    status: Status
    widths: Array
    evaluations: int


def first_points(
    model: Learnable, count: int, rng: np.random.Generator, lengthscale: float | None = None
) -> list[Array]:
    """One start for each of the first noises, then random lengthscales and noises.

    The lengthscale is that of terms of one column, by default the model's own.
    """
    lengthscale = lengthscale or model.first_lengthscale
    low, high = np.transpose(model.bounds())
    # The distance of rows in several columns at once grows like this root; where all are far, nothing slopes.
    farther = np.sqrt(model.orders.least_order)
    starts = []
    for i, stream in enumerate(rng.spawn(count)):
        lengthscales = np.full(model.n_columns, farther * lengthscale)
        noise = FIRST_NOISES[i % len(FIRST_NOISES)]
        if i >= len(FIRST_NOISES) or (i > 0 and model.likelihood is not None):
            lengthscales *= np.exp(SPREAD * stream.standard_normal(lengthscales.size))
            noise = float(np.exp(stream.uniform(*np.log(NOISE_RANGE))))
        starts.append(np.clip(model.start(lengthscales, noise), low, high))
    return starts


def free_parameters(model: Learnable) -> NDArray[np.bool_]:
    """Those whose bounds leave them room."""
    low, high = np.transpose(model.bounds())
    free: NDArray[np.bool_] = high > low
    return free


def ascend(
    objective: Objective, theta: Array, free: NDArray[np.bool_], effort: Effort, watch: Watch
) -> Climb:
    """L-BFGS-B over the free parameters, each in units of its width."""
    low, high = np.transpose(objective.model.bounds())
    late = bool(np.any(free & objective.model.late()))
    widths = np.ones(theta.size) if effort.widths is None else effort.widths

    def negative(part: Array) -> tuple[float, Array]:
        whole = theta.copy()
        whole[free] = part
        try:
            value, gradient = objective.value_and_gradient(whole, late=late)
        except (NumericalError, np.linalg.LinAlgError):
            # No kernel matrix here: the line search takes a shorter step.
            return WORST, np.zeros(part.size)
        watch(objective.evaluations, value)
        return -value / effort.per, -gradient[free] / effort.per

    first = negative(theta[free])
    step = float(np.max(widths[free] ** 2 * np.abs(first[1]), initial=0.0))
    unit = widths[free] * np.sqrt(min(1.0, effort.longest / max(step, 1e-300)))
    begin = theta[free] / unit

    def scaled(part: Array) -> tuple[float, Array]:
        inside = np.clip(part * unit, low[free], high[free])
        value, slope = first if np.array_equal(part, begin) else negative(inside)
        return value, slope * unit

    bounds = list(zip(low[free] / unit, high[free] / unit, strict=True))
    options = {"maxiter": effort.max_steps, "ftol": effort.tolerance, "gtol": 1e-5, "maxcor": 30, "maxls": 30}
    found = minimize(scaled, begin, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    whole, learned = theta.copy(), widths.copy()
    whole[free] = np.clip(found.x * unit, low[free], high[free])
    learned[free] = unit * np.sqrt(np.maximum(_inverse_diagonal(found.hess_inv.sk, found.hess_inv.yk), 1e-12))
    status = {0: Status.CONVERGED, 1: Status.MAX_STEPS}.get(found.status, Status.STUCK)
    return Climb(whole, -effort.per * float(found.fun), status, learned, objective.evaluations)


def _inverse_diagonal(S: Array, Y: Array) -> Array:
    """The diagonal of L-BFGS's inverse Hessian by its last steps (k, p) and the changes of slope along them.

    By the compact form (Byrd, Nocedal and Schnabel 1994): the whole matrix would cost the cube of p.
    """
    if len(S) == 0:
        return np.ones(S.shape[1])
    changes = S @ Y.T
    Q = solve_triangular(changes, S, check_finite=False)
    inner = np.diag(np.diag(changes)) + Y @ Y.T
    diagonal: Array = 1.0 + np.sum(Q * (inner @ Q), axis=0) - 2.0 * np.sum(Y * Q, axis=0)
    return diagonal


def climb(objective: Objective, theta: Array, effort: Effort, watch: Watch) -> Climb:
    """Climb over the parameters that settle first, then over all."""
    free, late = free_parameters(objective.model), objective.model.late()
    if np.any(free & late):
        early = replace(effort, tolerance=FIRST_TOLERANCE)
        theta = ascend(objective, theta, free & ~late, early, watch).theta
    return ascend(objective, theta, free, effort, watch)
