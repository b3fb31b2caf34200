"""One cell: fit, predict, score."""

from __future__ import annotations

import ctypes
import gc
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.metrics import roc_auc_score

from benchmarks.child import status_megabytes
from benchmarks.harness.cells import Cell
from benchmarks.harness.model import INTERVAL, Model, Predicted
from benchmarks.harness.noise import residual_std
from benchmarks.harness.ours import Ours, parsimony
from benchmarks.harness.sets import Problem
from benchmarks.timing import seconds

LEAST_PROBABILITY = 1e-12  # a label that was called impossible costs no more than this
COUNTED = {"regression": 3, "classification": 1}  # splits on which terms are counted
RESET = Path("/proc/self/clear_refs")


def scored(problem: Problem, make: Callable[[], Model], *, slow: bool = False, **known: Any) -> Cell:
    """Fit the training rows and score the test rows; `known` is what the cell says of itself."""
    model = make()
    held = _reset_peak()
    fit_seconds = seconds(lambda: model.fit(problem.X, problem.y, problem.categorical))
    start = time.perf_counter()
    predicted = model.predict(problem.X_test)
    predict_seconds = time.perf_counter() - start
    peak = None if held is None else max(0.0, status_megabytes("VmHWM") - held)
    measured: dict[str, Any] = {
        "fit_seconds": fit_seconds,
        "predict_seconds": predict_seconds,
        "peak_megabytes": peak,
    }
    # A model that lives in a process of its own has measured itself.
    own = {name: getattr(model, name, None) for name in measured}
    measured.update({name: value for name, value in own.items() if value is not None})
    if problem.task == "regression" and predicted.std is None:
        rows = problem.X, problem.y, problem.categorical
        std = residual_std(make, *rows, known["split"], slow=slow)
        predicted = Predicted(predicted.mean, np.full(predicted.mean.size, std))
    found = {**scores(problem.task, predicted, problem.y_test), **_of_ours(model, problem, known["split"])}
    return Cell(
        **known,
        **measured,
        **found,
        train_rows=problem.y.size,
        test_rows=problem.y_test.size,
        features=len(problem.X),
    )


def scores(task: str, predicted: Predicted, y: np.ndarray) -> dict[str, float | None]:
    """The scores of predictions; an error if they are not numbers."""
    if not np.all(np.isfinite(predicted.mean)):
        raise ArithmeticError("the predictions are not finite")
    if predicted.std is not None and not np.all(np.isfinite(predicted.std) & (predicted.std > 0.0)):
        raise ArithmeticError("the standard deviations are not finite and above zero")
    return _of_numbers(predicted, y) if task == "regression" else _of_labels(predicted.mean, y)


def _of_numbers(predicted: Predicted, y: np.ndarray) -> dict[str, float | None]:
    assert predicted.std is not None
    z = (y - predicted.mean) / predicted.std
    density = -0.5 * z**2 - np.log(predicted.std) - 0.5 * np.log(2.0 * np.pi)
    return {
        "rmse": float(np.sqrt(np.mean((y - predicted.mean) ** 2))),
        "mae": float(np.mean(np.abs(y - predicted.mean))),
        "log_density": float(np.mean(density)),
        "coverage": float(np.mean(np.abs(z) <= ndtri(0.5 + INTERVAL / 2.0))),
    }


def _of_labels(probability: np.ndarray, y: np.ndarray) -> dict[str, float | None]:
    p = np.clip(probability, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
    both = np.unique(y).size == 2  # the curve needs rows of both labels
    return {
        "accuracy": float(np.mean((p > 0.5) == (y == 1.0))),
        "log_density": float(np.mean(np.where(y == 1.0, np.log(p), np.log1p(-p)))),
        "auc": float(roc_auc_score(y, p)) if both else None,
    }


def _of_ours(model: Model, problem: Problem, split: int) -> dict[str, Any]:
    """What only our models have; terms are counted on the first splits, as it takes as long as a fit.

    Of labels, of which it takes longer still, ten terms are looked at on these only.
    """
    if not isinstance(model, Ours):
        return {}
    rows, counted = (problem.X_test, problem.y_test), split < COUNTED[problem.task]
    pruned = counted or problem.task == "regression"
    return {
        **model.own_scores(*rows),
        **asdict(parsimony(model, *rows, pruned=pruned, counted=counted)),
        "orders": model.orders(),
    }


def _reset_peak() -> float | None:
    """Let the system count the peak anew; the megabytes held now, or None where it cannot be asked.

    What fits before this one have freed goes back to the system first, or it would not count again.
    """
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    try:
        RESET.write_text("5")
    except OSError:
        return None
    return status_megabytes("VmRSS")
