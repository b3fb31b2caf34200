"""A model file keeps how observations scatter; one that says nonsense of it is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import termwise as tw
from termwise.errors import ModelFileError
from tests.io.models import rewritten, same_bits

ROWS, INDUCING = 1200, 10


@pytest.fixture(scope="module")
def sparse() -> tuple[tw.OAKRegressor, np.ndarray, np.ndarray]:
    """A model of the sparse engine whose residuals have heavy tails, and its table."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, 2))
    y = np.sin(X[:, 0]) + 0.1 * X[:, 1] + 0.3 * rng.standard_t(3, ROWS)
    model = tw.OAKRegressor(max_order=1, n_restarts=1, inference="sparse", n_inducing=INDUCING).fit(X, y)
    assert len(model.noise_.weights) > 1
    return model, X, y


@pytest.mark.parametrize("pruned", [False, True], ids=["whole", "pruned"])
def test_the_scatter_is_kept_bit_for_bit(pruned: bool, sparse: Any, tmp_path: Path) -> None:
    model, X, y = sparse
    if pruned:
        model = model.prune(0.2)
        assert len(model.posterior_.terms) == 2
        assert model.noise_.variance > sparse[0].noise_.variance
    tw.save(model, tmp_path / "m")
    loaded = tw.load(tmp_path / "m")
    assert loaded.noise_ == model.noise_
    assert same_bits(loaded.log_predictive_density(X, y), model.log_predictive_density(X, y))
    for found, expected in zip(
        loaded.predict(X, return_std=True), model.predict(X, return_std=True), strict=True
    ):
        assert same_bits(found, expected)
    assert loaded.fit_result_ == model.fit_result_
    assert (loaded.fit_result_.rows, loaded.fit_result_.inducing) == (ROWS, INDUCING)


def test_the_spread_and_the_density_are_those_of_the_scatter(sparse: Any) -> None:
    model, X, y = sparse
    mean, std = model.predict(X, return_std=True)
    scale = model.target_scale_.scale
    known = std**2 / scale**2 - model.noise_.variance
    expected = model.noise_.log_density((y - mean) / scale, known) - np.log(scale)
    np.testing.assert_allclose(model.log_predictive_density(X, y), expected, rtol=1e-8)
    normal = -0.5 * (np.log(2.0 * np.pi * std**2) + (y - mean) ** 2 / std**2)
    assert np.mean(expected - normal) > 0.05


DAMAGED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "null": lambda document: document.update(scatter=None),
    "a list": lambda document: document.update(scatter=[1.0]),
    "empty": lambda document: document.update(scatter={"variances": [], "weights": []}),
    "no weights": lambda document: document["scatter"].pop("weights"),
    "a weight too few": lambda document: document["scatter"]["weights"].pop(),
    "a mean too few": lambda document: document["scatter"]["means"].pop(),
    "means that are no numbers": lambda document: document["scatter"].update(means=["a"]),
    "a negative variance": lambda document: document["scatter"]["variances"].__setitem__(0, -1.0),
    "an infinite variance": lambda document: document["scatter"]["variances"].__setitem__(0, float("inf")),
    "a text": lambda document: document["scatter"]["variances"].__setitem__(0, "1.0"),
    "a negative weight": lambda document: document["scatter"]["weights"].__setitem__(0, -0.1),
    "no weight": lambda document: document["scatter"]["weights"].__setitem__(0, 0.0),
    "weights that are not one": lambda document: document["scatter"].update(
        variances=[1.0, 2.0], weights=[0.5, 0.4]
    ),
}


@pytest.mark.parametrize("how", DAMAGED)
def test_a_scatter_that_is_none_is_refused(how: str, sparse: Any, tmp_path: Path) -> None:
    changed = rewritten(sparse[0], tmp_path, DAMAGED[how])
    with pytest.raises(ModelFileError, match="save the model again"):
        tw.load(changed)


def test_a_file_from_before_the_scatter_was_learned_has_normal_noise(sparse: Any, tmp_path: Path) -> None:
    model = tw.load(rewritten(sparse[0], tmp_path, lambda document: document.pop("scatter")))
    assert model.noise_.variances == (sparse[0].posterior_.noise,)


def test_the_rows_that_were_seen_are_kept_bit_for_bit(sparse: Any, tmp_path: Path) -> None:
    model, _, _ = sparse
    tw.save(model, tmp_path / "m")
    np.testing.assert_array_equal(tw.load(tmp_path / "m").posterior_.seen, model.posterior_.seen)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_rows_seen_that_are_none_are_refused(value: float, sparse: Any, tmp_path: Path) -> None:
    model = copy.copy(sparse[0])
    seen = model.posterior_.seen.copy()
    seen[3] = value
    for wrong in (seen, sparse[0].posterior_.seen[:, :0], sparse[0].posterior_.seen[:, [0] * 9]):
        model.posterior_ = replace(sparse[0].posterior_, seen=wrong)
        tw.save(model, tmp_path / "m")
        with pytest.raises(ModelFileError):
            tw.load(tmp_path / "m")
