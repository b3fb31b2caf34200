"""Sobol indices and their intervals, against draws from the measures, exact sums and joint posteriors."""

from itertools import product

import numpy as np
import pytest
from scipy.linalg import block_diag

from termwise.explain import intervals, sobol
from termwise.explain.intervals import DRAWS, share_intervals
from termwise.explain.sobol import listed_order, sampled_variances, subsets, term_variances
from termwise.kernels.additive import AdditiveKernel
from termwise.kernels.categorical import Categorical
from termwise.kernels.column import Stationary
from termwise.kernels.component import Component
from termwise.kernels.matern import Matern12, Matern32, Matern52
from termwise.kernels.squared_exponential import SquaredExponential
from termwise.measures import Continuous, Discrete, Empirical, Mixture, Normal, Uniform
from tests.oracle import additive as oracle
from tests.oracle.quadrature import expectation

KERNELS = (SquaredExponential, Matern12, Matern32, Matern52)
MEASURES = {
    "normal": Normal(0.1, 1.1),
    "mixture": Mixture((0.4, 0.6), (-1.0, 0.8), (0.5, 0.7)),
    "uniform": Uniform(-1.8, 1.9),
    "empirical": Empirical((-1.5, -0.2, 0.4, 1.3, 2.0), (0.1, 0.3, 0.3, 0.2, 0.1)),
}
LEVELS = Component(Categorical((0.5, -1.0, 0.2), (0.3, 0.6, 1.0)), Discrete((0.2, 0.5, 0.3)), 0.8)
VARIANCES = (0.3, 1.0, 0.6)

every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
every_measure = pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)


def posterior_of(components, variances=VARIANCES, *, n=14, missing=True, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, len(components)))
    for d, component in enumerate(components):
        if isinstance(component.kernel, Categorical):
            X[:, d] = rng.integers(0, 3, n)
    y = np.sin(2 * X[:, 0]) + X[:, 1] * (1 + X[:, 0]) + 0.1 * rng.standard_normal(n)
    if missing:
        X[2, 0] = X[5, 1] = X[7, 0] = np.nan
    return oracle.posterior_of(AdditiveKernel(tuple(components), variances), X, y, noise)


def pair(kernel, measure):
    return Component(kernel(0.6), measure, 1.4), Component(kernel(1.7), measure, 0.8)


@every_kernel
@every_measure
def test_the_variance_of_a_term_is_that_over_draws_from_the_measures(kernel, measure):
    posterior = posterior_of([*pair(kernel, measure), LEVELS])
    found = term_variances(posterior)
    count = 20_000
    streams = np.random.default_rng(1).spawn(3)
    measures = (measure, measure, LEVELS.measure)
    X = np.transpose([m.sample(rng, count) for m, rng in zip(measures, streams, strict=True)])
    for term, variance in zip(found.terms, found.variances, strict=True):
        f = posterior.term_mean(term, X)
        assert abs(f.mean()) <= 5 * f.std() / np.sqrt(count)  # orthogonal to constants
        assert abs(np.mean(f**2) - variance) <= 5 * np.std(f**2) / np.sqrt(count)


def integrated(posterior, term):
    """R_u = variance^2 alpha' prod_d int z_d(Z, s) z_d(s, Z) dp(s) alpha, by quadrature."""
    L = np.ones((posterior.alpha.size,) * 2)
    for d in term:
        component, centres = posterior.kernel.components[d], posterior.centres[:, d]
        stationary = isinstance(component.kernel, Stationary)

        def both(s, component=component, centres=centres):
            z = component.matrix(centres, s)
            return z[:, None, :] * z[None, :, :]

        L *= expectation(
            component.measure,
            both,
            breaks=centres[~np.isnan(centres)] if stationary else (),
            reach=component.kernel.lengthscale if stationary else 1.0,
        )
    return posterior.kernel.variances[len(term)] ** 2 * posterior.alpha @ L @ posterior.alpha


