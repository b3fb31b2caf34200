"""Fits pyGAM's LinearGAM or LogisticGAM; runs in an environment of its own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from pygam import LinearGAM, LogisticGAM, f, s
from scipy.stats import norm
from worker import Predict, serve

CHUNK = 10_000  # test rows at once
WIDTH = 0.9


def fit(rows: np.ndarray, y: np.ndarray, options: Mapping[str, Any]) -> Predict:
    """Splines of numbers and factors of levels, with the penalty that the grid search finds best."""
    terms = reduce(add, (f(at) if kind == "factor" else s(at) for at, kind in enumerate(options["kinds"])))
    labels = options["task"] == "classification"
    model = (LogisticGAM if labels else LinearGAM)(terms).gridsearch(rows, y, progress=False)

    def predict(rows: np.ndarray) -> dict[str, np.ndarray]:
        chunks = np.array_split(rows, max(1, len(rows) // CHUNK))
        found = {"mean": np.concatenate([model.predict_mu(chunk) for chunk in chunks])}
        if not labels:
            found["std"] = np.concatenate([_std(model, chunk) for chunk in chunks])
        return found

    return predict


def _std(model: LinearGAM, rows: np.ndarray) -> np.ndarray:
    """Of a new observation: that of the normal with the same 90 % interval.

    pyGAM's own is of a Student t, which gets very wide with hardly more rows than degrees of freedom.
    """
    low, high = model.prediction_intervals(rows, width=WIDTH).T
    return (high - low) / (2.0 * norm.ppf(0.5 + WIDTH / 2.0))


if __name__ == "__main__":
    serve(fit)
