"""The estimator: scikit-learn, tables of any kind, terms that add up, and bad input."""

from __future__ import annotations

import importlib
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import termwise as tw
from termwise import DeepKernelRegressor
from termwise.errors import (
    NoTermsError,
    NumericalError,
    OptionError,
    TableError,
    TargetError,
    TermError,
    UnknownLevelError,
)
from termwise.explain.interactions import Interaction, Interactions
from termwise.inference.result import Status
from tests.deep.samples import KINDS, QUICK, every_kind, waves
from tests.io.models import NEW, TABLE, TARGET


@parametrize_with_checks(
    [
        DeepKernelRegressor(max_epochs=20, n_seeds=1, hidden=(16,), max_size=2),
        DeepKernelRegressor(kernel="rbf", max_epochs=20, hidden=(32,)),
    ]
)
def test_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@every_kind
def test_every_kernel_fits_a_table_with_levels_and_missing_cells(kind: str) -> None:
    model = DeepKernelRegressor(**KINDS[kind]).fit(TABLE, TARGET)
    mean, std = model.predict(NEW, return_std=True)
    assert np.all(np.isfinite(mean))
    assert np.all(std >= model.target_scale_.scale * np.sqrt(model.noise_.variance) * (1.0 - 1e-12))
    again = clone(model).fit(TABLE, TARGET)
    np.testing.assert_array_equal(again.predict(NEW), mean)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(NEW), mean)
    assert model.log_predictive_density(TABLE, TARGET).shape == (len(TARGET),)
    assert model.n_parameters_ > 0
    assert model.fit_result_.rows == len(TARGET)
    assert hasattr(model, "interactions_") == (kind in ("iok", "trend"))


def test_a_set_that_is_not_worth_its_penalty_is_no_term() -> None:
    X, y = waves(300)
    options = {**QUICK, "max_epochs": 30, "penalty": 0.3}
    X["idle"] = np.random.default_rng(5).standard_normal(300)
    model = DeepKernelRegressor(**{**options, "sets": ["idle", "b", "c:d"]}).fit(X, y)
    assert {term.name for term in model.terms_} == {"b", "c:d"}
    same = DeepKernelRegressor(**{**options, "sets": ["b", "c:d"]}).fit(X, y)
    assert model.n_parameters_ == same.n_parameters_
    assert np.all(model.sobol_["share"] > 0.0)


@pytest.mark.parametrize(
    ("options", "changed"),
    [
        ({"sets": ["a", "c:d"]}, {"updates": "alternating"}),
        ({"sets": ["a", "c:d"]}, {"n_restarts": 1}),
        ({"sets": ["a", "c:d"]}, {"learning_rate": 0.02}),
        ({"kernel": "ok", "sparsity": 0.3}, {"rewind": 3}),
        ({"kernel": "rbf"}, {"n_inducing": 10}),
    ],
)
def test_each_option_changes_the_fit(options: dict[str, Any], changed: dict[str, Any]) -> None:
    X, y = waves(60)
    one, other = (DeepKernelRegressor(**QUICK, **some).fit(X, y) for some in (options, options | changed))
    assert np.max(np.abs(one.predict(X) - other.predict(X))) > 1e-6
    assert other.fit_result_.inducing == changed.get("n_inducing")


def test_with_the_same_seed_sets_are_those_of_the_function_that_finds_them() -> None:
    """Also of columns with long tails, which both bend."""
    X, y = waves(150)
    X["a"] = np.exp(1.5 * X.a)
    X["city"] = np.where(X.b > 0.5, "Oslo", "Bern")
    options: dict[str, Any] = {"n_seeds": 1, "max_epochs": 5, "random_state": 4}
    model = DeepKernelRegressor(**options, hidden=(8,)).fit(X, y)
    found = tw.detect_interactions(X, y, **options)
    assert [row.columns for row in model.interactions_] == [row.columns for row in found]
    np.testing.assert_allclose(
        [row.strength for row in model.interactions_], [row.strength for row in found], rtol=1e-4
    )


