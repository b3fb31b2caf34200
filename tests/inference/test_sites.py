"""Sites come to rest where a generic optimiser, quadrature or plain regression say they should."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from termwise.errors import NumericalError
from termwise.inference.latent import Conditioned, Sites
from termwise.inference.sites import RULES, Variational, settle
from termwise.likelihoods import Gaussian, Logit, Poisson, Probit, Student
from termwise.likelihoods.observed import Observed

every_rule = pytest.mark.parametrize("rule", RULES)


def kernel(n, seed=0, scale=2.0):
    x = np.sort(np.random.default_rng(seed).uniform(-2.0, 2.0, n))
    return scale * np.exp(-0.5 * (x[:, None] - x) ** 2) + 1e-6 * np.eye(n)


def labels(n, seed=1):
    return np.random.default_rng(seed).integers(0, 2, n).astype(float)


def observed_as(name, n):
    rng = np.random.default_rng(2)
    return {
        "logit": Observed(Logit(), labels(n)),
        "probit": Observed(Probit(), labels(n)),
        "weighted": Observed(Logit(), labels(n), rng.uniform(0.2, 3.0, n)),
        "poisson": Observed(Poisson(), rng.poisson(2.0, n).astype(float), None, rng.normal(0.0, 0.5, n)),
        "student": Observed(Student(0.5, 4.0), rng.normal(0.0, 1.0, n)),
    }[name]


# Plain regression is a special case.


@every_rule
@pytest.mark.parametrize("weighted", [False, True])
def test_with_a_normal_likelihood_all_rules_are_regression(rule, weighted):
    n, noise = 25, 0.3
    K, rng = kernel(n), np.random.default_rng(3)
    y, offset = rng.standard_normal(n), rng.standard_normal(n)
    weight = rng.uniform(0.5, 2.0, n) if weighted else None
    found = settle(RULES[rule], K, Observed(Gaussian(noise), y, weight, offset))
    wide = noise / (np.ones(n) if weight is None else weight)
    exact = cho_factor(K + np.diag(wide))
    alpha = cho_solve(exact, y - offset)
    evidence = multivariate_normal(offset, K + np.diag(wide)).logpdf(y)
    if weight is not None:  # powers of normal densities are normal but for a constant
        evidence += 0.5 * np.sum(np.log(2 * np.pi * wide) - weight * np.log(2 * np.pi * noise))
    assert found.converged
    assert found.evidence == pytest.approx(evidence, abs=1e-8)
    np.testing.assert_allclose(found.posterior.alpha, alpha, atol=1e-8)
    np.testing.assert_allclose(found.posterior.mean, K @ alpha, atol=1e-8)
    variance = np.diag(K - K @ cho_solve(exact, K))
    np.testing.assert_allclose(found.posterior.variance, variance, atol=1e-8)


# A generic optimiser of the same objective.


@pytest.mark.parametrize("name", ["logit", "probit", "weighted", "poisson", "student"])
def test_the_bound_is_what_a_generic_optimiser_finds(name):
    n = 4
    K, observed = kernel(n), observed_as(name, n)
    inverse, (_, log_determinant) = np.linalg.inv(K), np.linalg.slogdet(K)

    def negative_bound(free):
        mean, L = free[:n], np.zeros((n, n))
        L[np.tril_indices(n)] = free[n:]
        V = L @ L.T
        likelihood = np.sum(observed.expected(mean, np.diag(V)).value)
        entropy = np.sum(np.log(np.abs(np.diag(L)))) * 2.0
        divergence = 0.5 * (np.trace(inverse @ V) + mean @ inverse @ mean - n + log_determinant - entropy)
        return divergence - likelihood

    start = np.concatenate([np.zeros(n), np.linalg.cholesky(0.5 * K)[np.tril_indices(n)]])
    options = {"maxiter": 20_000, "maxfun": 10**7, "ftol": 1e-15, "gtol": 1e-9}
    best = minimize(negative_bound, start, method="L-BFGS-B", options=options)
    found = settle(RULES["variational"], K, observed)
    assert found.converged
    assert found.evidence == pytest.approx(-best.fun, abs=1e-6)
    np.testing.assert_allclose(found.posterior.mean, best.x[:n], atol=2e-3)


@pytest.mark.parametrize("name", ["logit", "probit", "weighted", "poisson"])
def test_the_mode_is_what_a_generic_optimiser_finds(name):
    n = 6
    K, observed = kernel(n), observed_as(name, n)
    inverse = np.linalg.inv(K)

    def negative(f):
        return 0.5 * f @ inverse @ f - np.sum(observed.log_density(f))

    mode = minimize(negative, np.zeros(n), method="BFGS", options={"gtol": 1e-10}).x
    W = -observed.derivatives(mode)[1]
    evidence = -negative(mode) - 0.5 * np.linalg.slogdet(np.eye(n) + K @ np.diag(W))[1]
    found = settle(RULES["laplace"], K, observed)
    assert found.converged
    assert found.evidence == pytest.approx(evidence, abs=1e-6)
    np.testing.assert_allclose(found.posterior.mean, mode, atol=1e-4)


# The truth, by quadrature over all latent values.


def truth(K, observed, points=41, widest=5.0):
    """Evidence and posterior means on a grid of independent standard normals."""
    nodes = np.linspace(-widest, widest, points)
    grid = np.stack(np.meshgrid(*[nodes] * len(K), indexing="ij"), axis=-1).reshape(-1, len(K))
    f = grid @ np.linalg.cholesky(K).T
    log_prior = -0.5 * np.sum(grid**2, axis=1)
    wide = [observed.rows(slice(i, i + 1)).log_density(f[:, i]) for i in range(len(K))]
    joint = np.exp(log_prior + np.sum(wide, axis=0))
    return np.log(joint.sum() / np.exp(log_prior).sum()), joint @ f / joint.sum()


@pytest.mark.parametrize("name", ["logit", "probit", "poisson"])
@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_expectation_propagation_is_close_to_the_truth(name, scale):
    K, observed = kernel(3, scale=scale), observed_as(name, 3)
    evidence, means = truth(K, observed)
    found = settle(RULES["ep"], K, observed)
    assert found.converged
    assert found.evidence == pytest.approx(evidence, abs=0.1)
    np.testing.assert_allclose(found.posterior.mean, means, atol=0.02)


@pytest.mark.parametrize("name", ["logit", "probit", "poisson", "student"])
def test_the_variational_bound_is_below_the_truth(name):
    K, observed = kernel(3), observed_as(name, 3)
    evidence, _ = truth(K, observed)
    found = settle(RULES["variational"], K, observed)
    assert evidence - 0.3 < found.evidence <= evidence + 1e-6


# Gradients, and how the sites come to rest.


@every_rule
@pytest.mark.parametrize("name", ["logit", "probit", "weighted", "poisson", "gaussian", "student"])
def test_the_gradients_are_those_of_the_evidence(rule, name):
    n = 12
    if name == "student" and rule != "variational":
        pytest.skip("the other rules are for log-concave likelihoods")
    y = np.random.default_rng(4).standard_normal(n)
    observed = Observed(Gaussian(0.3), y) if name == "gaussian" else observed_as(name, n)
    K = kernel(n)
    half = np.random.default_rng(5).standard_normal((n, n))
    direction, step = half @ half.T / n, 1e-4
    found = settle(RULES[rule], K, observed)
    R, alpha = found.posterior.inverse, found.posterior.alpha
    C = 0.5 * (np.outer(alpha, alpha) - R)
    if found.slope.u is not None:
        C += 0.5 * (np.outer(found.slope.u, alpha) + np.outer(alpha, found.slope.u))

    def evidence(K, observed):
        return settle(RULES[rule], K, observed).evidence

    up, down = (evidence(K + sign * step * direction, observed) for sign in (1.0, -1.0))
    assert np.sum(C * direction) == pytest.approx((up - down) / (2.0 * step), rel=1e-4, abs=1e-5)
    here = observed.likelihood.parameters
    for i, shift in enumerate(step * np.eye(here.size)):
        up, down = (evidence(K, observed.at(here + sign * shift)) for sign in (1.0, -1.0))
        assert found.slope.parameters[i] == pytest.approx((up - down) / (2.0 * step), rel=1e-4, abs=1e-5)


@every_rule
def test_where_sites_begin_does_not_matter(rule):
    K, observed = kernel(30), observed_as("logit", 30)
    rng = np.random.default_rng(6)
    one = settle(RULES[rule], K, observed)
    other = settle(RULES[rule], K, observed, Sites.of(rng.uniform(0.01, 2.0, 30), rng.standard_normal(30)))
    assert one.converged
    assert other.converged
    assert other.evidence == pytest.approx(one.evidence, abs=1e-7)
    again = settle(RULES[rule], K, observed, one.posterior.sites)
    assert again.steps <= 2


@every_rule
@pytest.mark.parametrize("scale", [1.0, 30.0, 100.0])
def test_separable_data_and_wide_priors_come_to_rest(rule, scale):
    K = kernel(40, scale=scale)
    y = (np.arange(40) >= 20).astype(float)
    found = settle(RULES[rule], K, Observed(Logit(), y))
    assert found.converged
    assert np.isfinite(found.evidence)
    assert np.all(found.posterior.variance > 0.0)
    right = (found.posterior.mean > 0.0) == (y > 0.5)
    assert np.all(right[:15])
    assert np.all(right[25:])


def test_steps_that_learn_from_those_before_are_fewer(monkeypatch):
    K, observed = kernel(40, scale=100.0), Observed(Logit(), (np.arange(40) >= 20).astype(float))
    mixed = settle(RULES["variational"], K, observed)
    monkeypatch.setattr(Variational, "depth", 0)
    plain = settle(RULES["variational"], K, observed)
    assert mixed.converged
    assert mixed.steps < 0.7 * plain.steps
    assert mixed.evidence == pytest.approx(plain.evidence, abs=1e-7)


@pytest.mark.parametrize("failing", [{2}, {3, 4}, {5, 6, 7}])
def test_steps_that_rounding_spoils_are_tried_shorter(failing, monkeypatch):
    K, observed = kernel(30), observed_as("logit", 30)
    expected = settle(RULES["variational"], K, observed)
    calls, whole = [], Conditioned.on

    def on(K, sites):
        calls.append(1)
        if len(calls) in failing:
            raise NumericalError("spoiled")
        return whole(K, sites)

    monkeypatch.setattr(Conditioned, "on", on)
    found = settle(RULES["variational"], K, observed)
    assert found.converged
    assert found.evidence == pytest.approx(expected.evidence, abs=1e-7)


def test_faint_sites_leave_the_prior():
    K = kernel(10)
    found = Conditioned.on(K, Sites.of(np.full(10, 1e-12), np.zeros(10)))
    np.testing.assert_allclose(found.variance, np.diag(K), rtol=1e-8)
    np.testing.assert_allclose(found.mean, 0.0, atol=1e-12)


# Sites of large counts, whose numbers are large beside what they say.


def solved(A, b):
    """A^-1 b of fractions, by elimination without rounding."""
    rows = [[*row, right] for row, right in zip(A, b, strict=True)]
    for i, row in enumerate(rows):
        row[:] = [cell / row[i] for cell in row]
        for other in (each for each in rows if each is not row):
            other[:] = [cell - other[i] * own for cell, own in zip(other, row, strict=True)]
    return [row[-1] for row in rows]


@pytest.mark.parametrize(
    "tau", [np.full(8, 1e6), np.full(8, 1e-10), np.array([1e6, 1e-10, 0.02, 0.3, 1e4, 1e-3, 1e7, 1.0])]
)
def test_faint_and_strong_sites_are_conditioned_on_without_loss(tau):
    K = kernel(8) + 100.0
    nu = tau * (12.0 + np.linspace(-1.0, 1.0, 8)) + np.sqrt(tau) + 0.5
    wide = [[Fraction(cell) for cell in row] for row in K]
    for n, row in enumerate(wide):
        row[n] += 1 / Fraction(tau[n])
    alpha = solved(wide, [Fraction(a) / Fraction(b) for a, b in zip(nu, tau, strict=True)])
    mean = [sum(Fraction(k) * a for k, a in zip(row, alpha, strict=True)) for row in K]
    quadratic = float(sum(a * b for a, b in zip(alpha, mean, strict=True)))
    found = Conditioned.on(K, Sites.of(tau, nu))
    np.testing.assert_allclose(found.alpha, np.array(alpha, float), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(found.mean, np.array(mean, float), rtol=1e-11)
    assert found.quadratic == pytest.approx(quadratic, rel=1e-9)


@every_rule
def test_with_next_to_no_noise_all_rules_are_regression(rule):
    K, rng = kernel(25) + 100.0, np.random.default_rng(3)
    y = 12.0 + np.linalg.cholesky(K) @ rng.standard_normal(25)
    found = settle(RULES[rule], K, Observed(Gaussian(1e-6), y))
    assert found.converged
    exact = multivariate_normal(np.zeros(25), K + 1e-6 * np.eye(25)).logpdf(y)
    assert found.evidence == pytest.approx(exact, abs=1e-5)


@every_rule
@pytest.mark.parametrize(("n", "rate"), [(200, 1e2), (200, 1e6), (600, 1e6)])
def test_sites_of_many_events_come_to_rest(rule, n, rate):
    K, rng = kernel(n) + 100.0, np.random.default_rng(7)
    f = np.linalg.cholesky(kernel(n)) @ rng.standard_normal(n)
    y = rng.poisson(rate * np.exp(f)).astype(float)
    observed = Observed(Poisson(), y)
    one = settle(RULES[rule], K, observed)
    far = Sites.of(2.0 * one.posterior.sites.tau, 2.0 * one.posterior.sites.nu + np.sqrt(y) * labels(n))
    other = settle(RULES[rule], K, observed, far)
    for found in (one, other):
        assert found.converged
        assert found.steps < 20
    assert other.evidence == pytest.approx(one.evidence, abs=1e-3)


def test_a_function_that_is_far_from_many_events_comes_to_rest():
    """The evidence is then a large number itself, and its rounding is seen."""
    x = np.linspace(-2.0, 2.0, 200)
    K = 0.1 * np.exp(-0.5 * ((x[:, None] - x) / 30.0) ** 2)
    y = np.random.default_rng(8).poisson(1e6 * np.exp(np.sin(3.0 * x))).astype(float)
    found = settle(RULES["variational"], K, Observed(Poisson(), y, None, np.full(200, np.log(1e6))))
    assert found.evidence < -1e6
    assert found.converged
