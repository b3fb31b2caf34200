"""LightGBM with its defaults; it takes levels and missing cells as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from lightgbm import Booster, LGBMClassifier, LGBMRegressor

from benchmarks.harness.model import Predicted
from benchmarks.harness.numbers import Codes
from benchmarks.peers.estimators import Fitted


def lightgbm(task: str, seed: int) -> Fitted:
    """Boosted trees."""
    kind = LGBMClassifier if task == "classification" else LGBMRegressor

    def fit(codes: Codes, rows: np.ndarray, y: np.ndarray) -> Any:
        model = kind(random_state=seed, verbose=-1)  # silent; all that it learns by is its default
        return model.fit(rows, y, categorical_feature=codes.labels).booster_

    return Fitted(Codes.of, fit, _predict)


def _predict(booster: Booster, rows: np.ndarray) -> Predicted:
    # The booster gives numbers and probabilities alike, and does not ask for the names of columns.
    return Predicted(np.asarray(booster.predict(rows), dtype=float))
