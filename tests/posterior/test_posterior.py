"""The posterior: its terms are the whole, its draws have its moments, what is missing is not known."""

from dataclasses import replace

import numpy as np
import pytest

from termwise.errors import NumericalError
from termwise.kernels.additive import AdditiveKernel
from termwise.kernels.categorical import Categorical
from termwise.kernels.component import Component
from termwise.kernels.matern import Matern32
from termwise.kernels.squared_exponential import SquaredExponential
from termwise.measures import Discrete, Empirical, Normal
from termwise.posterior import posterior as module
from termwise.posterior.posterior import Posterior
from tests.oracle import additive as oracle

KERNEL = AdditiveKernel(
    (
        Component(SquaredExponential(0.8), Normal(), 1.5),
        Component(Matern32(1.2), Empirical((-1.0, 0.0, 0.7, 1.5), (0.2, 0.3, 0.3, 0.2)), 1.2),
        Component(Categorical((0.4, -0.8, 0.3), (0.5, 0.6, 1.0)), Discrete((0.2, 0.5, 0.3)), 0.9),
        Component(SquaredExponential(1.5), None, 0.7),
    ),
    (0.3, 0.8, 0.5, 0.2),
)
TERMS = oracle.subsets(4, 3)
NOISE = 0.05


def rows(n: int, seed: int, *, missing: float = 0.15) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    X[:, 2] = rng.integers(0, 3, n)
    X[rng.uniform(size=X.shape) < missing] = np.nan
    return X


X, NEW = rows(25, 0), rows(9, 1)
Y = np.random.default_rng(2).standard_normal(25)


@pytest.fixture(scope="module")
def posterior() -> Posterior:
    return oracle.posterior_of(KERNEL, X, Y, NOISE)


def test_the_constant_and_the_terms_sum_to_the_mean(posterior):
    total = sum(posterior.term_mean(term, NEW) for term in TERMS)
    np.testing.assert_allclose(total, posterior.mean(NEW), rtol=0, atol=1e-10)


def test_many_terms_at_once_are_each_of_them(posterior):
    shuffled = [TERMS[i] for i in np.random.default_rng(0).permutation(len(TERMS))]
    together = posterior.term_means(shuffled, NEW)
    for column, term in zip(together.T, shuffled, strict=True):
        np.testing.assert_allclose(column, posterior.term_mean(term, NEW), rtol=0, atol=1e-12)
    some = [(1, 3), (0,), (0, 1, 2), ()]
    np.testing.assert_allclose(
        posterior.term_means(some, NEW), np.transpose([posterior.term_mean(u, NEW) for u in some]), atol=1e-12
    )


def test_a_term_is_zero_and_as_unsure_as_before_where_one_of_its_cells_is_missing(posterior):
    gone = NEW.copy()
    gone[:, 1] = np.nan
    for term in TERMS:
        if 1 in term:
            np.testing.assert_array_equal(posterior.term_mean(term, gone), 0.0)
            prior = posterior.kernel.term_diagonal(term, gone)
            np.testing.assert_array_equal(posterior.term_variance(term, gone), prior)
            assert np.all(prior > 0.0)
        else:
            np.testing.assert_allclose(
                posterior.term_mean(term, gone), posterior.term_mean(term, NEW), atol=1e-12
            )


def test_a_missing_cell_is_the_mean_over_what_it_might_have_been(posterior):
    # The measure of the cell is discrete, so the mean over it is an exact sum.
    every = np.tile(rows(1, 5, missing=0.0), (3, 1))
    every[:, 2], gone = np.arange(3.0), rows(1, 5, missing=0.0)
    gone[0, 2] = np.nan
    p = np.array([0.2, 0.5, 0.3])
    assert posterior.mean(gone)[0] == pytest.approx(p @ posterior.mean(every), abs=1e-12)
    prior = p @ KERNEL.diagonal(every)
    assert KERNEL.diagonal(gone)[0] == pytest.approx(prior, rel=1e-13)
    shared = KERNEL.matrix(gone, X) @ posterior.root
    assert posterior.variance(gone)[0] == pytest.approx(prior - np.sum(shared**2), rel=1e-11)


def test_missing_cells_add_variance(posterior):
    full = rows(30, 7, missing=0.0)
    gone = full.copy()
    gone[:, 1] = np.nan
    # The prior variance of the cell is its mean, so compare on average under the measure of the cell.
    points, weights = KERNEL.components[1].measure.nodes()
    average = np.zeros(30)
    for point, weight in zip(points, weights, strict=True):
        full[:, 1] = point
        average += weight * posterior.variance(full)
    assert np.all(posterior.variance(gone) > average)
    nothing = np.full((1, 4), np.nan)
    v, mean_z = KERNEL.variances, [c.mean_variance for c in KERNEL.components]
    prior = sum(v[len(u)] * np.prod([mean_z[d] for d in u]) for u in TERMS)
    known = posterior.term_variance((), nothing)[0] - v[0]
    assert posterior.variance(nothing)[0] == pytest.approx(prior + known, rel=1e-12)


def test_the_variance_is_the_diagonal_of_the_covariance(posterior):
    covariance = posterior.covariance(NEW)
    np.testing.assert_allclose(np.diag(covariance), posterior.variance(NEW), rtol=1e-11)
    np.testing.assert_allclose(covariance, covariance.T, atol=1e-14)
    assert np.linalg.eigvalsh(covariance).min() > -1e-12
    for term in ((), (0,), (1, 2)):
        np.testing.assert_allclose(
            np.diag(posterior.term_covariance(term, NEW)), posterior.term_variance(term, NEW), atol=1e-12
        )


