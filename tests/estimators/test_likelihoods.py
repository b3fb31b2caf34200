"""Counts and numbers with outliers: known rates and functions are found, and what is said of them adds up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.utils.estimator_checks import parametrize_with_checks

from termwise import AdditiveGPRegressor, OAKRegressor, load, save
from termwise.errors import OptionError, TargetError
from termwise.likelihoods import Student
from termwise.table import read_table

QUICK: dict[str, Any] = {"max_order": 1, "n_restarts": 1}
ENGINES: dict[str, dict[str, Any]] = {
    "exact": {"inference": "exact"},
    "sparse": {"inference": "sparse", "n_inducing": 60},
}
NORMAL_SD = 0.2


def poisson(**options: Any) -> OAKRegressor:
    return OAKRegressor(likelihood="poisson", **{**QUICK, **options})


def student(**options: Any) -> OAKRegressor:
    return OAKRegressor(likelihood="student", **{**QUICK, **options})


def f(X: np.ndarray) -> np.ndarray:
    return 0.8 * np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]


def rows(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, 3))


def counts(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, counts of rate 0.05 exp(f), and exposures from 2 to 200."""
    X, rng = rows(n, seed), np.random.default_rng(seed + 100)
    exposure = 2.0 * 100.0 ** rng.random(n)
    return X, rng.poisson(0.05 * np.exp(f(X)) * exposure), exposure


