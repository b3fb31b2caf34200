"""The exact objective, its gradient and its posterior, against dense formulas and differences."""

from dataclasses import replace

import numpy as np
import pytest

from termwise.errors import NumericalError
from termwise.inference.columns import RELEVANCE_RATE, SHORTEST, WARP_SD, FixedColumn
from termwise.inference.exact import ExactObjective
from termwise.inference.model import Model
from termwise.inference.orders import VARIANCE_RATE, AllSubsets, EachOrder
from termwise.kernels.additive import AdditiveKernel
from termwise.kernels.squared_exponential import SquaredExponential
from termwise.linalg.cholesky import JITTERS, factorise
from termwise.measures import Normal
from tests.inference.mixed import MIXED, any_theta, bent, check_gradient, explicit, first_theta, mixed_model
from tests.oracle import additive as oracle

ROWS = 22

ORDERS = {"each": EachOrder((0, 1, 2)), "some": EachOrder((0, 1, 3)), "all-subsets": AllSubsets(8)}
every_order = pytest.mark.parametrize("orders", ORDERS.values(), ids=ORDERS)


def problem(orders=None, *, seed=0, columns=MIXED):
    rng = np.random.default_rng(seed)
    model, X = mixed_model(rng, ROWS, orders, names=columns)
    theta = any_theta(model, rng, first_theta(model, 0.9, 0.05))
    return model, X, theta, rng.standard_normal(ROWS)


@every_order
def test_the_value_is_the_log_marginal_likelihood_and_the_log_prior(orders):
    model, X, theta, y = problem(orders)
    kernel, rows = explicit(model, theta, X)
    expected = oracle.log_marginal_likelihood(oracle.gram(kernel, rows), y, np.exp(theta[-1]))
    value, _ = ExactObjective(model, X, y, threads=1).value_and_gradient(theta)
    assert value == pytest.approx(expected + model.log_prior(theta)[0], rel=1e-9)


def column_log_prior(column, theta):
    """Exponential relevance, normal warp and shape of levels, -SHORTEST / l against short lengthscales."""
    kind = type(column).__name__
    if kind == "LevelColumn":
        shaped = len(column.measure.probabilities) > 2 or not column.constrained
        return -RELEVANCE_RATE * np.exp(theta[0]) - 0.5 * shaped * np.sum(theta[1:] ** 2)
    value = -SHORTEST / np.exp(theta[0])
    if column.normalise and column.measure is not None:
        value -= RELEVANCE_RATE * np.exp(theta[-1])
    if kind == "WarpedColumn":
        value -= 0.5 * ((theta[1] / WARP_SD[0]) ** 2 + (theta[2] / WARP_SD[1]) ** 2)
    return value


@every_order
def test_the_log_prior_is_a_sum_over_parameters(orders):
    model, _, theta, _ = problem(orders)
    columns = map(column_log_prior, model.columns, model.by_column(theta))
    by_order = -VARIANCE_RATE * np.exp(model.order_parameters(theta)).sum()
    assert model.log_prior(theta)[0] == pytest.approx(sum(columns) + by_order, rel=1e-12)


def test_lengthscales_of_numbers_that_are_alike_are_normal_about_their_mean():
    model, X, theta, y = problem(ORDERS["each"])
    together = replace(model, alike=0.7)
    numbers = [part[0] for part, level in zip(model.by_column(theta), model.levels, strict=True) if not level]
    assert 1 < len(numbers) < len(model.columns)
    expected = -0.5 * np.sum((numbers - np.mean(numbers)) ** 2) / 0.7**2
    assert together.log_prior(theta)[0] - model.log_prior(theta)[0] == pytest.approx(expected, rel=1e-9)
    objective = ExactObjective(together, X, y, threads=1)
    check_gradient(objective, theta, objective.value_and_gradient(theta)[1])


