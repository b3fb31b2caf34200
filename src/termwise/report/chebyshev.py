"""A function of one number as pieces of Chebyshev series, to be evaluated where there is no Python.

Every kernel and every measure has a mean of its own, with special functions that browsers do not have. In
pieces short enough each is a polynomial to the last digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.polynomial import chebyshev

from termwise.measures.base import Array

DEGREE = 15
TOLERANCE = 1e-13  # of the largest value of the function
MOST_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class Pieces:
    """Series on [edges_i, edges_i+1], one row of coefficients each; zero outside."""

    edges: Array
    coefficients: Array

    def __call__(self, x: Array) -> Array:
        """The function."""
        value = np.zeros(x.shape)
        inside = (x >= self.edges[0]) & (x <= self.edges[-1])
        piece = np.clip(np.searchsorted(self.edges, x[inside], side="right") - 1, 0, len(self.edges) - 2)
        low, high = self.edges[piece], self.edges[piece + 1]
        unit = (2.0 * x[inside] - low - high) / (high - low)
        value[inside] = chebyshev.chebval(unit, self.coefficients[piece].T, tensor=False)
        return value


def in_pieces(function: Callable[[Array], Array], breaks: Array) -> Pieces:
    """The function between the first and the last break; at every break it may have a kink.

    A piece is halved until its last coefficients have vanished.
    """
    points = np.polynomial.chebyshev.chebpts1(DEGREE + 1)
    inverse = np.linalg.inv(chebyshev.chebvander(points, DEGREE))
    done: list[tuple[float, float, Array]] = []
    left = [(float(a), float(b), 0) for a, b in pairwise(breaks)]
    largest = 0.0
    while left:
        values = function(np.concatenate([_within(a, b, points) for a, b, _ in left]))
        largest = max(largest, float(np.max(np.abs(values))))
        halved = []
        for (a, b, depth), row in zip(left, values.reshape(len(left), points.size), strict=True):
            series = inverse @ row
            if depth < MOST_HALVINGS and np.max(np.abs(series[-3:])) > TOLERANCE * largest:
                middle = 0.5 * (a + b)
                halved += [(a, middle, depth + 1), (middle, b, depth + 1)]
            else:
                done.append((a, b, series))
        left = halved
    done.sort(key=lambda piece: piece[0])
    edges = np.array([done[0][0], *(piece[1] for piece in done)])
    return Pieces(edges, np.array([piece[2] for piece in done]))


def _within(low: float, high: float, points: Array) -> Array:
    return 0.5 * (low + high) + 0.5 * (high - low) * points