def with_outliers(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X, rng = rows(n, seed), np.random.default_rng(seed + 100)
    y = f(X) + NORMAL_SD * rng.standard_normal(n)
    return X, np.where(rng.random(n) < 0.1, y + 20.0 * rng.standard_normal(n), y)


def rmse(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.sqrt(np.mean((one - other) ** 2)))


@parametrize_with_checks([poisson(), student(), AdditiveGPRegressor(likelihood="poisson", max_order=1)])
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture(scope="module", params=ENGINES)
def of_counts(request: Any) -> OAKRegressor:
    X, y, exposure = counts(400)
    return poisson(**ENGINES[request.param]).fit(X, y, exposure=exposure)


@pytest.fixture(scope="module", params=ENGINES)
def of_outliers(request: Any) -> OAKRegressor:
    return student(**ENGINES[request.param]).fit(*with_outliers(400))


# Counts


def test_a_known_rate_is_found_whatever_the_exposures(of_counts: OAKRegressor) -> None:
    X = rows(1000, seed=1)
    assert rmse(np.log(of_counts.predict(X)), np.log(0.05) + f(X)) < 0.15
    assert [term.name for term in of_counts.terms_[:2]] == ["x0", "x1"]
    assert of_counts.constant_ == pytest.approx(np.log(0.05), abs=0.15)


def test_rates_and_counts_are_those_of_draws(of_counts: OAKRegressor) -> None:
    X, exposure = rows(4, seed=2), np.array([1.0, 20.0, 200.0, 3e4])
    encoded, rng = of_counts.encoder_.transform(read_table(X)), np.random.default_rng(0)
    latent = of_counts.posterior_.sample(encoded, 200_000, rng) + of_counts.target_scale_.shift
    draws = rng.poisson(np.exp(latent) * exposure)
    mean, std = of_counts.predict(X, return_std=True, exposure=exposure)
    assert mean == pytest.approx(draws.mean(axis=0), abs=5.0 * np.max(draws.std(axis=0) / 400.0), rel=0.01)
    assert std == pytest.approx(draws.std(axis=0), rel=0.03)
    y = np.round(mean + std * np.array([0.0, -1.0, 1.0, 0.5]))
    for i in range(4):
        exact = np.log(np.mean(stats.poisson.pmf(y[i], np.exp(latent[:, i]) * exposure[i])))
        found = of_counts.log_predictive_density(X[[i]], y[[i]], exposure=exposure[i])
        assert found[0] == pytest.approx(exact, abs=0.05)


def test_probabilities_of_all_counts_add_up_to_one(of_counts: OAKRegressor) -> None:
    X, y = np.repeat(rows(1, seed=3), 3000, axis=0), np.arange(3000)
    p = np.exp(of_counts.log_predictive_density(X, y, exposure=100.0))
    mean, std = of_counts.predict(X[:1], return_std=True, exposure=100.0)
    assert np.sum(p) == pytest.approx(1.0, abs=1e-9)
    assert np.sum(p * y) == pytest.approx(mean[0], rel=1e-6)
    assert np.sqrt(np.sum(p * (y - mean[0]) ** 2)) == pytest.approx(std[0], rel=1e-6)


@pytest.mark.parametrize("method", ["score", "log_predictive_density", "check", "cumulative_score"])
def test_a_rate_is_not_held_against_counts(method: str, of_counts: OAKRegressor, tmp_path: Path) -> None:
    X, y, exposure = counts(20, seed=3)
    save(of_counts, tmp_path / "m.termwise")
    for model in (of_counts, load(tmp_path / "m.termwise"), of_counts.prune(n_terms=1)):
        with pytest.raises(OptionError, match=r"fitted with an exposure.*pass exposure="):
            getattr(model, method)(X, y)
        getattr(model, method)(X, y, exposure=exposure)


def test_an_exposure_multiplies_the_mean(of_counts: OAKRegressor) -> None:
    X = rows(5)
    np.testing.assert_allclose(of_counts.predict(X, exposure=np.full(5, 7.0)), 7.0 * of_counts.predict(X))
    np.testing.assert_array_equal(of_counts.predict(X), of_counts.predict(X, exposure=1.0))


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_the_unit_of_exposure_does_not_matter(unit: float) -> None:
    X, y, exposure = counts(120)
    one, other = poisson().fit(X, y, exposure=exposure), poisson().fit(X, y, exposure=unit * exposure)
    np.testing.assert_allclose(other.predict(X, exposure=unit), one.predict(X), rtol=1e-5)


def test_terms_add_up_on_the_log_scale(of_counts: OAKRegressor) -> None:
    X = rows(40, seed=4)
    total = of_counts.constant_ + of_counts.predict_terms(X).sum(axis=1)
    mean, variance = of_counts._latent(of_counts._encode(X))
    np.testing.assert_allclose(total, mean, atol=1e-8)
    np.testing.assert_allclose(of_counts.predict(X), np.exp(total + 0.5 * variance), rtol=1e-8)
    local = of_counts.explain(X[:3])
    np.testing.assert_allclose(local.predictions, total[:3], atol=1e-8)
    assert of_counts.explain().explained == of_counts.explained_
    assert 0.5 < of_counts.explained_ < 1.0


def test_noise_is_that_of_the_logarithm_of_a_count() -> None:
    X, y, exposure = counts(120)
    model = poisson().fit(X, y, exposure=exposure)
    assert model.noise_.variance == pytest.approx(np.log(1.0 + 1.0 / np.mean(y)))


def test_a_pruned_model_of_counts_is_less_sure(of_counts: OAKRegressor) -> None:
    X, y, exposure = counts(200, seed=5)
    pruned = of_counts.prune(0.9)
    assert len(pruned.terms_) < len(of_counts.terms_)
    lost = pruned.posterior_.noise
    assert lost > 0.01
    mean, variance = pruned._latent(pruned._encode(X))
    np.testing.assert_allclose(variance, pruned.posterior_.variance(pruned._encode(X)) + lost)
    np.testing.assert_allclose(pruned.predict(X), np.exp(mean + 0.5 * variance), rtol=1e-8)
    density = pruned.log_predictive_density(X, y, exposure=exposure)
    assert np.mean(density) < np.mean(of_counts.log_predictive_density(X, y, exposure=exposure))


@pytest.mark.parametrize("inference", ENGINES)
def test_a_million_events_a_row_are_sound(inference: str) -> None:
    X = rows(150)
    y = np.random.default_rng(1).poisson(1e6 * np.exp(f(X)))
    model = poisson(**ENGINES[inference]).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    assert rmse(np.log(mean), np.log(1e6) + f(X)) < 0.003
    assert np.all(std >= np.sqrt(mean))
    assert np.mean(model.log_predictive_density(X, y)) == pytest.approx(
        np.mean(stats.poisson.logpmf(y, 1e6 * np.exp(f(X)))), abs=0.5
    )


def test_rare_events_are_sound() -> None:
    X = rows(1500)
    y = np.random.default_rng(1).random(1500) < 0.01 * np.exp(f(X))
    by_row = poisson(**ENGINES["sparse"]).fit(X, y)
    assert np.sum(by_row.predict(X)) == pytest.approx(np.sum(y), rel=0.25)
    exposure = np.full(300, 1e6)
    y = np.random.default_rng(1).poisson(1e-4 * exposure * np.exp(f(rows(300))))
    model = poisson().fit(rows(300), y, exposure=exposure)
    assert rmse(np.log(model.predict(rows(300))), np.log(1e-4) + f(rows(300))) < 0.1


def test_a_weak_effect_among_many_columns_is_found() -> None:
    X = np.random.default_rng(2).standard_normal((200, 10))
    y = np.random.default_rng(3).poisson(4.4 * np.exp(0.25 * X[:, 4]))
    model = poisson().fit(X, y)
    assert model.terms_[0].name == "x4"
    assert rmse(np.log(model.predict(X)), np.log(4.4) + 0.25 * X[:, 4]) < 0.15


def test_one_event_among_many_rows_says_little() -> None:
    y = np.zeros(200)
    y[7] = 1.0
    model = poisson().fit(rows(200), y)
    mean, std = model.predict(rows(200), return_std=True)
    assert np.all(np.isfinite(std))
    assert np.sum(mean) == pytest.approx(1.0, rel=0.7)


@pytest.mark.parametrize("inference", ENGINES)
def test_a_count_far_from_all_others_is_sound(inference: str) -> None:
    X, y, exposure = counts(150)
    y[3] = 1e6
    model = poisson(**ENGINES[inference]).fit(X, y, exposure=exposure)
    mean, std = model.predict(X, return_std=True, exposure=exposure)
    assert np.all(np.isfinite(std))
    if inference == "exact":  # a count has its full say, and few inducing rows cannot bend so sharply
        assert np.median(np.abs(np.log(mean[y > 2] / y[y > 2]))) < 1.0


def test_counts_need_not_be_whole_and_equal_counts_tell_of_exposures() -> None:
    X, y, exposure = counts(150)
    half = poisson().fit(X, 0.5 * y, exposure=0.5 * exposure)
    assert rmse(np.log(half.predict(X)), np.log(0.05) + f(X)) < 0.3
    same = poisson().fit(X, np.full(150, 3), exposure=np.exp(-f(X)))
    assert rmse(np.log(same.predict(X)), np.log(3.0) + f(X)) < 0.25


def test_levels_and_missing_cells_are_taken() -> None:
    X, y, exposure = counts(200)
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0.0, "yes", "no"), "c": X[:, 2]})
    frame.loc[::7, "a"] = np.nan
    frame.loc[::11, "b"] = None
    model = AdditiveGPRegressor(kind="gam", likelihood="poisson", n_restarts=1)
    for one in (poisson(), model):
        one.fit(frame, y, exposure=exposure)
        known = one.predict(frame.iloc[[1]], return_std=True)
        unknown = one.predict(frame.iloc[[1]].assign(a=np.nan), return_std=True)
        assert unknown[1][0] / unknown[0][0] > known[1][0] / known[0][0]