def test_draws_have_the_mean_and_the_covariance(posterior):
    count = 20_000
    for draws, mean, covariance in (
        (
            posterior.sample(NEW, count, np.random.default_rng(3)),
            posterior.mean(NEW),
            posterior.covariance(NEW),
        ),
        (
            posterior.term_sample((0, 1), NEW, count, np.random.default_rng(3)),
            posterior.term_mean((0, 1), NEW),
            posterior.term_covariance((0, 1), NEW),
        ),
    ):
        assert draws.shape == (count, len(NEW))
        sd = np.sqrt(np.diag(covariance))
        error = np.sqrt(1 / count)
        assert np.all(np.abs(draws.mean(axis=0) - mean) <= 5 * error * sd + 1e-7)
        spread = np.outer(sd, sd)
        sampling = error * np.sqrt(spread**2 + covariance**2)  # sd of the entries of a Wishart matrix
        assert np.all(np.abs(np.cov(draws.T) - covariance) <= 5 * sampling + 1e-9)


def test_the_same_stream_gives_the_same_draws(posterior):
    first, again = (posterior.sample(NEW, 3, np.random.default_rng(4)) for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_a_pruned_posterior_is_the_sum_of_its_terms(posterior):
    kept = ((), (0,), (1, 2), (0, 1, 3))
    pruned = replace(posterior, terms=kept)
    np.testing.assert_allclose(
        pruned.mean(NEW), sum(posterior.term_mean(u, NEW) for u in kept), rtol=0, atol=1e-12
    )
    complete = NEW[~np.isnan(NEW).any(axis=1)]
    assert len(complete)
    inverse = np.linalg.inv(oracle.gram(KERNEL, X) + NOISE * np.eye(len(X)))
    prior = sum(oracle.term_matrix(KERNEL, u, complete, complete) for u in kept)
    cross = sum(oracle.term_matrix(KERNEL, u, complete, X) for u in kept)
    np.testing.assert_allclose(
        pruned.covariance(complete), prior - cross @ inverse @ cross.T, rtol=0, atol=1e-10
    )
    np.testing.assert_allclose(np.diag(pruned.covariance(NEW)), pruned.variance(NEW), rtol=1e-11)


def test_a_posterior_pruned_to_all_its_terms_is_the_whole(posterior):
    pruned = replace(posterior, terms=tuple(TERMS))
    np.testing.assert_allclose(pruned.mean(NEW), posterior.mean(NEW), rtol=0, atol=1e-11)
    np.testing.assert_allclose(pruned.variance(NEW), posterior.variance(NEW), rtol=1e-11)
    np.testing.assert_allclose(pruned.covariance(NEW), posterior.covariance(NEW), rtol=0, atol=1e-11)


def test_a_posterior_pruned_to_the_constant_loses_nothing_to_missing_cells(posterior):
    pruned = replace(posterior, terms=((),))
    np.testing.assert_allclose(pruned.mean(NEW), posterior.term_mean((), NEW), rtol=1e-13)
    np.testing.assert_allclose(pruned.variance(NEW), posterior.term_variance((), NEW), rtol=1e-10)


@pytest.mark.parametrize("terms", [None, ((), (0,), (1, 2))], ids=["whole", "pruned"])
def test_no_rows_give_no_predictions(posterior, terms):
    chosen, none = replace(posterior, terms=terms), np.empty((0, 4))
    assert chosen.mean(none).shape == (0,)
    assert chosen.variance(none).shape == (0,)
    assert chosen.covariance(none).shape == (0, 0)
    assert chosen.sample(none, 3, np.random.default_rng(0)).shape == (3, 0)
    assert chosen.term_mean((0,), none).shape == (0,)
    assert chosen.term_variance((0,), none).shape == (0,)
    assert chosen.term_means([(0,), (1, 2)], none).shape == (0, 2)


def test_rows_are_predicted_block_by_block(posterior, monkeypatch):
    many = rows(40, 9)
    whole = posterior.mean(many), posterior.variance(many), posterior.term_means(TERMS, many)
    monkeypatch.setattr(module, "BLOCK", 16)
    parts = posterior.mean(many), posterior.variance(many), posterior.term_means(TERMS, many)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def test_a_negative_variance_is_an_error_not_a_zero(posterior):
    wrong = replace(posterior, root=3.0 * posterior.root)
    with pytest.raises(NumericalError, match="posterior variance is -"):
        wrong.variance(X[~np.isnan(X).any(axis=1)])


def test_at_a_row_with_next_to_no_noise_the_variance_is_the_noise_and_not_below_zero():
    complete = rows(20, 3, missing=0.0)
    y = np.random.default_rng(2).standard_normal(20)
    posterior = oracle.posterior_of(KERNEL, complete, y, 1e-9)
    variance = posterior.variance(complete)
    assert np.all(variance >= 0.0)
    assert np.all(variance < 1e-6)


def test_a_nearly_linear_effect_has_a_variance_everywhere():
    # Normalised at a long lengthscale z(x, x) tends to x^2: next to nothing at the centre of the measure.
    for kernel in (SquaredExponential(100.0), Matern32(100.0)):
        points = tuple(np.linspace(-2.0, 2.0, 41))
        component = Component(kernel, Empirical(points, (1 / 41,) * 41))
        component = replace(component, weight=1.0 / component.mean_variance)
        x = np.random.default_rng(0).standard_normal((60, 1))
        posterior = oracle.posterior_of(AdditiveKernel((component,), (1.0, 1.0)), x, x[:, 0], 1e-5)
        grid = np.concatenate([np.linspace(-2, 2, 81), [1e-9, 1e-7, 1e-5]])[:, None]
        variance = posterior.term_variance((0,), grid)
        assert np.all(variance >= 0.0)
        assert np.all(variance < 0.1)
