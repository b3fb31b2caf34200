"""The contract with scikit-learn and with data frames, and the identities between what a model says."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from termwise import AdditiveGPRegressor, OAKRegressor
from termwise.errors import OptionError, TermError, TermwiseError, TermwiseWarning

ROWS = 60
QUICK: dict[str, Any] = {"max_order": 2, "n_restarts": 1}
MODELS = [OAKRegressor(**QUICK), AdditiveGPRegressor(**QUICK)]
KINDS = [
    AdditiveGPRegressor(kind="gam", n_restarts=1),
    AdditiveGPRegressor(kind="se", n_restarts=1),
    AdditiveGPRegressor(kind="all-subsets", n_restarts=1),
]


def named(model: Any) -> str:
    return f"{type(model).__name__}-{getattr(model, 'kind', 'oak')}"


def columns() -> dict[str, list[Any]]:
    """Two numbers, one with holes, and a column of texts with a hole."""
    rng = np.random.default_rng(3)
    size = rng.gamma(2.0, size=ROWS).tolist()
    age = rng.normal(50.0, 10.0, size=ROWS).tolist()
    city = rng.choice(["Bern", "Oslo", "Rome"], size=ROWS).tolist()
    age[4], city[7] = None, None
    return {"size": size, "age": age, "city": city}


def target() -> np.ndarray:
    table, rng = columns(), np.random.default_rng(4)
    age = np.array([50.0 if a is None else a for a in table["age"]])
    oslo = np.array([city == "Oslo" for city in table["city"]])
    size = np.array(table["size"])
    return 10.0 + np.sin(size) + 0.05 * (age - 50.0) * (1.0 + oslo) + oslo + rng.normal(0.0, 0.1, ROWS)


def as_numpy() -> np.ndarray:
    return np.array(list(zip(*columns().values(), strict=True)), dtype=object)


def as_pandas() -> pd.DataFrame:
    return pd.DataFrame(columns())


def as_polars() -> pl.DataFrame:
    return pl.DataFrame(columns())


FRAMES = [as_numpy, as_pandas, as_polars]


@pytest.fixture(scope="module", params=[*MODELS, *KINDS], ids=named)
def fitted(request: pytest.FixtureRequest) -> Any:
    return clone(request.param).fit(as_pandas(), target())


@pytest.fixture(scope="module")
def oak() -> OAKRegressor:
    return OAKRegressor(**QUICK).fit(as_pandas(), target())


@parametrize_with_checks(MODELS)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("model", MODELS, ids=named)
@pytest.mark.parametrize("frame", FRAMES)
def test_cross_validation_takes_any_frame(model: Any, frame: Any) -> None:
    scores = cross_val_score(model, frame(), target(), cv=3)
    assert scores.shape == (3,)
    assert np.mean(scores) > 0.5


@pytest.mark.parametrize("frame", FRAMES)
def test_grid_search_takes_any_frame(frame: Any) -> None:
    search = GridSearchCV(OAKRegressor(**QUICK), {"max_order": [1, 2]}, cv=2).fit(frame(), target())
    assert search.best_params_ == {"max_order": 2}  # the target has an interaction
    assert search.predict(frame()).shape == (ROWS,)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_names_come_through_a_pipeline(library: str) -> None:
    frame = as_polars().select("size", "age") if library == "polars" else as_pandas()[["size", "age"]]
    scale = StandardScaler().set_output(transform=library)
    pipeline = make_pipeline(scale, OAKRegressor(**QUICK)).fit(frame, target())
    assert list(pipeline[-1].feature_names_in_) == ["size", "age"]
    assert {term.name for term in pipeline[-1].terms_} == {"size", "age", "size:age"}
    assert pipeline.score(frame, target()) > 0.5


@pytest.mark.parametrize("model", [*MODELS, *KINDS], ids=named)
def test_clone_has_the_arguments_and_nothing_learned(model: Any) -> None:
    copied = clone(model.fit(np.arange(12.0).reshape(6, 2) % 5.0, np.arange(6.0)))
    assert copied.get_params() == model.get_params()
    assert not [name for name in vars(copied) if name.endswith("_")]


@pytest.mark.parametrize("method", ["predict", "predict_terms", "explain"])
def test_not_fitted_says_so(method: str) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(OAKRegressor(), method)(as_pandas())


def test_a_deep_copy_predicts_the_same(fitted: Any) -> None:
    copied = copy.deepcopy(fitted)
    np.testing.assert_array_equal(copied.predict(as_pandas()), fitted.predict(as_pandas()))


def test_the_same_table_gives_the_same_model(oak: OAKRegressor) -> None:
    again = clone(oak).fit(as_pandas(), target())
    np.testing.assert_array_equal(again.predict(as_pandas()), oak.predict(as_pandas()))
    np.testing.assert_array_equal(again.sobol_["low"], oak.sobol_["low"])


@pytest.mark.parametrize("model", MODELS, ids=named)
def test_the_library_of_the_frame_does_not_matter(model: Any) -> None:
    means = [clone(model).fit(frame(), target()).predict(frame()) for frame in FRAMES]
    np.testing.assert_array_equal(means[1], means[0])
    np.testing.assert_array_equal(means[2], means[0])


def test_a_frame_may_be_of_another_library_in_predict(fitted: Any) -> None:
    np.testing.assert_array_equal(fitted.predict(as_polars()), fitted.predict(as_pandas()))


@pytest.mark.parametrize("frame", [as_pandas, as_polars])
def test_columns_are_matched_by_name(fitted: Any, frame: Any) -> None:
    reordered = frame()[["city", "size", "age"]]
    np.testing.assert_array_equal(fitted.predict(reordered), fitted.predict(frame()))


def test_std_is_that_of_a_new_observation(fitted: Any) -> None:
    mean, std = fitted.predict(as_pandas(), return_std=True)
    np.testing.assert_array_equal(mean, fitted.predict(as_pandas()))
    noise = fitted.target_scale_.scale * np.sqrt(fitted.noise_.variance)
    assert np.all(std >= noise)
    assert np.all(std > 0.0)


def test_std_covers_what_was_not_seen() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = 100.0 * (np.sin(X[:, 0]) + X[:, 1]) + rng.normal(0.0, 20.0, 300)
    mean, std = OAKRegressor(**QUICK).fit(X[:100], y[:100]).predict(X[100:], return_std=True)
    assert 0.90 < np.mean(np.abs(y[100:] - mean) < 1.96 * std) < 0.99


def test_std_is_larger_where_a_cell_is_missing(fitted: Any) -> None:
    whole, holed = as_pandas(), as_pandas()
    holed["city"] = None
    assert np.mean(fitted.predict(holed, return_std=True)[1]) > np.mean(
        fitted.predict(whole, return_std=True)[1]
    )


def test_log_predictive_density_is_that_of_normals_about_the_function(fitted: Any) -> None:
    mean, std = fitted.predict(as_pandas(), return_std=True)
    unit, noise = fitted.target_scale_.scale**2, fitted.noise_
    known = std**2 - unit * noise.variance
    each = [norm.logpdf(target(), mean, np.sqrt(known + unit * variance)) for variance in noise.variances]
    expected = logsumexp(each, axis=0, b=np.array(noise.weights)[:, None])
    found = fitted.log_predictive_density(as_pandas(), target())
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_log_predictive_density_refuses_a_target_of_another_length(oak: OAKRegressor) -> None:
    with pytest.raises(TermwiseError, match="60 rows"):
        oak.log_predictive_density(as_pandas(), target()[:3])


@pytest.mark.parametrize("y", [["high"] * ROWS, np.full(ROWS, np.nan)], ids=["text", "nan"])
def test_log_predictive_density_refuses_what_is_no_number(oak: OAKRegressor, y: Any) -> None:
    with pytest.raises(TermwiseError, match=r"number|NaN"):
        oak.log_predictive_density(as_pandas(), y)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("frame", FRAMES)
def test_terms_sum_to_the_prediction(fitted: Any, frame: Any) -> None:
    terms = np.asarray(fitted.predict_terms(frame()))
    assert terms.shape == (ROWS, len(fitted.terms_))
    total = fitted.constant_ + terms.sum(axis=1)
    np.testing.assert_allclose(total, fitted.predict(frame()), rtol=0.0, atol=1e-8)


def test_terms_sum_for_missing_cells_and_unseen_levels(fitted: Any) -> None:
    table = pd.DataFrame(
        {"size": [1.0, np.nan, np.nan], "age": [40.0, 50.0, np.nan], "city": ["Pisa", "Oslo", None]}
    )
    total = fitted.constant_ + fitted.predict_terms(table).to_numpy().sum(axis=1)
    np.testing.assert_allclose(total, fitted.predict(table), rtol=0.0, atol=1e-8)


@pytest.mark.parametrize(("frame", "kind"), [(as_pandas, pd.DataFrame), (as_polars, pl.DataFrame)])
def test_terms_come_as_a_frame_of_the_same_library(oak: OAKRegressor, frame: Any, kind: type) -> None:
    mean, std = oak.predict_terms(frame(), return_std=True)
    for part in (mean, std):
        assert isinstance(part, kind)
        assert list(part.columns) == [term.name for term in oak.terms_]
    assert np.all(std.to_numpy() >= 0.0)
    np.testing.assert_array_equal(mean.to_numpy(), oak.predict_terms(frame()).to_numpy())


def test_terms_keep_the_index_of_pandas(oak: OAKRegressor) -> None:
    frame = as_pandas().set_index(np.arange(ROWS) + 1000)
    assert list(oak.predict_terms(frame).index) == list(frame.index)


def test_a_feature_named_like_a_term_is_no_other_term() -> None:
    frame = as_pandas()[["size", "age"]].assign(**{"size:age": np.random.default_rng(0).normal(size=ROWS)})
    model = OAKRegressor(**QUICK).fit(frame, target())
    terms = model.predict_terms(frame)
    assert terms.shape == (ROWS, 6)
    total = model.constant_ + terms.to_numpy().sum(axis=1)
    np.testing.assert_allclose(total, model.predict(frame), rtol=0.0, atol=1e-8)


def test_terms_are_ranked_by_share(fitted: Any) -> None:
    table = fitted.sobol_
    assert table.dtype.names == ("term", "order", "share", "low", "high")
    assert list(table["term"]) == [term.name for term in fitted.terms_]
    assert list(table["order"]) == [term.order for term in fitted.terms_]
    assert np.all(np.diff(table["share"]) <= 0.0)
    assert np.sum(fitted.order_shares_) == pytest.approx(1.0)


def test_shares_of_orthogonal_terms_sum_to_one_in_each_order(oak: OAKRegressor) -> None:
    table = oak.sobol_
    assert np.sum(table["share"]) == pytest.approx(1.0, abs=1e-8)
    for order in (1, 2):
        total = np.sum(table["share"][table["order"] == order])
        assert total == pytest.approx(oak.order_shares_[order - 1], abs=1e-8)
    assert np.all(table["low"] <= table["high"])


def test_shares_are_the_variance_of_the_terms() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = 2.0 * X[:, 0] + X[:, 1] + rng.normal(0.0, 0.1, 200)
    table = OAKRegressor(**QUICK).fit(X, y).sobol_
    assert list(table["term"][:2]) == ["x0", "x1"]
    # Var(2 x0) / (Var(2 x0) + Var(x1)) for the columns of this table
    expected = 4.0 * np.var(X[:, 0]) / (4.0 * np.var(X[:, 0]) + np.var(X[:, 1]))
    assert table["share"][0] == pytest.approx(expected, abs=0.03)


def test_prune_keeps_the_terms_with_a_share(fitted: Any) -> None:
    before = fitted.predict(as_pandas())
    shares = fitted.sobol_["share"]
    pruned = fitted.prune(threshold=float(np.mean(shares)))
    kept = [term.name for term, share in zip(fitted.terms_, shares, strict=True) if share >= np.mean(shares)]
    assert sorted(term.name for term in pruned.terms_) == sorted(kept)
    assert pruned.sobol_["share"].sum() == pytest.approx(1.0)
    assert pruned.order_shares_.sum() == pytest.approx(1.0)
    total = pruned.constant_ + pruned.predict_terms(as_pandas()).to_numpy().sum(axis=1)
    mean, std = pruned.predict(as_pandas(), return_std=True)
    np.testing.assert_allclose(mean, total, rtol=0.0, atol=1e-8)
    assert np.all(std > 0.0)
    np.testing.assert_array_equal(fitted.predict(as_pandas()), before)


def test_prune_to_a_number_keeps_what_the_data_would_miss() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    X[:, 3] = X[:, 0] + 0.05 * rng.normal(size=150)  # says nearly what the first says
    y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=150)
    model = OAKRegressor(max_order=2, n_restarts=1).fit(X, y)
    pruned = model.prune(0.0, n_terms=2)
    assert {term.name for term in pruned.terms_} <= {"x0", "x1", "x3"}
    assert len(pruned.terms_) == 2
    assert np.std(pruned.predict(X) - model.predict(X)) < 0.1
    assert model.prune(0.0, n_terms=0).terms_ == []
    assert len(model.prune(n_terms=99).terms_) == len(model.terms_)
    assert model.prune(0.01, n_terms=99).terms_ == model.prune().terms_
    with pytest.raises(OptionError, match="n_terms"):
        model.prune(n_terms=-1)


@pytest.mark.parametrize("number", [np.float32, np.float64])
def test_prune_takes_numpy_numbers(oak: OAKRegressor, number: type) -> None:
    assert oak.prune(number(0.05)).terms_ == oak.prune(0.05).terms_


def test_prune_to_nothing_leaves_the_constant(oak: OAKRegressor) -> None:
    pruned = oak.prune(threshold=1.0)
    np.testing.assert_allclose(pruned.predict(as_pandas()), np.full(ROWS, pruned.constant_), atol=1e-8)
    assert pruned.terms_ == []
    assert pruned.explain().effects == ()
    mean, std = pruned.predict_terms(as_pandas(), return_std=True)
    assert mean.shape == std.shape == (ROWS, 0)
    np.testing.assert_allclose(pruned.explain(as_pandas()).predictions, pruned.constant_)


@pytest.mark.parametrize("threshold", [-0.1, 1.5, "0.1", True])
def test_prune_refuses_what_is_no_share(oak: OAKRegressor, threshold: Any) -> None:
    with pytest.raises(OptionError, match="use a share between 0 and 1"):
        oak.prune(threshold=threshold)


def test_too_many_terms_to_list_is_said() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 24))
    model = OAKRegressor(max_order=8, n_restarts=1).fit(X, X[:, 0])
    with pytest.raises(TermError, match="use a smaller max_order, or prune"):
        model.predict_terms(X)
    np.testing.assert_allclose(np.sum(model.order_shares_), 1.0)


def test_explain_has_what_the_model_says(oak: OAKRegressor) -> None:
    explanation = oak.explain(n_terms=4)
    np.testing.assert_array_equal(explanation.sobol, oak.sobol_)
    np.testing.assert_array_equal(explanation.order_shares, oak.order_shares_)
    assert [effect.term for effect in explanation.effects] == oak.terms_[:4]
    assert list(explanation.frame()["term"]) == list(oak.sobol_["term"])


@pytest.mark.parametrize("n_terms", [-1, 2.5, "2"])
def test_explain_refuses_what_is_no_count(oak: OAKRegressor, n_terms: Any) -> None:
    with pytest.raises(OptionError, match="n_terms"):
        oak.explain(n_terms=n_terms)


def test_effects_are_the_terms_on_a_grid(oak: OAKRegressor) -> None:
    effect = next(e for e in oak.explain(n_terms=6).effects if e.term.name == "age")
    grid = pd.DataFrame({"size": [np.nan] * 101, "age": effect.axes[0], "city": [None] * 101})
    mean, std = oak.predict_terms(grid, return_std=True)
    np.testing.assert_allclose(effect.mean, mean["age"], atol=1e-9)
    np.testing.assert_allclose(effect.std, std["age"], atol=1e-9)
    ages = [age for age in columns()["age"] if age is not None]
    np.testing.assert_allclose(effect.axes[0][[0, -1]], [min(ages), max(ages)])


@pytest.mark.parametrize("frame", [as_pandas, as_polars])
def test_explain_of_rows_takes_predictions_apart(oak: OAKRegressor, frame: Any) -> None:
    rows = frame()[:5]
    local = oak.explain(rows)
    assert local.terms == tuple(term.name for term in oak.terms_)
    mean, std = oak.predict_terms(rows, return_std=True)
    np.testing.assert_allclose(local.contributions, mean.to_numpy(), atol=1e-10)
    np.testing.assert_allclose(local.std, std.to_numpy(), atol=1e-10)
    np.testing.assert_allclose(local.constant + local.contributions.sum(axis=1), local.predictions, atol=1e-8)
    np.testing.assert_allclose(local.predictions, oak.predict(rows))
    assert list(local.frame().columns) == ["prediction", "constant", *local.terms]


@pytest.mark.parametrize("kind", ["gam", "se"])
def test_terms_sum_to_the_prediction_on_a_wide_table(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 13))
    model = AdditiveGPRegressor(kind=kind, n_restarts=1).fit(X, X[:, 0] + X[:, 1] * X[:, 2])
    whole = model.constant_ + model.predict_terms(X[:5]).sum(axis=1)
    np.testing.assert_allclose(whole, model.predict(X[:5]), atol=1e-8)
    assert model.sobol_["share"].sum() == pytest.approx(1.0)


def test_a_pruned_model_is_as_sure_as_it_is_right():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2080, 5))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=2080)
    model = OAKRegressor(n_restarts=1).fit(X[:80], y[:80])
    for threshold in (0.01, 0.1, 1.0):
        mean, std = model.prune(threshold).predict(X[80:], return_std=True)
        assert np.std((y[80:] - mean) / std) == pytest.approx(1.0, abs=0.15)
    same = model.prune(0.0).predict(X[80:], return_std=True)
    np.testing.assert_allclose(same, model.predict(X[80:], return_std=True), rtol=1e-8)
    assert model.prune(1.0).explained_ == 0.0
    with pytest.raises(ValueError, match="read-only"):
        model.sobol_["share"][0] = 0.5


def test_a_pruned_sparse_model_is_as_sure_as_it_is_right():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2400, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.7 * X[:, 2] * X[:, 3] + 0.3 * rng.normal(size=2400)
    model = OAKRegressor(max_order=2, n_restarts=1, inference="sparse", n_inducing=120).fit(
        X[:1200], y[:1200]
    )
    for count in (2, 1, 0):
        mean, std = model.prune(n_terms=count).predict(X[1200:], return_std=True)
        assert np.std((y[1200:] - mean) / std) == pytest.approx(1.0, abs=0.12)


def test_kinds_can_be_set_and_an_identifier_is_left_out():
    rng = np.random.default_rng(0)
    dose, name = rng.integers(0, 2, 40).astype(float), np.array([f"p{i}" for i in range(40)], dtype=object)
    table = {"dose": dose, "name": name, "x": rng.normal(size=40)}
    y = dose + table["x"] + 0.1 * rng.normal(size=40)
    with pytest.warns(TermwiseWarning, match="'name' has a new level in every row"):
        model = OAKRegressor(categorical={"dose": "continuous"}, n_restarts=1).fit(table, y)
    assert model.encoder_.names == ("dose", "x")
    half = model.predict({"dose": [0.5], "name": ["new"], "x": [0.0]})
    assert half == pytest.approx([0.5], abs=0.2)
