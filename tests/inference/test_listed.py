"""Models of listed terms: every engine against sums of these terms written out, and against all terms."""

from dataclasses import replace

import numpy as np
import pytest

from termwise.encode.rows import ArrayChunk
from termwise.inference.approximate import SiteObjective
from termwise.inference.exact import ExactObjective
from termwise.inference.inducing import choose_rows
from termwise.inference.orders import EachOrder
from termwise.inference.sites import RULES
from termwise.inference.sparse import SparseObjective
from termwise.inference.workers import LocalWorkers
from termwise.kernels.selection import EVERY, ListedTerms, selection_of
from termwise.likelihoods import Logit
from tests.inference.mixed import any_theta, check_gradient, explicit, first_theta, mixed_model
from tests.inference.test_approximate import problem as site_problem
from tests.oracle import additive as oracle

ROWS = 24
ORDERS = EachOrder((0, 1, 2, 3))
# Of eight columns; the seventh, of levels, stands in three terms and the sixth in none.
TERMS = ListedTerms(((0,), (3,), (6,), (1, 2), (0, 6), (2, 4, 7), (1, 3, 6)))


def problem(selection=TERMS, seed=0):
    rng = np.random.default_rng(seed)
    every, X = mixed_model(rng, ROWS, ORDERS)
    model = replace(every, selection=selection)
    theta = any_theta(model, rng, first_theta(model, 0.9, 0.05))
    return model, X, theta, rng.standard_normal(ROWS)


def written_out(kernel, rows, terms):
    """sum_u variance_|u| prod z_d, on the diagonal with the mean variance of what is missing."""
    K = sum(oracle.term_matrix(kernel, term, rows, rows) for term in ((), *terms))
    own = [kernel.term_diagonal(term, rows) for term in ((), *terms)]
    np.fill_diagonal(K, np.sum(own, axis=0))
    return K


def test_the_exact_value_is_that_of_the_terms_written_out():
    model, X, theta, y = problem()
    kernel, rows = explicit(model, theta, X)
    K = written_out(kernel, rows, TERMS.terms)
    expected = oracle.log_marginal_likelihood(K, y, np.exp(theta[-1]))
    value, gradient = ExactObjective(model, X, y, threads=1).value_and_gradient(theta)
    assert value == pytest.approx(expected + model.log_prior(theta)[0], rel=1e-9)
    check_gradient(ExactObjective(model, X, y, threads=2), theta, gradient)


def test_the_posterior_has_these_terms_only():
    model, X, theta, y = problem()
    posterior = ExactObjective(model, X, y, threads=1).posterior(theta)
    kernel, rows = explicit(model, theta, X)
    K, noise = written_out(kernel, rows, TERMS.terms), float(np.exp(theta[-1]))
    new = rows[~np.isnan(rows).any(axis=1)][:5]
    cross = sum(oracle.term_matrix(kernel, term, new, rows) for term in ((), *TERMS.terms))
    mean, covariance = oracle.condition(written_out(kernel, new, TERMS.terms), cross, K, y, noise)
    np.testing.assert_allclose(posterior.mean(new), mean, atol=1e-9)
    np.testing.assert_allclose(posterior.variance(new), np.diag(covariance), atol=1e-9)
    each = posterior.term_means(((), *TERMS.terms), new)
    np.testing.assert_allclose(each.sum(axis=1), mean, atol=1e-9)


def test_with_all_rows_inducing_the_sparse_bound_is_exact_and_its_gradient_right():
    model, X, theta, y = problem()
    whole = ~np.isnan(X).any(axis=1)
    X, y = X[whole], y[whole]
    exact, slope = ExactObjective(model, X, y, threads=1).value_and_gradient(theta)
    sparse = SparseObjective(model, [ArrayChunk(X, y)], X, LocalWorkers(1))
    value, gradient = sparse.value_and_gradient(theta)
    assert value == pytest.approx(exact, abs=1e-5)
    np.testing.assert_allclose(gradient, slope, rtol=1e-4, atol=1e-4)


def test_missing_cells_are_noise_of_the_terms_that_need_them():
    model, X, theta, y = problem()
    sparse = SparseObjective(model, [ArrayChunk(X, y)], X[:10], LocalWorkers(1))
    check_gradient(sparse, theta, sparse.value_and_gradient(theta)[1])
    kernel, rows = explicit(model, theta, X)
    unused = np.full((1, X.shape[1]), np.nan)
    unused[0, [d for d in range(8) if d != 5]] = rows[~np.isnan(rows).any(axis=1)][0][[0, 1, 2, 3, 4, 6, 7]]
    posterior = sparse.posterior(theta).posterior
    known = unused.copy()
    known[0, 5] = 0.3
    assert posterior.variance(unused)[0] == pytest.approx(posterior.variance(known)[0], rel=1e-12)
    assert kernel.max_order == 3


def test_sites_and_the_choice_of_rows_know_the_list():
    every, X, observed, theta = site_problem(Logit())
    listed = ListedTerms(((0,), (2, 5)))
    model = replace(every, selection=listed)
    objective = SiteObjective(model, X, observed, RULES["variational"])
    check_gradient(objective, theta, objective.value_and_gradient(theta)[1], step=1e-4, within=2e-4)
    assert objective.posterior(theta).terms == ((), *listed.terms)
    # Of rows that are equal in the columns of the terms one is enough.
    same = np.tile(X[~np.isnan(X).any(axis=1)][:1], (9, 1))
    same[:, 1] = np.arange(9.0)
    assert len(choose_rows("variance", model, theta, same, 9, np.random.default_rng(0))) == 1
    assert len(choose_rows("variance", every, theta, same, 9, np.random.default_rng(0))) > 1


def test_a_list_of_all_terms_is_every_term():
    terms = tuple(oracle.subsets(8, 3)[1:])
    assert selection_of(terms, 8) is EVERY
    assert selection_of(None, 8) is EVERY
    assert selection_of(terms[:-1], 8).terms == terms[:-1]
    every, X, theta, y = problem(EVERY)
    listed = replace(every, selection=ListedTerms(terms))
    one, other = (ExactObjective(model, X, y, 1).value_and_gradient(theta) for model in (every, listed))
    assert one[0] == pytest.approx(other[0], rel=1e-12)
    np.testing.assert_allclose(one[1], other[1], rtol=1e-9, atol=1e-9)


def test_sums_over_orders_and_their_gradient_by_differences():
    rng = np.random.default_rng(3)
    z, s, g = rng.standard_normal((8, 5)), rng.uniform(0.5, 1.5, 4), rng.standard_normal(5)

    def value(z, s):
        return float((s @ TERMS.by_order(z, 3)) @ g)

    by_s, by_z = TERMS.adjoint(z, s, g)
    for place in np.ndindex(z.shape):
        step = np.zeros(z.shape)
        step[place] = 1e-6
        slope = (value(z + step, s) - value(z - step, s)) / 2e-6
        assert by_z[place] == pytest.approx(slope, abs=1e-7)
    np.testing.assert_allclose(by_s, TERMS.by_order(z, 3) @ g, rtol=1e-12)
