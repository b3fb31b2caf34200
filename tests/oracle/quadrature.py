"""Expectations by a rule that checks itself: Gauss-Legendre between landmarks with 12 and with 20 nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from termwise.measures import Continuous, Measure, Uniform

STEPS = np.array(
    [0.0, 0.02, 0.1, 0.3, 0.7, 1.2, 2.0, 3.0, 4.0, 5.5, 7.0, 9.0, 12.0, 16.0, 22.0, 30.0, 45.0, 80.0]
)


def expectation(
    measure: Measure,
    function: Callable[[np.ndarray], np.ndarray],
    *,
    breaks: Sequence[float] = (),
    reach: float = 1.0,
    tolerance: float = 1e-12,
) -> np.ndarray:
    """E f(X) for f whose last axis is that of the points, smooth but for kinks of width `reach` at breaks.

    A discrete measure is summed. Otherwise two rules must agree, or the oracle itself is at fault.
    """
    if not isinstance(measure, Continuous):
        points, weights = measure.nodes()
        return function(points) @ weights
    edges = _edges(measure, np.asarray(breaks, dtype=float), reach)
    coarse, fine = (_rule(measure, edges, function, order) for order in (12, 20))
    difference = np.max(np.abs(coarse - fine))
    assert difference <= tolerance * max(1.0, np.max(np.abs(fine))), (
        f"the oracle is only sure to {difference:.1e}"
    )
    return fine


def _edges(measure: Continuous, breaks: np.ndarray, reach: float) -> np.ndarray:
    if isinstance(measure, Uniform):
        marks = np.linspace(measure.low, measure.high, 13)
        breaks = np.concatenate([breaks, [measure.low, measure.high]])
    else:
        _, means, sds = measure.components()
        marks = np.unique(means + sds * np.linspace(-9, 9, 19)[:, None])
    around = np.add.outer(breaks, reach * np.concatenate([-STEPS, STEPS])).ravel()
    edges = np.unique(np.concatenate([marks, around[(around > marks[0]) & (around < marks[-1])]]))
    # No panel is much wider than the kernel.
    return np.unique(np.concatenate([edges, *(np.linspace(a, b, 5) for a, b in _wide(edges, 6 * reach))]))


def _wide(edges: np.ndarray, width: float) -> list[tuple[float, float]]:
    return [(a, b) for a, b in pairwise(edges) if b - a > width]


def _rule(measure: Continuous, edges: np.ndarray, function: Callable, order: int) -> np.ndarray:
    nodes, weights = np.polynomial.legendre.leggauss(order)
    half = np.diff(edges) / 2
    points = (((edges[1:] + edges[:-1]) / 2)[:, None] + half[:, None] * nodes).ravel()
    return function(points) @ ((half[:, None] * weights).ravel() * measure.density(points))