@every_kernel
@every_measure
def test_the_variance_of_a_term_is_the_integral(kernel, measure):
    posterior = posterior_of([*pair(kernel, measure), LEVELS])
    found = term_variances(posterior)
    # Panels do not end at the centres, where a Matern kernel has its kink.
    rough = isinstance(measure, Continuous)
    tolerance = (
        {"matern12": 5e-3, "matern32": 1e-6, "matern52": 1e-8}.get(kernel.name, 1e-10) if rough else 1e-10
    )
    for term, variance in zip(found.terms, found.variances, strict=True):
        assert variance == pytest.approx(integrated(posterior, term), rel=tolerance)


@every_kernel
def test_under_discrete_measures_the_variance_is_the_exact_sum(kernel):
    posterior = posterior_of([*pair(kernel, MEASURES["empirical"]), LEVELS])
    found = term_variances(posterior)
    nodes = [component.measure.nodes() for component in posterior.kernel.components]
    grid = np.array(list(product(*(points for points, _ in nodes))))
    weights = np.prod(list(product(*(weights for _, weights in nodes))), axis=1)
    total = 0.0
    for term, variance in zip(found.terms, found.variances, strict=True):
        f = posterior.term_mean(term, grid)
        assert weights @ f == pytest.approx(0.0, abs=1e-12)
        assert variance == pytest.approx(weights @ f**2, rel=1e-10)
        total += weights @ f**2
    # Orthogonal terms: their variances sum to that of the whole.
    whole = posterior.mean(grid)
    assert found.total == pytest.approx(weights @ (whole - weights @ whole) ** 2, rel=1e-10)
    assert found.total == pytest.approx(total, rel=1e-10)


MIXED = [
    Component(SquaredExponential(0.7), Normal(0.1, 1.1), 1.3),
    Component(Matern12(1.5), Uniform(-2.5, 2.5), 0.6),
    LEVELS,
    Component(Matern52(0.4), MEASURES["empirical"], 1.1),
]


def test_orders_are_the_sums_of_their_terms():
    posterior = posterior_of(MIXED, (0.3, 1.0, 0.6, 0.4, 0.9))
    found = term_variances(posterior)
    assert sorted(found.terms) == sorted(u for u in oracle.subsets(4, 4) if u)
    for order in range(1, 5):
        listed = sum(v for u, v in zip(found.terms, found.variances, strict=True) if len(u) == order)
        assert found.by_order[order] == pytest.approx(listed, rel=1e-10)
    assert found.variances.sum() / found.total == pytest.approx(1.0, rel=1e-10)


def test_orders_too_long_to_list_still_have_their_totals():
    posterior = posterior_of(MIXED, (0.3, 1.0, 0.6, 0.4, 0.9))
    whole, short = term_variances(posterior), term_variances(posterior, most_terms=10)
    assert [len(u) for u in short.terms] == [1, 2, 2, 2, 1, 2, 2, 1, 2, 1]
    np.testing.assert_allclose(short.by_order, whole.by_order, rtol=1e-14)
    by_term = dict(zip(whole.terms, whole.variances, strict=True))
    np.testing.assert_allclose(short.variances, [by_term[u] for u in short.terms], rtol=1e-14)
    assert term_variances(posterior, most_terms=3).terms == ()


def test_the_order_of_the_columns_does_not_matter():
    posterior = posterior_of(MIXED, (0.3, 1.0, 0.6, 0.4))
    found = term_variances(posterior)
    order = (2, 0, 3, 1)
    kernel = AdditiveKernel(tuple(MIXED[d] for d in order), posterior.kernel.variances)
    shuffled = type(posterior)(
        kernel, posterior.centres[:, order], posterior.alpha, posterior.root, posterior.noise
    )
    again = term_variances(shuffled)
    expected = dict(zip(found.terms, found.variances, strict=True))
    for term, variance in zip(again.terms, again.variances, strict=True):
        assert variance == pytest.approx(expected[tuple(sorted(order[d] for d in term))], rel=1e-10)


