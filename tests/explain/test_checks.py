"""Checks: right models pass them, wrong ones do not, and every formula has a second one beside it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from termwise import OAKClassifier, OAKRegressor
from termwise.explain.checks import (
    calibration_of,
    checks_of_numbers,
    column_check,
    coverage_of,
    residual_check,
)
from termwise.explain.distribution import (
    count_distribution,
    normal_distribution,
    randomised,
    student_distribution,
)
from termwise.likelihoods import Poisson, Student
from termwise.posterior.noise import Noise

QUICK: dict[str, Any] = {"max_order": 1, "n_restarts": 1}


def f(X: np.ndarray) -> np.ndarray:
    return np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]


def rows(n: int, seed: int) -> tuple[np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 2)), rng


# Distribution functions.


def test_a_mixture_of_normals() -> None:
    noise = Noise((0.1, 2.0), (0.7, 0.3), (0.3, -0.7))
    residuals, known = np.array([-1.0, 0.3]), np.array([0.5, 0.0])
    expected = [
        0.7 * stats.norm.cdf(r, 0.3, np.sqrt(k + 0.1)) + 0.3 * stats.norm.cdf(r, -0.7, np.sqrt(k + 2.0))
        for r, k in zip(residuals, known, strict=True)
    ]
    np.testing.assert_allclose(normal_distribution(noise, residuals, known), expected)


@pytest.mark.parametrize("scale", [0.02, 0.3, 2.0])
def test_student_about_a_normal_function(scale: float) -> None:
    y, mean, variance = np.array([-0.7, 0.1, 3.0]), np.array([0.2, 0.0, -1.0]), np.array([0.4, 0.01, 1.5])
    found = student_distribution(Student(scale, 3.0), y, mean, variance)
    for value, a, m, v in zip(found, y, mean, variance, strict=True):

        def integrand(t: float, a: float = a, m: float = m, v: float = v) -> float:
            return stats.t.cdf((a - t) / scale, 3.0) * stats.norm.pdf(t, m, np.sqrt(v))

        sd = np.sqrt(v)
        expected = quad(integrand, m - 10 * sd, m + 10 * sd, points=[min(max(a, m - 9 * sd), m + 9 * sd)])[0]
        assert value == pytest.approx(expected, abs=1e-6)


def test_counts_of_a_lognormal_rate() -> None:
    y, mean, variance = np.array([0.0, 3.0, 40.0, 900.0]), np.log([0.5, 4.0, 30.0, 800.0]), np.full(4, 0.3)
    found = count_distribution(Poisson(), y, mean, variance)
    rng = np.random.default_rng(0)
    rates = np.exp(mean[:, None] + np.sqrt(0.3) * stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000))
    np.testing.assert_allclose(found, stats.poisson.cdf(y[:, None], rates).mean(axis=1), atol=2e-5)
    assert count_distribution(Poisson(), np.array([-1.0]), mean[:1], variance[:1])[0] == 0.0
    # Randomised between P(< y) and P(<= y), counts of the model itself are uniform.
    n = 20_000
    m, v = rng.normal(1.0, 1.0, n), rng.uniform(0.0, 0.5, n)
    counts = rng.poisson(np.exp(m + np.sqrt(v) * rng.standard_normal(n))).astype(float)
    values = randomised(
        count_distribution(Poisson(), counts - 1.0, m, v), count_distribution(Poisson(), counts, m, v), seed=0
    )
    assert stats.kstest(values, "uniform").pvalue > 1e-3


# What is made of them.


def test_coverage_is_that_of_central_intervals() -> None:
    y = np.random.default_rng(0).standard_normal(500) * 1.5
    for level in (0.5, 0.9):
        reach = stats.norm.ppf(0.5 + 0.5 * level)
        found = coverage_of(stats.norm.cdf(y), level)
        assert found.covered == pytest.approx(np.mean(np.abs(y) <= reach))
        assert found.covered < level - 3 * found.error  # half as wide again as the model says


def test_residuals() -> None:
    r = np.random.default_rng(0).gamma(2.0, size=300)
    sd = np.full(300, 0.5)
    found = residual_check(r, sd)
    assert found.mean == pytest.approx(r.mean())
    assert found.sd == pytest.approx(r.std())
    assert found.skewness == pytest.approx(np.mean((r - r.mean()) ** 3) / r.std() ** 3)
    assert found.largest == pytest.approx(r.max() / 0.5)
    assert residual_check(np.zeros(3), np.zeros(3)).largest == 0.0


def test_calibration_by_hand() -> None:
    p = np.array([0.0, 0.02, 0.051, 0.999, 1.0, 0.5])
    codes = np.array([0, 1, 0, 1, 1, 0])
    found = calibration_of(codes, p)
    assert found.counts.tolist() == [2, 1, *[0] * 7, 0, 1, *[0] * 8, 2]
    assert found.predicted[0] == pytest.approx(0.01)
    assert found.observed[0] == pytest.approx(0.5)
    assert np.isnan(found.observed[5])
    expected = (2 * abs(0.01 - 0.5) + 0.051 + 0.5 + 2 * abs(0.9995 - 1.0)) / 6
    assert found.error == pytest.approx(expected)


def test_columns_near_to_normal_and_far() -> None:
    z = stats.norm.ppf((np.arange(400) + 0.5) / 400)
    near = column_check("a", np.concatenate([z, [np.nan]]))
    assert near.distance == pytest.approx(0.5 / 400, rel=1e-6)
    assert near.rows == 400
    assert abs(near.skewness) < 1e-9
    skewed = column_check("b", stats.expon.ppf((np.arange(400) + 0.5) / 400) - 1.0)
    steps = np.sort(stats.expon.ppf((np.arange(400) + 0.5) / 400) - 1.0)
    cdf = stats.norm.cdf(steps)
    by_hand = max(np.max(np.arange(1, 401) / 400 - cdf), np.max(cdf - np.arange(400) / 400))
    assert skewed.distance == pytest.approx(by_hand)
    assert skewed.skewness > 1.5
    assert skewed.kurtosis > 3.0
    assert np.isnan(column_check("c", np.zeros(5)).distance)


# Whole models.


def test_a_right_model_of_numbers_passes_and_one_that_is_too_sure_does_not() -> None:
    X, rng = rows(150, 0)
    y = 50.0 + 10.0 * (f(X) + 0.3 * rng.standard_normal(150))
    model = OAKRegressor(**QUICK).fit(X, y)
    test, rng = rows(1500, 1)
    target = 50.0 + 10.0 * (f(test) + 0.3 * rng.standard_normal(1500))
    found = model.check(test, target)
    mean, std = model.predict(test, return_std=True)
    for one in found.coverage:
        assert one.covered == pytest.approx(
            np.mean(np.abs(target - mean) <= std * stats.norm.ppf(0.5 + one.level / 2))
        )
        assert abs(one.covered - one.level) < 0.05
    assert found.pit is not None
    assert found.pit.sum() == 1500
    assert found.pit.max() < 1.8 * 75
    assert found.residuals.largest == pytest.approx(np.max(np.abs(target - mean) / std))
    assert found.fit.status == str(model.fit_result_.status)
    assert [column.column for column in found.columns] == list(model.encoder_.names)
    model.noise_ = Noise.normal(model.noise_.variance / 10.0)
    sure = model.check(test, target)
    assert sure.coverage[2].covered < 0.75
    assert sure.pit is not None
    assert sure.pit[0] + sure.pit[-1] > 3 * 150  # a U


@pytest.mark.parametrize("likelihood", ["poisson", "student"])
def test_counts_and_outliers(likelihood: str) -> None:
    def draw(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        X, rng = rows(n, seed)
        if likelihood == "student":
            return X, f(X) + 0.3 * rng.standard_t(3.0, n), {}
        exposure = rng.uniform(0.5, 5.0, n)
        return X, rng.poisson(exposure * np.exp(f(X))).astype(float), {"exposure": exposure}

    X, y, more = draw(200, 0)
    model = OAKRegressor(likelihood=likelihood, **QUICK).fit(X, y, **more)
    X, y, more = draw(1500, 1)
    found = model.check(X, y, **more)
    assert all(abs(one.covered - one.level) < 0.06 for one in found.coverage), found.coverage
    assert found.to_dict() == model.check(X, y, **more).to_dict()  # the same each time


def test_labels_are_checked_by_their_calibration() -> None:
    def draw(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        X, rng = rows(n, seed)
        return X, np.where(2.0 * f(X) + rng.logistic(size=n) > 0.0, "yes", "no")

    model = OAKClassifier(**QUICK).fit(*draw(250, 0))
    X, y = draw(2000, 1)
    found = model.check(X, y)
    assert found.coverage == ()
    assert found.pit is None
    assert found.calibration is not None
    assert found.calibration.counts.sum() == 2000
    assert found.calibration.error < 0.06
    p = model.predict_proba(X)[:, 1]
    assert found.residuals.mean == pytest.approx(np.mean((y == "yes") - p))
    assert model.check(X, np.where(y == "yes", "no", "yes")).calibration.error > 0.2
    json.dumps(found.to_dict(), allow_nan=False)
    assert set(found.frame()["check"]) == {"residuals", "calibration", "column", "fit"}
    assert "calibration error" in repr(found)


def test_plain_data_of_numbers() -> None:
    X, rng = rows(60, 0)
    model = OAKRegressor(**QUICK).fit(X, f(X) + 0.1 * rng.standard_normal(60))
    found = model.check(X, f(X))
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["n_rows"] == 60
    assert data["calibration"] is None
    assert [one["level"] for one in data["coverage"]] == [0.5, 0.8, 0.9, 0.95]
    frame = found.frame()
    assert list(frame) == ["check", "of", "number", "value"]
    asked = frame[(frame["check"] == "coverage") & (frame["of"] == "0.9") & (frame["number"] == "covered")]
    assert asked["value"].item() == found.coverage[2].covered
    assert "in 90% intervals" in repr(found)
    pruned = model.prune(n_terms=1)
    assert pruned.check(X, f(X)).n_rows == 60
    assert replace(found, n_rows=1).n_rows == 1
    assert checks_of_numbers(np.array([0.5]), np.zeros(1), np.ones(1))["n_rows"] == 1
