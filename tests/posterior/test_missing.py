"""Where cells are missing, variances are those over all that the cells might have been."""

from dataclasses import replace

import numpy as np
import pytest

from termwise import OAKRegressor
from termwise.kernels.additive import AdditiveKernel
from termwise.kernels.component import Component
from termwise.kernels.squared_exponential import SquaredExponential
from termwise.measures import Discrete, Empirical, Mixture, Normal, Uniform
from termwise.measures.standing import standing_for
from termwise.posterior.posterior import Posterior
from tests.oracle import additive as oracle
from tests.posterior.test_posterior import KERNEL, NOISE, Y, rows

MANY = Empirical.fit(np.random.default_rng(0).exponential(size=400))
NUMBERS = {
    "normal": Normal(0.3, 2.0),
    "mixture": Mixture((0.2, 0.8), (-3.0, 1.0), (0.4, 1.0)),
    "uniform": Uniform(-1.0, 3.0),
    "many values": MANY,
}
ORTHOGONAL = AdditiveKernel(
    (*KERNEL.components[:3], Component(SquaredExponential(1.5), Normal(), 0.7)), KERNEL.variances
)
X, NEW = rows(25, 0), rows(9, 1, missing=0.0)


@pytest.fixture(scope="module")
def posterior() -> Posterior:
    return oracle.posterior_of(ORTHOGONAL, X, Y, NOISE)


@pytest.mark.parametrize("name", NUMBERS)
def test_values_that_stand_for_numbers_have_their_mean_and_variance(name):
    found = standing_for(NUMBERS[name])
    points, weights = NUMBERS[name].nodes()
    mean = weights @ points
    assert np.sum(found.weights) == pytest.approx(1.0)
    assert found.weights @ found.values == pytest.approx(mean, rel=1e-9, abs=1e-9)
    assert found.weights @ (found.values - mean) ** 2 == pytest.approx(weights @ (points - mean) ** 2)
    # They lie where the numbers do.
    assert points.min() - 0.01 * np.std(points) < found.values.min()
    assert found.values.max() < points.max() + 0.01 * np.std(points)


@pytest.mark.parametrize(
    "measure",
    [
        Discrete((0.2, 0.001, 0.5, 0.299)),
        Discrete(tuple(np.full(70, 1.0 / 70))),
        Empirical((0.0, 1.0), (0.99, 0.01)),
    ],
)
def test_levels_and_atoms_stand_for_themselves_however_rare(measure):
    found, (points, weights) = standing_for(measure), measure.nodes()
    np.testing.assert_array_equal(found.values, points)
    np.testing.assert_allclose(found.weights, weights)


@pytest.mark.parametrize("column", range(4))
def test_the_variance_of_a_row_is_that_over_what_its_cell_might_have_been(posterior, column):
    points, weights = ORTHOGONAL.components[column].measure.nodes()
    gone = NEW.copy()
    gone[:, column] = np.nan
    variance = posterior.variance(gone)
    for row, found in zip(NEW, variance, strict=True):
        every = np.tile(row, (points.size, 1))
        every[:, column] = points
        mean = posterior.mean(every)
        expected = weights @ posterior.variance(every) + weights @ (mean - weights @ mean) ** 2
        assert found == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("term", [(0,), (1, 3), (0, 2, 3)])
def test_so_is_that_of_a_term(posterior, term):
    column = term[-1]
    points, weights = ORTHOGONAL.components[column].measure.nodes()
    gone = NEW.copy()
    gone[:, column] = np.nan
    np.testing.assert_array_equal(posterior.term_mean(term, gone), 0.0)
    variance = posterior.term_variance(term, gone)
    for row, found in zip(NEW, variance, strict=True):
        every = np.tile(row, (points.size, 1))
        every[:, column] = points
        expected = weights @ (posterior.term_variance(term, every) + posterior.term_mean(term, every) ** 2)
        assert found == pytest.approx(expected, rel=0.02)
    other = next(d for d in range(4) if d not in term)
    gone = NEW.copy()
    gone[:, other] = np.nan
    np.testing.assert_allclose(posterior.term_variance(term, gone), posterior.term_variance(term, NEW))


