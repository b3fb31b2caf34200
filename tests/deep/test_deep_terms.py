"""The terms of networks: that they add up, what their bands say, and what a missing cell does to them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from termwise import DeepKernelRegressor
from termwise.deep.heads import heads_of
from termwise.errors import TermError
from termwise.table import read_table
from tests.deep.samples import KINDS, QUICK, TERMS, waves
from tests.io.models import NEW, TABLE, TARGET


@pytest.mark.parametrize("kind", TERMS)
def test_terms_and_constant_sum_to_the_prediction(kind: str) -> None:
    model = DeepKernelRegressor(**KINDS[kind]).fit(TABLE, TARGET)
    terms = model.predict_terms(NEW)
    np.testing.assert_allclose(model.constant_ + np.asarray(terms).sum(axis=1), model.predict(NEW), atol=1e-8)
    _, std = model.predict_terms(NEW, return_std=True)
    assert np.all(std > 0.0)
    assert model.sobol_["share"].sum() == pytest.approx(1.0)
    assert model.order_shares_.sum() == pytest.approx(1.0)
    assert 0.0 <= model.explained_ <= 1.0
    over_rows = np.asarray(model.predict_terms(TABLE)).mean(axis=0)
    np.testing.assert_allclose(over_rows, 0.0, atol=1e-8 * model.target_scale_.scale)
    assert model.explain(NEW).contributions.shape == np.asarray(terms).shape


def test_terms_are_centred_on_all_rows_that_were_learned_from() -> None:
    """Also where more rows are learned from than are kept to draw them."""
    X, y = waves(2600)
    model = DeepKernelRegressor(**{**QUICK, "sets": ["a", "b", "c:d"], "max_epochs": 2}).fit(X, y)
    terms = np.asarray(model.predict_terms(X))
    assert len(model.posterior_.rows) == 2000
    np.testing.assert_allclose(terms.mean(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(model.sobol_["share"], terms.var(axis=0) / terms.var(axis=0).sum(), rtol=1e-9)


def test_curves_are_the_functions_that_made_the_table() -> None:
    X, y = waves()
    model = DeepKernelRegressor(sets=["a", "b", "c:d"], max_epochs=80).fit(X, y)
    explanation = model.explain(terms=["a", "b"])
    for name, truth in (("a", lambda x: np.sin(2.0 * x)), ("b", lambda x: -(x**2))):
        effect = explanation.effect(name)
        wanted = truth(effect.axes[0]) - truth(X[name].to_numpy()).mean()
        inner = slice(5, -5)
        assert np.sqrt(np.mean((effect.mean - wanted)[inner] ** 2)) < 0.15
        assert np.all(effect.low <= effect.mean)
        assert np.all(effect.mean <= effect.high)
    assert [term.name for term in model.terms_[:2]] in (["c:d", "b"], ["b", "c:d"])
    assert model.explain().plot() is not None


def test_bands_hold_the_functions_that_made_the_table() -> None:
    """Also where a curve is zero. They take hidden layers as known, and so are somewhat too narrow."""
    inside = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1.0, 1.0, (300, 3))
        truth = np.column_stack([2.0 * X[:, 0], np.sin(3.0 * X[:, 1]), 0.0 * X[:, 2]])
        y = truth.sum(axis=1) + 0.3 * rng.standard_normal(300)
        model = DeepKernelRegressor(sets=["x0", "x1", "x2"], max_epochs=60, random_state=seed).fit(X, y)
        mean, std = model.predict_terms(X, return_std=True)
        columns = [int(term.name[1]) for term in model.terms_]
        wanted = (truth - truth.mean(axis=0))[:, columns]
        inside.append(np.mean(np.abs(mean - wanted) < 2.0 * std))
        assert np.all(std < 0.5)
    assert np.mean(inside) > 0.75


def test_the_process_is_as_unsure_as_its_amplitude() -> None:
    X, y = waves(100)
    model = DeepKernelRegressor(**{**QUICK, "sets": ["a", "b", "c:d"]}).fit(X, y)
    posterior: Any = model.posterior_
    encoded = model.encoder_.transform(read_table(X))
    c, g = posterior.amplitude, posterior.mean(encoded) / posterior.amplitude.mean
    np.testing.assert_allclose(posterior.variance(encoded), c.variance * g**2, rtol=1e-9)


def test_bands_are_by_the_noise_of_the_process() -> None:
    X, y = waves(100)
    model = DeepKernelRegressor(**{**QUICK, "sets": ["a", "b", "c:d"]}).fit(X, y)
    posterior: Any = model.posterior_
    encoded = model.encoder_.transform(read_table(X))
    wanted = heads_of(posterior.networks, posterior.reading.dense.spread(encoded), posterior.noise)
    np.testing.assert_allclose(posterior.heads.roots, wanted.roots, rtol=1e-9)
    np.testing.assert_allclose(posterior.term_variance((), encoded), posterior.noise / 100, rtol=1e-12)


def test_what_overlapping_sets_explain_together_counts_once() -> None:
    X, y = waves(100)
    model = DeepKernelRegressor(**{**QUICK, "sets": ["a:b", "b:c", "b"], "max_epochs": 30}).fit(X, y)
    terms = np.asarray(model.predict_terms(X))
    assert model.explained_ * np.var(y) == pytest.approx(np.var(terms.sum(axis=1)), rel=0.05)


def test_where_a_cell_is_missing_an_effect_is_what_the_row_gets() -> None:
    model = DeepKernelRegressor(**{**QUICK, "sets": ["age", "income"]}).fit(TABLE, TARGET)
    effect = model.explain(terms=["age"]).effect("age")
    row = {name: list(values) for name, values in NEW.items()}
    row["age"] = [None] * len(row["age"])
    names = [term.name for term in model.terms_]
    added = np.asarray(model.predict_terms(row))[0, names.index("age")]
    assert effect.missing_mean == pytest.approx(added)


def test_a_term_with_a_missing_cell_is_less_sure_by_what_it_could_be() -> None:
    model = DeepKernelRegressor(**KINDS["sets"]).fit(TABLE, TARGET)
    posterior: Any = model.posterior_
    term = posterior.sets[0]
    nothing = np.full((1, posterior.rows.shape[1]), np.nan)
    others = posterior.rows[np.argsort(np.isnan(posterior.rows).sum(axis=1), kind="stable")[:64]]
    far = posterior.term_mean(term, others) - posterior.term_mean(term, nothing)
    hidden = posterior.networks.only([0]).hidden(posterior.reading.dense.spread(nothing))[0]
    known = posterior.heads.variance(0, hidden)
    np.testing.assert_allclose(posterior.term_variance(term, nothing), known + np.mean(far**2), rtol=1e-9)


def test_a_picture_without_the_leading_term_says_so() -> None:
    X, _ = waves(60)
    model = DeepKernelRegressor(sets=["a:b:c", "d"], max_epochs=40, hidden=(8,)).fit(X, 3.0 * X.a + X.b)
    with pytest.warns(UserWarning, match=r"'a:b:c' has \d+% .* and is not drawn, as it is of 3 features"):
        model.explain().plot()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.explain(terms=["d"]).plot()


def test_kernels_without_terms_have_no_constant_either() -> None:
    X, y = waves(30)
    model = DeepKernelRegressor(**KINDS["rbf"]).fit(X, y)
    assert not hasattr(model, "terms_")
    with pytest.raises(TermError, match="no terms"):
        model.constant_  # noqa: B018


def test_bands_of_sets_that_share_columns_are_wide_and_that_of_all_is_not() -> None:
    """What two sets have in common may be the one's or the other's."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (300, 2))
    y = X.sum(axis=1) + 0.2 * rng.standard_normal(300)
    apart, shared = (
        DeepKernelRegressor(sets=sets, max_epochs=40).fit(X, y)
        for sets in (["x0", "x1"], ["x0:x1", "x0", "x1"])
    )
    widths = [np.asarray(model.predict_terms(X, return_std=True)[1]).mean() for model in (apart, shared)]
    assert widths[1] > 2.0 * widths[0]
    both = [model.predict(X, return_std=True)[1].mean() for model in (apart, shared)]
    assert both[1] == pytest.approx(both[0], rel=0.3)
