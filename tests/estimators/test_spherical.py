"""Regression by the angle between rows: it learns known functions, and bad input has named errors."""

from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from termwise.encode.rows import ArrayChunk
from termwise.errors import OptionError
from termwise.estimators.spherical import SphericalGPClassifier, SphericalGPRegressor
from termwise.inference.fit_spherical import (
    SphericalOptions,
    climb_places,
    first_places,
    fit_spherical,
)
from termwise.inference.sparse import SparseObjective
from termwise.inference.spherical import SphericalModel
from termwise.inference.workers import LocalWorkers
from termwise.kernels.features import FEATURES
from termwise.kernels.zonal import KERNELS

QUICK: dict[str, Any] = {"n_inducing": 24}
NOISE = 0.1


def table(rows: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (rows, 2))
    return X, np.sin(1.5 * X[:, 0]) * X[:, 1] + NOISE * rng.standard_normal(rows)


@parametrize_with_checks([SphericalGPRegressor(n_inducing=8), SphericalGPClassifier(n_inducing=8)])
def test_it_is_an_estimator_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kernel", [name for name in KERNELS if name != "arccos0"])
def test_it_learns_a_function(kernel):
    X, y = table()
    model = SphericalGPRegressor(kernel=kernel, n_inducing=40).fit(X, y)
    new, target = table(400, 1)
    mean, std = model.predict(new, return_std=True)
    assert np.sqrt(np.mean((mean - target) ** 2)) < 1.6 * NOISE
    assert 0.8 < np.mean(np.abs(mean - target) < 1.645 * std) < 0.98
    assert np.mean(model.log_predictive_density(new, target)) > -0.2 - np.log(NOISE) - 1.42
    covered = {one.level: one.covered for one in model.check(new, target).coverage}
    assert 0.8 < covered[0.9] < 0.98


@pytest.mark.parametrize("features", [name for name in FEATURES if name != "points"])
@pytest.mark.parametrize("kernel", ["arccos1", "matern52"])
def test_orthogonal_points_mend_what_features_cannot(kernel, features):
    X, y = table()
    alone, mended = (
        SphericalGPRegressor(kernel=kernel, features=features, n_orthogonal=count, **QUICK).fit(X, y)
        for count in (0, 24)
    )
    assert mended.objective_ > alone.objective_ + 10.0
    new, target = table(400, 1)
    gain = mended.log_predictive_density(new, target) - alone.log_predictive_density(new, target)
    assert np.mean(gain) > 0.02
    assert mended.fit_result_.inducing > alone.fit_result_.inducing


@pytest.mark.parametrize("features", ["points", "softplus"])
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_it_learns_labels(features, link):
    X, y = table()
    options = {"features": features, "link": link, "kernel": "matern52", "n_orthogonal": 12, **QUICK}
    model = SphericalGPClassifier(**options).fit(X, np.where(y > 0.0, "yes", "no"))
    new, target = table(400, 1)
    labels = np.where(target > 0.0, "yes", "no")
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.score(new, labels) > 0.85
    p = model.predict_proba(new)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(
        model.log_predictive_density(new, labels), np.log(p[np.arange(400), (labels == "yes").astype(int)])
    )
    assert model.fit_result_.inducing == 36


def test_more_than_two_labels_and_weights():
    X, y = table(200)
    labels = np.digitize(y, [-0.6, 0.6])
    model = SphericalGPClassifier(kernel="matern52", **QUICK).fit(X, labels)
    assert len(model.estimators_) == 3
    assert model.score(X, labels) > 0.8
    twice = SphericalGPClassifier(kernel="matern52", **QUICK).fit(
        X, labels > 0, sample_weight=np.full(200, 2.0)
    )
    doubled = SphericalGPClassifier(kernel="matern52", **QUICK).fit(np.r_[X, X], np.r_[labels, labels] > 0)
    np.testing.assert_allclose(twice.predict_proba(X), doubled.predict_proba(X), atol=1e-6)
    with pytest.raises(OptionError, match="link is 'cauchit'"):
        SphericalGPClassifier(link="cauchit").fit(X, labels)


@pytest.mark.parametrize("kernel", ["arccos1", "arccos2", "se", "matern52"])
@pytest.mark.parametrize("features", ["points", "softplus"])
def test_a_climb_ends_where_another_finds_little_more(kernel, features):
    X, y = table()
    model = SphericalModel(2, kernel, features)
    rows = ArrayChunk(np.column_stack([X / X.std(axis=0), np.zeros(len(X))]), (y - y.mean()) / y.std())
    found = fit_spherical(model, rows, SphericalOptions(24), np.random.default_rng(0))
    Z = found.posterior.centres
    places = np.column_stack([Z[:, :2] / np.exp(found.theta[:2]), Z[:, -1]])
    objective = SparseObjective(model, [rows], places, LocalWorkers(1))
    again, _ = climb_places(objective, found.theta, 100, lambda value: None)
    gained = objective.value_and_gradient(again)[0] - found.result.objective
    assert -1e-3 < gained < 0.02 * len(y)


