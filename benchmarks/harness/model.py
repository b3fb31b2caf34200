"""What every model of a table can do, ours and the peers' alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

INTERVAL = 0.9  # whose coverage is scored
Columns = Mapping[str, np.ndarray]  # numbers with NaN where a cell is missing, or text with None there


@dataclass(frozen=True, eq=False)
class Predicted:
    """What a model says of rows: numbers with their standard deviation, or the probability of label 1.

    The standard deviation is of a new observation; None if the model gives none.
    """

    mean: np.ndarray
    std: np.ndarray | None = None


class Model(Protocol):
    """A model of one task, "regression" (y of numbers) or "classification" (y of 0 and 1)."""

    def fit(self, X: Columns, y: np.ndarray, categorical: Sequence[str]) -> None:
        """Learn from rows; `categorical` names the columns whose values are labels."""

    def predict(self, X: Columns) -> Predicted:
        """Predict rows that may have levels never seen."""
