"""What every column kernel promises, under every measure. New ones are found by themselves."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import numpy as np
import pytest

import termwise.kernels
import termwise.measures
from termwise.kernels.additive import AdditiveKernel
from termwise.kernels.categorical import Categorical
from termwise.kernels.column import ColumnKernel, Stationary
from termwise.kernels.component import Component
from termwise.measures import MEASURES, Continuous, Discrete, Measure
from tests.kernels.adaptive import EXAMPLES
from tests.oracle.additive import base_matrix
from tests.oracle.quadrature import expectation

for package in (termwise.kernels, termwise.measures):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)

# A kernel that is not a function of the distance needs a sample here.
SAMPLES: dict[type[ColumnKernel], list[ColumnKernel]] = {
    Categorical: [
        Categorical((0.5, -1.0, 0.2, 2.0), (0.3, 0.6, 1.0, 0.1)),
        Categorical((0.0, 0.0, 0.0, 0.0), (1.0, 2.0, 1.0, 1.0)),
    ],
}
LENGTHSCALES = (0.05, 0.7, 8.0)


def leaves(parent: type) -> Iterator[type]:
    """Concrete classes of the library that nothing inherits from."""
    for child in parent.__subclasses__():
        if child.__subclasses__():
            yield from leaves(child)
        elif child.__module__.startswith("termwise.") and not inspect.isabstract(child):
            yield child


def samples(kind: type[ColumnKernel]) -> list[ColumnKernel]:
    if issubclass(kind, Stationary):
        return [kind(lengthscale) for lengthscale in LENGTHSCALES]
    return SAMPLES.get(kind, [])


def suits(kernel: ColumnKernel, measure: Measure) -> bool:
    return isinstance(kernel, Stationary) or isinstance(measure, Discrete)


KINDS = sorted(set(leaves(ColumnKernel)), key=lambda kind: kind.__name__)
KERNELS = [kernel for kind in KINDS for kernel in samples(kind)]
PAIRS = [(k, EXAMPLES[m]) for k in KERNELS for m in EXAMPLES if suits(k, EXAMPLES[m])]

every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)
every_pair = pytest.mark.parametrize(
    ("kernel", "measure"), PAIRS, ids=[f"{k.name}-{i}-{m.kind}" for i, (k, m) in enumerate(PAIRS)]
)


def cells(kernel: ColumnKernel, count: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(0.2, 1.3, count) if isinstance(kernel, Stationary) else rng.integers(0, 4, count) * 1.0


def reach(kernel: ColumnKernel) -> float:
    return kernel.lengthscale if isinstance(kernel, Stationary) else 1.0


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kernel_has_a_sample(kind):
    assert samples(kind), f"{kind.__name__} is a new kind of kernel: add an instance to SAMPLES in {__name__}"


def test_every_measure_has_an_example_and_an_entry():
    for kind in leaves(Measure):
        assert kind in EXAMPLES, f"{kind.__name__} is a new measure: add an instance to EXAMPLES"
        assert MEASURES.get(kind.kind) is kind, f"{kind.__name__} is not in MEASURES"


@every_kernel
def test_a_kernel_is_its_formula_symmetric_and_positive_semidefinite(kernel):
    x, y = cells(kernel, 25), cells(kernel, 10, seed=1)
    K = kernel.matrix(x, x)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-13 * K.max()
    np.testing.assert_allclose(kernel.matrix(x, y), base_matrix(kernel, x, y), rtol=1e-13)
    np.testing.assert_allclose(kernel.diag(x), np.diag(base_matrix(kernel, x, x)), rtol=1e-15)
    np.testing.assert_array_equal(kernel.diag(x), np.diag(K))
    if isinstance(kernel, Stationary):
        np.testing.assert_array_equal(kernel.diag(x), np.ones(x.size))


@every_kernel
def test_the_compiled_loop_evaluates_the_kernel(kernel):
    x, y = cells(kernel, 40), cells(kernel, 70, seed=1)
    loop = AdditiveKernel((Component(kernel, None),), (0.0, 1.0)).matrix(x[:, None], y[:, None])
    np.testing.assert_allclose(loop, kernel.matrix(x, y), rtol=1e-13, atol=1e-60)


@every_pair
def test_the_compiled_loop_evaluates_the_constrained_kernel(kernel, measure):
    component = Component(kernel, measure, 1.7)
    x, y = cells(kernel, 40), cells(kernel, 70, seed=1)
    loop = AdditiveKernel((component,), (0.0, 1.0)).matrix(x[:, None], y[:, None])
    np.testing.assert_allclose(loop, component.matrix(x, y), rtol=0, atol=1e-14 * 1.7 * kernel.diag(x).max())


@every_pair
def test_the_constraint_takes_away_a_rank_one_term_and_no_more(kernel, measure):
    component = Component(kernel, measure, 1.7)
    x = cells(kernel, 20)
    Z, a = component.matrix(x, x), component.amplitude(x)
    np.testing.assert_allclose(1.7 * base_matrix(kernel, x, x) - Z, np.outer(a, a), atol=1e-13)
    assert np.linalg.eigvalsh(Z).min() > -1e-12
    np.testing.assert_allclose(component.diagonal(x), np.diag(Z), atol=1e-13)


@every_pair
def test_a_constrained_kernel_is_orthogonal_to_constants(kernel, measure):
    component, x = Component(kernel, measure, 1.7), cells(kernel, 4)
    leak = expectation(measure, lambda s: component.matrix(x, s), breaks=x, reach=reach(kernel))
    discrete = not isinstance(measure, Continuous)
    np.testing.assert_allclose(leak, 0.0, atol=1e-14 if discrete else 1e-11)


@every_pair
def test_the_mean_variance_is_the_mean_of_the_diagonal(kernel, measure):
    component = Component(kernel, measure, 1.7)
    expected = expectation(measure, component.diagonal, reach=reach(kernel))
    # The diagonal at a long lengthscale is a difference of numbers near one.
    assert component.mean_variance == pytest.approx(expected, rel=1e-10, abs=1e-13)


@every_pair
def test_normalised_the_mean_variance_is_one(kernel, measure):
    weight = 1.0 / Component(kernel, measure).mean_variance
    assert Component(kernel, measure, weight).mean_variance == pytest.approx(1.0, rel=1e-13)


@every_pair
def test_a_missing_cell_has_nothing_in_common_with_any_other(kernel, measure):
    component, x = Component(kernel, measure, 1.7), cells(kernel, 6)
    x[[1, 4]] = np.nan
    Z = component.matrix(x, x)
    assert not Z[[1, 4]].any()
    assert not Z[:, [1, 4]].any()
    np.testing.assert_array_equal(component.amplitude(x)[[1, 4]], 0.0)
    np.testing.assert_array_equal(component.diagonal(x)[[1, 4]], component.mean_variance)
    known = ~np.isnan(x)
    np.testing.assert_array_equal(Z[np.ix_(known, known)], component.matrix(x[known], x[known]))
    loop = AdditiveKernel((component,), (0.0, 1.0)).matrix(x[:, None], x[:, None])
    np.testing.assert_allclose(loop[~np.outer(known, known)], 0.0, atol=1e-100)
    full = AdditiveKernel((component,), (0.0, 1.0)).gram(x[:, None])
    np.testing.assert_allclose(np.diag(full)[~known], component.mean_variance, rtol=1e-15)


@every_kernel
def test_without_a_measure_there_is_no_constraint(kernel):
    component, x = Component(kernel, None, 1.7), cells(kernel, 6)
    np.testing.assert_allclose(component.matrix(x, x), 1.7 * base_matrix(kernel, x, x), rtol=1e-13)
    x[2] = np.nan
    assert not component.matrix(x, x)[2].any()
    assert component.diagonal(x)[2] == component.mean_variance
    every = kernel.diag(np.arange(4.0))
    assert component.mean_variance == pytest.approx(1.7 * every.mean(), rel=1e-15)


@every_pair
def test_second_moments_are_the_integrals_whatever_the_tile(kernel, measure):
    component, x = Component(kernel, measure, 1.7), cells(kernel, 5)
    x[3] = np.nan

    def product(s):
        z = component.matrix(x, s)
        return z[:, None, :] * z[None, :, :]

    expected = expectation(measure, product, breaks=x[~np.isnan(x)], reach=reach(kernel))
    moment = component.second_moments(x)
    scale = np.abs(expected).max()
    # Panels do not end at the kinks of a Matern kernel, or there would be one for every row.
    rough = isinstance(measure, Continuous) and getattr(kernel, "kinked", False)
    tolerance = {"matern12": 1e-2, "matern32": 5e-5, "matern52": 5e-7}[kernel.name] if rough else 1e-11
    np.testing.assert_allclose(moment(slice(0, 5), slice(0, 5)), expected, atol=tolerance * scale, rtol=0)
    np.testing.assert_allclose(
        moment(slice(3, 5), slice(0, 2)), expected[3:5, 0:2], atol=tolerance * scale, rtol=0
    )
