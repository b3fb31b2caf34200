"""Kernel means under a measure, against adaptive quadrature."""

import numpy as np
import pytest

from termwise.kernels import means_nodes
from termwise.kernels.column import ColumnKernel
from termwise.kernels.means import (
    CLOSED_FORMS,
    kernel_mean,
    kernel_mean_variance,
    mean_square,
    residual_variance,
)
from termwise.kernels.squared_exponential import SquaredExponential
from termwise.measures import Empirical, Mixture, Normal, Uniform
from tests.kernels.adaptive import (
    CONTINUOUS,
    KERNELS,
    MEASURE_EXAMPLES,
    expectation,
    relative_expectation,
)

STEP = 1e-30

every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
every_measure = pytest.mark.parametrize("measure", MEASURE_EXAMPLES, ids=lambda m: m.kind)
every_continuous = pytest.mark.parametrize("measure", CONTINUOUS, ids=lambda m: m.kind)


def ends(measure):
    return [measure.low, measure.high] if isinstance(measure, Uniform) else []


def close(actual, expected, *, tolerance):
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


@every_kernel
@every_measure
def test_every_pair_is_in_the_table(kernel, measure):
    assert (kernel, type(measure)) in CLOSED_FORMS


@every_kernel
@every_continuous
@pytest.mark.parametrize("lengthscale", [0.05, 0.7, 20.0])
def test_the_mean_is_the_integral_of_the_kernel(kernel, measure, lengthscale):
    k, x = kernel(lengthscale), np.array([-4.0, -1.0, 0.3, 0.31, 2.5, 6.0])
    expected = expectation(measure, lambda s: k.evaluate(x, np.array(s)), breaks=list(x), reach=lengthscale)
    close(kernel_mean(k, measure, x), expected, tolerance=1e-11)


@every_kernel
@every_continuous
@pytest.mark.parametrize("lengthscale", [0.05, 0.7, 20.0])
def test_variance_and_square_are_the_moments_of_the_mean(kernel, measure, lengthscale):
    k = kernel(lengthscale)

    def moments(s):
        c = kernel_mean(k, measure, np.array([s]))[0]
        return np.array([c, c**2])

    v, square = expectation(measure, moments, breaks=ends(measure), reach=lengthscale)
    assert kernel_mean_variance(k, measure) == pytest.approx(v, rel=1e-11)
    assert mean_square(k, measure) == pytest.approx(square, rel=1e-11)
    assert residual_variance(k, measure) == pytest.approx(1 - square / v, rel=1e-10)


@every_kernel
@every_continuous
@pytest.mark.parametrize("lengthscale", [0.2, 3.0])
def test_the_constrained_kernel_has_mean_zero(kernel, measure, lengthscale):
    k, x = kernel(lengthscale), np.array([-3.0, 0.1, 2.0])
    c, v = kernel_mean(k, measure, x), kernel_mean_variance(k, measure)

    def constrained(s):
        return k.evaluate(x, np.array(s)) - c * kernel_mean(k, measure, np.array([s]))[0] / v

    leak = expectation(measure, constrained, breaks=[*x, *ends(measure)], reach=lengthscale)
    assert np.abs(leak).max() < 1e-12


@every_kernel
@every_measure
def test_sums_over_discrete_measures_are_exact(kernel, measure):
    if measure in CONTINUOUS:
        return
    k, (points, weights) = kernel(0.8), measure.nodes()
    c = [
        sum(w * k.evaluate(np.array(p), np.array(q)) for q, w in zip(points, weights, strict=True))
        for p in points
    ]
    close(kernel_mean(k, measure, points), c, tolerance=1e-14)
    v, square = weights @ c, weights @ np.square(c)
    assert kernel_mean_variance(k, measure) == pytest.approx(v, rel=1e-14)
    assert mean_square(k, measure) == pytest.approx(square, rel=1e-14)
    assert residual_variance(k, measure) == pytest.approx(1 - square / v, rel=1e-13)


@every_kernel
@every_continuous
@pytest.mark.parametrize("lengthscale", [0.01, 1000.0])
@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
def test_the_mean_keeps_relative_accuracy_at_extreme_lengthscales(kernel, measure, lengthscale):
    k = kernel(lengthscale)
    x = measure.mean + measure.sd * np.array([0.0, 1.0, 6.0, 50.0])
    for value, point in zip(kernel_mean(k, measure, x), x, strict=True):
        if value < 1e-250:  # less than anything it will be added to
            continue
        expected = relative_expectation(
            measure,
            lambda s, point=point: float(k.evaluate(np.array(point), np.array(s))),
            breaks=[point],
            reach=lengthscale,
        )
        assert value == pytest.approx(expected, rel=1e-10)


