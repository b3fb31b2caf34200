"""A few values that stand for a measure: where a cell is missing, it might have been any of them."""

from __future__ import annotations

import numpy as np

from termwise.measures.base import Array, Measure
from termwise.measures.discrete import Discrete


def standing_for(measure: Measure, count: int) -> Array:
    """As many values, each for an equal part of the mass, from the smallest on.

    Of levels, or of fewer atoms than values, they are some of these: the one in the middle of each part.
    Of numbers they are the mean of each part, moved apart so that all together have the variance of the
    measure: what is linear is then averaged over exactly.
    """
    points, weights = measure.nodes()
    order = np.argsort(points, kind="stable")
    points, cumulated = points[order], np.cumsum(weights[order])
    cumulated = cumulated / cumulated[-1]
    if isinstance(measure, Discrete) or points.size <= count:
        middles = (np.arange(count) + 0.5) / count
        found: Array = points[np.searchsorted(cumulated, middles)]
        return found
    # The mean of a part is the slope of the integral of the quantiles.
    integral = np.concatenate([[0.0], np.cumsum(points * np.diff(cumulated, prepend=0.0))])
    edges = np.interp(np.linspace(0.0, 1.0, count + 1), np.concatenate([[0.0], cumulated]), integral)
    values = count * np.diff(edges)
    mean = float(integral[-1])
    variance = float(np.sum((points - mean) ** 2 * np.diff(cumulated, prepend=0.0)))
    spread: Array = mean + (values - mean) * np.sqrt(variance / np.mean((values - mean) ** 2))
    return spread
