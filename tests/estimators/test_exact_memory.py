"""A fit that the machine cannot hold is refused before it begins, by what such fits were seen to hold."""

from __future__ import annotations

import tracemalloc
from functools import partial
from typing import Any

import numpy as np
import pytest

from termwise import OAKClassifier, OAKRegressor
from termwise.errors import NotEnoughMemoryError
from termwise.estimators import engine
from termwise.inference.fit import FitOptions

ROWS = 700


def table(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.5 * rng.standard_normal(n)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("sites", [False, True], ids=["normal", "sites"])
def test_as_much_is_asked_for_as_a_fit_holds(
    sites: bool, n_jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "FitOptions", partial(FitOptions, max_steps=1))
    model: Any = (OAKClassifier if sites else OAKRegressor)(max_order=1, inference="exact", n_jobs=n_jobs)
    X, y = table(ROWS)
    target = y > 0.0 if sites else y
    model.fit(X[:60], target[:60])  # compiles what is to be
    tracemalloc.start()
    try:
        model.fit(X, target)
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    asked = 8 * ROWS**2 * engine.exact_matrices(model._asked(), sites=sites)
    assert 0.6 * asked < held < asked


def test_sites_need_more_than_normal_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table(80)
    monkeypatch.setattr(engine, "available_bytes", lambda: 5 * 8 * 80**2)
    options: dict[str, Any] = {"max_order": 1, "n_restarts": 1, "inference": "exact"}
    OAKRegressor(**options).fit(X, y)
    with pytest.raises(NotEnoughMemoryError, match="exact inference of 80 rows"):
        OAKClassifier(**options).fit(X, y > 0.0)
    with pytest.raises(NotEnoughMemoryError, match="exact inference of 80 rows"):
        OAKRegressor(**options, likelihood="student").fit(X, y)
    with pytest.raises(NotEnoughMemoryError, match="exact inference of 80 rows"):
        OAKRegressor(**options, n_jobs=2).fit(X, y)
