"""A few values that stand for a measure: where a cell is missing, it might have been any of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from termwise.measures.base import Array, Measure
from termwise.measures.discrete import Discrete

PARTS = 16  # of equal mass, into which numbers are cut
MOST_ATOMS = 2 * PARTS  # that stand for themselves; of levels, any number


@dataclass(frozen=True, eq=False)
class Standing:
    """Values with their weights, which sum to one."""

    values: Array
    weights: Array


def standing_for(measure: Measure) -> Standing:
    """All levels, or all of few atoms; of other numbers two for each of sixteen parts of equal mass.

    The two lie a standard deviation of their part on either side of its mean, so that all together have the
    mean and the variance of the measure.
    """
    points, weights = measure.nodes()
    points, weights = points[weights > 0.0], weights[weights > 0.0] / np.sum(weights)
    if isinstance(measure, Discrete) or points.size <= MOST_ATOMS:
        return Standing(points, weights)
    order = np.argsort(points, kind="stable")
    points, weights = points[order], weights[order]
    mass = np.concatenate([[0.0], np.cumsum(weights)])
    edges = np.linspace(0.0, mass[-1], PARTS + 1)

    def of_parts(f: Array) -> Array:
        """The mean of f over each part, a node that lies in two being shared out."""
        return PARTS * np.diff(np.interp(edges, mass, np.concatenate([[0.0], np.cumsum(weights * f)])))

    mean = of_parts(points)
    sd = np.sqrt(np.maximum(of_parts((points - np.mean(mean)) ** 2) - (mean - np.mean(mean)) ** 2, 0.0))
    values = np.stack([mean - sd, mean + sd], axis=1).ravel()
    return Standing(values, np.full(values.size, 1.0 / values.size))