def test_columns_of_all_kinds():
    rng = np.random.default_rng(0)
    x, city = rng.standard_normal(200), rng.choice(["Oslo", "Rome", "Bern"], 200)
    x[:9] = np.nan
    y = np.nan_to_num(x) + (city == "Rome") + 0.1 * rng.standard_normal(200)
    model = SphericalGPRegressor(**QUICK).fit({"x": x, "city": city}, y)
    assert model.score({"x": x, "city": city}, y) > 0.95
    assert np.all(np.isfinite(model.predict({"x": [np.nan], "city": ["Paris"]}, return_std=True)))
    with pytest.raises(ValueError, match="Paris"):
        SphericalGPRegressor(unknown="error", **QUICK).fit({"x": x, "city": city}, y).predict(
            {"x": [0.0], "city": ["Paris"]}
        )


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize(
    "options",
    [{"n_degrees": 1}, {"n_inducing": 1}, {"n_inducing": 500}, {"n_orthogonal": 500}],
    ids=str,
)
def test_few_and_many(features, options):
    """One degree, one feature of the table, more inducing variables than rows: a sound fit."""
    X, y = table(60)
    for columns in (X, X[:, :1]):
        model = SphericalGPRegressor(features=features, kernel="matern52", **{**QUICK, **options}).fit(
            columns, y
        )
        mean, std = model.predict(columns, return_std=True)
        assert np.all(np.isfinite(mean))
        assert np.all(std > 0.0)


def test_rows_that_are_all_alike_but_two():
    X = np.zeros((30, 2))
    X[0], X[1] = [1.0, 2.0], [-1.0, 0.5]
    y = np.random.default_rng(0).standard_normal(30)
    mean, std = SphericalGPRegressor(n_orthogonal=5).fit(X, y).predict([[0.0, 0.0]], return_std=True)
    assert np.isfinite(mean[0])
    assert std[0] > 0.0


def test_the_same_seed_gives_the_same_model():
    X, y = table(150)
    one, other = (SphericalGPRegressor(random_state=3, n_orthogonal=10, **QUICK).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_progress():
    seen: list[Any] = []
    X, y = table(100)
    model = SphericalGPRegressor(progress=seen.append, **QUICK).fit(X, y)
    assert len(seen) == model.fit_result_.evaluations


def test_no_two_inducing_variables_begin_at_one_place():
    X = np.column_stack([np.random.default_rng(0).standard_normal((80, 2)), np.zeros(80)])
    model = SphericalModel(2, "arccos1", "points")
    theta = model.start(np.ones(3), 0.1)
    first, last = first_places(model, theta, X, SphericalOptions(10, 7), np.random.default_rng(0))
    assert (first.shape, last.shape) == ((10, 3), (7, 3))
    together = np.concatenate([first, last])[:, :-1]
    apart = np.linalg.norm(together[:, None] - together, axis=-1)
    assert np.min(apart[~np.eye(17, dtype=bool)]) > 1e-3
    many = first_places(model, theta, X, SphericalOptions(60, 60), np.random.default_rng(0))
    assert [len(part) for part in many] == [60, 20]


def test_harmonics_are_taken_degree_by_degree_and_stay():
    X = np.column_stack([np.random.default_rng(0).standard_normal((80, 2)), np.zeros(80)])
    model = SphericalModel(2, "matern52", "harmonics", 4)
    theta = model.start(np.ones(3), 0.1)
    first, _ = first_places(model, theta, X, SphericalOptions(7, 0), np.random.default_rng(0))
    assert first[:, -1].tolist() == [1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0]
    assert not np.any(model.movable(first))
    every, _ = first_places(model, theta, X, SphericalOptions(100, 0), np.random.default_rng(0))
    assert len(every) == 1 + 3 + 5 + 7


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("kernel", "cosine", "kernel is 'cosine'"),
        ("features", "tanh", "features is 'tanh'"),
        ("n_degrees", 0, "n_degrees is 0; use a whole number, at least 1"),
        ("n_inducing", 0, "n_inducing is 0"),
        ("n_orthogonal", -1, "n_orthogonal is -1"),
        ("unknown", "marginalise", "unknown is 'marginalise'"),
        ("n_jobs", 0, "n_jobs is 0"),
    ],
)
def test_options_that_there_are_not(option, value, message):
    X, y = table(20)
    with pytest.raises(OptionError, match=message):
        SphericalGPRegressor(**{option: value}).fit(X, y)
