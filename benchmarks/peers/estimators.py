"""Models with the methods of scikit-learn, behind ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from benchmarks.harness.model import Columns, Predicted


class Encoding(Protocol):
    """What turns columns into the rows that a library takes."""

    def rows(self, X: Columns) -> np.ndarray:
        """A matrix of rows."""


Encode = Callable[[Columns, Sequence[str]], Any]
Fit = Callable[[Any, np.ndarray, np.ndarray], Any]
Predict = Callable[[Any, np.ndarray], Predicted]


class Fitted:
    """A model made of three functions: encode the columns, fit the rows, predict rows.

    `quicker` makes one that errs by nearly as much, for rows that are left out.
    """

    def __init__(
        self, encode: Encode, fit: Fit, predict: Predict, quicker: Callable[[], Fitted] | None = None
    ) -> None:
        self._encode, self._fit, self._predict = encode, fit, predict
        self.quicker = quicker

    def fit(self, X: Columns, y: np.ndarray, categorical: Sequence[str]) -> None:
        """Learn from rows; `categorical` names the columns whose values are labels."""
        self._encoding: Encoding = self._encode(X, categorical)
        self._estimator = self._fit(self._encoding, self._encoding.rows(X), y)

    def predict(self, X: Columns) -> Predicted:
        """Predict rows that may have levels never seen."""
        return self._predict(self._estimator, self._encoding.rows(X))


def numbers(estimator: Any, rows: np.ndarray) -> Predicted:
    """Numbers without a standard deviation."""
    return Predicted(np.asarray(estimator.predict(rows), dtype=float))


def numbers_with_std(estimator: Any, rows: np.ndarray) -> Predicted:
    """Numbers with the standard deviation of a new observation."""
    return Predicted(*estimator.predict(rows, return_std=True))


def probabilities(estimator: Any, rows: np.ndarray) -> Predicted:
    """The probability of label 1."""
    return Predicted(np.asarray(estimator.predict_proba(rows)[:, 1], dtype=float))