@pytest.mark.parametrize("n", [2, 3])
def test_of_two_or_three_rows_nothing_is_sure(n: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, 2)), rng.standard_normal(n)
    model = DeepKernelRegressor(**{**QUICK, "sets": ["x0", "x1"]}).fit(X, y)
    assert np.all(model.predict(X, return_std=True)[1] >= np.std(y) * (1.0 - 1e-12))


@pytest.mark.parametrize("kernel", ["iok", "rbf"])
def test_a_missing_cell_makes_a_prediction_less_sure(kernel: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1250, 3))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.standard_normal(1250)
    options: dict[str, Any] = {"sets": ["x0", "x1:x2"]} if kernel == "iok" else {"hidden": (32, 32)}
    model = DeepKernelRegressor(kernel=kernel, max_epochs=80, random_state=0, **options).fit(X[:250], y[:250])
    for lacking in ([0], [2], [1, 2]):
        new = X[250:].copy()
        new[:, lacking] = np.nan
        mean, std = model.predict(new, return_std=True)
        inside = np.mean(np.abs(y[250:] - mean) < 1.96 * std)
        assert 0.85 < inside <= 1.0
        assert np.mean(std**2) == pytest.approx(np.mean((y[250:] - mean) ** 2), rel=0.4)
        both = new.copy()
        both[::2] = X[250:][::2]  # rows of both kinds
        np.testing.assert_allclose(model.predict(both, return_std=True)[1][1::2], std[1::2], rtol=1e-6)


def test_what_a_cell_could_be_does_not_hang_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((400, 2)), columns=list("ab"))
    y = 2.0 * X.a + X.b
    new = pd.DataFrame({"a": [np.nan], "b": [0.0]})
    far = []
    for order in (np.arange(400), np.argsort(np.abs(X.a.to_numpy()))):
        model = DeepKernelRegressor(sets=["a", "b"], max_epochs=20, hidden=(16,))
        model.fit(X.iloc[order], y.iloc[order])
        far.append(float(model.predict(new, return_std=True)[1][0]))
    assert far == pytest.approx([2.0, 2.0], rel=0.35)


@pytest.mark.parametrize("options", [{"sets": ["a:b"]}, {"kernel": "rbf"}])
def test_cells_that_are_missing_in_fit_do_not_make_complete_rows_unsure(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.uniform(-1.0, 1.0, (600, 2)), columns=list("ab"))
    y = 3.0 * X.a * X.b + rng.normal(0.0, 0.2, 600)
    seen = X[:300].mask(rng.random((300, 2)) < 0.15)
    model = DeepKernelRegressor(**options, hidden=(32, 32), max_epochs=100).fit(seen, y[:300])
    mean, std = model.predict(X[300:], return_std=True)
    assert np.mean(std**2) == pytest.approx(np.mean((y[300:] - mean) ** 2), rel=0.5)


@pytest.mark.parametrize("options", [{"sets": ["x0", "x1", "x2"]}, {"kernel": "rbf", "hidden": (16,)}])
def test_of_few_rows_the_noise_is_that_of_new_ones(options: dict[str, Any]) -> None:
    inside = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((540, 3))
        y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(540)
        model = DeepKernelRegressor(**options, random_state=seed).fit(X[:40], y[:40])
        mean, std = model.predict(X[40:], return_std=True)
        inside.append(np.mean(np.abs(y[40:] - mean) < 1.96 * std))
    assert np.mean(inside) > 0.9


def test_frames_of_all_kinds_give_the_same() -> None:
    model = DeepKernelRegressor(**KINDS["sets"]).fit(pd.DataFrame(TABLE), TARGET)
    other = DeepKernelRegressor(**KINDS["sets"]).fit(pl.DataFrame(TABLE), TARGET)
    np.testing.assert_allclose(model.predict(pd.DataFrame(NEW)), other.predict(pl.DataFrame(NEW)))
    assert list(model.predict_terms(pd.DataFrame(NEW)).columns) == [term.name for term in model.terms_]


def test_sets_are_those_that_are_found() -> None:
    X, y = waves()
    model = DeepKernelRegressor(n_seeds=2, max_epochs=80).fit(X, y)
    assert {term.name for term in model.terms_} == {"a", "b", "c:d"}
    assert model.interactions_[0].columns == ("c", "d")
    rest = np.sqrt(np.mean((model.predict(X) - y) ** 2))
    assert rest < 0.15


