"""Choosing a measure: the right one for the shapes that columns come in, with the reason."""

import numpy as np
import pytest

from termwise.errors import OptionError
from termwise.measures import Empirical, Mixture, Normal, Uniform, choose_measure


def standardised(x):
    return (x - x.mean()) / x.std()


def column(shape, rng, n):
    if shape == "lognormal":
        return standardised(rng.lognormal(size=n))
    if shape == "uniform":
        return standardised(rng.uniform(size=n))
    if shape == "bimodal":
        return standardised(np.where(rng.random(n) < 0.5, rng.normal(-3, 1, n), rng.normal(3, 0.5, n)))
    if shape == "zero-inflated":
        return standardised(np.where(rng.random(n) < 0.3, 0.0, rng.lognormal(size=n)))
    if shape == "few values":
        return standardised(rng.integers(0, 8, n).astype(float))
    if shape == "comb":
        return standardised(3.0 * rng.integers(0, 10, n) + rng.uniform(0, 0.3, n))
    return standardised(rng.normal(size=n))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", [400, 3000])
@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("normal", Normal),
        ("lognormal", Mixture | Empirical),
        ("uniform", Uniform),
        ("bimodal", Mixture),
        ("zero-inflated", Empirical),
        ("few values", Empirical),
        ("comb", Empirical),
    ],
)
def test_the_shape_of_a_column_decides(shape, expected, n, seed):
    choice = choose_measure(column(shape, np.random.default_rng(seed), n))
    assert isinstance(choice.measure, expected), choice.reason


def test_a_normal_column_gets_the_standard_normal():
    assert choose_measure(column("normal", np.random.default_rng(0), 1000)).measure == Normal(0.0, 1.0)


def test_a_few_normal_rows_are_not_taken_for_something_else():
    assert isinstance(choose_measure(column("normal", np.random.default_rng(0), 40)).measure, Normal)


def test_the_reason_gives_the_figures():
    rng = np.random.default_rng(0)
    assert "8 distinct values: empirical" in choose_measure(column("few values", rng, 400)).reason
    assert "of the rows share the value" in choose_measure(column("zero-inflated", rng, 400)).reason
    assert "largest gap to the standard normal 0.0" in choose_measure(column("normal", rng, 400)).reason


@pytest.mark.parametrize("kind", ["normal", "mixture", "uniform", "empirical"])
def test_a_kind_that_is_asked_for_is_obeyed(kind):
    choice = choose_measure(column("zero-inflated", np.random.default_rng(0), 300), kind=kind)
    assert choice.measure.kind == kind
    assert "as asked" in choice.reason


def test_a_constant_column_has_one_point():
    assert choose_measure(np.zeros(50)).measure == Empirical((0.0,), (1.0,))


@pytest.mark.parametrize("values", [[], [[1.0, 2.0]], [1.0, np.nan]])
def test_values_that_are_no_column_are_refused(values):
    with pytest.raises(OptionError):
        choose_measure(np.array(values))


def test_an_unknown_kind_is_refused():
    with pytest.raises(OptionError, match="use one of auto, normal"):
        choose_measure(np.zeros(3), kind="gamma")