@every_order
@pytest.mark.parametrize("threads", [1, 2])
def test_the_gradient_is_that_of_the_value(orders, threads):
    model, X, theta, y = problem(orders)
    objective = ExactObjective(model, X, y, threads)
    _, exact = objective.value_and_gradient(theta)
    check_gradient(objective, theta, exact)


@pytest.mark.parametrize(
    "columns",
    [("paper-warped", "paper-normal"), ("free-levels", "free-binary"), ("free", "free-levels", "levels")],
    ids="+".join,
)
def test_the_gradient_of_the_forms_of_the_papers(columns):
    model, X, theta, y = problem(columns=columns)
    objective = ExactObjective(model, X, y, threads=1)
    _, exact = objective.value_and_gradient(theta)
    check_gradient(objective, theta, exact)


@pytest.mark.parametrize(
    "columns",
    [MIXED, ("paper-warped", "paper-normal"), ("free", "free-levels", "free-binary")],
    ids=["constrained", "paper", "free"],
)
def test_what_is_optimised_and_what_predicts_are_the_same_process(columns):
    model, X, theta, y = problem(columns=columns)
    kernel = model.kernel(theta)
    parts = zip(model.columns, model.by_column(theta), X.T, strict=True)
    rows = np.transpose([bent(c, t, x) for c, t, x in parts])
    np.testing.assert_allclose(model.encoded(theta, X), rows, rtol=1e-12)
    expected = oracle.log_marginal_likelihood(kernel.gram(rows), y, np.exp(theta[-1]))
    value, _ = ExactObjective(model, X, y, threads=1).value_and_gradient(theta)
    assert value - model.log_prior(theta)[0] == pytest.approx(expected, rel=1e-10)


def test_evaluations_are_counted_and_threads_hardly_matter():
    model, X, theta, y = problem()
    one, two = (ExactObjective(model, X, y, threads) for threads in (1, 2))
    (value, gradient), (again, same) = one.value_and_gradient(theta), two.value_and_gradient(theta)
    assert value == again
    np.testing.assert_allclose(gradient, same, rtol=1e-10, atol=1e-11)
    one.value_and_gradient(theta)
    assert (one.evaluations, two.evaluations) == (2, 1)


def test_the_start_gives_every_order_the_same_variance():
    rng = np.random.default_rng(0)
    columns = tuple(FixedColumn(Normal(), SquaredExponential) for _ in range(5))
    model = Model(columns, EachOrder((0, 1, 2, 3)))
    kernel = model.kernel(model.start(np.ones(5), 0.1))
    draws = rng.standard_normal((40_000, 5))
    for order in range(4):
        only = AdditiveKernel(
            kernel.components, tuple(v if r == order else 0.0 for r, v in enumerate(kernel.variances))
        )
        assert only.diagonal(draws).mean() == pytest.approx(0.25, rel=0.03)


# The posterior.


def fitted():
    model, X, theta, y = problem()
    kernel, rows = explicit(model, theta, X)
    posterior = ExactObjective(model, X, y, threads=1).posterior(theta)
    new = rows[[0, 3, 5, 8]].copy()
    known = ~np.isnan(new[:, 0])
    new[known, 0] += 0.3
    return posterior, kernel, rows, y, np.exp(theta[-1]), new


