"""The flow: monotone, invertible, free of units, straight outside the data, and closer to normal."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.stats import kstest

from termwise.encode.flow import BOUNDS, Flow, SinhArcsinh, fit_flow, profile_kl
from termwise.encode.scale import Array, Standardise

Fit = Callable[[Array], Standardise]


def _columns() -> dict[str, Array]:
    rng = np.random.default_rng(7)
    n = 800
    return {
        "normal": rng.normal(size=n),
        "lognormal": rng.lognormal(0.0, 1.2, n),
        "exponential": rng.exponential(size=n),
        "mirrored": -rng.exponential(size=n),
        "student": rng.standard_t(2.0, n),
        "uniform": np.linspace(0.0, 1.0, n),
        "bimodal": np.concatenate([rng.normal(-3.0, 1.0, n // 2), rng.normal(3.0, 1.0, n // 2)]),
        "outlier": np.append(rng.normal(size=n), 1e6),
        "zeros": np.where(rng.random(n) < 0.4, 0.0, rng.gamma(2.0, 1.0, n)),
        "six": rng.normal(size=6),
    }


COLUMNS = _columns()
every_column = pytest.mark.parametrize("name", COLUMNS)
parameters = st.tuples(*(st.floats(low, high) for low, high in BOUNDS))
awkward_columns = st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=30)


def _around(x: Array) -> Array:
    """The column, a fine grid over it, and points far outside."""
    width = np.ptp(x)
    outside = [x.min() - 10.0 * width, x.min() - 0.1 * width, x.max() + 0.1 * width, x.max() + 10.0 * width]
    return np.sort(np.concatenate([x, np.linspace(x.min(), x.max(), 301), outside]))


def _brute_kl(flow: Flow, x: Array) -> float:
    """Eq. 37 with the slope of the encoded column by finite differences, x in standard deviations."""
    h = 1e-6 * flow.units.scale
    slope = (flow.forward(x + h) - flow.forward(x - h)) / (2.0 * h) * np.std(x)
    return float(np.mean(0.5 * flow.forward(x) ** 2 - np.log(slope)))


# --- scale ----------------------------------------------------------------------------------------


def test_standardise_agrees_with_numpy() -> None:
    x = np.random.default_rng(0).normal(3.0, 2.0, 100)
    step = Standardise.fit(x)
    np.testing.assert_allclose(step.forward(x), (x - x.mean()) / x.std(), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(step.inverse(step.forward(x)), x, rtol=1e-14)
    np.testing.assert_allclose(step.derivative(x), 1.0 / x.std())


@pytest.mark.parametrize("fit", [Standardise.fit, Standardise.robust])
@pytest.mark.parametrize("size", [1e-320, 1e-300, 1e-160, 1.0, 1e160, 1e300])
def test_standardise_at_the_ends_of_the_float_range(fit: Fit, size: float) -> None:
    x = np.linspace(-1.0, 1.0, 21)
    expected = fit(x).forward(x)
    with np.errstate(all="raise", under="ignore"):
        step = fit(size * x)
        found = step.forward(size * x)
    # Subnormal numbers near 1e-320 have two or three digits.
    np.testing.assert_allclose(found, expected, rtol=1e-12 if size > 1e-310 else 1e-2, atol=1e-14)


def test_standardise_does_not_overflow_at_the_largest_floats() -> None:
    x = np.array([-1.7e308, 1.7e308, 1.7e308])
    step = Standardise.fit(x)
    np.testing.assert_allclose(step.forward(x), np.array([-2.0, 1.0, 1.0]) / np.sqrt(2.0))
    np.testing.assert_allclose(step.inverse(step.forward(x)), x)


@pytest.mark.parametrize("fit", [Standardise.fit, Standardise.robust])
@pytest.mark.parametrize("value", [0.0, 0.1, -3e300, 1e-300])
def test_constant_column_keeps_scale_one(fit: Fit, value: float) -> None:
    assert fit(np.full(7, value)) == Standardise(value, 1.0)


def test_robust_units_ignore_a_wild_value() -> None:
    x = np.random.default_rng(0).normal(size=999)
    wild = Standardise.robust(np.append(x, 1e6))
    assert wild.scale == pytest.approx(Standardise.robust(x).scale, rel=0.02)


# --- the objective --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["normal", "lognormal", "student", "bimodal"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_gradient_is_that_of_finite_differences(name: str, seed: int) -> None:
    s = Standardise.robust(COLUMNS[name]).forward(COLUMNS[name])
    point = np.random.default_rng(seed).uniform(-0.7, 0.7, len(BOUNDS))
    numeric = approx_fprime(point, lambda p: profile_kl(p, s)[0], 1e-7)
    np.testing.assert_allclose(profile_kl(point, s)[1], numeric, rtol=1e-5, atol=1e-6)


def test_profile_is_eq_37_at_the_best_shift_and_scale() -> None:
    s = Standardise.robust(COLUMNS["lognormal"]).forward(COLUMNS["lognormal"])
    bend = SinhArcsinh(-0.5, -0.4, -0.6, 0.2)
    w = bend.forward(s)

    def eq_37(shift: float, scale: float) -> float:
        return float(np.mean(0.5 * ((w - shift) / scale) ** 2 - np.log(bend.derivative(s) / scale)))

    best = eq_37(w.mean(), w.std())
    assert profile_kl(np.array([-0.5, -0.4, -0.6, 0.2]), s)[0] == pytest.approx(best, rel=1e-12)
    for shift, scale in [(0.01, 1.0), (-0.01, 1.0), (0.0, 1.01), (0.0, 0.99)]:
        assert eq_37(w.mean() + shift, scale * w.std()) > best


def test_bend_is_the_identity_at_zero() -> None:
    s = np.linspace(-5.0, 5.0, 11)
    np.testing.assert_allclose(SinhArcsinh().forward(s), s, rtol=1e-15)
    np.testing.assert_allclose(SinhArcsinh().derivative(s), 1.0, rtol=1e-15)


@given(parameters)
@settings(max_examples=60, deadline=None)
def test_bend_is_increasing_and_invertible_for_all_parameters(values: tuple[float, ...]) -> None:
    bend = SinhArcsinh(*values)
    s = np.linspace(-6.0, 6.0, 97)
    assert np.all(np.diff(bend.forward(s)) > 0.0)
    np.testing.assert_allclose(bend.inverse(bend.forward(s)), s, rtol=1e-8, atol=1e-8)
    slope = (bend.forward(s + 1e-6) - bend.forward(s - 1e-6)) / 2e-6
    np.testing.assert_allclose(bend.derivative(s), slope, rtol=1e-5)


# --- the fitted flow ------------------------------------------------------------------------------


@every_column
def test_strictly_increasing_and_invertible_inside_and_outside(name: str) -> None:
    flow = fit_flow(COLUMNS[name])
    x = np.unique(_around(COLUMNS[name]))
    z = flow.forward(x)
    assert np.all(np.diff(z) > 0.0)
    assert np.all(flow.derivative(x) > 0.0)
    size = np.maximum(np.abs(x), flow.units.scale)
    assert np.max(np.abs(flow.inverse(z) - x) / size) < 1e-8


@every_column
def test_decoded_values_encode_again(name: str) -> None:
    flow = fit_flow(COLUMNS[name])
    z = np.linspace(-12.0, 12.0, 97)
    np.testing.assert_allclose(flow.forward(flow.inverse(z)), z, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", sorted(set(COLUMNS) - {"outlier"}))
def test_tails_are_straight_and_join_smoothly(name: str) -> None:
    x = COLUMNS[name]
    flow = fit_flow(x)
    width = np.ptp(x)
    for edge, outward in [(x.min(), -1.0), (x.max(), 1.0)]:
        out = edge + outward * width * np.array([0.0, 0.5, 5.0, 500.0])
        slopes = np.diff(flow.forward(out)) / np.diff(out)
        np.testing.assert_allclose(slopes, flow.derivative(np.array([edge]))[0], rtol=1e-7)
        h = 1e-7 * flow.units.scale
        inside, at_edge = flow.forward(np.array([edge - outward * h, edge]))
        assert (at_edge - inside) / (outward * h) == pytest.approx(slopes[0], rel=1e-3)


@pytest.mark.parametrize("name", sorted(set(COLUMNS) - {"outlier"}))
def test_derivative_is_that_of_finite_differences(name: str) -> None:
    x = COLUMNS[name]
    flow = fit_flow(x)
    inside = np.linspace(x.min(), x.max(), 50)[1:-1]
    h = 1e-6 * flow.units.scale
    slope = (flow.forward(inside + h) - flow.forward(inside - h)) / (2.0 * h)
    np.testing.assert_allclose(flow.derivative(inside), slope, rtol=1e-5)


@every_column
@pytest.mark.parametrize("factor", [1e-6, 1e-2, 39.37, 1e6])
@pytest.mark.parametrize("offset", [0.0, -40.0, 1000.0])
def test_units_do_not_matter(name: str, factor: float, offset: float) -> None:
    x = COLUMNS[name]
    reference = fit_flow(x)
    other = factor * x + factor * offset * reference.units.scale
    flow = fit_flow(other)
    np.testing.assert_allclose(flow.forward(other), reference.forward(x), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", sorted(set(COLUMNS) - {"normal", "zeros", "six"}))
def test_becomes_normal(name: str) -> None:
    x = COLUMNS[name]
    flow = fit_flow(x)
    plain = kstest(Standardise.fit(x).forward(x), "norm").statistic
    bent = kstest(flow.forward(x), "norm").statistic
    assert bent < 0.5 * plain
    assert bent < 0.05


def test_a_normal_column_is_left_alone() -> None:
    x = COLUMNS["normal"]
    np.testing.assert_allclose(fit_flow(x).forward(x), Standardise.fit(x).forward(x), atol=0.25)


@pytest.mark.parametrize("name", ["lognormal", "student", "bimodal", "six"])
def test_never_further_from_normal_than_standardising_is(name: str) -> None:
    flow = fit_flow(COLUMNS[name])
    assert _brute_kl(flow, COLUMNS[name]) < 0.5


@every_column
def test_encoded_column_has_mean_zero_and_variance_one(name: str) -> None:
    z = fit_flow(COLUMNS[name]).forward(COLUMNS[name])
    assert abs(z.mean()) < 1e-10
    assert z.std() == pytest.approx(1.0, abs=1e-10)


# --- awkward columns ------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.0, -2.5, 1e300, 1e-300])
@pytest.mark.parametrize("n", [1, 5])
def test_constant_column(value: float, n: int) -> None:
    flow = fit_flow(np.full(n, value))
    assert flow.units == Standardise(value, 1.0)
    assert flow.steps == ()
    np.testing.assert_array_equal(flow.forward(np.full(n, value)), 0.0)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_very_few_rows(n: int) -> None:
    x = np.random.default_rng(n).lognormal(size=n)
    z = fit_flow(x).forward(x)
    assert np.all(np.argsort(z) == np.argsort(x))
    assert z.std() == pytest.approx(1.0)


def test_two_values_are_only_standardised() -> None:
    flow = fit_flow(np.array([3.0, 3.0, 5.0, 5.0]))
    assert flow.steps == ()
    np.testing.assert_allclose(flow.forward(np.array([3.0, 5.0, 7.0])), [-1.0, 1.0, 3.0])


@given(awkward_columns)
@settings(max_examples=150, deadline=None)
def test_any_finite_column_is_encoded_to_finite_increasing_values(values: list[float]) -> None:
    x = np.sort(np.array(values))
    with np.errstate(all="raise", under="ignore"):
        flow = fit_flow(x)
        z = flow.forward(x)
    assert np.all(np.isfinite(z))
    assert np.all(np.diff(z) >= 0.0)


def test_missing_values_stay_missing_and_are_refused_in_the_fit() -> None:
    flow = fit_flow(COLUMNS["exponential"])
    assert np.isnan(flow.forward(np.array([np.nan, 1.0]))).tolist() == [True, False]
    with pytest.raises(AssertionError, match="missing"):
        fit_flow(np.array([1.0, np.nan]))


def test_many_rows_are_fitted_by_their_quantiles(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(3).lognormal(size=40_000)
    by_quantiles = fit_flow(x)
    assert fit_flow(x[::-1]) == by_quantiles
    assert by_quantiles.units.inverse(np.array([by_quantiles.low])) == pytest.approx(x.min())
    assert by_quantiles.units.inverse(np.array([by_quantiles.high])) == pytest.approx(x.max())
    monkeypatch.setattr("termwise.encode.flow.MANY_ROWS", x.size)
    by_rows = fit_flow(x)
    grid = np.quantile(x, np.linspace(0.01, 0.99, 50))
    np.testing.assert_allclose(by_quantiles.forward(grid), by_rows.forward(grid), atol=0.1)


def test_a_rare_value_among_many_rows_is_not_lost() -> None:
    x = np.zeros(50_000)
    x[:3] = [1.0, 2.0, 2.0]
    flow = fit_flow(x)
    np.testing.assert_allclose(flow.forward(x), (x - x.mean()) / x.std())


@every_column
def test_saving_is_exact(name: str) -> None:
    flow = fit_flow(COLUMNS[name])
    assert Flow.from_dict(json.loads(json.dumps(flow.to_dict(), allow_nan=False))) == flow
