"""Small tables that tests spoil in one place, quick models, and what must hold of every sound one."""

from __future__ import annotations

from typing import Any

import numpy as np

from termwise import AdditiveGPRegressor, OAKRegressor

ROWS = 30
DAYS = np.datetime64("2024-01-01") + np.arange(ROWS)
MODELS = [OAKRegressor, AdditiveGPRegressor]


def quick(kind: Any = OAKRegressor, /, **options: Any) -> Any:
    return kind(**{"max_order": 2, "n_restarts": 1, **options})


def numbers(n_rows: int = ROWS, n_columns: int = 3) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n_rows, n_columns))


def target(n_rows: int = ROWS) -> np.ndarray:
    X = numbers(n_rows)
    return np.sin(X[:, 0]) + X[:, 1] + np.random.default_rng(1).normal(0.0, 0.1, n_rows)


def changed(values: np.ndarray, where: Any, value: Any) -> np.ndarray:
    out = values.copy()
    out[where] = value
    return out


def assert_sound(model: Any, X: Any) -> None:
    """All that a fitted model says is finite, and it is never quite sure."""
    mean, std = model.predict(X, return_std=True)
    assert np.all(np.isfinite(mean))
    assert np.all(np.isfinite(std))
    assert np.all(std > 0.0)
    assert np.all(np.isfinite(model.sobol_["share"]))
    total = model.constant_ + np.asarray(model.predict_terms(X)).sum(axis=1)
    np.testing.assert_allclose(total, mean, rtol=1e-8, atol=1e-8 * model.target_scale_.scale)
    for effect in model.explain().effects:
        assert np.all(np.isfinite(effect.mean))
        assert np.all(np.isfinite(effect.std))