# Outliers


def test_outliers_have_little_say(of_outliers: OAKRegressor) -> None:
    X = rows(1000, seed=1)
    assert rmse(of_outliers.predict(X), f(X)) < 0.1
    normal = OAKRegressor(**QUICK).fit(*with_outliers(400))
    assert rmse(normal.predict(X), f(X)) > 0.3
    assert of_outliers.likelihood_.scale * of_outliers.target_scale_.scale == pytest.approx(0.2, abs=0.08)
    assert of_outliers.likelihood_.degrees < 4.0


def test_std_and_density_are_those_of_the_learned_likelihood(of_outliers: OAKRegressor) -> None:
    X, y = with_outliers(30, seed=2)
    mean, std = of_outliers.predict(X, return_std=True)
    scale, learned = of_outliers.target_scale_.scale, of_outliers.likelihood_
    assert isinstance(learned, Student)
    known = of_outliers.posterior_.variance(of_outliers._encode(X))
    spread = (stats.t.ppf(stats.norm.cdf(1.0), learned.degrees) * learned.scale) ** 2
    np.testing.assert_allclose(std, scale * np.sqrt(known + spread))
    assert of_outliers.noise_.variance == pytest.approx(spread)
    latent = mean[:, None] + scale * np.sqrt(known)[:, None] * np.linspace(-9.0, 9.0, 4001)
    weights = stats.norm.pdf(np.linspace(-9.0, 9.0, 4001)) * 18.0 / 4000.0
    exact = np.log(stats.t.pdf(y[:, None], learned.degrees, latent, scale * learned.scale) @ weights)
    np.testing.assert_allclose(of_outliers.log_predictive_density(X, y), exact, atol=1e-6)


