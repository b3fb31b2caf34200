"""Choosing inducing rows among real rows."""

from __future__ import annotations

import numpy as np

from termwise.inference.learnable import Learnable
from termwise.kernels.fused import run
from termwise.measures.base import Array

# A row whose variance is known to this part from those already chosen adds nothing but a bad condition.
LEAST_VARIANCE = 1e-8

CHOICES = ("variance", "greedy", "kmeans++", "optimised")  # the last begins with the first


def choose_rows(
    how: str, model: Learnable, theta: Array, X: Array, count: int, rng: np.random.Generator
) -> Array:
    """At most `count` rows of X, by one of CHOICES; fewer when the rest of X follows from those chosen.

    Rows are real ones, so that a column of levels keeps its levels.
    """
    if how == "kmeans++":
        return X[_far_apart(model, X, count, rng)]
    return X[_by_variance(model, theta, X, count, None if how == "greedy" else rng)]


def _by_variance(
    model: Learnable, theta: Array, X: Array, count: int, rng: np.random.Generator | None
) -> list[int]:
    """Rows by their variance given those before: drawn in proportion to it, or without rng the largest.

    A pivoted Cholesky factorisation of the kernel. Drawing has regard to where rows are many; the largest is
    often at the edge. Burt et al. (2020); Chen et al. (2023).
    """
    layout = model.layout(theta, np.ascontiguousarray(X.T), late=False)
    variances, _ = model.orders.variances(model.order_parameters(theta))
    weights, rows = layout.weights(variances), layout.rows
    known = np.where(layout.missing, 0.0, layout.own_kernel)  # without terms whose cells are missing
    left = variances @ model.selection.by_order(known, variances.size - 1)
    least = LEAST_VARIANCE * float(np.mean(left))
    factor = np.empty((min(count, len(X)), len(X)))
    chosen: list[int] = []
    for m in range(len(factor)):
        left[left <= least] = 0.0
        total = float(np.sum(left))
        if total == 0.0:
            break
        pivot = int(np.argmax(left)) if rng is None else int(rng.choice(len(X), p=left / total))
        one = run.Rows(np.ascontiguousarray(rows.u[:, [pivot]]), np.ascontiguousarray(rows.a[:, [pivot]]))
        covariance = run.cross(weights, one, rows, 1)[0] - factor[:m, pivot] @ factor[:m]
        factor[m] = covariance / np.sqrt(left[pivot])
        left -= factor[m] ** 2
        left[pivot] = 0.0
        chosen.append(pivot)
    return chosen


def _far_apart(model: Learnable, X: Array, count: int, rng: np.random.Generator) -> list[int]:
    """Rows drawn in proportion to the squared distance from those already chosen, as k-means++ is seeded.

    Numbers differ by their distance, levels by one; a missing number is in the middle, missing is a level.
    """
    levels = model.levels
    filled = np.where(np.isnan(X), np.where(levels, -1.0, 0.0), X)
    nearest = np.ones(len(X))
    chosen: list[int] = []
    for _ in range(min(count, len(X))):
        total = float(np.sum(nearest))
        if total == 0.0:
            break
        new = int(rng.choice(len(X), p=nearest / total))
        difference = filled - filled[new]
        apart = np.where(levels, difference != 0.0, difference**2).sum(axis=1)
        nearest = np.minimum(nearest, apart) if chosen else apart
        chosen.append(new)
    return chosen
