"""Regression by the angle between rows: it learns known functions, and bad input has named errors."""

import warnings
from inspect import getattr_static
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import termwise as tw
from termwise import OAKClassifier, OAKRegressor, SphericalGPClassifier, SphericalGPRegressor
from termwise.encode.rows import ArrayChunk
from termwise.errors import (
    NotEnoughMemoryError,
    NoTermsError,
    OptionError,
    TableError,
    TermError,
    TermwiseWarning,
)
from termwise.estimators.spherical import OF_TERMS
from termwise.inference.coarse import Data
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
from termwise.report import Report
from termwise.table import read_table
from tests.oracle.decoupled import taken_between

QUICK: dict[str, Any] = {"n_inducing": 24}
NOISE = 0.1


def table(rows: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (rows, 2))
    return X, np.sin(1.5 * X[:, 0]) * X[:, 1] + NOISE * rng.standard_normal(rows)


@parametrize_with_checks(
    [
        SphericalGPRegressor(n_inducing=8),
        SphericalGPClassifier(n_inducing=8),
        SphericalGPRegressor(features="softplus", n_inducing=4, n_orthogonal=4),
    ]
)
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
    assert mended.fit_result_.inducing == alone.fit_result_.inducing + 24
    assert mended.fit_result_.orthogonal == 24
    between, within = taken_between(mended)
    assert between < 1e-4
    assert within > 0.05


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
    X, y = table(120)
    labels = np.digitize(y, [-0.6, 0.6])
    options = {"kernel": "matern52", "n_inducing": 12}
    model = SphericalGPClassifier(**options).fit(X, labels)
    assert len(model.estimators_) == 3
    assert model.score(X, labels) > 0.8
    twice = SphericalGPClassifier(**options).fit(X, labels > 0, sample_weight=np.full(120, 2.0))
    doubled = SphericalGPClassifier(**options).fit(np.r_[X, X], np.r_[labels, labels] > 0)
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
    unknown = {"x": [np.nan, 0.0], "city": ["Paris", "Paris"]}
    np.testing.assert_array_equal(model.encoder_.dense.transform(read_table(unknown))[:, 2:], 0.0)
    assert model.predict(unknown) == pytest.approx(np.mean(city == "Rome"), abs=0.1)  # between the cities
    with pytest.raises(ValueError, match="Paris"):
        SphericalGPRegressor(unknown="error", **QUICK).fit({"x": x, "city": city}, y).predict(
            {"x": [0.0], "city": ["Paris"]}
        )


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize(
    "options",
    [{"n_degrees": 1, "n_orthogonal": 4}, {"n_inducing": 1}, {"n_inducing": 500}, {"n_orthogonal": 500}],
    ids=str,
)
def test_few_and_many(features, options):
    """One degree, one feature of the table, more inducing variables than rows: a sound fit."""
    X, y = table(40)
    noise = NOISE * np.random.default_rng(1).standard_normal(40)
    for columns, target in ((X, y), (X[:, :1], np.sin(1.5 * X[:, 0]) + noise)):
        model = SphericalGPRegressor(features=features, kernel="matern52", **{**QUICK, **options})
        sound(model.fit(columns, target), columns, len(y))
        if 500 in options.values():
            assert model.score(columns, target) > 0.8
            assert model.fit_result_.inducing <= 40 + 40  # a point for each row, and as many features


def sound(model: SphericalGPRegressor, X: Any, n_rows: int) -> None:
    """What is not known lies between the noise and the prior, and the bound is not below that of noise."""
    encoded = model._encode(X)
    mean, std = model.predict(X, return_std=True)
    assert np.all(np.isfinite(mean))
    variance, noise = (std / model.target_scale_.scale) ** 2, model.noise_.variance
    assert np.all(variance > noise * (1.0 - 1e-9))
    assert np.all(variance < (noise + model.posterior_.kernel.diagonal(encoded)) * (1.0 + 1e-9))
    assert model.objective_ > -0.5 * n_rows * (np.log(2.0 * np.pi) + 1.0) - 0.01


def test_rows_that_are_all_alike_but_two():
    """Of a row at the mean of all columns nothing is left but what it is lengthened by."""
    X = np.zeros((30, 2))
    X[0], X[1] = [1.0, 2.0], [-1.0, 0.5]
    y = np.random.default_rng(0).standard_normal(30)
    model = SphericalGPRegressor(n_orthogonal=5).fit(X, y)
    sound(model, X, 30)
    mean, std = model.predict([[0.0, 0.0]], return_std=True)
    assert mean[0] == pytest.approx(np.mean(y[2:]), abs=2.0 * np.std(y) / np.sqrt(28))
    assert std[0] == pytest.approx(np.std(y[2:]), rel=0.2)


