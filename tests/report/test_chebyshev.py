"""Functions in pieces of polynomials: as exact as floating point, kinks at the breaks included."""

import numpy as np
import pytest

from termwise.kernels.component import Component
from termwise.kernels.matern import Matern12, Matern32, Matern52
from termwise.kernels.squared_exponential import SquaredExponential
from termwise.measures import Empirical, Mixture, Normal, Uniform
from termwise.report.chebyshev import in_pieces
from termwise.report.running import Numbers, _mean

POINTS = np.linspace(-30.0, 30.0, 4001)


def test_a_smooth_function_to_its_last_digits() -> None:
    pieces = in_pieces(lambda x: np.exp(-(x**2)) * np.cos(5.0 * x), np.array([-8.0, 8.0]))
    x = np.linspace(-8.0, 8.0, 999)
    np.testing.assert_allclose(pieces(x), np.exp(-(x**2)) * np.cos(5.0 * x), rtol=0, atol=1e-13)
    np.testing.assert_array_equal(pieces(np.array([-9.0, 9.0])), 0.0)


def test_a_kink_at_a_break_is_kept() -> None:
    pieces = in_pieces(np.abs, np.array([-1.0, 0.0, 2.0]))
    x = np.linspace(-1.0, 2.0, 301)
    np.testing.assert_allclose(pieces(x), np.abs(x), rtol=0, atol=1e-15)


@pytest.mark.parametrize("lengthscale", [0.03, 1.0, 50.0])
@pytest.mark.parametrize("kernel", [SquaredExponential, Matern12, Matern32, Matern52])
@pytest.mark.parametrize(
    "measure",
    [
        Normal(0.2, 0.9),
        Uniform(-1.5, 2.0),
        Mixture((0.3, 0.7), (-1.0, 0.8), (0.2, 1.1)),
        Empirical((-1.0, 0.0, 0.7), (0.2, 0.3, 0.5)),
    ],
    ids=lambda measure: measure.kind,
)
def test_the_mean_of_a_kernel_goes_along_exactly(kernel, measure, lengthscale) -> None:
    component = Component(kernel(lengthscale), measure, 1.7)
    numbers = Numbers()
    found = _mean(component, numbers)
    whole = np.concatenate(numbers.parts)
    part = {name: whole[place["at"] : place["at"] + place["size"]] for name, place in found.items()}
    if "atoms" in part:
        distance = np.abs(POINTS[:, None] / lengthscale - part["atoms"])
        value = component.kernel.profile(distance) @ part["weights"]
    else:
        from termwise.report.chebyshev import Pieces

        edges = part["edges"]
        value = Pieces(edges, part["pieces"].reshape(edges.size - 1, -1))(POINTS)
    np.testing.assert_allclose(value, component.amplitude(POINTS), rtol=0, atol=1e-11)
