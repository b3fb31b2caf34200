"""What a classifier says of its terms: on the latent scale, as probability, and with many labels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy.stats import logistic, norm

from termwise import AdditiveGPClassifier, OAKClassifier, OAKRegressor, load, save
from termwise.display import EffectsDisplay
from termwise.errors import OptionError, TargetError, TermError

mpl.use("Agg")

LINKS = {"logit": logistic.cdf, "probit": norm.cdf}
LABELS = np.array(["low", "mid", "top"])


def a_frame(n: int = 150, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Ages, doses and cities, and the probability that each of them leads to."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(20.0, 60.0, n),
            "dose": rng.normal(size=n),
            "city": rng.choice(["Bern", "Oslo", "Rome"], n),
        }
    )
    latent = 0.1 * (frame["age"] - 40.0) + np.sin(2.0 * frame["dose"]) + 1.5 * (frame["city"] == "Oslo")
    return frame, logistic.cdf(latent)


def two_labels() -> tuple[pd.DataFrame, np.ndarray]:
    frame, p = a_frame()
    return frame, np.where(np.random.default_rng(1).random(len(p)) < p, "yes", "no")


@pytest.fixture(scope="module", params=LINKS)
def fitted(request: Any) -> OAKClassifier:
    return OAKClassifier(link=request.param, max_order=2, n_restarts=1).fit(*two_labels())


@pytest.fixture(scope="module")
def many() -> OAKClassifier:
    frame, p = a_frame()
    return OAKClassifier(max_order=1, n_restarts=1).fit(frame, LABELS[np.digitize(p, [0.4, 0.7])])


# The probability of the label that a row has.


def test_the_density_is_the_logarithm_of_the_probability(fitted: OAKClassifier) -> None:
    frame, y = two_labels()
    p = fitted.predict_proba(frame)[np.arange(len(y)), (y == "yes").astype(int)]
    np.testing.assert_allclose(fitted.log_predictive_density(frame, y), np.log(p), rtol=1e-7)


def test_the_density_with_many_labels(many: OAKClassifier) -> None:
    frame, _ = a_frame()
    for k, label in enumerate(LABELS):
        density = many.log_predictive_density(frame, [label] * len(frame))
        np.testing.assert_allclose(density, np.log(many.predict_proba(frame)[:, k]), rtol=1e-7)


def test_the_density_is_finite_where_the_probability_is_not() -> None:
    """1 - p is zero in floating point where p is very near to one, its logarithm is not."""
    X = np.linspace(-3.0, 3.0, 40)[:, None]
    model = OAKClassifier(link="probit", n_restarts=1).fit(X, X[:, 0] > 0.0)
    model.posterior_ = replace(model.posterior_, alpha=200.0 * model.posterior_.alpha)
    density = model.log_predictive_density(X, X[:, 0] <= 0.0)
    assert np.min(density) < -700.0
    assert np.all(np.isfinite(density))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array([np.str_("rest")], dtype=object), "the label 'rest' of row 0 was not there in fit"),
        (["maybe"], "'maybe' of row 0 was not there in fit, which had 'no', 'yes'; leave"),
        ([1], "label 1 of row 0 was not there"),
        ([None], "row 0 is missing"),
        (["no", "no"], "1 rows"),
        (None, "y is None"),
    ],
)
def test_labels_that_the_model_does_not_know(y: Any, message: str) -> None:
    frame, labels = two_labels()
    model = OAKClassifier(max_order=1, n_restarts=1).fit(frame[:60], labels[:60])
    with pytest.raises(TargetError, match=message):
        model.log_predictive_density(frame[:1], y)


# The change in probability.


def test_terms_as_changes_in_probability(fitted: OAKClassifier) -> None:
    frame, _ = two_labels()
    p, c = LINKS[fitted.link], fitted.constant_
    latent = fitted.predict_terms(frame)
    change = fitted.predict_terms(frame, scale="probability")
    assert list(change) == list(latent)
    np.testing.assert_allclose(change, p(c + latent.to_numpy()) - p(c), atol=1e-12)
    np.testing.assert_array_equal(fitted.predict_terms(frame, scale="latent"), latent)
    assert isinstance(fitted.predict_terms(frame.to_dict("list"), scale="probability"), np.ndarray)


def test_effects_as_changes_in_probability(fitted: OAKClassifier) -> None:
    p, c = LINKS[fitted.link], fitted.constant_
    latent, change = fitted.explain(), fitted.explain(scale="probability")
    np.testing.assert_array_equal(change.sobol, latent.sobol)
    for one, other in zip(latent.effects, change.effects, strict=True):
        assert one.std is not None
        np.testing.assert_allclose(other.mean, p(c + one.mean) - p(c), atol=1e-12)
        np.testing.assert_allclose(other.low, p(c + one.mean - 2.0 * one.std) - p(c), atol=1e-12)
        np.testing.assert_allclose(other.high, p(c + one.mean + 2.0 * one.std) - p(c), atol=1e-12)
        assert other.std is None
        assert np.all(other.low <= other.mean)
        assert np.all(other.mean <= other.high)


def test_rows_as_changes_in_probability(fitted: OAKClassifier) -> None:
    frame, _ = two_labels()
    p, c, rows = LINKS[fitted.link], fitted.constant_, frame[:4]
    latent, change = fitted.explain(rows), fitted.explain(rows, scale="probability")
    assert (latent.scale, change.scale) == ("latent", "probability")
    assert latent.std is not None
    assert change.band is not None
    assert change.constant == pytest.approx(float(p(c)))
    np.testing.assert_allclose(change.contributions, p(c + latent.contributions) - p(c), atol=1e-12)
    np.testing.assert_allclose(
        change.band[1], p(c + latent.contributions + 2.0 * latent.std) - p(c), atol=1e-12
    )
    np.testing.assert_array_equal(change.predictions, fitted.predict_proba(rows)[:, 1])
    np.testing.assert_array_equal(change.frame()["prediction"], change.predictions)
    assert change.quantity == "probability of yes"


def test_a_figure_says_what_it_draws(fitted: OAKClassifier) -> None:
    name = {"logit": "change in log odds of yes", "probit": "change in probit of yes"}[fitted.link]
    assert fitted.explain().plot().axes[0].get_ylabel() == name
    display = EffectsDisplay.from_estimator(fitted, scale="probability").plot()
    display.figure_.canvas.draw()
    assert display.axes_[0].get_ylabel() == "change in probability of yes"
    named = fitted.explain(scale="probability").plot(target="survival")
    assert named.axes[0].get_ylabel() == "change in probability of yes (survival)"
    [curve, *_] = [e for e in display.explanation.effects if e.term.features == ("age",)]
    ax = display.axes_[display.explanation.effects.index(curve)]
    drawn = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert np.max(drawn) == pytest.approx(np.max(curve.high))
    assert np.min(drawn) == pytest.approx(np.min(curve.low))


def test_a_scale_that_there_is_not(fitted: OAKClassifier) -> None:
    frame, _ = two_labels()
    with pytest.raises(OptionError, match="'latent', 'probability'"):
        fitted.explain(scale="odds")
    with pytest.raises(OptionError, match="'latent', 'probability'"):
        fitted.predict_terms(frame, scale="odds")
    with pytest.raises(OptionError, match="has no standard deviation; leave return_std out"):
        fitted.predict_terms(frame, scale="probability", return_std=True)


# Many labels.


@pytest.mark.parametrize("name", ["terms_", "sobol_", "order_shares_", "explained_", "constant_"])
def test_many_labels_have_no_terms_in_common(many: OAKClassifier, name: str) -> None:
    with pytest.raises(TermError, match=r"labels has terms of its own; ask model.estimators_\[k\]"):
        getattr(many, name)
    assert not hasattr(many, name)
    assert getattr(many, name, None) is None
    getattr(many.estimators_[1], name)


@pytest.mark.parametrize("scale", ["latent", "probability"])
def test_many_labels_are_not_explained_as_one(many: OAKClassifier, scale: str) -> None:
    frame, _ = a_frame()
    for ask in (
        lambda: many.explain(scale=scale),
        lambda: many.explain(frame, scale=scale),
        lambda: many.predict_terms(frame, scale=scale),
        lambda: EffectsDisplay.from_estimator(many, scale=scale),
    ):
        with pytest.raises(TermError, match="'low', 'mid', 'top'"):
            ask()
    assert len(many.estimators_[2].explain(scale=scale).effects) > 0


def test_many_labels_are_pruned_each(many: OAKClassifier) -> None:
    frame, _ = a_frame()
    before = many.predict_proba(frame)
    pruned = many.prune(0.5)
    kept = [[term.name for term in one.terms_] for one in pruned.estimators_]
    assert kept == [[t.name for t in one.prune(0.5).terms_] for one in many.estimators_]
    assert any(len(one) < 3 for one in kept)
    np.testing.assert_allclose(pruned.predict_proba(frame).sum(axis=1), 1.0)
    np.testing.assert_array_equal(many.predict_proba(frame), before)
    np.testing.assert_allclose(many.prune(0.0).predict_proba(frame), before, atol=1e-8)
    with pytest.raises(OptionError, match="between 0 and 1"):
        many.prune(2.0)


def test_the_fits_of_many_labels_are_one_result(many: OAKClassifier) -> None:
    results = [one.fit_result_ for one in many.estimators_]
    assert many.fit_result_.rows == 150
    assert many.fit_result_.seconds == sum(result.seconds for result in results)
    assert many.objective_ == many.fit_result_.objective == sum(result.objective for result in results)


def test_another_fit_forgets_the_first(many: OAKClassifier, tmp_path: Path) -> None:
    frame, p = a_frame(60)
    model = OAKClassifier(max_order=1, n_restarts=1)
    three, two = LABELS[np.digitize(p, [0.4, 0.7])], np.where(p > 0.5, "b", "a")
    model.fit(frame, two).fit(frame, three)
    assert not hasattr(model, "posterior_")
    model.fit(frame, two)
    assert not hasattr(model, "estimators_")
    assert not hasattr(model, "label_")
    save(model, tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict_proba(frame), model.predict_proba(frame))


def test_the_model_of_one_label_forgets_it_in_another_fit() -> None:
    frame, p = a_frame(60)
    three = OAKClassifier(max_order=1, n_restarts=1).fit(frame, LABELS[np.digitize(p, [0.4, 0.7])])
    first = three.estimators_[0]
    assert first.explain(frame[:1]).quantity == "log odds of low"
    assert first.fit(frame, np.where(p > 0.5, "yes", "no")).explain(frame[:1]).quantity == "log odds of yes"


@pytest.mark.parametrize("labels", [2, 3])
def test_a_model_is_what_it_was_fitted_as(labels: int, tmp_path: Path) -> None:
    frame, p = a_frame(60)
    y = LABELS[np.digitize(p, [0.4, 0.7][: labels - 1])]
    model = OAKClassifier(max_order=1, n_restarts=1).fit(frame, y)

    def said(model: OAKClassifier) -> list[Any]:
        part = model if labels == 2 else model.estimators_[0]
        changes = part.explain(frame[:3], scale="probability").contributions
        named = [part.explain(frame[:3]).quantity, part._kind()[0], part.explain().effects[0].quantity]
        scores = part.cumulative_score(frame, y if labels == 2 else y == "low").scores
        density = model.log_predictive_density(frame, y)
        return [model.predict_proba(frame), model.decision_function(frame), changes, density, scores, *named]

    before = said(model)
    save(model.set_params(link="probit"), tmp_path / "m")
    for part in getattr(model, "estimators_", []):
        part.set_params(link="probit")
    for again in (said(model), said(load(tmp_path / "m"))):
        for one, other in zip(again, before, strict=True):
            np.testing.assert_array_equal(one, other)
    assert load(tmp_path / "m").link == "probit"
    assert model.fit(frame, y).link_ == "probit"
    assert not np.array_equal(model.predict_proba(frame), before[0])


def test_the_odds_of_rows_are_found_in_one_look(
    fitted: OAKClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, _ = two_labels()
    looks: list[int] = []
    encode = OAKClassifier._encode
    monkeypatch.setattr(OAKClassifier, "_encode", lambda self, X: looks.append(1) or encode(self, X))
    odds = fitted.decision_function(frame)
    assert len(looks) == 1
    p = fitted.predict_proba(frame)
    np.testing.assert_allclose(odds, np.log(p[:, 1]) - np.log(p[:, 0]), rtol=1e-9)


def test_what_is_not_fitted_says_so() -> None:
    from sklearn.exceptions import NotFittedError

    frame, y = two_labels()
    for ask in (
        lambda model: model.terms_,
        lambda model: model.prune(),
        lambda model: model.explain(),
        lambda model: model.pieces("nowhere"),
        lambda model: model.log_predictive_density(frame, y),
    ):
        with pytest.raises(NotFittedError):
            ask(AdditiveGPClassifier())


def test_a_regressor_has_no_scale(tmp_path: Path) -> None:
    frame, p = a_frame(40)
    model = OAKRegressor(max_order=1, n_restarts=1).fit(frame, p)
    assert model.explain().plot().axes[0].get_ylabel() == "effect on target"
    assert model.explain(frame[:2]).to_dict()["scale"] == "target"
