"""The benchmark of the flights, on made-up ones."""

import numpy as np
import pytest

from benchmarks.airline import MODEL, lightgbm_scores, run
from benchmarks.data import load


def test_flights_are_scored_beside_lightgbm(made_up, monkeypatch):
    pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    day, time = rng.integers(1, 8, 3000), rng.uniform(0.0, 1440.0, 3000)
    delay = 5.0 * day + 10.0 * np.sin(time / 200.0) + rng.standard_normal(3000)
    made_up("airline2008", {"DayOfWeek": day, "DepTime": time, "ArrDelay": delay}, "DayOfWeek")
    monkeypatch.setitem(MODEL, "n_inducing", 30)
    found = {figure.name: figure.value for figure in run(quick=True)}
    assert (found["training rows"], found["test rows"]) == (2000, 1000)
    assert found["OAK: RMSE in sd of the training rows"] < 0.2
    assert found["RMSE of OAK over LightGBM's"] < 1.2
    assert found["share of DayOfWeek"] + found["share of DepTime"] > 0.9


def test_the_density_of_lightgbm_is_that_of_a_normal(made_up):
    pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    x = rng.standard_normal(30_000)
    made_up("plain", {"x": x, "y": x + rng.standard_normal(x.size)})
    found = lightgbm_scores(load("plain"))
    entropy = np.log(found["rmse"]) + 0.5 * np.log(2.0 * np.pi * np.e)
    assert found["density"] == pytest.approx(-entropy, abs=0.01)