def test_one_column_and_two_and_sets_of_all_columns_are_fitted() -> None:
    X, y = waves(150)
    for columns, sets in ((["b"], None), (["c", "d"], None), (list("abcd"), ["a:b:c:d"])):
        model = DeepKernelRegressor(**{**QUICK, "sets": sets}).fit(X[columns], y)
        assert np.all(np.isfinite(model.predict(X[columns])))
    assert [term.name for term in model.terms_] == ["a:b:c:d"]
    lonely = DeepKernelRegressor(**QUICK).fit(X[["b"]], y)
    assert not hasattr(lonely, "interactions_")


def test_without_any_interaction_each_column_is_a_term() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    model = DeepKernelRegressor(**{**QUICK, "max_epochs": 30}).fit(X, rng.standard_normal(200))
    assert [row for row in model.interactions_ if row.kept] == []
    assert {len(term.features) for term in model.terms_} == {1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "so"}, "kernel is 'so'"),
        ({"mean": "one"}, "mean is 'one'"),
        ({"penalty": -1.0}, "penalty is -1.0"),
        ({"sparsity": 1.0, "kernel": "ok"}, "sparsity is 1.0"),
        ({"sparsity": 0.5}, "belongs to kernel='ok'"),
        ({"rewind": 2, "kernel": "ok"}, "nothing is pruned"),
        ({"rewind": 300, "sparsity": 0.5, "kernel": "ok"}, "before the end"),
        ({"sets": ["a"], "kernel": "ok"}, "belongs to kernel='iok'"),
        ({"hidden": (0,)}, "hidden is 0"),
        ({"hidden": ()}, r"hidden is \(\)"),
        ({"hidden": 16}, "hidden is 16"),
        ({"hidden": "16"}, "hidden is '16'"),
        ({"kernel": "ok", "updates": "alternating"}, "belongs to kernel='iok'"),
        ({"kernel": "iok", "n_inducing": 10}, "belongs to kernel='rbf'"),
        ({"kernel": "ok", "sets": np.array(["a", "b"])}, "belongs to kernel='iok'"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0"),
        ({"max_epochs": 0}, "max_epochs is 0"),
        ({"updates": "none"}, "updates is 'none'"),
        ({"n_restarts": 0}, "n_restarts is 0"),
        ({"n_restarts": 5, "kernel": "rbf"}, "belongs to kernel='iok'"),
        ({"hidden": (8,), "kernel": "arccos"}, "belongs to kernel='iok'"),
        ({"learning_rate": 0.1, "kernel": "arccos"}, "belongs to kernel='iok'"),
        ({"sets": "a"}, "sets is 'a'"),
        ({"sets": ["a:a"]}, "sets has 'a:a'"),
        ({"sets": []}, "or None for those that are found"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], message: str) -> None:
    X, y = waves(20)
    with pytest.raises(OptionError, match=message):
        DeepKernelRegressor(**options).fit(X, y)


def test_errors_have_names() -> None:
    X, y = waves(60)
    with pytest.raises(TermError, match="no column 'z'"):
        DeepKernelRegressor(sets=["z"]).fit(X, y)
    with pytest.raises(NumericalError, match="smaller learning_rate"):
        DeepKernelRegressor(**{**QUICK, "sets": ["a"], "learning_rate": 1e30}).fit(X, y)
    with pytest.raises(TargetError):
        DeepKernelRegressor().fit(X, np.ones(60))
    X["a"] = 1.0
    with pytest.raises(TableError, match="sets has the column 'a'"):
        DeepKernelRegressor(**{**QUICK, "sets": ["a", "b"]}).fit(X, y)
    rbf = DeepKernelRegressor(**KINDS["rbf"]).fit(X, y)
    with pytest.raises(TermError, match="has no terms"):
        rbf.terms_  # noqa: B018
    trend = DeepKernelRegressor(**KINDS["trend"]).fit(X, y)
    with pytest.raises(NoTermsError, match="use mean='zero'"):
        trend.predict_terms(X)
    levels = pd.DataFrame({"city": ["Oslo", "Bern"] * 30, "b": X["b"]})
    strict = DeepKernelRegressor(**{**QUICK, "unknown": "error", "sets": ["city", "b"]}).fit(levels, y)
    with pytest.raises(UnknownLevelError):
        strict.predict(levels.replace("Oslo", "Rome"))


