"""Measures: what every one promises."""

import json

import numpy as np
import pytest

from termwise.errors import OptionError
from termwise.measures import (
    MEASURES,
    Continuous,
    Discrete,
    Empirical,
    Mixture,
    Normal,
    Uniform,
)

EXAMPLES = {
    Normal: Normal(0.3, 1.2),
    Mixture: Mixture((0.3, 0.5, 0.2), (-2.0, 1.0, 1.5), (0.5, 1.0, 0.1)),
    Uniform: Uniform(-1.0, 2.5),
    Empirical: Empirical((-1.5, -0.2, 0.4, 2.0), (0.1, 0.4, 0.3, 0.2)),
    Discrete: Discrete((0.2, 0.5, 0.0, 0.3)),
}

every_measure = pytest.mark.parametrize(
    "measure", [EXAMPLES[m] for m in MEASURES.values()], ids=lambda m: m.kind
)


@every_measure
def test_nodes_give_the_moments(measure):
    points, weights = measure.nodes()
    assert weights.sum() == pytest.approx(1.0, abs=1e-13)
    assert weights @ points == pytest.approx(measure.mean, abs=1e-12)
    assert weights @ (points - measure.mean) ** 2 == pytest.approx(measure.sd**2, rel=1e-12)


@every_measure
def test_draws_have_the_moments(measure):
    draws = measure.sample(np.random.default_rng(1), 20_000)
    assert draws.shape == (20_000,)
    assert draws.mean() == pytest.approx(measure.mean, abs=0.04)
    assert draws.std() == pytest.approx(measure.sd, rel=0.03)


@every_measure
@pytest.mark.parametrize("factor", [2.5, -0.4])
def test_scaling_scales_the_moments(measure, factor):
    scaled = measure.scaled(factor)
    assert scaled.mean == pytest.approx(factor * measure.mean)
    assert scaled.sd == pytest.approx(abs(factor) * measure.sd)


@every_measure
def test_an_infinitesimal_factor_moves_the_nodes(measure):
    points, weights = measure.scaled(1 + 1e-30j).nodes()
    real, plain = measure.nodes()
    np.testing.assert_allclose(points.imag / 1e-30, real, atol=1e-13)
    np.testing.assert_allclose(weights.real, plain, atol=1e-15)
    # The mass of every node is that of the rule, which moves with the density.
    np.testing.assert_allclose(weights.imag / 1e-30, 0.0, atol=1e-12)


@every_measure
def test_plain_data_gives_the_same_measure_again(measure):
    data = json.loads(json.dumps(measure.to_dict()))
    again = MEASURES[data.pop("kind")](**data)
    assert again == measure
    assert hash(again) == hash(measure)
    assert type(again) is type(measure)
    assert (again.mean, again.sd) == (measure.mean, measure.sd)


@every_measure
def test_the_density_is_the_slope_of_the_cdf(measure):
    if not isinstance(measure, Continuous):
        return
    x = np.array([-0.9, 0.1, 1.55, 2.2])
    slope = (measure.cdf(x + 1e-6) - measure.cdf(x - 1e-6)) / 2e-6
    np.testing.assert_allclose(measure.density(x), slope, rtol=1e-6)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Normal(0.0, 0.0),
        lambda: Normal(np.nan, 1.0),
        lambda: Uniform(1.0, 1.0),
        lambda: Mixture((0.5, 0.4), (0.0, 1.0), (1.0, 1.0)),
        lambda: Mixture((0.5, 0.5), (0.0, 1.0), (1.0, 0.0)),
        lambda: Mixture((1.0,), (0.0, 1.0), (1.0, 1.0)),
        lambda: Empirical((), ()),
        lambda: Empirical((0.0, 1.0), (1.0,)),
        lambda: Empirical((0.0, np.inf), (0.5, 0.5)),
        lambda: Discrete((0.5, 0.6)),
        lambda: Discrete.fit(np.array([0, 3]), 3),
        lambda: Discrete.fit(np.array([0.5]), 3),
    ],
)
def test_impossible_parameters_are_refused(make):
    with pytest.raises(OptionError):
        make()


def test_normal_and_uniform_fit_by_moments_and_range():
    x = np.array([1.0, 2.0, 6.0])
    assert Normal.fit(x) == Normal(3.0, float(np.std(x)))
    assert Uniform.fit(x) == Uniform(1.0, 6.0)


def test_frequencies_of_codes_keep_unseen_levels_at_zero():
    assert Discrete.fit(np.array([0, 2, 2, 2]), 4) == Discrete((0.25, 0.0, 0.75, 0.0))


def test_a_mixture_is_found_again():
    truth = Mixture((0.3, 0.7), (-2.0, 1.5), (0.4, 0.9))
    x = truth.sample(np.random.default_rng(0), 4000)
    fit = Mixture.fit(x)
    assert len(fit.weights) == 2
    np.testing.assert_allclose(fit.weights, truth.weights, atol=0.03)
    np.testing.assert_allclose(fit.means, truth.means, atol=0.1)
    np.testing.assert_allclose(fit.sds, truth.sds, atol=0.1)
    assert Mixture.fit(x) == fit  # the same at every call


def test_a_mixture_does_not_collapse_on_an_atom():
    x = np.concatenate([np.zeros(200), np.random.default_rng(0).normal(size=300)])
    assert min(Mixture.fit(x).sds) > 0.01


def test_the_nodes_of_a_mixture_resolve_its_narrowest_component():
    measure = Mixture((0.5, 0.5), (0.0, 3.0), (1.0, 0.001))
    points, weights = measure.nodes()
    assert weights @ points**4 == pytest.approx(0.5 * 3 + 0.5 * (81 + 6 * 9e-6 + 3e-12), rel=1e-12)


class TestEmpirical:
    def test_few_values_are_kept_with_their_frequencies(self):
        assert Empirical.fit(np.array([2.0, 1.0, 1.0, 2.0, 2.0])) == Empirical((1.0, 2.0), (0.4, 0.6))

    @pytest.mark.parametrize("max_points", [2, 10, 64])
    def test_many_values_become_few_nodes_with_the_same_mean(self, max_points):
        x = np.random.default_rng(0).lognormal(size=5000)
        fit = Empirical.fit(x, max_points=max_points)
        assert len(fit.points) <= max_points
        assert fit.mean == pytest.approx(x.mean(), rel=1e-13)
        assert x.min() <= min(fit.points)
        assert max(fit.points) <= x.max()

    def test_atoms_stay_exactly_where_they_are(self):
        x = np.concatenate([np.zeros(300), np.full(100, 0.5), np.random.default_rng(0).normal(size=600)])
        fit = dict(zip(*Empirical.fit(x).nodes(), strict=True))
        assert fit[0.0] == pytest.approx(0.3)
        assert fit[0.5] == pytest.approx(0.1)

    def test_a_rank_one_more_than_allowed_still_works(self):
        fit = Empirical.fit(np.arange(65.0), max_points=64)
        assert len(fit.points) <= 64
        assert fit.mean == pytest.approx(32.0)
