"""XGBoost with its defaults; it takes levels and missing cells as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from xgboost import XGBClassifier, XGBRegressor

from benchmarks.harness.numbers import Codes
from benchmarks.peers.estimators import Fitted, numbers, probabilities


def xgboost(task: str, seed: int) -> Fitted:
    """Boosted trees."""
    labels = task == "classification"
    kind = XGBClassifier if labels else XGBRegressor

    def fit(codes: Codes, rows: np.ndarray, y: np.ndarray) -> Any:
        types = ["c" if at in codes.labels else "q" for at in range(rows.shape[1])]
        return kind(random_state=seed, enable_categorical=True, feature_types=types).fit(rows, y)

    return Fitted(Codes.of, fit, probabilities if labels else numbers)
