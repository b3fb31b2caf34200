"""The noise of few rows: by each of them, as those say who have not seen it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from termwise.deep.training import Lesson, cut
from termwise.measures.base import Array

FEWEST, FEW_ROWS, FOLDS = 4, 500, 5  # rows of which a tenth is too few to say how large the noise is


def fifths(X: Array, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """All rows in pieces at random, fewer than five of very few; equal rows are in one piece."""
    n, count = len(X), min(FOLDS, len(X) // 2)
    return [piece for piece in cut(X, rng, [k * n // count for k in range(1, count)]) if piece.size]


def error_of_folds(
    lesson: Lesson, learn: Callable[[Lesson], Callable[[Array], Array]], rng: np.random.Generator
) -> float:
    """The mean squared error of rows, a fifth of all at a time by what is learned from the others.

    The rows that say when to stop, and which start is best, are predicted better than new ones; and of few
    rows these are a few only. Which columns act together is not asked anew, nor which weights are left. Of
    fewer than four rows nobody knows: it is that of a standardised target.
    """
    if lesson.y.size < FEWEST:
        return 1.0
    n, squares = lesson.y.size, np.zeros(lesson.y.size)
    for left_out in fifths(lesson.X, rng):
        predict = learn(lesson.only(np.setdiff1d(np.arange(n), left_out), rng))
        squares[left_out] = (lesson.y[left_out] - predict(lesson.X[left_out])) ** 2
    return float(np.mean(squares[lesson.telling(np.arange(n))]))
