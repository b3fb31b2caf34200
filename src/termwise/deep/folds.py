"""The noise of few rows: by each of them, as those say who have not seen it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from termwise.deep.training import Lesson, cut, parted
from termwise.measures.base import Array

FEWEST, FEW_ROWS, FOLDS = 4, 500, 5  # rows of which a tenth is too few to say how large the noise is


def error_of_folds(
    X: Array, y: Array, learn: Callable[[Lesson], Callable[[Array], Array]], rng: np.random.Generator
) -> float:
    """The mean squared error of all rows, a fifth at a time by what is learned from the others.

    The rows that say when to stop, and which start is best, are predicted better than new ones; and of few
    rows these are a few only. Which columns act together is not asked anew.
    """
    n, count = y.size, min(FOLDS, y.size // 2)
    squares = []
    for left_out in filter(len, cut(X, rng, [k * n // count for k in range(1, count)])):
        seen = np.setdiff1d(np.arange(n), left_out)
        predict = learn(Lesson(X[seen], y[seen], parted(X[seen], rng)))
        squares.append((y[left_out] - predict(X[left_out])) ** 2)
    return float(np.mean(np.concatenate(squares)))