def test_centres_in_more_than_one_tile(monkeypatch):
    posterior = posterior_of(MIXED)
    whole = term_variances(posterior)
    monkeypatch.setattr(sobol, "TILE", 4)
    tiled = term_variances(posterior)
    np.testing.assert_allclose(tiled.variances, whole.variances, rtol=1e-10)
    np.testing.assert_allclose(tiled.by_order, whole.by_order, rtol=1e-10)


@pytest.mark.parametrize("n_columns", [1, 2, 5])
@pytest.mark.parametrize("max_order", [0, 1, 3, 5])
def test_subsets_are_all_of_them_once(n_columns, max_order):
    found = list(subsets(n_columns, max_order))
    assert sorted(found) == sorted(u for u in oracle.subsets(n_columns, max_order) if u)
    # Depth first: a subset follows the one it extends, which the compiled loop relies on.
    assert found == sorted(found)


def test_the_listed_order_counts_terms():
    assert listed_order(10, 3, 175) == 3  # 10 + 45 + 120
    assert listed_order(10, 3, 174) == 2
    assert listed_order(10, 3, 9) == 0


def test_terms_that_are_not_orthogonal_have_their_variance_over_the_rows():
    free = [Component(SquaredExponential(0.7), None), Component(SquaredExponential(1.5), None)]
    posterior = posterior_of(free, (0.3, 1.0, 0.6), missing=False)
    X = posterior.centres
    found = sampled_variances(posterior, X)
    np.testing.assert_allclose(
        found.variances, [np.var(posterior.term_mean(u, X)) for u in found.terms], rtol=1e-12
    )
    first = posterior.term_mean((0,), X) + posterior.term_mean((1,), X)
    assert found.by_order[1] == pytest.approx(np.var(first), rel=1e-10)
    assert found.by_order[2] == pytest.approx(np.var(posterior.term_mean((0, 1), X)), rel=1e-10)
    assert found.complete
    assert found.total == pytest.approx(np.sum(found.variances))


def test_an_order_without_variance_has_no_terms_and_one_with_too_many_is_counted_whole():
    free = [Component(SquaredExponential(0.5 + 0.1 * d), None) for d in range(4)]
    posterior = posterior_of(free, (0.3, 0.0, 0.0, 0.0, 0.6), missing=False)
    assert sampled_variances(posterior, posterior.centres).terms == ((0, 1, 2, 3),)
    posterior = posterior_of(free, (0.3, 1.0, 0.5), missing=False)
    found = sampled_variances(posterior, posterior.centres, most_terms=5)
    assert found.terms == ((0,), (1,), (2,), (3,))
    assert not found.complete
    assert found.total == pytest.approx(np.sum(found.variances) + found.by_order[2])


# Intervals.


def brute_force_shares(posterior, terms, grids, count=4000):
    """Shares of joint draws of all terms, each on a grid (rows, weights), by the textbook formulas."""
    kernel, X = posterior.kernel, posterior.centres
    pairs = list(zip(terms, grids, strict=True))
    cross = np.concatenate([kernel.term_matrix(u, rows, X) for u, (rows, _) in pairs])
    prior = block_diag(*(kernel.term_matrix(u, rows, rows) for u, (rows, _) in pairs))
    half = cross @ posterior.root
    values, vectors = np.linalg.eigh(prior - half @ half.T)
    noise = np.random.default_rng(8).standard_normal((count, values.size))
    draws = cross @ posterior.alpha + (noise * np.sqrt(np.maximum(values, 0))) @ vectors.T
    ends = np.cumsum([len(rows) for rows, _ in grids])[:-1]
    R = [part**2 @ w for part, (_, w) in zip(np.split(draws, ends, axis=1), grids, strict=True)]
    return np.transpose(R / np.sum(R, axis=0))


