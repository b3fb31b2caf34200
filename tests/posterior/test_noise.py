"""The scatter of observations: a density, of the shape that the residuals have, normal if they are."""

import numpy as np
import pytest
from scipy import stats

from termwise.posterior.noise import LEAST_ROWS, Noise

MIXTURE = Noise((0.01, 0.3, 4.0), (0.6, 0.3, 0.1), (-0.2, 0.1, 0.9))  # of mean zero
NOISES = {"normal": Noise.normal(0.3), "mixture": MIXTURE, "widened": MIXTURE.widened(0.5)}
every_noise = pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)

X = np.linspace(-40.0, 40.0, 800_001)


def density(noise, known):
    return np.exp(noise.log_density(X, np.full(X.size, known)))


@every_noise
@pytest.mark.parametrize("known", [0.0, 0.2])
def test_the_density_integrates_to_one_and_has_the_variance(noise, known):
    p = density(noise, known)
    assert np.trapezoid(p, X) == pytest.approx(1.0, rel=1e-9)
    assert np.trapezoid(X * p, X) == pytest.approx(0.0, abs=1e-9)
    assert np.trapezoid(X**2 * p, X) == pytest.approx(noise.variance + known, rel=1e-9)


def test_the_density_is_that_of_a_mixture_of_normals_each_row_with_its_own_known_variance():
    residuals, known = np.array([0.0, 0.3, -2.0, 50.0]), np.array([0.0, 0.1, 0.5, 0.2])
    expected = sum(
        weight * stats.norm.pdf(residuals, mean, np.sqrt(variance + known))
        for variance, weight, mean in zip(MIXTURE.variances, MIXTURE.weights, MIXTURE.means, strict=True)
    )
    np.testing.assert_allclose(np.exp(MIXTURE.log_density(residuals, known)), expected, rtol=1e-12)
    far = MIXTURE.log_density(np.array([1e3]), np.zeros(1))  # where the density itself is zero in floats
    np.testing.assert_allclose(far, np.log(0.1) + stats.norm.logpdf(1e3, 0.9, 2.0), rtol=1e-12)


def test_widened_is_the_sum_with_a_normal():
    wide = MIXTURE.widened(0.5)
    assert wide.variance == pytest.approx(MIXTURE.variance + 0.5, rel=1e-14)
    np.testing.assert_allclose(density(wide, 0.1), density(MIXTURE, 0.6), rtol=1e-12)


SHAPES = {
    "normal": stats.norm(),
    "t": stats.t(3, scale=1.0 / np.sqrt(3.0)),
    "skewed": stats.expon(-1.0),
    "bounded": stats.uniform(-np.sqrt(3.0), 2.0 * np.sqrt(3.0)),
}


def sample(kind, n, seed):
    """Residuals of variance 0.04 about a function of which the variance is known."""
    rng = np.random.default_rng(seed)
    known = 0.02 * rng.random(n)
    scatter = SHAPES[kind].rvs(n, random_state=rng)
    return 0.2 * scatter + np.sqrt(known) * rng.standard_normal(n), known


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_heavy_tails_are_found(seed):
    residuals, known = sample("t", 3000, seed)
    noise = Noise.fit(residuals, known, float(np.mean(residuals**2 - known)))
    normal = Noise.normal(float(np.mean(residuals**2 - known)))
    new, unseen = sample("t", 20_000, seed + 100)
    gain = np.mean(noise.log_density(new, unseen) - normal.log_density(new, unseen))
    assert gain > 0.05
    # As good as the true density, but for what 3,000 residuals leave open.
    new = 0.2 * np.random.default_rng(seed).standard_t(3, 20_000) / np.sqrt(3.0)
    truth = stats.t.logpdf(new, 3, scale=0.2 / np.sqrt(3.0))
    assert np.mean(noise.log_density(new, np.zeros(new.size)) - truth) == pytest.approx(0.0, abs=0.02)
    assert noise.variance == pytest.approx(normal.variance, rel=0.1)
    assert sum(noise.weights) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("kind", ["skewed", "bounded"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_scatter_that_is_skewed_or_ends_is_found(kind, seed):
    residuals, known = sample(kind, 2000, seed)
    normal = Noise.normal(float(np.mean(residuals**2 - known)))
    noise = Noise.fit(residuals, known, normal.variance)
    assert np.dot(noise.weights, noise.means) == pytest.approx(0.0, abs=1e-12)
    # Most of what the truth gains: observations of that shape about a normal function, by quadrature.
    new, unseen = sample(kind, 2000, seed + 100)
    f = np.linspace(-0.8, 0.8, 801)
    near = stats.norm.pdf(f, scale=np.sqrt(unseen[:, None]))
    truth = np.log(np.trapezoid(near * SHAPES[kind].pdf((new[:, None] - f) / 0.2) / 0.2, f, axis=1))
    gained, possible = (
        np.mean(one - normal.log_density(new, unseen)) for one in (noise.log_density(new, unseen), truth)
    )
    assert 0.6 * possible < gained <= possible + 0.01
    assert possible > 0.03


@pytest.mark.parametrize("n", [25, 100, 400])
def test_few_normal_residuals_are_hardly_ever_taken_for_more(n):
    found = [Noise.fit(*sample("normal", n, seed), 0.04, least_rows=25) for seed in range(40)]
    assert sum(any(noise.means) for noise in found) <= 1
    assert sum(len(noise.weights) > 1 for noise in found) <= 3


@pytest.mark.parametrize("n", [LEAST_ROWS, 20_000])
@pytest.mark.parametrize("seed", range(4))
def test_normal_residuals_have_a_normal_density(n, seed):
    residuals, known = sample("normal", n, seed)
    noise = Noise.fit(residuals, known, 0.04)
    x = 0.2 * np.linspace(-4.0, 4.0, 81)
    expected = stats.norm.pdf(x, scale=0.2)
    np.testing.assert_allclose(np.exp(noise.log_density(x, np.zeros(x.size))), expected, rtol=0.01)


def test_a_scale_that_is_wrong_is_mended():
    residuals, known = sample("normal", 20_000, 0)
    assert Noise.fit(residuals, known, 0.02).variance == pytest.approx(0.04, rel=0.05)


def test_with_few_residuals_it_is_a_normal():
    residuals, known = sample("t", LEAST_ROWS - 1, 0)
    assert Noise.fit(residuals, known, 0.04) == Noise.normal(0.04)
    assert len(Noise.fit(*sample("t", LEAST_ROWS, 0), 0.04).weights) > 1


def test_an_observation_far_from_all_others_does_no_harm():
    """Its density is zero in floating point under every rung."""
    residuals, known = sample("normal", 2000, 0)
    residuals[7] = 1e4
    noise = Noise.fit(residuals, known, 0.04)
    assert np.all(np.isfinite(noise.weights))
    assert sum(noise.weights) == pytest.approx(1.0, abs=1e-12)
    x = 0.2 * np.linspace(-2.0, 2.0, 41)
    expected = stats.norm.pdf(x, scale=0.2)
    np.testing.assert_allclose(np.exp(noise.log_density(x, np.zeros(x.size))), expected, rtol=0.1)
