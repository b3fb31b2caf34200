"""InterpretML's explainable boosting machine with its defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

from benchmarks.harness.numbers import Cells
from benchmarks.peers.estimators import Fitted, numbers, probabilities


def ebm(task: str, seed: int) -> Fitted:
    """Boosted functions of one feature and of pairs, the mean of 14 machines.

    Rows are left out of one machine alone: 14 take up to half an hour, and err by little less.
    """
    return _fitted(task, lambda: ebm_of_one_bag(task, seed), random_state=seed)


def ebm_of_one_bag(task: str, seed: int) -> Fitted:
    """One machine in the place of 14: two minutes for some thousand rows, where these took half an hour."""
    return _fitted(task, None, random_state=seed, outer_bags=1)


def _fitted(task: str, quicker: Callable[[], Fitted] | None, **options: Any) -> Fitted:
    labels = task == "classification"
    kind = ExplainableBoostingClassifier if labels else ExplainableBoostingRegressor

    def fit(cells: Cells, rows: np.ndarray, y: np.ndarray) -> Any:
        model = kind(feature_names=list(cells.columns), feature_types=cells.kinds, **options)
        return model.fit(rows, y)

    return Fitted(Cells.of, fit, probabilities if labels else numbers, quicker)
