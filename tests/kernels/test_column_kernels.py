"""Column kernels: what every one promises."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from scipy.special import gamma, kv

from termwise.errors import OptionError
from tests.kernels.adaptive import KERNELS


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_a_kernel_is_symmetric_positive_definite_and_has_unit_variance(kernel):
    x = np.random.default_rng(0).normal(size=30)
    K = kernel(0.7).matrix(x, x)
    np.testing.assert_allclose(K, K.T, rtol=0, atol=0)
    assert np.linalg.eigvalsh(K).min() > -1e-13
    np.testing.assert_array_equal(kernel(0.7).diag(x), np.ones(30))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_evaluate_is_the_profile_of_the_scaled_distance(kernel):
    k = kernel(0.7)
    np.testing.assert_allclose(
        k.evaluate(np.array([2.0]), np.array([0.6])), k.profile(np.array([2.0])), rtol=1e-14
    )


def test_matern_kernels_are_those_of_the_bessel_formula():
    r = np.linspace(0.1, 5.0, 20)
    for kernel in KERNELS:
        if kernel.name.startswith("matern"):
            nu = int(kernel.name[-2]) / 2
            t = np.sqrt(2 * nu) * r
            bessel = 2 ** (1 - nu) / gamma(nu) * t**nu * kv(nu, t)
            np.testing.assert_allclose(kernel().profile(r), bessel, rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_the_deficit_is_one_minus_the_kernel_and_keeps_its_digits(kernel):
    r = np.array([0.0, 1e-3, 0.1, 1.0, 5.0, 1e3])
    np.testing.assert_allclose(kernel().deficit(r), 1 - kernel().profile(r), atol=1e-15)
    tiny = 1e-5  # 1 - k has one digit to six digits here; the power of r that it starts with is known
    ratio = kernel().deficit(np.array([2 * tiny])) / kernel().deficit(np.array([tiny]))
    power = 1 if kernel.name == "matern12" else 2
    np.testing.assert_allclose(ratio, 2.0**power, rtol=1e-4)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_a_kernel_is_a_frozen_value(kernel):
    k = kernel(0.3)
    assert replace(k, lengthscale=2.0) == kernel(2.0)
    with pytest.raises(FrozenInstanceError):
        k.lengthscale = 1.0
    with pytest.raises(OptionError, match="lengthscale is -1"):
        kernel(-1.0)
