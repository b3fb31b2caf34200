"""Rows left out, and what follows from them for all variances."""

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from termwise import OAKRegressor
from termwise.encode.rows import ArrayChunk
from termwise.inference.calibrate import FACTORS, LeftOut, leave_out, together
from termwise.inference.exact import ExactObjective
from termwise.inference.fit import Candidate, FitOptions, fit_exact
from tests.inference.mixed import mixed_model

NOISE = 0.5


def normal_errors(widening, n=4000, seed=0):
    """Errors whose variance is so many times what was said of it."""
    rng = np.random.default_rng(seed)
    known = rng.gamma(2.0, 0.5, n)
    return LeftOut(np.sqrt(widening * (known + NOISE)) * rng.standard_normal(n), known, 0)


@pytest.mark.parametrize("widening", [1.0, 2.0, 5.0])
def test_the_factor_is_by_how_much_errors_are_larger_than_said(widening):
    found = normal_errors(widening).scatter(NOISE)
    assert found.factor == pytest.approx(widening, rel=0.2)
    assert found.noise.variance == pytest.approx(widening * NOISE, rel=0.25)


def test_variances_are_never_narrowed():
    assert normal_errors(0.3).scatter(NOISE).factor == 1.0


def test_no_other_factor_makes_the_errors_as_likely():
    left_out = normal_errors(3.0, n=200)
    found = left_out.scatter(NOISE)

    def log_posterior(factor):
        sd = np.sqrt(factor * (left_out.known + NOISE))
        return norm.logpdf(left_out.errors, scale=sd).sum() - 0.5 * np.log(factor) ** 2

    assert len(found.noise.weights) == 1  # normal errors need no mixture
    assert found.factor == max(FACTORS, key=log_posterior)


def test_heavy_tails_are_left_to_the_scatter():
    rng = np.random.default_rng(0)
    known = np.full(600, 0.01)
    left_out = LeftOut(0.3 * student(2).rvs(600, random_state=rng), known, 0)
    found = left_out.scatter(0.1)
    new = 0.3 * student(2).rvs(100_000, random_state=rng)
    density = found.noise.log_density(new, np.full(new.size, found.factor * 0.01)).mean()
    assert density > student(2, scale=0.3).logpdf(new).mean() - 0.05


def a_table(seed, n=60):
    """A model of columns of every kind, rows with missing cells, and targets."""
    rng = np.random.default_rng(seed)
    model, X = mixed_model(rng, n)
    return model, X, np.nan_to_num(X[:, 0]) + 0.3 * rng.standard_normal(n)


def test_a_row_is_predicted_by_others_alone():
    model, X, y = a_table(3)
    objective = ExactObjective(model, X, y, 1)
    theta = objective.model.start(np.full(len(model.columns), 1.0), 0.1)
    tested = np.array([3, 7, 20])
    found = leave_out(objective, tested, theta, lambda *_: None)
    moved = y.copy()
    moved[tested] += 100.0
    other = leave_out(ExactObjective(model, X, moved, 1), tested, theta, lambda *_: None)
    np.testing.assert_allclose(other.errors - found.errors, 100.0, rtol=1e-10)
    np.testing.assert_array_equal(other.known, found.known)


def test_folds_are_put_together():
    parts = [normal_errors(1.0, n=10, seed=seed) for seed in (1, 2)]
    both = together(parts)
    assert both.errors.tolist() == [*parts[0].errors, *parts[1].errors]
    assert both.known.tolist() == [*parts[0].known, *parts[1].known]


def test_a_factor_of_all_variances_leaves_means_and_widens_the_rest():
    model, X, y = a_table(1)
    found = fit_exact([Candidate(model, ArrayChunk(X, y))], FitOptions(n_starts=1), np.random.default_rng(0))
    posterior = found.posterior
    wider = posterior.scaled(3.0)
    np.testing.assert_allclose(wider.mean(posterior.centres), posterior.mean(posterior.centres), atol=1e-10)
    np.testing.assert_allclose(
        wider.variance(posterior.centres), 3.0 * posterior.variance(posterior.centres), rtol=1e-8, atol=1e-12
    )
    for term in ((0,), (0, 1)):
        np.testing.assert_allclose(
            wider.term_mean(term, posterior.centres), posterior.term_mean(term, posterior.centres), atol=1e-10
        )
        np.testing.assert_allclose(
            wider.term_variance(term, posterior.centres),
            3.0 * posterior.term_variance(term, posterior.centres),
            rtol=1e-8,
            atol=1e-12,
        )
    assert wider.noise == 3.0 * posterior.noise


def test_few_rows_of_many_columns_are_not_taken_for_more_than_they_tell():
    """With 60 rows of 8 columns the evidence alone is far too sure; intervals should still hold."""
    covered, widened = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((1060, 8))
        y = np.sin(2.0 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2 + 0.3 * rng.standard_normal(1060)
        model = OAKRegressor(n_restarts=1).fit(X[:60], y[:60])
        widened.append(model.fit_result_.scale)
        covered.append(next(c.covered for c in model.check(X[60:], y[60:]).coverage if c.level == 0.9))
    assert np.mean(covered) > 0.85
    assert np.mean(widened) > 1.2