def test_mean_and_covariance_are_the_textbook_ones():
    posterior, kernel, X, y, noise, new = fitted()
    mean, covariance = oracle.condition(
        oracle.gram(kernel, new), oracle.additive_matrix(kernel, new, X), oracle.gram(kernel, X), y, noise
    )
    np.testing.assert_allclose(posterior.mean(new), mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(posterior.variance(new), np.diag(covariance), rtol=0, atol=1e-8)
    np.testing.assert_allclose(posterior.covariance(new), covariance, rtol=0, atol=1e-8)
    assert posterior.noise == pytest.approx(noise, rel=1e-14)


@pytest.mark.parametrize("term", [(), (0,), (6,), (2, 3), (0, 7), (4, 5)], ids=str)
def test_every_term_has_its_textbook_mean_and_covariance(term):
    posterior, kernel, X, y, noise, new = fitted()
    prior = oracle.term_matrix(kernel, term, new, new)
    np.fill_diagonal(prior, kernel.term_diagonal(term, new))  # where a cell is missing: its mean
    mean, covariance = oracle.condition(
        prior,
        oracle.term_matrix(kernel, term, new, X),
        oracle.gram(kernel, X),
        y,
        noise,
    )
    np.testing.assert_allclose(posterior.term_mean(term, new), mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(posterior.term_variance(term, new), np.diag(covariance), rtol=0, atol=1e-8)
    np.testing.assert_allclose(posterior.term_covariance(term, new), covariance, rtol=0, atol=1e-8)


# Cholesky factors.


def in_place(A, *, calls=None):
    def fill(out):
        out[:] = A
        if calls is not None:
            calls.append(1)

    return factorise(np.empty(A.shape), fill)


def test_a_factor_solves_and_inverts():
    root = np.random.default_rng(0).standard_normal((9, 9))
    A, b = root @ root.T + np.eye(9), np.arange(9.0)
    factor = in_place(np.tril(A))  # only the part on and below the diagonal is read
    assert factor.jitter == 0.0
    assert factor.log_determinant == pytest.approx(np.linalg.slogdet(A)[1], rel=1e-13)
    np.testing.assert_allclose(factor.solve(b), np.linalg.solve(A, b), rtol=1e-11)
    inverse_root = factor.inverse_root()
    np.testing.assert_allclose(inverse_root @ inverse_root.T, np.linalg.inv(A), rtol=0, atol=1e-13)
    np.testing.assert_array_equal(inverse_root, np.triu(inverse_root))
    inverse = factor.inverse_in_place()
    np.testing.assert_allclose(np.tril(inverse), np.tril(np.linalg.inv(A)), rtol=0, atol=1e-13)


def test_a_singular_matrix_gets_the_least_jitter_that_helps_and_says_so():
    v, calls = np.random.default_rng(0).uniform(0.5, 2.0, 30), []
    factor = in_place(np.outer(v, v), calls=calls)
    tried = len(calls) - 1
    assert 1 <= tried <= 3
    assert factor.jitter == pytest.approx(np.mean(v**2) * JITTERS[tried], rel=1e-14)
    expected = np.log(1 + v @ v / factor.jitter) + 30 * np.log(factor.jitter)
    assert factor.log_determinant == pytest.approx(expected, rel=1e-6)


def test_a_matrix_that_no_jitter_helps_is_an_error_with_a_remedy():
    with pytest.raises(
        NumericalError, match=r"of 2 rows is not positive definite .* duplicate rows .* noise"
    ):
        in_place(np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(NumericalError, match=r"not finite; check the table for extreme values"):
        in_place(np.array([[1.0, 0.0], [0.0, np.nan]]))


def test_duplicate_rows_with_next_to_no_noise_report_their_jitter():
    x = np.repeat([0.1, 0.9, 2.0], 4)
    model, X = Model((FixedColumn(Normal(), SquaredExponential),), EachOrder((0, 1))), x[:, None]
    y = np.repeat([1.0, -1.0, 0.5], 4)
    theta = first_theta(model, 1.0, 1e-22)
    objective = ExactObjective(model, X, y, threads=1)
    value, gradient = objective.value_and_gradient(theta)
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))
    assert objective.jitter > 0.0
    posterior = objective.posterior(theta)
    assert objective.jitter > 0.0
    np.testing.assert_allclose(posterior.mean(X), y, atol=1e-4)
    theta[-1] = np.log(0.01)
    objective.value_and_gradient(theta)
    assert objective.jitter == 0.0


def test_a_model_that_is_not_finite_is_an_error():
    model, X, theta, y = problem()
    theta[-2] = 1e4
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(NumericalError, match="not finite"):
        ExactObjective(model, X, y, threads=1).value_and_gradient(theta)