@pytest.mark.parametrize("kept", [None, ((), (0,), (1,), (0, 1))], ids=["whole", "pruned"])
def test_several_cells_vary_apart(posterior, kept):
    posterior = replace(posterior, terms=kept)
    gone = NEW.copy()
    gone[:, [0, 1, 2]] = np.nan
    rng = np.random.default_rng(3)
    for row, found in zip(NEW, posterior.variance(gone), strict=True):
        every = np.tile(row, (4000, 1))
        for column in (0, 1, 2):
            every[:, column] = ORTHOGONAL.components[column].measure.sample(rng, 4000)
        expected = np.mean(posterior.variance(every)) + np.var(posterior.mean(every))
        assert found == pytest.approx(expected, rel=0.1)


def test_of_many_missing_cells_all_are_filled_in_at_once():
    """Their variances add up about as well as chance lets them."""
    columns = 12
    kernel = AdditiveKernel((Component(SquaredExponential(5.0), Normal()),) * columns, (0.1, 1.0))
    X = np.random.default_rng(0).standard_normal((300, columns))
    known = oracle.posterior_of(kernel, X, X.sum(axis=1), 1e-4)
    for count in (5, 8, 12):
        gone = np.zeros((1, columns))
        gone[0, :count] = np.nan
        assert known.variance(gone)[0] == pytest.approx(count, rel=0.35)


def test_any_two_of_many_cells_vary_apart():
    """Two linear functions of cells that are missing: their variances add up, whichever columns these are."""
    columns = 20
    kernel = AdditiveKernel((Component(SquaredExponential(5.0), Normal()),) * columns, (0.1, 1.0))
    X = np.random.default_rng(0).standard_normal((300, columns))
    known = oracle.posterior_of(kernel, X, X.sum(axis=1), 1e-4)
    for one in range(columns):
        for other in range(one):
            gone = np.zeros((1, columns))
            gone[0, [one, other]] = np.nan
            assert known.variance(gone)[0] == pytest.approx(2.0, rel=0.05)


def test_a_factor_of_all_variances_leaves_the_spread(posterior):
    gone = rows(9, 1, missing=0.4)
    unknown, spread = posterior.variance_parts(gone)
    twice, same = posterior.scaled(2.0).variance_parts(gone)
    np.testing.assert_allclose(twice, 2.0 * unknown, rtol=1e-9)
    np.testing.assert_allclose(same, spread, rtol=1e-9, atol=1e-14)


def test_a_rare_level_with_a_large_effect_counts_as_often_as_it_is_there():
    rng = np.random.default_rng(5)
    rare = np.where(np.arange(600) % 100 == 0, "rare", "usual")
    y = 5.0 * (rare == "rare") + 0.1 * rng.standard_normal(600)
    model = OAKRegressor(n_restarts=1).fit({"level": rare, "x": rng.standard_normal(600)}, y)
    _, std = model.predict({"level": np.array([None, None]), "x": np.zeros(2)}, return_std=True)
    assert std[0] == pytest.approx(5.0 * np.sqrt(0.01 * 0.99), rel=0.15)


def test_covariances_have_the_same_variances(posterior):
    gone = rows(9, 1, missing=0.4)
    assert np.any(np.isnan(gone))
    np.testing.assert_allclose(np.diag(posterior.covariance(gone)), posterior.variance(gone))
    own = np.diag(posterior.term_covariance((0, 1), gone))
    np.testing.assert_allclose(own, posterior.term_variance((0, 1), gone))


@pytest.mark.parametrize("inference", ["exact", "sparse"])
@pytest.mark.parametrize("gone", ["a", "b"])
def test_intervals_cover_where_a_cell_is_missing_that_was_never_missing_before(inference, gone):
    """The lost term counts with what was learned of it: one is large and one is small."""
    rng = np.random.default_rng(4)
    X = {"a": rng.standard_normal(500), "b": rng.standard_normal(500)}
    y = 2.0 * X["a"] + 0.5 * np.sin(2.0 * X["b"]) + 0.1 * rng.standard_normal(500)
    train, test = slice(0, 200), slice(200, None)
    model = OAKRegressor(inference=inference, n_restarts=1)
    model.fit({name: x[train] for name, x in X.items()}, y[train])
    new = {name: np.where(name == gone, np.nan, x[test]) for name, x in X.items()}
    mean, std = model.predict(new, return_std=True)
    error = float(np.sqrt(np.mean((y[test] - mean) ** 2)))
    assert float(np.mean(std)) == pytest.approx(error, rel=0.2)
