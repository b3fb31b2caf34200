"""The sparse engine says what dense formulas, differences and the exact engine say."""

from itertools import pairwise

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import termwise.inference.sparse as sparse_module
from termwise.encode.rows import ArrayChunk
from termwise.explain.sobol import term_variances
from termwise.inference import blocks
from termwise.inference.exact import ExactObjective
from termwise.inference.orders import AllSubsets, EachOrder
from termwise.inference.sparse import JITTER, SparseObjective
from termwise.inference.workers import LocalWorkers
from tests.inference.mixed import MIXED, any_theta, check_gradient, explicit, first_theta, mixed_model
from tests.oracle import additive as oracle
from tests.oracle.sparse import SparseOracle

ROWS, INDUCING = 26, 9
TERMS = [(), (0,), (5,), (6,), (2, 3), (0, 7), (4, 5)]

ORDERS = {"each": EachOrder((0, 1, 2)), "some": EachOrder((0, 1, 3)), "all-subsets": AllSubsets(8)}
every_order = pytest.mark.parametrize("orders", ORDERS.values(), ids=ORDERS)


def problem(orders=None, *, columns=MIXED, n=ROWS, seed=0):
    """A model at some vector, rows, targets, and inducing rows that are not among them; cells are missing."""
    rng = np.random.default_rng(seed)
    model, both = mixed_model(rng, n + INDUCING, orders, names=columns)
    theta = any_theta(model, rng, first_theta(model, 0.9, 0.05))
    X, Z = both[:n], both[n:]
    X[2, -1] = Z[1, 0] = np.nan
    return model, theta, X, rng.standard_normal(n), Z


def sparse(model, X, y, Z, *, sizes=None, threads=1):
    """The objective, its rows in chunks of these sizes."""
    ends = np.cumsum([0, *(sizes or [len(X)])])
    chunks = [ArrayChunk(X[a:b], y[a:b]) for a, b in pairwise(ends)]
    assert ends[-1] == len(X)
    return SparseObjective(model, chunks, Z, LocalWorkers(threads))


def dense(model, theta, X, y, Z):
    kernel, rows = explicit(model, theta, X)
    return SparseOracle(kernel, rows, y, explicit(model, theta, Z)[1], float(np.exp(theta[-1])), JITTER)


# The objective.


@every_order
def test_the_value_is_the_collapsed_bound_and_the_log_prior(orders):
    model, theta, X, y, Z = problem(orders)
    value, _ = sparse(model, X, y, Z).value_and_gradient(theta)
    expected = dense(model, theta, X, y, Z).bound()
    assert value == pytest.approx(expected + model.log_prior(theta)[0], rel=1e-9)
    again = sparse(model, X, y, Z).posterior(theta).objective
    assert again == value


@every_order
def test_the_gradient_is_that_of_the_value(orders):
    model, theta, X, y, Z = problem(orders)
    objective = sparse(model, X, y, Z)
    check_gradient(objective, theta, objective.value_and_gradient(theta)[1])


@pytest.mark.parametrize(
    "columns",
    [("paper-warped", "paper-normal"), ("free-levels", "free-binary"), ("free", "free-levels", "levels")],
    ids="+".join,
)
def test_the_gradient_of_the_forms_of_the_papers(columns):
    model, theta, X, y, Z = problem(columns=columns)
    objective = sparse(model, X, y, Z)
    check_gradient(objective, theta, objective.value_and_gradient(theta)[1])


def test_the_gradient_where_no_cell_is_missing():
    model, theta, X, y, Z = problem(n=40)
    whole = ~np.isnan(X).any(axis=1)
    objective = sparse(model, X[whole], y[whole], Z[~np.isnan(Z).any(axis=1)])
    check_gradient(objective, theta, objective.value_and_gradient(theta)[1])


@every_order
def test_without_late_parameters_the_rest_of_the_gradient_is_the_same(orders):
    model, theta, X, y, Z = problem(orders)
    early = ~model.late()
    assert not early.all()
    objective = sparse(model, X, y, Z)
    (value, gradient), (same, part) = (
        objective.value_and_gradient(theta, late=late) for late in (True, False)
    )
    assert same == value
    np.testing.assert_allclose(part[early], gradient[early], rtol=1e-12, atol=1e-12)


def test_evaluations_are_counted():
    model, theta, X, y, Z = problem()
    objective = sparse(model, X, y, Z)
    objective.value_and_gradient(theta)
    objective.value_and_gradient(theta, late=False)
    assert objective.evaluations == 2


