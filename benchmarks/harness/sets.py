"""One split of a set, as every model gets it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.harness.model import Columns


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows to learn from and rows to test with.

    Numbers to be predicted have mean 0 and variance 1 on the training rows; labels are 0 and 1.
    """

    task: str
    X: Columns
    y: np.ndarray
    X_test: Columns
    y_test: np.ndarray
    categorical: tuple[str, ...]