@every_kernel
@every_measure
@pytest.mark.parametrize("lengthscale", [0.01, 1.0, 1000.0])
def test_nothing_overflows_far_out(kernel, measure, lengthscale):
    x = np.array([-1e6, -50.0, 50.0, 1e6])
    for step in (0.0, 1j * STEP):
        c = kernel_mean(kernel(lengthscale + step), measure, x)
        assert np.all(np.isfinite(c))
        assert np.all(c.real >= 0.0)
        assert np.all(c.real < 1.0)


@every_kernel
@every_measure
@pytest.mark.parametrize("lengthscale", [0.1, 1.0, 8.0])
def test_the_imaginary_part_is_the_derivative(kernel, measure, lengthscale):
    x = np.array([-3.0, -0.7, 0.2, 1.9, 4.0])

    def values(length, shift, factor):
        k, m = kernel(length), measure.scaled(factor)
        scalars = [f(k, m) for f in (kernel_mean_variance, mean_square, residual_variance)]
        return np.concatenate([kernel_mean(k, m, x + shift), scalars])

    at = np.array([lengthscale, 0.0, 1.0])
    for i in range(3):
        unit = np.eye(3)[i]
        exact = values(*(at + 1j * STEP * unit)).imag / STEP
        h = 1e-5 * lengthscale if i < 2 else 1e-5
        central = (values(*(at + h * unit)) - values(*(at - h * unit))) / (2 * h)
        np.testing.assert_allclose(exact, central, rtol=1e-6, atol=1e-7)


def test_the_residual_of_the_squared_exponential_is_the_printed_figure():
    # 1 - l sqrt(l^2 + 2) / sqrt((l^2 + 1)(l^2 + 3)) at l = 1 and 10
    assert residual_variance(SquaredExponential(1.0), Normal()) == pytest.approx(
        1 - np.sqrt(3 / 8), rel=1e-14
    )
    expected = 1 - 10 * np.sqrt(102) / np.sqrt(101 * 103)
    assert residual_variance(SquaredExponential(10.0), Normal()) == pytest.approx(expected, rel=1e-12)


@every_kernel
@every_continuous
def test_the_residual_keeps_its_digits_at_long_lengthscales(kernel, measure):
    # 1 - E c^2 / v has lost ten of sixteen digits here; the double sum of 1 - k over nodes has not. Its own
    # error comes from the kink at x = y, which for the roughest kernel is worse than the loss.
    k = kernel(1000.0)
    tolerance = 1e-4 if kernel.name == "matern12" else 3e-8 if kernel.kinked else 1e-11
    assert residual_variance(k, measure) == pytest.approx(means_nodes.residual(k, measure), rel=tolerance)
    direct = 1 - mean_square(k, measure) / kernel_mean_variance(k, measure)
    assert residual_variance(k, measure) == pytest.approx(direct, rel=1e-9)


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
def test_a_kernel_without_closed_forms_falls_back_on_nodes():
    class Cauchy(ColumnKernel):
        name = "test"

        def evaluate(self, x, y):
            return 2.0 / (1.0 + (x - y) ** 2)

    k, x = Cauchy(), np.array([-2.0, 0.0, 3.0])
    for measure in CONTINUOUS:
        expected = expectation(measure, lambda s: k.evaluate(x, np.array(s)), breaks=[0.0], reach=1.0)
        close(kernel_mean(k, measure, x), expected, tolerance=1e-11)
        left = 2.0 - mean_square(k, measure) / kernel_mean_variance(k, measure)
        assert residual_variance(k, measure) == pytest.approx(left, rel=1e-12)


def test_a_mixture_of_one_is_a_normal():
    x = np.linspace(-3, 3, 7)
    for kernel in KERNELS:
        one, normal = Mixture((1.0,), (0.3,), (1.2,)), Normal(0.3, 1.2)
        close(kernel_mean(kernel(), one, x), kernel_mean(kernel(), normal, x), tolerance=1e-15)
        assert residual_variance(kernel(), one) == pytest.approx(
            residual_variance(kernel(), normal), rel=1e-13
        )


def test_the_compressed_empirical_measure_has_nearly_the_mean_of_all_rows():
    z = np.random.default_rng(0).lognormal(size=5000)
    z = (z - z.mean()) / z.std()
    k = SquaredExponential(0.3)
    exact = kernel_mean(k, Empirical.fit(z, max_points=z.size), z[:500])
    errors = {
        m: np.abs(kernel_mean(k, Empirical.fit(z, max_points=m), z[:500]) - exact).max() for m in (64, 256)
    }
    assert errors[64] < 3e-4
    assert errors[256] < 2e-5
