"""The noise of few rows: by each of them, as those say who have not seen it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from termwise.deep.training import Lesson, cut
from termwise.measures.base import Array

FEWEST, FEW_ROWS, FOLDS = 4, 500, 5  # rows of which a tenth is too few to say how large the noise is


def error_of_folds(
    lesson: Lesson, learn: Callable[[Lesson], Callable[[Array], Array]], rng: np.random.Generator
) -> float:
    """The mean squared error of rows, a fifth of all at a time by what is learned from the others.

    The rows that say when to stop, and which start is best, are predicted better than new ones; and of few
    rows these are a few only. Which columns act together is not asked anew, nor which weights are left.
    """
    n, count, squares = lesson.y.size, min(FOLDS, lesson.y.size // 2), np.zeros(lesson.y.size)
    for left_out in filter(len, cut(lesson.X, rng, [k * n // count for k in range(1, count)])):
        predict = learn(lesson.only(np.setdiff1d(np.arange(n), left_out), rng))
        squares[left_out] = (lesson.y[left_out] - predict(lesson.X[left_out])) ** 2
    return float(np.mean(squares[lesson.telling(np.arange(n))]))
