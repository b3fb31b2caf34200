"""What every column that is learned promises. New kinds are found by themselves."""

import importlib
import inspect
import pkgutil
from dataclasses import fields

import numpy as np
import pytest

import termwise.inference
from termwise.inference.columns import Cotangent, State, TrainableColumn
from termwise.kernels.fused.block import MISSING, TABLE
from tests.inference.mixed import any_theta, bent, meaning, sample_columns
from tests.oracle.additive import column_matrix

for module in pkgutil.walk_packages(termwise.inference.__path__, f"{termwise.inference.__name__}."):
    importlib.import_module(module.name)

ROWS = 14
NAMES = list(sample_columns(np.random.default_rng(0), ROWS))

every_column = pytest.mark.parametrize("name", NAMES)


def column_at(name: str, seed: int = 0) -> tuple[TrainableColumn, np.ndarray, np.ndarray]:
    """A column, its cells, and some parameters."""
    rng = np.random.default_rng(seed)
    column, cells = sample_columns(rng, ROWS)[name]
    return column, cells, any_theta(column, rng, column.start(0.8))


def kinds(parent: type = TrainableColumn) -> set[type]:
    found = set()
    for child in parent.__subclasses__():
        found |= kinds(child)
        if child.__module__.startswith("termwise.") and not inspect.isabstract(child):
            found.add(child)
    return found


def test_every_kind_of_column_has_a_sample():
    sampled = {type(column) for column, _ in sample_columns(np.random.default_rng(0), ROWS).values()}
    new = sorted(kind.__name__ for kind in kinds() - sampled)
    assert not new, f"no sample of {', '.join(new)}: add one to sample_columns in tests/inference/mixed.py"


def test_the_random_function_below_weighs_every_output():
    outputs = {field.name for field in fields(State)}
    assert {field.name for field in fields(Cotangent)} | {"u", "a"} == {
        name for name in outputs if f"d{name}" in outputs
    } | {"table"}


@every_column
def test_the_gradient_is_that_of_any_function_of_the_state(name):
    column, x, theta = column_at(name)
    rng = np.random.default_rng(3)
    state = column.state(theta, x)
    by_u, by_a = np.where(np.isnan(x), 0.0, rng.standard_normal(ROWS)), rng.standard_normal(ROWS)
    given = Cotangent(
        rng.standard_normal(),
        rng.standard_normal(),
        rng.standard_normal(state.table.shape),
    )

    def function(at):
        s = column.state(at, x)
        u = np.where(np.isnan(x), 0.0, s.u)
        return (
            by_u @ u
            + by_a @ s.a
            + given.weight * s.weight
            + given.mean_variance * s.mean_variance
            + np.sum(given.table * s.table)
        )

    exact = column.row_gradient(state, by_u, by_a) + column.gradient(theta, state, given)
    assert exact.shape == theta.shape
    for i, (low, high) in enumerate(column.bounds()):
        if low < high:
            step = 1e-5 * np.eye(theta.size)[i]
            central = (function(theta + step) - function(theta - step)) / 2e-5
            assert exact[i] == pytest.approx(central, rel=1e-6, abs=1e-6), f"parameter {i}"


@every_column
def test_a_state_like_another_is_the_same_as_one_by_itself(name):
    column, x, theta = column_at(name)
    alone, like = column.state(theta, x), column.state(theta, x, like=column.state(theta, x[:1]))
    for field in fields(State):
        np.testing.assert_array_equal(getattr(like, field.name), getattr(alone, field.name))


@every_column
def test_the_log_prior_has_its_gradient(name):
    column, _, theta = column_at(name)
    _, exact = column.log_prior(theta)
    for i in range(theta.size):
        step = 1e-5 * np.eye(theta.size)[i]
        central = (column.log_prior(theta + step)[0] - column.log_prior(theta - step)[0]) / 2e-5
        assert exact[i] == pytest.approx(central, rel=1e-6, abs=1e-8)


@every_column
def test_the_state_and_the_component_are_the_same_kernel(name):
    column, x, theta = column_at(name)
    state, component = column.state(theta, x), column.component(theta)
    x = bent(column, theta, x)
    assert component.code == column.kind
    np.testing.assert_allclose(state.u, component.coordinates(x), rtol=1e-12)
    assert state.mean_variance == pytest.approx(component.mean_variance, rel=1e-11)
    if column.kind == TABLE:
        np.testing.assert_allclose(state.table, component.table, rtol=0, atol=1e-13)
    else:
        np.testing.assert_allclose(state.a, component.amplitude(x), rtol=1e-11)
        assert state.weight == pytest.approx(component.weight, rel=1e-11)
        np.testing.assert_array_equal(state.u == MISSING, np.isnan(x))


@every_column
def test_the_component_is_what_the_docstring_says(name):
    column, x, theta = column_at(name)
    x = bent(column, theta, x)
    expected = column_matrix(meaning(column, theta), x, x)
    np.testing.assert_allclose(column.component(theta).matrix(x, x), expected, rtol=0, atol=1e-10)


@every_column
def test_the_steps_learned_encode_the_rows_as_the_kernel_sees_them(name):
    column, x, theta = column_at(name)
    encoded = x
    for step in column.steps(theta):
        encoded = step.forward(encoded)
    np.testing.assert_allclose(encoded, bent(column, theta, x), rtol=1e-12)


@every_column
@pytest.mark.parametrize("lengthscale", [0.05, 1.0, 90.0])
def test_a_number_starts_from_the_kernel_of_the_paper(name, lengthscale):
    column, _ = sample_columns(np.random.default_rng(1), ROWS)[name]
    if column.kind == TABLE:
        return
    component = column.component(column.start(lengthscale))
    assert component.kernel.lengthscale == pytest.approx(lengthscale, rel=1e-14)
    assert component.weight == pytest.approx(1.0, rel=1e-9)


@every_column
def test_a_column_starts_inside_its_bounds(name):
    column, _ = sample_columns(np.random.default_rng(0), ROWS)[name]
    start = column.start(1.5)
    low, high = np.transpose(column.bounds())
    assert start.shape == low.shape
    assert np.all(start >= low)
    assert np.all(start <= high)


@every_column
def test_normalised_the_mean_variance_is_the_relevance(name):
    column, x, theta = column_at(name)
    if name.startswith("paper") or name == "free":
        return
    relevance = theta[0] if column.kind == TABLE else theta[-1]
    assert column.state(theta, x).mean_variance == pytest.approx(np.exp(relevance), rel=1e-12)
