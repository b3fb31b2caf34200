"""The benchmark of the million flights, on few made-up ones."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import delays
from benchmarks.delays import Moment
from termwise.encode.rows import ArrayChunk
from termwise.inference.coarse import Data
from termwise.inference.fit_spherical import SphericalOptions, begin_minibatches
from termwise.inference.spherical import SphericalModel


def test_flights_are_scored_by_every_model(made_up, monkeypatch):
    rng = np.random.default_rng(0)
    day, time = rng.integers(1, 8, 300), rng.uniform(0.0, 1440.0, 300)
    delay = 5.0 * (day > 4) + 10.0 * np.sin(time / 300.0) + rng.standard_normal(300)
    made_up("airline2008", {"DayOfWeek": day, "DepTime": time, "ArrDelay": delay}, "DayOfWeek")
    few = {"8": {"n_inducing": 8}, "16": {"n_inducing": 16}, "8+8": {"n_inducing": 8, "n_orthogonal": 8}}
    monkeypatch.setattr(delays, "QUICK_COUNTS", few)
    found = [(figure.name, figure.value) for figure in delays.run(quick=True)]
    assert dict(found)["training rows"] == 200
    nlpd = [value for name, value in found if name.strip() == "NLPD"]
    assert len(nlpd) == 6
    assert all(value < 1.0 for value in nlpd)  # 1.42 knowing nothing


def test_scores_on_the_way_are_those_of_the_posterior_by_dense_matrices():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(80)
    rows = ArrayChunk(np.column_stack([X, np.zeros(80)]), y)
    model, options = SphericalModel(2, "arccos1", "points", 4), SphericalOptions(10, 5, 1)
    search, state, _ = begin_minibatches(
        model, Data.in_memory(rows, rng), options, np.random.default_rng(0), lambda *_: None
    )
    state = search.run(replace(state, step=search.steps - 5), lambda *_: None)
    kernel, noise = model.kernel(state.theta), np.exp(state.theta[-1])
    Z, at = (model.encoded(state.theta, some) for some in (state.inducing, rows.X))
    mean, spread, _ = state.known.moments()
    U = np.linalg.cholesky(kernel.matrix(Z, Z) + 1e-10 * np.mean(np.diag(kernel.matrix(Z, Z))) * np.eye(15)).T
    A = np.linalg.solve(U.T, kernel.matrix(Z, at))
    variance = kernel.diagonal(at) - np.sum(A**2, axis=0) + np.sum((spread.T @ A) ** 2, axis=0) + noise
    error = y - A.T @ mean
    found = delays.scored(model, state, rows)
    assert found[0] == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-6)
    nlpd = 0.5 * np.mean(np.log(2.0 * np.pi * variance) + error**2 / variance)
    assert found[1] == pytest.approx(nlpd, rel=1e-6)


def test_orthogonal_variables_are_held_against_as_many_others():
    ends = {"500": (10.0, 1.3), "1000": (40.0, 1.2), "500+500": (20.0, 1.1)}
    moments = [
        Moment(features, count, 100.0, 1, step, 20, 0.9, nlpd)
        for features in delays.FEATURES
        for count, (step, nlpd) in ends.items()
    ]
    found = {figure.name: figure for figure in delays.mended(moments, tuple(ends), limited=True)}
    figure = found["softplus: NLPD of 500+500 above that of 1000"]
    assert figure.value == pytest.approx(-0.1)
    assert figure.met
    assert found["  a step of 500+500 over one of 1000"].value == pytest.approx(0.5)


def test_the_courses_are_written_and_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    moments = [
        Moment("points", "500", 1.0, 3, 0.1, 20, 0.95, 1.4),
        Moment("points", "500", 2.0, 6, 0.1, 20, 0.9, 1.3),
        Moment("softplus", "500", 3.0, 6, 0.1, 20, 0.8, 1.2),
    ]
    delays.write(moments, tmp_path)
    delays.draw(moments, tmp_path)
    lines = (tmp_path / "delays.csv").read_text().splitlines()
    assert lines[0] == "features,count,seconds,step,step_seconds,rows,rmse,nlpd"
    assert lines[1:3] == ["points,500,1,3,0.1,20,0.95,1.4", "points,500,2,6,0.1,20,0.9,1.3"]
    assert (tmp_path / "delays.png").stat().st_size > 1000
