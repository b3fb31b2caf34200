"""InterpretML's explainable boosting machine with its defaults."""

from __future__ import annotations

from typing import Any

import numpy as np
from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

from benchmarks.harness.numbers import Cells
from benchmarks.peers.estimators import Fitted, numbers, probabilities


def ebm(task: str, seed: int, bags: int | None = None) -> Fitted:
    """Boosted functions of one feature and of pairs; the mean of 14 machines, unless others are asked for.

    Rows are left out of one machine alone: 14 take up to half an hour, and err by little less.
    """
    labels = task == "classification"
    kind = ExplainableBoostingClassifier if labels else ExplainableBoostingRegressor

    def fit(cells: Cells, rows: np.ndarray, y: np.ndarray) -> Any:
        options = {} if bags is None else {"outer_bags": bags}
        model = kind(
            feature_names=list(cells.columns), feature_types=cells.kinds, random_state=seed, **options
        )
        return model.fit(rows, y)

    quicker = None if bags == 1 else lambda: ebm(task, seed, 1)
    return Fitted(Cells.of, fit, probabilities if labels else numbers, quicker)