def test_two_rows_and_rows_far_away():
    model = SphericalGPRegressor(n_orthogonal=3).fit([[0.0], [1.0]], [0.0, 1.0])
    sound(model, [[0.0], [1.0], [0.5]], 2)
    X, y = table(60)
    model = SphericalGPRegressor(**QUICK).fit(X, y)
    sound(model, 1e8 * X, 60)
    assert np.all(model.predict(1e8 * X, return_std=True)[1] > model.predict(X, return_std=True)[1])


@pytest.mark.parametrize("kernel", ["arccos0", "arccos1", "arccos2", "se"])
def test_rows_at_the_end_of_the_world_have_numbers(kernel):
    X, y = table(40)
    model = SphericalGPRegressor(kernel=kernel, n_inducing=10).fit(X, y)
    far = np.full((1, X.shape[1]), 1e300)
    assert all(np.all(np.isfinite(part)) for part in model.predict(far, return_std=True))


def test_as_many_inducing_variables_as_are_asked_for():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1200, 2))
    rows = ArrayChunk(np.column_stack([X, np.zeros(1200)]), X[:, 0])
    data = Data.in_memory(rows, rng, SphericalOptions(1100, 50).total)
    first, last = first_places(
        SphericalModel(2, "se"),
        np.zeros(5),
        SphericalOptions(1100, 50).places(data),
        SphericalOptions(1100, 50),
        rng,
    )
    assert (len(first), len(last)) == (1100, 50)


def test_few_rows_may_have_features_and_orthogonal_points_alike():
    X, y = table(40)
    alone, mended = (
        SphericalGPRegressor(features="relu", n_inducing=100, n_orthogonal=count).fit(X, y)
        for count in (0, 20)
    )
    assert (mended.fit_result_.inducing, mended.fit_result_.orthogonal) == (60, 20)
    assert mended.objective_ > alone.objective_ + 1.0


def test_of_one_degree_there_is_a_constant_alone():
    with pytest.raises(OptionError, match="one degree are a constant alone"):
        SphericalGPRegressor(features="relu", n_degrees=1).fit(*table(40))


def test_harmonics_do_not_fall_together_along_columns_that_do_nothing():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    model = SphericalGPRegressor(kernel="matern52", features="harmonics", n_inducing=60)
    posterior = model.fit(X, np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(200)).posterior_
    Kuu = posterior.kernel.gram(posterior.centres) / posterior.kernel.variance
    assert np.min(np.linalg.eigvalsh(Kuu)) > 1e-7
    tags = posterior.centres[:, -1]
    assert np.max(np.abs(Kuu[tags[:, None] != tags])) < 1e-12  # degrees have nothing in common


def test_columns_with_one_value_have_no_effect():
    X, y = table(60)
    with_one = np.insert(X, 1, 7.0, axis=1)
    model, without = (SphericalGPRegressor(**QUICK).fit(rows, y) for rows in (with_one, X))
    np.testing.assert_array_equal(model.predict(with_one), without.predict(X))
    assert model.encoder_.used == ("x0", "x2")
    with pytest.raises(TableError, match="no column varies"):
        SphericalGPRegressor(**QUICK).fit(np.ones((60, 2)), y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "arccos0", "features": "relu"}, "2 degrees in common.*n_degrees=2 at most"),
        ({"kernel": "arccos2", "features": "softplus"}, "3 degrees in common.*use kernel='arccos1' or 'se'"),
        ({"kernel": "arccos2", "features": "relu", "n_degrees": 4}, "or features='points' or 'harmonics'"),
        ({"kernel": "se", "features": "harmonics", "n_degrees": 90}, "of n_degrees=90.*at most"),
    ],
)
def test_features_that_lack_degrees_of_the_kernel(options, message):
    X, y = table(20)
    for kind, target in ((SphericalGPRegressor, y), (SphericalGPClassifier, y > 0.0)):
        with pytest.raises(OptionError, match=message):
            kind(**options).fit(X, target)


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_what_goes_together(kernel, features):
    """Every pair is fitted, or refused by name: those of activations with kernels of the other parity."""
    X, y = table(40)
    model = SphericalGPRegressor(kernel=kernel, features=features, n_inducing=6, n_orthogonal=4)
    if kernel in ("arccos0", "arccos2") and features in ("relu", "softplus"):
        with pytest.raises(OptionError, match=f"kernel='{kernel}' and features='{features}'"):
            model.fit(X, y)
        model.set_params(n_degrees=2)
    sound(model.fit(X, y), X, 40)