def check_intervals(posterior, grids_of, *, slack=0.0):
    found = term_variances(posterior)
    intervals = share_intervals(posterior, found, np.random.default_rng(0))
    shares = brute_force_shares(posterior, found.terms, grids_of(found.terms))
    # The 5 % point of DRAWS draws is a level that varies by sqrt(.05 .95 / DRAWS) about 5 %.
    slack += 4 * np.sqrt(0.05 * 0.95 * (1 / DRAWS + 1 / len(shares)))
    for (low, high), draws in zip(intervals, shares.T, strict=True):
        assert low < high
        assert abs(np.mean(draws < low) - 0.05) < slack
        assert abs(np.mean(draws > high) - 0.05) < slack


@every_kernel
def test_intervals_are_the_quantiles_of_joint_draws(kernel):
    posterior = posterior_of([*pair(kernel, MEASURES["empirical"]), LEVELS], noise=0.05, n=20)
    nodes = [component.measure.nodes() for component in posterior.kernel.components]
    rows = np.array(list(product(*(points for points, _ in nodes))))
    weights = np.prod(list(product(*(weights for _, weights in nodes))), axis=1)
    check_intervals(posterior, lambda terms: [(rows, weights)] * len(terms))


@every_kernel
@pytest.mark.parametrize("kind", ["normal", "mixture", "uniform"])
def test_intervals_under_a_density_are_those_on_a_fine_grid(kernel, kind):
    posterior = posterior_of(pair(kernel, MEASURES[kind]), (0.3, 1.0), noise=0.05, n=20)
    # Sixty values of the same probability, the means of the sixtieths of a large sample.
    sample = np.sort(MEASURES[kind].sample(np.random.default_rng(3), 60_000))
    values, weights = sample.reshape(60, 1000).mean(axis=1), np.full(60, 1 / 60)

    def grids(terms):
        rows = np.full((len(terms), 60, 2), np.nan)
        for row, term in zip(rows, terms, strict=True):
            row[:, term[0]] = values
        return [(row, weights) for row in rows]

    check_intervals(posterior, grids, slack=0.01)


def test_intervals_close_in_on_the_share_when_the_data_say_everything():
    smooth = [Component(SquaredExponential(2.0), Normal(), 4.0), Component(Matern52(4.0), Normal(), 4.0)]
    posterior = posterior_of([*smooth, LEVELS], n=60, noise=1e-5, missing=False)
    found = term_variances(posterior)
    low, high = share_intervals(posterior, found, np.random.default_rng(0)).T
    shares = found.variances / found.total
    leading = shares > 0.05
    assert leading.sum() >= 2
    assert np.all((low < shares)[leading] & (shares < high)[leading])
    assert np.all((high - low)[leading] < 0.1)


def test_only_small_terms_are_without_an_interval():
    posterior = posterior_of(MIXED[:3], n=60, noise=1e-3, missing=False)
    found = term_variances(posterior)
    low, _ = share_intervals(posterior, found, np.random.default_rng(0)).T
    drawn = ~np.isnan(low)
    assert drawn.any()
    assert np.max(found.variances[~drawn], initial=0.0) <= np.min(found.variances[drawn])


def test_the_same_stream_gives_the_same_intervals():
    posterior = posterior_of(MIXED)
    found = term_variances(posterior)
    first, again = (share_intervals(posterior, found, np.random.default_rng(4)) for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_a_term_of_many_columns_is_drawn_with_its_largest_coefficients_only():
    rng = np.random.default_rng(3)
    nodes = np.sort(rng.standard_normal(30))
    measure = Empirical(tuple(nodes.tolist()), (1 / 30,) * 30)
    deep = [Component(Matern12(0.3), measure) for _ in range(8)]
    posterior = posterior_of(deep, (0.3, *[1.0] * 8), missing=False)
    bases = [intervals._basis(posterior, d) for d in range(8)]  # 30^8 coefficients in all
    part = intervals._coefficients(posterior, tuple(range(8)), bases)
    assert part.prior.size == part.cross.shape[1] == intervals.MOST_OF_A_TERM
    prior = intervals._coefficients(posterior, (0, 1), bases).prior
    largest = np.sort(np.outer(bases[0][1], bases[1][1]).ravel())[::-1]
    np.testing.assert_allclose(prior, largest[: prior.size], rtol=1e-12)
