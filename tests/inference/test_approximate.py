"""The approximate evidence of a model: its gradient, its posterior, and regression as a special case."""

import numpy as np
import pytest

from termwise.inference.approximate import SiteObjective
from termwise.inference.exact import ExactObjective
from termwise.inference.model import Model
from termwise.inference.sites import RULES, settle
from termwise.likelihoods import Gaussian, Logit, Poisson, Probit, Student
from termwise.likelihoods.observed import Observed
from tests.inference.mixed import any_theta, check_gradient, first_theta, mixed_model

ROWS = 24
every_rule = pytest.mark.parametrize("rule", RULES)


def problem(likelihood, seed=0, n=ROWS):
    """A model with every kind of column, some cells missing, and targets that suit the likelihood."""
    rng = np.random.default_rng(seed)
    plain, X = mixed_model(rng, n)
    y = rng.standard_normal(n)
    if isinstance(likelihood, (Logit, Probit)):
        y = (y > 0.0).astype(float)
    elif isinstance(likelihood, Poisson):
        y = rng.poisson(np.exp(0.5 * y)).astype(float)
    observed = Observed(likelihood, y, rng.uniform(0.5, 2.0, y.size), rng.normal(0.0, 0.2, y.size))
    theta = any_theta(plain, rng, first_theta(plain, 1.0, 0.1))[:-1]
    model = Model(plain.columns, plain.orders, likelihood)
    return model, X, observed, np.concatenate([theta, likelihood.parameters])


@every_rule
@pytest.mark.parametrize("likelihood", [Logit(), Probit(), Poisson(), Gaussian(0.3), Student(0.5, 4.0)])
def test_the_gradient_is_that_of_the_value(rule, likelihood):
    if rule != "variational" and not likelihood.log_concave:
        pytest.skip("the other rules are for log-concave likelihoods")
    model, X, observed, theta = problem(likelihood)
    objective = SiteObjective(model, X, observed, RULES[rule])
    _, exact = objective.value_and_gradient(theta)
    check_gradient(objective, theta, exact, step=1e-4, within=2e-4)


@every_rule
def test_with_normal_noise_it_is_the_exact_objective(rule):
    model, X, observed, theta = problem(Gaussian(0.3))
    plain = Observed(observed.likelihood, observed.y)
    exact = ExactObjective(Model(model.columns, model.orders), X, observed.y, 1)
    objective = SiteObjective(model, X, plain, RULES[rule])
    expected, slope = exact.value_and_gradient(theta)
    value, gradient = objective.value_and_gradient(theta)
    assert value == pytest.approx(expected, abs=1e-8)
    np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-6)
    one, other = objective.posterior(theta), exact.posterior(theta)
    new = other.centres[:7]
    np.testing.assert_allclose(one.mean(new), other.mean(new), atol=1e-8)
    np.testing.assert_allclose(one.variance(new), other.variance(new), atol=1e-8)


@every_rule
def test_the_posterior_is_that_of_the_sites(rule):
    model, X, observed, theta = problem(Logit())
    objective = SiteObjective(model, X, observed, RULES[rule])
    posterior = objective.posterior(theta)
    known = ~np.isnan(posterior.centres).any(axis=1)  # where cells are missing, K has more on its diagonal
    rows = posterior.centres[known]
    K = posterior.kernel.gram(posterior.centres)
    found = settle(RULES[rule], K, observed).posterior
    np.testing.assert_allclose(posterior.mean(rows), found.mean[known], atol=1e-5)
    np.testing.assert_allclose(posterior.variance(rows), found.variance[known], atol=1e-5)