# The posterior.


def fitted():
    """The posterior, its oracle, and new rows with missing cells."""
    model, theta, X, y, Z = problem()
    posterior = sparse(model, X, y, Z).posterior(theta).posterior
    expected = dense(model, theta, X, y, Z)
    new = np.concatenate([expected.X[[0, 3, 5, 8, 11]], expected.Z[:2]])
    new[:, 0] += 0.3
    assert np.isnan(new).any()
    return posterior, expected, new


def test_mean_and_covariance_are_those_of_the_dense_formulas():
    posterior, expected, new = fitted()
    kernel = expected.kernel
    mean, covariance = expected.condition(
        oracle.gram(kernel, new), oracle.additive_matrix(kernel, new, expected.Z)
    )
    np.testing.assert_allclose(posterior.mean(new), mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(posterior.variance(new), np.diag(covariance), rtol=0, atol=1e-8)
    np.testing.assert_allclose(posterior.covariance(new), covariance, rtol=0, atol=1e-8)
    assert posterior.noise == pytest.approx(expected.noise, rel=1e-14)


def test_at_the_inducing_rows_it_is_the_posterior_of_the_inducing_variables():
    posterior, expected, _ = fitted()
    mean, covariance = expected.inducing_posterior()
    lost = oracle.additive_diagonal(expected.kernel, expected.Z) - np.diag(expected.Kuu)
    np.testing.assert_allclose(posterior.mean(expected.Z), mean, rtol=0, atol=1e-7)
    np.testing.assert_allclose(
        posterior.covariance(expected.Z) - np.diag(lost), covariance, rtol=0, atol=1e-7
    )


@pytest.mark.parametrize("term", TERMS, ids=str)
def test_every_term_has_the_mean_and_covariance_of_the_dense_formulas(term):
    posterior, expected, new = fitted()
    prior = oracle.term_matrix(expected.kernel, term, new, new)
    np.fill_diagonal(prior, expected.kernel.term_diagonal(term, new))  # where a cell is missing: its mean
    mean, covariance = expected.condition(prior, oracle.term_matrix(expected.kernel, term, new, expected.Z))
    np.testing.assert_allclose(posterior.term_mean(term, new), mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(posterior.term_variance(term, new), np.diag(covariance), rtol=0, atol=1e-8)
    np.testing.assert_allclose(posterior.term_covariance(term, new), covariance, rtol=0, atol=1e-8)


# With all rows inducing it is the exact engine.


@every_order
def test_with_all_rows_inducing_the_objective_and_its_gradient_are_exact(orders):
    model, theta, X, y, _ = problem(orders)
    value, gradient = sparse(model, X, y, X).value_and_gradient(theta)
    expected, exact = ExactObjective(model, X, y, threads=1).value_and_gradient(theta)
    assert value == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(gradient, exact, rtol=1e-6, atol=1e-6)


def both_engines(columns=MIXED):
    model, theta, X, y, _ = problem(columns=columns)
    posterior = sparse(model, X, y, X).posterior(theta).posterior
    exact = ExactObjective(model, X, y, threads=1).posterior(theta)
    new = model.encoded(theta, X)
    new[::2, 0] += 0.3
    return posterior, exact, new


def test_with_all_rows_inducing_the_posterior_is_exact():
    posterior, exact, new = both_engines()
    np.testing.assert_allclose(posterior.mean(new), exact.mean(new), rtol=0, atol=1e-6)
    np.testing.assert_allclose(posterior.variance(new), exact.variance(new), rtol=0, atol=1e-6)
    np.testing.assert_allclose(posterior.covariance(new), exact.covariance(new), rtol=0, atol=1e-6)


@pytest.mark.parametrize("term", oracle.subsets(len(MIXED), 2), ids=str)
def test_with_all_rows_inducing_every_term_is_exact(term):
    posterior, exact, new = both_engines()
    np.testing.assert_allclose(posterior.term_mean(term, new), exact.term_mean(term, new), rtol=0, atol=1e-6)
    np.testing.assert_allclose(
        posterior.term_variance(term, new), exact.term_variance(term, new), rtol=0, atol=1e-6
    )


def test_with_all_rows_inducing_the_shares_are_exact():
    posterior, exact, _ = both_engines([name for name in MIXED if name != "free"])
    found, expected = term_variances(posterior), term_variances(exact)
    assert found.terms == expected.terms
    assert expected.total > 0.1
    np.testing.assert_allclose(found.variances, expected.variances, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.variances / found.total, expected.variances / expected.total, atol=1e-6)
    np.testing.assert_allclose(found.by_order, expected.by_order, rtol=0, atol=1e-6)


@every_order
def test_the_bound_is_below_the_exact_objective_and_grows_with_the_inducing_rows(orders):
    model, theta, X, y, _ = problem(orders)
    values = [
        sparse(model, X, y, X[:count]).value_and_gradient(theta)[0] for count in (1, 2, 5, 12, 20, ROWS)
    ]
    assert all(more > less for less, more in pairwise(values))
    exact, _ = ExactObjective(model, X, y, threads=1).value_and_gradient(theta)
    assert values[-2] < exact
    assert values[-1] == pytest.approx(exact, rel=1e-6)


# What must not matter.


@pytest.mark.parametrize("sizes", [[1] * ROWS, [1, ROWS - 1], [13, 13], [4, 1, 20, 1]], ids=str)
def test_how_the_rows_are_cut_into_chunks_does_not_matter(sizes):
    model, theta, X, y, Z = problem()
    value, gradient = sparse(model, X, y, Z).value_and_gradient(theta)
    again, same = sparse(model, X, y, Z, sizes=sizes).value_and_gradient(theta)
    assert again == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(same, gradient, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("size", [1, 7, ROWS - 1])
def test_how_the_rows_are_cut_into_blocks_does_not_matter(size, monkeypatch):
    model, theta, X, y, Z = problem()
    value, gradient = sparse(model, X, y, Z).value_and_gradient(theta)
    monkeypatch.setattr(blocks, "BLOCK_ROWS", size)
    again, same = sparse(model, X, y, Z).value_and_gradient(theta)
    assert again == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(same, gradient, rtol=1e-10, atol=1e-10)


def test_the_number_of_threads_does_not_matter_at_all(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 3)
    model, theta, X, y, Z = problem()
    with threadpool_limits(limits=1, user_api="blas"):
        objectives = [sparse(model, X, y, Z, sizes=[19, 7], threads=threads) for threads in (1, 2, 3)]
        found = [objective.value_and_gradients(theta) for objective in objectives]
        posteriors = [objective.posterior(theta).posterior for objective in objectives]
    value, gradient, rows = found[0]
    for again, same, same_rows in found[1:]:
        assert again == value
        assert np.array_equal(same, gradient)
        assert np.array_equal(same_rows.u, rows.u)
        assert np.array_equal(same_rows.a, rows.a)
    for posterior in posteriors[1:]:
        assert np.array_equal(posterior.alpha, posteriors[0].alpha)
        assert np.array_equal(posterior.root, posteriors[0].root)


def test_the_order_of_the_rows_does_not_matter():
    model, theta, X, y, Z = problem()
    rng = np.random.default_rng(1)
    rows, centres = rng.permutation(ROWS), rng.permutation(INDUCING)
    value, gradient = sparse(model, X, y, Z).value_and_gradient(theta)
    again, same = sparse(model, X[rows], y[rows], Z[centres]).value_and_gradient(theta)
    assert again == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(same, gradient, rtol=1e-8, atol=1e-8)


def test_an_inducing_row_twice_is_as_good_as_once():
    model, theta, X, y, Z = problem()
    once, twice = sparse(model, X, y, Z), sparse(model, X, y, np.concatenate([Z, Z]))
    value, gradient = once.value_and_gradient(theta)
    again, same = twice.value_and_gradient(theta)
    assert again == pytest.approx(value, abs=1e-5)
    np.testing.assert_allclose(same, gradient, rtol=1e-4, atol=1e-4)


def test_all_that_is_added_to_the_diagonal_is_reported(monkeypatch):
    model, theta, X, y, Z = problem()
    objective = sparse(model, X, y, Z)
    objective.value_and_gradient(theta)
    kernel = model.kernel(theta)
    encoded = model.encoded(theta, Z)
    diagonal = np.diag(kernel.matrix(encoded, encoded))
    assert objective.jitter == pytest.approx(sparse_module.JITTER * diagonal.mean(), rel=1e-9)
    monkeypatch.setattr(sparse_module, "JITTER", 0.0)
    model, theta, X, y, Z = problem()
    objective = sparse(model, X, y, np.repeat(Z, 3, axis=0))
    value, gradient = objective.value_and_gradient(theta)
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))
    assert objective.jitter > 0.0
    objective.jitter = 0.0
    objective.posterior(theta)
    assert objective.jitter > 0.0
