"""Learning kernels of the angle: where it begins, and minibatches, which come to what all rows tell."""

from dataclasses import replace

import numpy as np
import pytest

from termwise.encode.rows import ArrayChunk
from termwise.inference import fit_spherical
from termwise.inference.blocks import Setting
from termwise.inference.coarse import Data
from termwise.inference.fit_spherical import SphericalOptions, begin_minibatches, objective_of
from termwise.inference.fit_spherical import fit_spherical as fit
from termwise.inference.site_blocks import site_statistics
from termwise.inference.sparse import push_of
from termwise.inference.spherical import SphericalModel
from termwise.kernels.features import POINT
from termwise.likelihoods import Logit

KINDS = [("points", 0), ("points", 5), ("softplus", 5)]


def rows_of(n=1500, labels=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    f = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]
    y = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-3.0 * f)), 1.0, -1.0) if labels else f
    y = y if labels else y + 0.3 * rng.standard_normal(n)
    return ArrayChunk(np.column_stack([X, np.zeros(n)]), y)


def model_of(features="points", likelihood=None):
    return SphericalModel(2, "arccos1", features, 4, likelihood)


def begun(rows, features, n_orthogonal, monkeypatch, size=None):
    if size is not None:
        monkeypatch.setattr(fit_spherical, "BATCH_ROWS", size)
    data = Data.in_memory(rows, np.random.default_rng(0))
    options = SphericalOptions(8, n_orthogonal, 1)
    rng = np.random.default_rng(0)
    return begin_minibatches(model_of(features), data, options, rng, lambda *_: None)[:2]


@pytest.mark.parametrize(("features", "n_orthogonal"), KINDS)
def test_the_gradient_for_places_is_that_of_the_bound(features, n_orthogonal, monkeypatch):
    rows = rows_of(60)
    search, state = begun(rows, features, n_orthogonal, monkeypatch)
    search = replace(search, warm=0)
    seen = []
    adam = type(search)._adam
    monkeypatch.setattr(type(search), "_adam", lambda *args: seen.append(args[2]) or adam(*args))
    search.after_step(state, rows)
    slope = seen[0][state.theta.size :] * rows.y.size

    def bound(inducing):
        push, _ = push_of(Setting(search.model, state.theta, inducing))
        view, divergence = state.known.seen(push.setting, push.root)
        return site_statistics(rows, view).value - divergence

    step = 1e-6
    for number, cell in list(enumerate(np.argwhere(search.movable)))[::3]:
        change = np.zeros(state.inducing.shape)
        change[tuple(cell)] = step
        expected = (bound(state.inducing + change) - bound(state.inducing - change)) / (2.0 * step)
        assert slope[number] == pytest.approx(expected, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(("features", "n_orthogonal"), KINDS)
def test_steps_come_near_the_bound_of_all_rows(features, n_orthogonal, monkeypatch):
    monkeypatch.setattr(fit_spherical, "LEAST_STEPS", 400)
    monkeypatch.setattr(fit_spherical, "BATCH_ROWS", 300)
    rows, options = rows_of(), SphericalOptions(12, n_orthogonal, 1)
    by_all = fit(model_of(features), rows, options, np.random.default_rng(0))
    monkeypatch.setattr(fit_spherical, "STOCHASTIC_ROWS", 1000)
    by_some = fit(model_of(features), rows, options, np.random.default_rng(0))
    assert by_some.result.status == "planned"
    assert by_some.result.objective > by_all.result.objective - 0.02 * rows.y.size
    assert by_some.result.inducing == 12 + n_orthogonal


def test_labels_are_learned_by_minibatches(monkeypatch):
    monkeypatch.setattr(fit_spherical, "LEAST_STEPS", 150)
    monkeypatch.setattr(fit_spherical, "BATCH_ROWS", 300)
    rows, options = rows_of(labels=True), SphericalOptions(12, 4, 1)
    by_all = fit(model_of(likelihood=Logit()), rows, options, np.random.default_rng(0))
    monkeypatch.setattr(fit_spherical, "STOCHASTIC_ROWS", 1000)
    by_some = fit(model_of(likelihood=Logit()), rows, options, np.random.default_rng(0))
    assert by_some.result.objective > by_all.result.objective - 0.01 * rows.y.size


def test_harmonics_stay_and_orthogonal_points_move(monkeypatch):
    search, state = begun(rows_of(200), "harmonics", 5, monkeypatch)
    points = state.inducing[:, -1] == POINT
    assert np.count_nonzero(points) == 5
    there = search.run(replace(state, step=search.steps - 10), lambda *_: None)
    np.testing.assert_array_equal(there.inducing[~points], state.inducing[~points])
    assert np.all(np.any(there.inducing[points, :-1] != state.inducing[points, :-1], axis=1))


def test_the_time_that_is_left_is_told(monkeypatch):
    monkeypatch.setattr(fit_spherical, "LEAST_STEPS", 30)
    monkeypatch.setattr(fit_spherical, "BATCH_ROWS", 50)
    monkeypatch.setattr(fit_spherical, "STOCHASTIC_ROWS", 100)
    seen = []
    fit(model_of(), rows_of(200), SphericalOptions(4, 0, 1), np.random.default_rng(0), seen.append)
    left = [one.remaining for one in seen if one.remaining is not None]
    assert len(left) == 30
    assert left[-1] == 0.0
    assert objective_of(model_of(), [rows_of(10)], rows_of(4).X, 1).orthogonal is None


def test_features_whose_variance_is_where_the_kernel_has_none_begin_at_a_shorter_lengthscale():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2.0, 2.0, 150)
    rows = ArrayChunk(np.column_stack([x, np.zeros(150)]), np.sin(3.0 * x) + 0.2 * rng.standard_normal(150))
    model = SphericalModel(1, "se", "relu", 16)
    nothing = -0.5 * 150 * (np.log(2.0 * np.pi * np.var(rows.y)) + 1.0)  # what a constant has
    found = fit(model, rows, SphericalOptions(32, 0, 1), np.random.default_rng(0))
    assert found.result.objective > nothing + 50.0
