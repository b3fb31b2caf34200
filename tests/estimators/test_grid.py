"""Functions of single columns by grid interpolation, of the models whose terms are columns."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import termwise as tw
from termwise.errors import OptionError

N = 500
MODELS = {
    "orthogonal": tw.OAKRegressor(max_order=1, n_restarts=1),
    "smooth": tw.OAKRegressor(max_order=1, kernel="se", flow=None, measure="normal", n_restarts=1),
    "gam": tw.AdditiveGPRegressor(kind="gam", n_restarts=1),
}
every_model = pytest.mark.parametrize("name", MODELS)


def rows(n: int, seed: int = 0) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Two columns that matter, one of them skewed, and one that does not."""
    rng = np.random.default_rng(seed)
    X = {"a": rng.standard_normal(n), "b": rng.exponential(size=n), "c": rng.uniform(size=n)}
    return X, np.sin(2.0 * X["a"]) + np.sqrt(X["b"]) + 0.2 * rng.standard_normal(n)


def fitted(name: str, inference: str) -> Any:
    return clone(MODELS[name]).set_params(inference=inference).fit(*rows(N))


@every_model
def test_it_knows_what_exact_inference_knows(name):
    exact, grid = (fitted(name, inference) for inference in ("exact", "ski"))
    new, truth = rows(300, seed=1)
    (mean, std), (found, spread) = (model.predict(new, return_std=True) for model in (exact, grid))
    np.testing.assert_allclose(found, mean, atol=0.1 * np.mean(std))
    np.testing.assert_allclose(spread, std, rtol=0.1)
    density = [float(np.mean(model.log_predictive_density(new, truth))) for model in (exact, grid)]
    assert density[1] == pytest.approx(density[0], abs=0.02)
    assert grid.fit_result_.residual == 0.0
    # Both climb to the same place, whose height the grid knows to a thousandth of a nat a row.
    assert grid.objective_ == pytest.approx(exact.objective_, abs=0.5 + 1e-3 * N)


@every_model
def test_terms_pruning_and_files_are_as_of_every_posterior(name, tmp_path):
    model, new = fitted(name, "ski"), rows(50, seed=2)[0]
    total = model.constant_ + model.predict_terms(new).sum(axis=1)
    np.testing.assert_allclose(total, model.predict(new), atol=1e-8)
    assert {term.name for term in model.terms_[:2]} == {"a", "b"}
    two = model.prune(n_terms=2)
    np.testing.assert_allclose(two.predict(new), model.predict(new), atol=0.1)
    tw.save(model, tmp_path / "m.termwise")
    again = tw.load(tmp_path / "m.termwise")
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    assert again.get_params() == model.get_params()


def test_what_cannot_be_interpolated_is_refused_with_a_remedy():
    X, y = rows(60)
    grid = tw.OAKRegressor(max_order=1, inference="ski")
    levels = {**X, "city": np.where(X["a"] > 0.0, "Oslo", "Bergen")}
    holes = {**X, "a": np.where(X["a"] > 0.0, np.nan, X["a"])}
    for model, table, reason in (
        (tw.OAKRegressor(inference="ski"), X, "max_order=1"),
        (tw.OAKRegressor(max_order=1, kernel="matern12", inference="ski"), X, "'matern12' is not one that"),
        (grid, levels, "column of two values"),
        (grid, holes, "cells are missing"),
    ):
        with pytest.raises(OptionError, match=reason):
            model.fit(table, y)
    with pytest.raises(OptionError, match="normal noise"):
        tw.OAKClassifier(max_order=1, inference="ski").fit(X, y > 1.0)
    with pytest.raises(OptionError, match="no inducing rows"):
        tw.OAKRegressor(max_order=1, inference="ski", n_inducing=20).fit(X, y)


def test_files_larger_than_memory_are_for_others(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    X, y = rows(60)
    pandas.DataFrame({**X, "y": y}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(OptionError, match="in memory"):
        tw.OAKRegressor(max_order=1, inference="ski").fit_dataset(tmp_path / "t.parquet", target="y")