@pytest.mark.parametrize("kind", [SphericalGPRegressor, SphericalGPClassifier])
def test_terms_are_asked_of_others(kind):
    other = OAKRegressor if kind is SphericalGPRegressor else OAKClassifier
    said = {name for name in dir(other) if isinstance(getattr_static(other, name), (FunctionType, property))}
    public = {name for name in said - set(dir(kind)) if not name.startswith("_")}
    assert public - {"fit_dataset"} == set(OF_TERMS)
    X, y = table(30)
    model = kind(n_inducing=5).fit(X, y if kind is SphericalGPRegressor else y > 0.0)
    for name in OF_TERMS:
        assert not hasattr(model, name)
        with pytest.raises(NoTermsError, match=f"no '{name}'; use {other.__name__} for terms"):
            getattr(model, name)
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        _ = model.other
    with pytest.raises(NoTermsError, match="has no terms"):
        Report.from_estimator(model)


def test_each_of_many_labels_has_a_function():
    X, y = table(60)
    model = SphericalGPClassifier(n_inducing=5).fit(X, np.digitize(y, [-0.6, 0.6]))
    with pytest.raises(TermError, match=r"3 labels has a function of its own; ask model.estimators_\[k\]"):
        model.check(X, y)


def test_the_same_seed_gives_the_same_model():
    X, y = table(150)
    one, other = (SphericalGPRegressor(random_state=3, n_orthogonal=10, **QUICK).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_progress():
    seen: list[Any] = []
    X, y = table(100)
    model = SphericalGPRegressor(progress=seen.append, **QUICK).fit(X, y)
    assert [one.evaluations for one in seen] == list(range(1, model.fit_result_.evaluations + 1))
    assert max(one.objective for one in seen) == pytest.approx(model.objective_, rel=1e-6)
    assert seen[0].objective < model.objective_ - 10.0
    assert {one.rows for one in seen} == {100}
    assert np.all(np.diff([one.seconds for one in seen]) >= 0.0)


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
        ("n_degrees", 101, "n_degrees is 101; use 100 at most"),
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


def test_more_columns_than_rows_are_not_learned_by_heart():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((360, 100)), rng.standard_normal(360)  # nothing to learn
    mean, std = SphericalGPRegressor().fit(X[:60], y[:60]).predict(X[60:], return_std=True)
    assert np.sqrt(np.mean((y[60:] - mean) ** 2)) < 1.1 * np.std(y[60:])
    assert np.mean(np.abs(y[60:] - mean) < 1.645 * std) > 0.8


def test_features_that_find_nothing_warn_and_leave_the_part_of_each_label():
    rng = np.random.default_rng(1)
    X, rare = rng.standard_normal((300, 60)), rng.random(300) < 0.1
    with pytest.warns(TermwiseWarning, match="found nothing"):
        model = SphericalGPClassifier(features="relu", n_inducing=32).fit(X, rare)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], np.mean(rare), atol=1e-6)
    many = np.digitize(rng.random(300), [0.8, 0.95])
    with pytest.warns(TermwiseWarning, match="found nothing"):
        model = SphericalGPClassifier(features="relu", n_inducing=32).fit(X, many)
    np.testing.assert_allclose(model.predict_proba(X)[0], np.bincount(many) / 300, atol=1e-4)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_far_from_all_rows_labels_are_about_as_frequent_as_in_all(link, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    model = SphericalGPClassifier(link=link, kernel="se", n_inducing=20).fit(X, rng.random(200) < 0.05)
    p = model.predict_proba(X)[:, 1]
    assert np.max(np.abs(p - 0.05)) < 0.06
    tw.save(model, tmp_path / "m.termwise")
    np.testing.assert_array_equal(tw.load(tmp_path / "m.termwise").predict_proba(X)[:, 1], p)


def test_memory_is_asked_for_as_many_as_rows_can_place():
    X, y = np.arange(12.0)[:, None], np.arange(12.0) ** 2
    model = SphericalGPRegressor(n_inducing=10**9, n_orthogonal=10**9).fit(X, y)
    assert model.fit_result_.inducing == 12
    rows = np.zeros((10**6, 1))
    with pytest.raises(NotEnoughMemoryError, match=r"n_inducing \+ n_orthogonal = 1500000 needs"):
        SphericalGPRegressor(n_inducing=10**9, n_orthogonal=500_000)._check_memory(rows, 1)


def test_a_number_that_is_far_too_large_does_not_disturb_others_with_words():
    X = np.random.default_rng(0).standard_normal((150, 2))
    X[3, 0] = 1e12
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SphericalGPRegressor().fit(X, X[:, 1])
    assert np.all(np.isfinite(model.predict(X)))
