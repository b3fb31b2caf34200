"""A classifier encodes numbers as the evidence prefers: bent towards the normal, or as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from termwise import OAKClassifier, OAKRegressor
from termwise.encode.encoder import NumberEncoder
from termwise.encode.flow import fit_flow

ROWS = 300


def skewed(adds_up: str, rows: int = ROWS, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Three columns with long tails; labels by the sum of their values, or of the logarithms of these."""
    rng = np.random.default_rng(seed)
    logs = rng.normal(0.0, 1.3, (rows, 3))
    parts = np.exp(logs) if adds_up == "values" else logs
    latent = 4.0 * (parts[:, 0] - parts[:, 1] + 0.5 * parts[:, 2] - 0.5 * np.mean(parts[:, 2]))
    y = rng.random(rows) < 1.0 / (1.0 + np.exp(-latent))
    return pd.DataFrame(np.exp(logs), columns=["a", "b", "c"]), y


def is_bent(model: Any, table: pd.DataFrame) -> bool:
    """Whether the encoding of the first column begins with the flow that makes it normal."""
    column = model.encoder_.columns[0]
    assert isinstance(column, NumberEncoder)
    first = fit_flow(table["a"].to_numpy()).steps
    assert first, "columns with long tails are bent"
    return (
        len(column.flow.steps) >= len(first)
        and isinstance(column.flow.steps[0], type(first[0]))
        and (column.flow.steps[: len(first)] == first)
    )


@pytest.mark.parametrize(("adds_up", "bent"), [("values", False), ("logarithms", True)])
@pytest.mark.parametrize("inference", ["exact", "sparse"])
def test_numbers_are_bent_if_that_makes_the_evidence_higher(adds_up: str, bent: bool, inference: str) -> None:
    X, y = skewed(adds_up)
    model = OAKClassifier(max_order=1, inference=inference).fit(X, y)
    assert is_bent(model, X) == bent


def test_a_data_set_is_encoded_as_the_evidence_prefers_too(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    X, y = skewed("values", 1200)
    X.assign(y=y).to_parquet(tmp_path / "t.parquet")
    model = OAKClassifier(max_order=1, n_inducing=40).fit_dataset(tmp_path / "t.parquet", target="y")
    assert not is_bent(model, X)


def test_the_choice_predicts_better() -> None:
    """On rows that were left out, where values add up: no worse than either encoding alone."""
    X, y = skewed("values")
    left_out = skewed("values", 2000, seed=1)
    chosen, bent = OAKClassifier(max_order=1), OAKClassifier(max_order=1, flow="fixed")
    scores = [np.mean(model.fit(X, y).log_predictive_density(*left_out)) for model in (chosen, bent)]
    assert scores[0] > scores[1] + 0.02


def test_a_fixed_encoding_stays_and_numbers_are_learned_from_bent_columns() -> None:
    X, y = skewed("values")
    assert is_bent(OAKClassifier(max_order=1, flow="fixed").fit(X, y), X)
    assert is_bent(OAKRegressor(max_order=1, n_restarts=1).fit(X, y.astype(float)), X)


def test_levels_have_one_encoding_only() -> None:
    """Both starts are of it: the second is not spent on the same again."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.choice(list("xyz"), 100), "b": rng.choice(list("uv"), 100)})
    y = (X["a"] == "x") ^ (rng.random(100) < 0.1)
    starts = OAKClassifier(max_order=1).fit(X, y).fit_result_.starts
    assert len(starts) == 2
    assert starts[0] != starts[1]
