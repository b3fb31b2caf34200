"""How far a new observation lies from what a model predicts, for models that do not say."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from sklearn.model_selection import KFold

from benchmarks.harness.model import Columns, Model

FOLDS = 5
MOST_ROWS, MOST_SLOW = 2000, 300  # with all folds, of any model and of a slow one; beyond, one is left out


def residual_std(
    model_factory: Callable[[], Model],
    X: Columns,
    y: np.ndarray,
    categorical: Sequence[str],
    seed: int,
    *,
    slow: bool = False,
) -> float:
    """The root mean squared error on training rows that the model did not learn from.

    Up to 2000 rows each of five folds is left out once; beyond that, and of a model that takes minutes beyond
    300, only one of them. The residuals of rows
    that were learned from, which the OAK paper took, are too small: they flatter a model that has learned its
    rows by heart, and the log density of test rows then punishes it.
    """
    folds = list(KFold(min(FOLDS, y.size), shuffle=True, random_state=seed).split(y))
    errors = []
    for train, test in folds if y.size <= (MOST_SLOW if slow else MOST_ROWS) else folds[:1]:
        model = model_factory()
        quicker = getattr(model, "quicker", None)
        model = quicker() if quicker else model
        model.fit(_rows(X, train), y[train], categorical)
        errors.append(model.predict(_rows(X, test)).mean - y[test])
    return float(np.sqrt(np.mean(np.concatenate(errors) ** 2)))


def _rows(X: Columns, rows: np.ndarray) -> dict[str, np.ndarray]:
    return {name: x[rows] for name, x in X.items()}
