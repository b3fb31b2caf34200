"""The two-dimensional example of OAK section 3 and appendix I: orthogonal terms can be told apart.

The paper fits f(x1, x2) = x1^2 - 2 x2 + cos(3 x1) sin(5 x2) with noise variance 0.01. It reports three local
optima of the unconstrained additive kernel from nine seeds, with terms that differ. With one lengthscale a
column, as here, nine starts end at one optimum for either kernel; what the paper says of the terms holds all
the same, and is what is tested.
"""

from dataclasses import dataclass

import numpy as np
import pytest

from termwise import AdditiveGPRegressor, OAKRegressor
from termwise.encode.rows import ArrayChunk
from termwise.inference.columns import FixedColumn
from termwise.inference.fit import Candidate, FitOptions, fit_exact
from termwise.inference.model import Model
from termwise.inference.orders import EachOrder
from termwise.kernels.squared_exponential import SquaredExponential
from termwise.measures import Uniform

ROWS, NOISE_SD = 200, 0.1
FIXED, RANDOM = 2, 9  # the first starts are not random
MEAN_COSINE = np.sin(3.0) / 3.0  # of cos(3 x) for x uniform on (-1, 1); those of sin(5 x) and x are 0

# f by orthogonal terms, without its mean 1/3 (of x1^2)
TERMS = {
    "x1": lambda x1, x2: x1**2 - 1.0 / 3.0,
    "x2": lambda x1, x2: -2.0 * x2 + MEAN_COSINE * np.sin(5.0 * x2),
    "x1:x2": lambda x1, x2: (np.cos(3.0 * x1) - MEAN_COSINE) * np.sin(5.0 * x2),
}


GRID = [x.ravel() for x in np.meshgrid(*[np.linspace(-0.98, 0.98, 25)] * 2)]
OPTIONS = {"kernel": "se", "measure": "uniform", "flow": None, "max_order": 2}


def toy(x1, x2):
    """OAK eq. 5."""
    return x1**2 - 2.0 * x2 + np.cos(3.0 * x1) * np.sin(5.0 * x2)


def sample(seed=0):
    rng = np.random.default_rng(seed)
    x1, x2 = rng.uniform(-1.0, 1.0, (2, ROWS))
    return {"x1": x1, "x2": x2}, toy(x1, x2) + NOISE_SD * rng.standard_normal(ROWS)


def terms_between(range1, range2, x1, x2):
    """The orthogonal terms if the inputs are uniform on two ranges, by Gauss-Legendre quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    n1, n2 = (low + 0.5 * (high - low) * (nodes + 1.0) for low, high in (range1, range2))
    p = weights / 2.0
    mean1, mean2 = toy(x1[:, None], n2) @ p, toy(n1, x2[:, None]) @ p
    mean = p @ toy(n1[:, None], n2) @ p
    return {"x1": mean1 - mean, "x2": mean2 - mean, "x1:x2": toy(x1, x2) - mean1 - mean2 + mean}


def distances(model, truth):
    """How many standard deviations the true terms are from the mean, at each row of the grid."""
    mean, std = model.predict_terms(dict(zip(("x1", "x2"), GRID, strict=True)), return_std=True)
    return {t.name: np.abs(truth[t.name] - mean[:, i]) / std[:, i] for i, t in enumerate(model.terms_)}


def true_shares():
    """Shares of the terms under the uniform measure, by Gauss-Legendre quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    x1, x2 = np.meshgrid(nodes, nodes)
    density = np.outer(weights, weights) / 4.0
    variances = {name: np.sum(density * term(x1, x2) ** 2) for name, term in TERMS.items()}
    total = sum(variances.values())
    return {name: variance / total for name, variance in variances.items()}


def shares(model):
    return dict(zip(model.sobol_["term"], model.sobol_["share"], strict=True))


@pytest.fixture(scope="module")
def oak():
    return OAKRegressor(n_restarts=FIXED + RANDOM, **OPTIONS).fit(*sample())


