"""Second moments of the constrained kernel, against adaptive quadrature."""

import numpy as np
import pytest

from termwise.kernels.means import kernel_mean, kernel_mean_variance, residual_variance
from termwise.kernels.second_moments import SECOND_MOMENTS, by_nodes, second_moment
from termwise.kernels.squared_exponential import SquaredExponential
from termwise.measures import Discrete, Empirical, Normal, Uniform
from tests.kernels.adaptive import CONTINUOUS, EXAMPLES, KERNELS, expectation

every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
every_continuous = pytest.mark.parametrize("measure", CONTINUOUS, ids=lambda m: m.kind)


def oracle(k, measure, x, y):
    cx, cy, v = kernel_mean(k, measure, x), kernel_mean(k, measure, y), kernel_mean_variance(k, measure)

    def product(s):
        c = kernel_mean(k, measure, np.array([s]))[0] / v
        left, right = k.evaluate(x, np.array(s)) - cx * c, k.evaluate(y, np.array(s)) - cy * c
        return np.outer(left, right)

    breaks = [*x, *y, *([measure.low, measure.high] if isinstance(measure, Uniform) else [])]
    return expectation(measure, product, breaks=breaks, reach=k.lengthscale)


@every_kernel
@every_continuous
@pytest.mark.parametrize("lengthscale", [0.05, 1.5])
def test_second_moments_are_the_integrals(kernel, measure, lengthscale):
    k, x, y = kernel(lengthscale), np.array([-1.7, 0.3, 0.32]), np.array([-4.0, 0.0, 0.3, 1.6])
    np.testing.assert_allclose(second_moment(k, measure, x, y), oracle(k, measure, x, y), rtol=0, atol=1e-11)


@every_kernel
@pytest.mark.parametrize("kind", [Empirical, Discrete])
def test_second_moments_under_discrete_measures_are_exact_sums(kernel, kind):
    measure, k = EXAMPLES[kind], kernel(0.9)
    points, weights = measure.nodes()
    x = np.array([0.0, 1.0, 3.0])
    v = kernel_mean_variance(k, measure)
    expected = np.zeros((3, 3))
    for s, w in zip(points, weights, strict=True):
        row = (
            k.evaluate(x, np.array(s))
            - kernel_mean(k, measure, x) * kernel_mean(k, measure, np.array([s])) / v
        )
        expected += w * np.outer(row, row)
    np.testing.assert_allclose(second_moment(k, measure, x, x), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("pair", SECOND_MOMENTS, ids=lambda p: f"{p[0].name}-{p[1].kind}")
@pytest.mark.parametrize("lengthscale", [0.02, 0.3, 2.0, 10.0])
def test_closed_forms_agree_with_nodes(pair, lengthscale):
    kernel, measure = pair[0](lengthscale), EXAMPLES[pair[1]]
    x = np.linspace(-4, 4, 9)
    closed = SECOND_MOMENTS[pair](kernel, measure, x, x)
    np.testing.assert_allclose(closed, by_nodes(kernel, measure, x, x), rtol=0, atol=1e-13)


@pytest.mark.parametrize("lengthscale", [30.0, 1000.0])
def test_a_long_lengthscale_keeps_its_digits(lengthscale):
    # Normalised, the kernel tends to x y / sd^2; the sum of four numbers near one is 1e-4 wrong at 1000.
    k, measure, x = SquaredExponential(lengthscale), Normal(0.0, 1.5), np.array([-2.0, 0.5, 3.0])
    moment = second_moment(k, measure, x, x) / residual_variance(k, measure) ** 2
    np.testing.assert_allclose(moment, np.outer(x, x) / 1.5**2, rtol=30 / lengthscale**2)
