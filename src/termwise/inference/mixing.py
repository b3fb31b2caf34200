"""Steps to a fixed point that learn from the steps before them."""

from __future__ import annotations

from collections import deque

import numpy as np

from termwise.measures.base import Array

DEPTH = 5  # steps that are remembered
RIDGE = 1e-12  # of the sum of squares, so that steps that say the same do no harm
TINY = 1e-300


class Mixing:
    """Anderson's mixing (1965): from the last points and residuals to where the residual should vanish.

    A point x and its residual, g(x) - x for the fixed point g(x) = x, come in; with none remembered the next
    is a part of the way along the residual. Residuals are compared by their first entries, as many as said.
    """

    def __init__(self, compared: int, depth: int = DEPTH) -> None:
        self._compared = compared
        self._last: tuple[Array, Array] | None = None
        self._steps: deque[tuple[Array, Array]] = deque(maxlen=depth)  # changes of point and residual

    @property
    def remembers(self) -> bool:
        """Whether the last point was another than it would have been without mixing."""
        return bool(self._steps)

    def astray(self, step: float) -> float:
        """The step to try instead of one that led astray: the same without mixing, or half of it."""
        shorter = step if self.remembers else 0.5 * step
        self._last = None
        self._steps.clear()
        return shorter

    def next(self, point: Array, residual: Array, step: float) -> Array:
        """The next point."""
        if self._last is not None:
            self._steps.append((point - self._last[0], residual - self._last[1]))
        self._last = point, residual
        there: Array = point + step * residual
        for weight, (moved, changed) in zip(self._weights(residual), self._steps, strict=True):
            there -= weight * moved
            there -= (weight * step) * changed
        return there

    def _weights(self, residual: Array) -> Array:
        """By the steps so weighted the residual would have been smallest."""
        if not self._steps:
            return np.zeros(0)
        seen = np.stack([changed[: self._compared] for _, changed in self._steps])
        square = seen @ seen.T
        square += (RIDGE * np.trace(square) + TINY) * np.eye(len(square))
        weights: Array = np.linalg.solve(square, seen @ residual[: self._compared])
        return weights