def test_the_terms_written_down_here_are_those_of_the_function():
    x1, x2 = np.random.default_rng(1).uniform(-1.0, 1.0, (2, 50))
    expected = terms_between((-1.0, 1.0), (-1.0, 1.0), x1, x2)
    for name, term in TERMS.items():
        np.testing.assert_allclose(term(x1, x2), expected[name], atol=1e-12)


def test_nine_random_starts_reach_one_optimum(oak):
    assert np.ptp(oak.fit_result_.starts[FIXED:]) < 1e-3


def test_true_terms_lie_inside_the_band_of_two_standard_deviations(oak):
    """At 95 % of a grid at least, which is what such a band promises at each of its points."""
    truth = {name: term(*GRID) for name, term in TERMS.items()}
    for name, distance in distances(oak, truth).items():
        assert np.mean(distance < 2.0) >= 0.95, name


def test_bands_hold_what_they_promise_over_many_samples():
    """The terms here are those under the range of the sample, as the model knows no other.

    Those under (-1, 1) differ by a constant as large as the narrow bands of x1 and x2, which then hold 92 %
    and 87 % over thirty samples.
    """
    inside = []
    for seed in range(20):
        X, y = sample(seed)
        truth = terms_between(*((x.min(), x.max()) for x in X.values()), *GRID)
        found = distances(OAKRegressor(**OPTIONS).fit(X, y), truth)
        inside.append([np.mean(found[name] < 2.0) for name in TERMS])
    coverage = np.mean(inside, axis=0)
    assert np.all((coverage > 0.92) & (coverage < 0.99)), dict(zip(TERMS, coverage, strict=True))


def test_the_shares_are_those_of_the_function(oak):
    truth, found = true_shares(), shares(oak)
    assert truth.keys() == found.keys()
    for name, share in truth.items():
        assert found[name] == pytest.approx(share, abs=0.02)


def test_without_the_constraint_the_interaction_absorbs_the_main_effects():
    """Figure 2, top: from every start, although the interaction has only a seventh of the variance."""
    assert true_shares()["x1:x2"] < 0.16
    model = AdditiveGPRegressor(max_order=2, n_restarts=FIXED + RANDOM).fit(*sample())
    assert np.ptp(model.fit_result_.starts) < 0.01
    assert shares(model)["x1:x2"] > 0.9


@dataclass(frozen=True)
class FirstOrderAt(EachOrder):
    """Orders 0, 1 and 2, the variance of the first given."""

    orders: tuple[int, ...] = (0, 1, 2)
    variance: float = 1.0

    def bounds(self):
        given = float(np.log(self.variance))
        return [pair if order != 1 else (given, given) for order, pair in enumerate(super().bounds())]


def fitted_at(first_order_variance, *, constrained):
    """The objective, and the variance of the interaction, with the best of all other parameters."""
    X, y = sample()
    columns = np.array([(x - x.mean()) / x.std() for x in X.values()])
    model = Model(
        tuple(
            FixedColumn(Uniform.fit(x) if constrained else None, SquaredExponential, normalise=False)
            for x in columns
        ),
        FirstOrderAt(variance=first_order_variance),
    )
    options, rng = FitOptions(n_starts=2, n_jobs=1), np.random.default_rng(0)
    rows = ArrayChunk(columns.T.copy(), (y - y.mean()) / y.std())
    found = fit_exact([Candidate(model, rows)], options, rng)
    return found.result.objective, np.var(found.posterior.term_mean((0, 1), columns.T))


def test_the_evidence_hardly_tells_decompositions_apart_unless_terms_are_orthogonal():
    """Appendix I: equally good unconstrained models have different terms."""
    objective, interaction = fitted_at(0.001, constrained=False)
    other_objective, other_interaction = fitted_at(0.3, constrained=False)
    assert abs(objective - other_objective) < 2.0
    assert interaction - other_interaction > 0.3

    found = [fitted_at(variance, constrained=True)[1] for variance in (0.3, 1.0, 3.0)]
    assert np.ptp(found) < 0.01
