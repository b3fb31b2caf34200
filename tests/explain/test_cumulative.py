"""Scores by the leading terms alone, against sums made by hand."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import nbinom, norm
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss, roc_auc_score

from termwise import AdditiveGPRegressor, OAKClassifier, OAKRegressor
from termwise.errors import OptionError, TermError
from termwise.explain.cumulative import CumulativeScore, Parts, cumulative_score

QUICK: dict[str, Any] = {"max_order": 2, "n_restarts": 1}


def rows(n: int = 80, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 3)), columns=["a", "b", "c"])
    return X, np.sin(2.0 * X["a"].to_numpy()) + 0.5 * X["b"].to_numpy()


def numbers(seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    X, f = rows(seed=seed)
    return X, 100.0 + 20.0 * (f + 0.2 * np.random.default_rng(seed + 9).standard_normal(len(f)))


@pytest.fixture(scope="module")
def regressor() -> OAKRegressor:
    return OAKRegressor(**QUICK).fit(*numbers())


@pytest.fixture(scope="module")
def classifier() -> OAKClassifier:
    X, f = rows()
    return OAKClassifier(**QUICK).fit(X, f + np.random.default_rng(1).logistic(size=len(f)) > 0.0)


def test_the_error_of_a_regressor_is_that_of_sums_of_terms(regressor: OAKRegressor) -> None:
    X, y = numbers(seed=3)
    found = regressor.cumulative_score(X, y)
    values = regressor.predict_terms(X).to_numpy()
    assert found.terms == tuple(term.name for term in regressor.terms_)
    assert found.score == "rmse"
    for k in range(values.shape[1] + 1):
        predicted = regressor.constant_ + values[:, :k].sum(axis=1)
        assert found.scores[k] == pytest.approx(np.sqrt(np.mean((y - predicted) ** 2)))
    assert found.whole == pytest.approx(np.sqrt(np.mean((y - regressor.predict(X)) ** 2)))
    assert found.scores[-1] == pytest.approx(found.whole)
    assert found.scores[2] < 0.5 * found.scores[0]  # the function has two terms


def test_what_is_left_out_counts_as_not_known(regressor: OAKRegressor) -> None:
    X, y = numbers(seed=3)
    density = regressor.cumulative_score(X, y).also["mean log density"]
    assert density[-1] == pytest.approx(np.mean(regressor.log_predictive_density(X, y)))
    shares, scale = regressor.sobol_["share"], regressor.target_scale_.scale
    explained = regressor.explained_ / (1.0 - regressor.explained_) * regressor.noise_.variance
    mean = regressor.constant_ + regressor.predict_terms(X).to_numpy()[:, 0]
    _, std = regressor.predict(X, return_std=True)
    sd = np.sqrt(std**2 + scale**2 * explained * (1.0 - shares[0]))
    assert density[1] == pytest.approx(np.mean(norm.logpdf(y, mean, sd)))
    assert density[0] > density[-1] - 10.0  # not as if the noise were all that is not known
    assert density[0] < density[2]


def test_fewer_terms_than_there_are(regressor: OAKRegressor) -> None:
    X, y = numbers(seed=3)
    whole, short = regressor.cumulative_score(X, y), regressor.cumulative_score(X, y, n_terms=1)
    assert short.terms == whole.terms[:1]
    np.testing.assert_allclose(short.scores, whole.scores[:2])
    assert short.whole == whole.whole
    with pytest.raises(OptionError, match="n_terms"):
        regressor.cumulative_score(X, y, n_terms=-1)


def test_labels_have_log_loss_and_area(classifier: OAKClassifier) -> None:
    X, f = rows(seed=5)
    y = f + np.random.default_rng(6).logistic(size=len(f)) > 0.0
    found = classifier.cumulative_score(X, y)
    p = classifier.predict_proba(X)[:, 1]
    assert found.score == "log loss"
    assert found.whole == pytest.approx(log_loss(y, p))
    assert found.scores[-1] == pytest.approx(found.whole)
    latent = classifier.predict_terms(X).sum(axis=1)
    assert found.also["auc"][-1] == pytest.approx(roc_auc_score(y, latent))
    # The constant alone ranks by nothing, and is about as good as the frequency.
    assert found.also["auc"][0] == pytest.approx(0.5)
    often = np.mean(y)
    assert found.scores[0] == pytest.approx(log_loss(y, np.full(len(y), often)), abs=0.05)
    assert np.all(np.isnan(classifier.cumulative_score(X, np.ones(len(X), bool)).also["auc"]))


def test_counts_have_their_mean_log_density() -> None:
    X, f = rows()
    rng = np.random.default_rng(2)
    exposure = rng.uniform(1.0, 20.0, len(f))
    model = OAKRegressor(likelihood="poisson", **QUICK)
    y = rng.poisson(exposure * np.exp(f))
    model.fit(X, y, exposure=exposure)
    found = model.cumulative_score(X, y, exposure=exposure)
    assert found.score == "mean log density"
    assert found.whole == pytest.approx(np.mean(model.log_predictive_density(X, y, exposure=exposure)))
    assert found.scores[-1] == pytest.approx(found.whole)
    # A lognormal rate is about a gamma rate of the same mean and variance: then counts are negative binomial.
    mean, variance = _constant_counts(model, X, exposure)
    size = mean**2 / (variance - mean)
    about = np.mean(nbinom.logpmf(y, size, size / (size + mean)))
    assert found.scores[0] == pytest.approx(about, abs=0.25)
    with pytest.raises(OptionError, match="exposure"):
        model.cumulative_score(X, y, exposure=-exposure)


def _constant_counts(model: Any, X: Any, exposure: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    explained = model.explained_ / (1.0 - model.explained_) * model.noise_.variance
    latent = model.posterior_.variance(model.encoder_.transform(_table(X))) + explained
    mean = exposure * np.exp(model.constant_ + 0.5 * latent)
    return mean, mean + mean**2 * np.expm1(latent)


def _table(X: Any) -> Any:
    from termwise.table import read_table

    return read_table(X)


def test_terms_that_are_not_orthogonal_and_outliers() -> None:
    X, y = numbers()
    for model in (AdditiveGPRegressor(**QUICK), OAKRegressor(likelihood="student", **QUICK)):
        found = model.fit(X, y).cumulative_score(X, y)
        assert found.scores[-1] == pytest.approx(found.whole)
        density = np.mean(model.log_predictive_density(X, y))
        assert found.also["mean log density"][-1] == pytest.approx(density)


def test_plain_data() -> None:
    parts = Parts(1.0, np.array([[2.0], [3.0]]), np.array([4.0, 0.5]), np.array([3.0, 4.5]), np.zeros(2))
    found = cumulative_score(["a"], parts, lambda m, v: {"rmse": float(m.sum()), "other": float(v.sum())})
    np.testing.assert_array_equal(found.scores, [2.0, 7.0])
    np.testing.assert_array_equal(found.also["other"], [8.0, 1.0])
    assert found.whole == 7.5
    frame = found.frame()
    assert list(frame) == ["n_terms", "term", "rmse", "other"]
    assert frame["term"].tolist()[1:] == ["a"]
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data == {
        "score": "rmse",
        "terms": ["a"],
        "scores": [2.0, 7.0],
        "whole": 7.5,
        "also": {"other": [8.0, 1.0]},
    }
    assert "rmse 2 by the constant, 7.5 by the whole model" in repr(found)
    assert isinstance(found, CumulativeScore)


def test_a_model_that_is_not_fitted_or_has_many_labels() -> None:
    X, y = numbers()
    for call in ("cumulative_score", "check"):
        with pytest.raises(NotFittedError):
            getattr(OAKRegressor(), call)(X, y)
        with pytest.raises(NotFittedError):
            getattr(OAKClassifier(), call)(X, y)
    with pytest.raises(NotFittedError):
        OAKRegressor().concurvity(X)
    with pytest.raises(NotFittedError):
        OAKRegressor().explain(terms=["a"])
    labels = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    many = OAKClassifier(max_order=1, n_restarts=1).fit(X, labels)
    for ask in (many.cumulative_score, many.check):
        with pytest.raises(TermError, match="estimators_"):
            ask(X, labels)
        getattr(many.estimators_[1], ask.__name__)(X, labels == 1)
    with pytest.raises(TermError, match="estimators_"):
        many.concurvity(X)


# Terms by name, and the index of the rows.


def test_named_terms_are_drawn_in_their_order(regressor: OAKRegressor) -> None:
    whole = regressor.explain(terms=["b:a", "c", "a:b"])
    assert [effect.term.name for effect in whole.effects] == ["a:b", "c"]
    assert whole.effect("b:a").features == ("a", "b")
    with pytest.raises(TermError, match="no term 'bb'; did you mean 'b'"):
        regressor.explain(terms=["bb"])
    with pytest.raises(OptionError, match=r"terms=\['a'\]"):
        regressor.explain(terms="a")
    with pytest.raises(OptionError, match="leave terms out"):
        regressor.explain(rows()[0], terms=["a"])


def test_named_terms_of_labels_may_be_on_either_scale(classifier: OAKClassifier) -> None:
    latent = classifier.explain(terms=["c:a"]).effects[0]
    change = classifier.explain(terms=["a:c"], scale="probability").effect("c:a")
    assert latent.std is not None
    assert change.std is None
    with pytest.raises(OptionError, match="leave terms out"):
        classifier.explain(rows()[0], terms=["a"], scale="probability")


def test_terms_of_three_features_can_be_asked_for() -> None:
    X, y = numbers()
    model = OAKRegressor(max_order=3, n_restarts=1).fit(X, y)
    found = model.explain(terms=["c:b:a"]).effects[0]
    assert found.term.name == "a:b:c"
    assert found.mean.shape == (33, 33, 3)
    json.dumps(model.explain(terms=["a:b:c", "a"]).to_dict(), allow_nan=False)


def test_rows_keep_their_names_and_have_bands(regressor: OAKRegressor, classifier: OAKClassifier) -> None:
    X = rows()[0][:4].set_axis(list("wxyz"))
    local = regressor.explain(X)
    assert local.frame().index.tolist() == list("wxyz")
    np.testing.assert_allclose(local.high - local.contributions, 2.0 * local.std)
    np.testing.assert_allclose(local.contributions - local.low, 2.0 * local.std)
    assert regressor.explain(X.to_numpy().tolist()).index is None
    change = classifier.explain(X, scale="probability")
    assert change.frame().index.tolist() == list("wxyz")
    assert np.all((change.low <= change.contributions) & (change.contributions <= change.high))


def test_a_term_may_be_there_and_not_be_listed() -> None:
    X = np.random.default_rng(0).normal(size=(20, 24))
    model = OAKRegressor(max_order=8, n_restarts=1).fit(X, X[:, 0])
    names = model.encoder_.names
    with pytest.raises(TermError, match=r"no term .* too many to list"):
        model.explain(terms=[":".join(names[:8])])
    assert len(model.cumulative_score(X, X[:, 0]).terms) == 50


def test_a_model_without_terms_is_its_constant(regressor: OAKRegressor) -> None:
    X, y = numbers()
    constant = regressor.prune(threshold=1.0)
    found = constant.cumulative_score(X, y)
    assert found.terms == ()
    assert found.scores == pytest.approx([found.whole])
    assert constant.concurvity(X).terms == ()
    assert constant.check(X, y).n_rows == len(y)
    with pytest.raises(TermError, match="no term 'a'"):
        constant.explain(terms=["a"])


def test_a_term_of_all_columns_has_no_grid() -> None:
    X, y = numbers()
    model = AdditiveGPRegressor(kind="se", n_restarts=1).fit(X.assign(d=X["a"] ** 2), y)
    with pytest.raises(TermError, match="has 4 features"):
        model.explain(terms=["a:b:c:d"])
    assert len(model.cumulative_score(X.assign(d=X["a"] ** 2), y).scores) == 2


def test_concurvity_of_a_model(regressor: OAKRegressor) -> None:
    X, _ = numbers(seed=3)
    twice = X.assign(c=X["a"] + 1e-9 * X["b"])
    found = regressor.concurvity(X)
    listed = regressor.sobol_["term"][regressor.sobol_["share"] >= 0.001].tolist()
    assert list(found.terms) == listed
    values = regressor.predict_terms(X)[listed].to_numpy()
    others = np.column_stack([np.ones(len(X)), values[:, 1:]])
    left = values[:, 0] - others @ np.linalg.lstsq(others, values[:, 0], rcond=None)[0]
    assert found.r_squared[0] == pytest.approx(1.0 - np.var(left) / np.var(values[:, 0]), abs=1e-9)
    assert np.nanmax(regressor.concurvity(twice).r_squared) >= np.nanmax(found.r_squared) - 1e-9