def test_sets_may_be_an_array_or_what_was_found() -> None:
    X, y = waves(100)
    array = DeepKernelRegressor(**{**QUICK, "sets": np.array(["a", "b:c"])}).fit(X, y)
    assert {term.name for term in array.terms_} == {"a", "b:c"}
    found = Interactions((Interaction(("c", "d"), 1.0, 1.0, True),), tuple("abcd"))
    model = DeepKernelRegressor(**{**QUICK, "sets": found}).fit(X, y)
    assert {term.name for term in model.terms_} == {"a", "b", "c:d"}
    np.testing.assert_array_equal(clone(model).fit(X, y).predict(X), model.predict(X))
    some = DeepKernelRegressor(**{**QUICK, "sets": found.kept}).fit(X, y)
    assert [term.name for term in some.terms_] == ["c:d"]


def test_a_mean_by_columns_that_act_together_needs_two() -> None:
    X, y = waves(60)
    with pytest.raises(TableError, match="use mean='zero'"):
        DeepKernelRegressor(**{**QUICK, "mean": "detector"}).fit(X[["a"]], y)


def test_each_stage_has_converged_by_its_own_limit() -> None:
    """Epochs of both stages together would be more than the most of one."""
    X, y = waves(80)
    X, y = X[["a"]], np.sin(2.0 * X["a"])
    long = DeepKernelRegressor(kernel="rbf", hidden=(8,), max_epochs=199, learning_rate=0.05).fit(X, y)
    assert long.fit_result_.status is Status.CONVERGED
    short = DeepKernelRegressor(kernel="rbf", hidden=(8,), max_epochs=3).fit(X, y)
    assert short.fit_result_.status is Status.MAX_STEPS


def test_who_predicts_no_better_than_the_mean_is_stuck() -> None:
    X, _ = waves(600)
    y = np.random.default_rng(1).standard_normal(600)
    model = DeepKernelRegressor(kernel="network", hidden=(8,), learning_rate=1.0).fit(X, y)
    assert model.fit_result_.status is Status.STUCK


def test_rows_left_out_are_new_to_the_mean_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else its errors of them would say too little noise."""
    X, y = waves(60)
    asked, learned = [], []
    detector, optimal = (importlib.import_module(f"termwise.deep.{name}") for name in ("detector", "optimal"))
    trend, fit_optimal = detector.trend, optimal.fit_optimal
    monkeypatch.setattr(detector, "trend", lambda s, *rest: asked.append(s.rows) or trend(s, *rest))
    monkeypatch.setattr(
        optimal, "fit_optimal", lambda s, *rest: learned.append(s.rows) or fit_optimal(s, *rest)
    )
    DeepKernelRegressor(**{**QUICK, "mean": "detector", "sets": ["a", "b"]}).fit(X, y)
    assert len(asked) == len(learned) == 6  # all rows, and each of five folds
    for one, other in zip(asked, learned, strict=True):
        np.testing.assert_array_equal(one.validation, other.validation)
        np.testing.assert_array_equal(one.train, other.train)


@pytest.mark.parametrize("options", [{"sets": ["a", "b", "c:d"]}, {"kernel": "rbf", "hidden": (16,)}])
def test_a_trend_is_added_to_the_process(options: dict[str, Any]) -> None:
    """Sets that are given are not looked for."""
    X, y = waves(550)
    model = DeepKernelRegressor(mean="detector", n_seeds=1, max_epochs=60, **options).fit(X, y)
    posterior = model.posterior_
    encoded = model.encoder_.transform(tw.table.read_table(X))
    base = posterior.reading.base(posterior.reading.dense.spread(encoded))
    assert np.var(model.target_scale_.forward(y) - base) < 0.2
    assert np.sqrt(np.mean((model.predict(X) - y) ** 2)) < 0.4
    assert not hasattr(model, "interactions_")
