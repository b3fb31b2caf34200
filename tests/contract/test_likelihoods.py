"""What every likelihood must keep: densities that add up to one, derivatives, expectations by an oracle."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import gammaln

from termwise.likelihoods import Gaussian, Likelihood, Logit, Poisson, Probit, Student

SAMPLES = {
    "gaussian": (Gaussian(0.4), np.array([-1.0, 0.3, 2.0])),
    "logit": (Logit(), np.array([0.0, 1.0, 1.0])),
    "probit": (Probit(), np.array([0.0, 1.0, 0.0])),
    "poisson": (Poisson(), np.array([0.0, 1.0, 7.0])),
    "student": (Student(0.7, 3.5), np.array([-4.0, 0.2, 1.0])),
}
FREE = {"gaussian": stats.norm(scale=np.sqrt(0.4)), "student": stats.t(3.5, scale=0.7)}
LATENT = np.array([-1.3, 0.2, 1.6])
VARIANCES = [1e-8, 0.3, 1.5]
POWERS = np.array([0.5, 1.0, 2.5])
every = pytest.mark.parametrize("name", SAMPLES)


def test_every_likelihood_has_a_sample():
    sampled = {type(likelihood) for likelihood, _ in SAMPLES.values()}
    new = sorted(kind.__name__ for kind in set(Likelihood.__subclasses__()) - sampled)
    assert not new, f"no sample of {', '.join(new)}: add one to SAMPLES"


def slope_of(function, at, step=1e-5):
    return (function(at + step) - function(at - step)) / (2.0 * step)


def expectation(function, mean, variance):
    """By adaptive quadrature, an oracle that has no nodes in common with the code."""
    sd = np.sqrt(variance)

    def integrand(x):
        return function(mean + sd * x) * np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi)

    return quad(integrand, -12.0, 12.0, limit=400, epsabs=1e-13, epsrel=1e-12, points=[-3.0, 0.0, 3.0])[0]


def scalar(function, y):
    return lambda f: float(function(np.array([y]), np.array([f]))[0])


@every
def test_densities_add_up_to_one(name):
    likelihood, _ = SAMPLES[name]
    for f in LATENT:
        if name in FREE:
            y = np.linspace(-5.0, 5.0, 11)
            np.testing.assert_allclose(
                likelihood.log_density(y, np.full(11, f)), FREE[name].logpdf(y - f), rtol=1e-12
            )
        else:
            y = np.arange(200.0 if name == "poisson" else 2.0)
            assert np.sum(np.exp(likelihood.log_density(y, np.full(y.size, f)))) == pytest.approx(1.0)


@every
def test_derivatives_are_those_of_the_density(name):
    likelihood, y = SAMPLES[name]
    first, second, third = likelihood.derivatives(y, LATENT)
    np.testing.assert_allclose(first, slope_of(lambda f: likelihood.log_density(y, f), LATENT), atol=1e-8)
    np.testing.assert_allclose(second, slope_of(lambda f: likelihood.derivatives(y, f)[0], LATENT), atol=1e-8)
    np.testing.assert_allclose(third, slope_of(lambda f: likelihood.derivatives(y, f)[1], LATENT), atol=1e-8)


@every
@pytest.mark.parametrize("far", [-40.0, 40.0])
def test_far_out_everything_is_finite(name, far):
    likelihood, y = SAMPLES[name]
    f = np.full(y.size, far)
    for values in (likelihood.log_density(y, f), *likelihood.derivatives(y, f)):
        assert np.all(np.isfinite(values))
    tilted = likelihood.tilted(y, f, np.ones(y.size))
    assert np.all(np.isfinite([tilted.value, tilted.slope, tilted.curvature]))


@every
@pytest.mark.parametrize("variance", VARIANCES)
def test_expectations_are_those_of_adaptive_quadrature(name, variance):
    likelihood, y = SAMPLES[name]
    found = likelihood.expected(y, LATENT, np.full(3, variance))
    for i in range(3):
        exact = expectation(scalar(likelihood.log_density, y[i]), LATENT[i], variance)
        if likelihood.log_concave:
            assert found.value[i] == pytest.approx(exact, abs=1e-8)
        else:  # a bound from below, which touches where f is known
            assert exact - variance <= found.value[i] <= exact + 1e-8


@every
@pytest.mark.parametrize("variance", VARIANCES[1:])
def test_expectations_have_their_derivatives(name, variance):
    likelihood, y = SAMPLES[name]
    v = np.full(3, variance)
    found = likelihood.expected(y, LATENT, v)
    by_mean = slope_of(lambda m: likelihood.expected(y, m, v).value, LATENT)
    by_variance = slope_of(lambda u: likelihood.expected(y, LATENT, u).value, v)
    np.testing.assert_allclose(found.by_mean, by_mean, atol=1e-5)
    np.testing.assert_allclose(found.by_variance, by_variance, atol=1e-5)


@every
@pytest.mark.parametrize("power", [None, POWERS])
@pytest.mark.parametrize("variance", VARIANCES)
def test_tilted_values_are_those_of_adaptive_quadrature(name, variance, power):
    likelihood, y = SAMPLES[name]
    found = likelihood.tilted(y, LATENT, np.full(3, variance), power)
    by = np.ones(3) if power is None else power
    for i in range(3):
        density = scalar(likelihood.log_density, y[i])
        exact = np.log(expectation(lambda f, i=i, p=density: np.exp(by[i] * p(f)), LATENT[i], variance))
        assert found.value[i] == pytest.approx(exact, abs=1e-6)


def log_average(likelihood, y, mean, variance):
    """log E p(y | f) by adaptive quadrature between the sharpest points of both, in logarithms."""
    sd = np.sqrt(variance)
    grid = np.unique(np.concatenate([mean + sd * np.linspace(-12.0, 12.0, 2001), *near(likelihood, y)]))
    log_density = likelihood.log_density(np.full(grid.size, y), grid)
    logs = log_density - 0.5 * ((grid - mean) / sd) ** 2 - np.log(sd * np.sqrt(2.0 * np.pi))
    peak, best = float(grid[np.argmax(logs)]), float(np.max(logs))

    def integrand(f):
        log = scalar(likelihood.log_density, y)(f) - 0.5 * ((f - mean) / sd) ** 2
        return np.exp(log - np.log(sd * np.sqrt(2.0 * np.pi)) - best)

    widths = sd * np.array([1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0, 3.0, 6.0, 12.0])
    ends = sorted([*(peak - widths), peak, *(peak + widths), mean + 6.0 * sd, mean + 12.0 * sd])
    parts = [quad(integrand, a, b, limit=400, epsabs=1e-13, epsrel=1e-11)[0] for a, b in pairwise(ends)]
    return best + np.log(sum(parts))


def near(likelihood, y):
    """Places where the density of y is sharp."""
    if isinstance(likelihood, Poisson):
        return [np.log(max(y, 1.0)) + np.linspace(-9.0, 9.0, 2001) / np.sqrt(max(y, 1.0))]
    if isinstance(likelihood, Student):
        return [y + likelihood.scale * np.linspace(-30.0, 30.0, 2001)]
    return []


SHARP = [
    (Poisson(), 0.0, 3.0, 4.0),
    (Poisson(), 1.0, -8.0, 100.0),
    (Poisson(), 1e6, 13.0, 1.0),
    (Poisson(), 1e6, 13.8155, 1e-7),
    (Poisson(), 2.5, 0.3, 1e-14),
    (Poisson(), 1e11, 24.0, 9.0),
    (Student(1e-3, 2.1), 0.4, 0.0, 1.0),
    (Student(1e-3, 100.0), -2.0, 0.0, 1.0),
    (Student(0.3, 100.0), 1e6, 0.0, 0.1),
    (Student(0.3, 2.1), 1e6, 0.0, 1e-9),
    (Student(2.0, 30.0), 0.1, 0.0, 1e-9),
    *[(likelihood, y[2], 0.4, 0.7) for likelihood, y in SAMPLES.values()],
]


@pytest.mark.parametrize(("likelihood", "y", "mean", "variance"), SHARP)
def test_predictive_densities_are_those_of_adaptive_quadrature(likelihood, y, mean, variance):
    found = likelihood.log_predictive(np.array([y]), np.array([mean]), np.array([variance]))
    assert found[0] == pytest.approx(log_average(likelihood, y, mean, variance), rel=1e-8, abs=1e-7)


def test_predictive_densities_of_many_rows_are_those_of_each():
    y = np.arange(5000.0) % 7
    mean, variance = np.linspace(-1.0, 2.0, 5000), np.linspace(0.1, 1.0, 5000)
    found = Poisson().log_predictive(y, mean, variance)
    for i in (0, 4095, 4096, 4999):
        one = slice(i, i + 1)
        assert found[i] == pytest.approx(Poisson().log_predictive(y[one], mean[one], variance[one])[0])
    assert Poisson().log_predictive(y[:0], mean[:0], variance[:0]).shape == (0,)


def test_the_density_of_a_large_count_keeps_its_digits():
    # From one count to the next the density changes by log(rate / (y + 1)).
    y, f = np.array([1e9]), np.log(np.array([1e9 + 3e4]))
    change = Poisson().log_density(y + 1.0, f) - Poisson().log_density(y, f)
    assert change[0] == pytest.approx(np.log1p((3e4 - 1.0) / (1e9 + 1.0)), abs=1e-10)
    for count in (0.0, 0.5, 3.0, 49.0, 51.0, 800.0):
        exact = stats.poisson.logpmf(count, 30.0) if count % 1 == 0 else 0.5 * np.log(30) - 30 - gammaln(1.5)
        assert Poisson().log_density(np.array([count]), np.log([30.0]))[0] == pytest.approx(exact, rel=1e-12)


@every
@pytest.mark.parametrize("power", [None, POWERS])
def test_tilted_values_have_their_derivatives(name, power):
    likelihood, y = SAMPLES[name]
    v = np.full(3, 0.8)
    found = likelihood.tilted(y, LATENT, v, power)
    np.testing.assert_allclose(
        found.slope, slope_of(lambda m: likelihood.tilted(y, m, v, power).value, LATENT), atol=1e-6
    )
    np.testing.assert_allclose(
        found.curvature, slope_of(lambda m: likelihood.tilted(y, m, v, power).slope, LATENT), atol=1e-5
    )


@every
def test_parameters_have_their_derivatives(name):
    likelihood, y = SAMPLES[name]
    here, v = likelihood.parameters, np.full(3, 0.3)
    assert len(likelihood.bounds()) == here.size
    same = likelihood.with_parameters(here)
    np.testing.assert_allclose(same.parameters, here)

    def along(i, function):
        return slope_of(lambda t: function(likelihood.with_parameters(here + t * np.eye(here.size)[i])), 0.0)

    for i in range(here.size):
        np.testing.assert_allclose(
            likelihood.by_parameters(y, LATENT)[i], along(i, lambda p: p.log_density(y, LATENT)), atol=1e-8
        )
        np.testing.assert_allclose(
            likelihood.expected_by_parameters(y, LATENT, v)[i],
            along(i, lambda p: p.expected(y, LATENT, v).value),
            atol=1e-7,
        )
        for power in (None, POWERS):
            np.testing.assert_allclose(
                likelihood.tilted_by_parameters(y, LATENT, v, power)[i],
                along(i, lambda p, power=power: p.tilted(y, LATENT, v, power).value),
                atol=1e-6,
            )
    assert likelihood.by_parameters(y, LATENT).shape == (here.size, 3)


@every
def test_moments_are_those_of_draws(name):
    likelihood, _ = SAMPLES[name]
    rng = np.random.default_rng(0)
    f = 0.4 + 0.5 * rng.standard_normal(400_000)
    if name in FREE:
        y = f + FREE[name].rvs(f.size, random_state=rng)
    elif name == "poisson":
        y = rng.poisson(np.exp(f)).astype(float)
    else:
        y = (rng.random(f.size) < np.exp(likelihood.log_density(np.ones(f.size), f))).astype(float)
    mean, variance = likelihood.moments(np.array([0.4]), np.array([0.25]))
    assert mean[0] == pytest.approx(y.mean(), abs=4.0 * y.std() / np.sqrt(y.size))
    assert variance[0] == pytest.approx(y.var(), rel=0.1 if name == "student" else 0.02)