@pytest.mark.parametrize("far", [30.0, 3000.0])
def test_std_and_explained_speak_of_the_rows_without_gross_outliers(far: float) -> None:
    X = rows(300)
    y = f(X) + NORMAL_SD * np.random.default_rng(3).standard_normal(300)
    clean = y.copy()
    y[::20] += far * np.random.default_rng(4).choice([-1.0, 1.0], 15)
    model = student().fit(X, y)
    new = rows(500, seed=5)
    mean, std = model.predict(new, return_std=True)
    scatter = rmse(mean, f(new) + NORMAL_SD * np.random.default_rng(6).standard_normal(500))
    assert 0.8 < np.median(std) / scatter < 1.5
    truth = 1.0 - NORMAL_SD**2 / np.var(clean)
    assert model.explained_ == pytest.approx(truth, abs=0.05)


def test_terms_of_numbers_with_outliers_add_up(of_outliers: OAKRegressor) -> None:
    X = rows(40, seed=4)
    total = of_outliers.constant_ + of_outliers.predict_terms(X).sum(axis=1)
    np.testing.assert_allclose(total, of_outliers.predict(X), atol=1e-8)
    np.testing.assert_allclose(of_outliers.explain(X).predictions, total, atol=1e-8)
    assert 0.0 < of_outliers.explained_ < 1.0
    pruned = of_outliers.prune(0.9)
    assert len(pruned.terms_) < len(of_outliers.terms_)
    assert np.all(pruned.predict(X, return_std=True)[1] > of_outliers.predict(X, return_std=True)[1])


@pytest.mark.parametrize("wild", [1e6, 1e60])
def test_one_wild_value_sets_no_scale(wild: float) -> None:
    X, y = rows(150), f(rows(150)) + NORMAL_SD * np.random.default_rng(3).standard_normal(150)
    y[3] = wild
    model = student().fit(X, y)
    assert 0.3 < model.target_scale_.scale < 2.0
    others = np.arange(150) != 3
    assert rmse(model.predict(X)[others], f(X)[others]) < 0.15
    assert np.all(np.isfinite(model.log_predictive_density(X, y)))


def test_ties_are_sound() -> None:
    X = rows(150)
    for y in (np.round(f(X)), np.where(f(X) > 1.0, np.round(f(X)), 0.0), (f(X) > 0.0).astype(float)):
        mean, std = student().fit(X, y).predict(X, return_std=True)
        assert np.all(np.isfinite(mean))
        assert np.all(std > 0.0)
        assert np.all((mean > np.min(y) - 1.0) & (mean < np.max(y) + 1.0))


@pytest.mark.parametrize("scale", [1e-12, 1e12, 1e300])
def test_the_unit_of_the_target_does_not_matter(scale: float) -> None:
    X, y = with_outliers(80)
    one, other = student().fit(X, y), student().fit(X, scale * y)
    np.testing.assert_allclose(other.predict(X) / scale, one.predict(X), atol=1e-4)


# Both


@pytest.mark.parametrize("kind", [poisson, student])
def test_the_engines_agree(kind: Any) -> None:
    X, y, exposure = counts(200)
    given = {"exposure": exposure} if kind is poisson else {}
    y = y if kind is poisson else with_outliers(200)[1]
    exact = kind(inference="exact").fit(X, y, **given)
    sparse = kind(inference="sparse", n_inducing=200).fit(X, y, **given)
    new = rows(300, seed=6)
    for one, other in zip(_moments(exact, new), _moments(sparse, new), strict=True):
        np.testing.assert_allclose(other, one, atol=0.03)


