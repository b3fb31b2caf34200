"""InterpretML's explainable boosting machine with its defaults."""

from __future__ import annotations

from typing import Any

import numpy as np
from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

from benchmarks.harness.numbers import Cells
from benchmarks.peers.estimators import Fitted, numbers, probabilities


def ebm(task: str, seed: int) -> Fitted:
    """Boosted functions of one feature and of pairs."""
    labels = task == "classification"
    kind = ExplainableBoostingClassifier if labels else ExplainableBoostingRegressor

    def fit(cells: Cells, rows: np.ndarray, y: np.ndarray) -> Any:
        model = kind(feature_names=list(cells.columns), feature_types=cells.kinds, random_state=seed)
        return model.fit(rows, y)

    return Fitted(Cells.of, fit, probabilities if labels else numbers)