def _moments(model: Any, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the latent function, which has unit size for both."""
    mean, variance = model._latent(model._encode(X))
    return mean, np.sqrt(variance)


@pytest.mark.parametrize("kind", [poisson, student])
def test_neither_order_nor_exact_copies_change_the_way_it_is_learned(kind: Any) -> None:
    X, y, exposure = counts(90)
    given = {"exposure": exposure} if kind is poisson else {}
    order = np.random.default_rng(0).permutation(90)
    one = kind().fit(X, y, **given)
    other = kind().fit(X[order], y[order], **{name: value[order] for name, value in given.items()})
    np.testing.assert_allclose(other.predict(X), one.predict(X), rtol=1e-9)
    twice = kind().fit(np.tile(X, (2, 1)), np.tile(y, 2), **{k: np.tile(v, 2) for k, v in given.items()})
    assert len(twice.posterior_.centres) == len(one.posterior_.centres) == 90


def test_a_model_is_what_it_was_fitted_as() -> None:
    X, y, _ = counts(60)
    model = poisson().fit(X, y)
    before = model.predict(X)
    np.testing.assert_array_equal(model.set_params(likelihood="normal").predict(X), before)
    assert model.fit(X, y).likelihood_ is None


X, Y, EXPOSURE = counts(30)
at_3 = np.arange(30) == 3
BAD: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "negative": ({"y": np.where(at_3, -2.0, Y)}, TargetError, "-2 in row 3, and counts are not negative"),
    "all zero": ({"y": np.zeros(30), "exposure": EXPOSURE}, TargetError, "zero in every row"),
    "all zero alike": ({"y": np.zeros(30)}, TargetError, "0 in every row"),
    "all alike": ({"y": np.full(30, 4)}, TargetError, "4 in every row"),
    "not a number": ({"y": np.where(at_3, np.nan, Y)}, TargetError, "NaN in row 3"),
    "infinite": ({"y": np.where(at_3, np.inf, Y)}, TargetError, "infinity in row 3"),
    "too many": ({"y": np.where(at_3, 1e9, Y)}, TargetError, "fit the logarithm"),
    "texts": ({"y": ["many"] * 30}, TargetError, "not made of numbers"),
    "none": ({"y": None}, TargetError, "target y is None"),
    "zero exposure": ({"exposure": np.where(at_3, 0.0, EXPOSURE)}, OptionError, "exposure is 0 in row 3"),
    "negative exposure": ({"exposure": -EXPOSURE}, OptionError, r"\(30 such in all\)"),
    "missing exposure": ({"exposure": np.where(at_3, np.nan, EXPOSURE)}, OptionError, "nan in row 3"),
    "infinite exposure": ({"exposure": np.where(at_3, np.inf, EXPOSURE)}, OptionError, "inf in row 3"),
    "short exposure": ({"exposure": EXPOSURE[:7]}, OptionError, r"shape \(7,\) and the table 30 rows"),
    "text exposure": ({"exposure": ["a"] * 30}, OptionError, "not made of numbers"),
}


@pytest.mark.parametrize("how", BAD)
def test_bad_counts_and_exposures_are_named(how: str) -> None:
    given, error, message = BAD[how]
    with pytest.raises(error, match=message):
        poisson().fit(X, **{"y": Y, **given})


def test_bad_input_of_a_fitted_model_is_named() -> None:
    model = poisson().fit(X, Y, exposure=EXPOSURE)
    with pytest.raises(OptionError, match="exposure is 0"):
        model.predict(X, exposure=np.zeros(30))
    with pytest.raises(TargetError, match="not negative"):
        model.log_predictive_density(X, -1.0 - Y, exposure=EXPOSURE)


@pytest.mark.parametrize("likelihood", ["normal", "student"])
def test_only_counts_have_an_exposure(likelihood: str) -> None:
    model = OAKRegressor(likelihood=likelihood, **QUICK)
    with pytest.raises(OptionError, match=f"likelihood is '{likelihood}'; leave exposure out"):
        model.fit(X, Y, exposure=EXPOSURE)
    model.fit(X, Y)
    with pytest.raises(OptionError, match="leave exposure out"):
        model.predict(X, exposure=2.0)
    with pytest.raises(OptionError, match="leave exposure out"):
        model.log_predictive_density(X, Y, exposure=1)


def test_an_outlier_beyond_all_numbers_is_named() -> None:
    with pytest.raises(TargetError, match=r"row 3 is .* farther from the median"):
        student().fit(X, np.where(at_3, 1e200, Y))


@pytest.mark.parametrize("kind", [OAKRegressor, AdditiveGPRegressor])
@pytest.mark.parametrize("option", [{"likelihood": "posson"}, {"likelihood": None}, {"inference": "exakt"}])
def test_misspelt_options_are_named(kind: Any, option: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=r"use one of ('normal', 'poisson', 'student'|'auto', 'exact')"):
        kind(**{"likelihood": "poisson", **option}).fit(X, Y)
