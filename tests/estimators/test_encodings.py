"""A classifier encodes numbers as the evidence prefers: bent towards the normal, or as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from termwise import OAKClassifier, OAKRegressor
from termwise.encode.flow import SinhArcsinh
from termwise.estimators import base

ROWS = 300


def heavy(adds_up: str, rows: int = ROWS, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns with heavy tails; labels by the sum of their values, or of what is left of these when bent."""
    rng = np.random.default_rng(seed)
    values = rng.standard_t(3.0, (rows, 8))
    parts = values if adds_up == "values" else np.arcsinh(3.0 * values)
    latent = 1.5 * parts @ np.where(np.arange(8) % 2, 1.0, -1.0)
    y = rng.random(rows) < 1.0 / (1.0 + np.exp(-latent))
    return pd.DataFrame(values, columns=list("abcdefgh")), y


def is_bent(model: Any) -> bool:
    """Whether columns were made normal first: what the evidence bends stays where it is."""
    steps = [step for column in model.encoder_.columns for step in column.flow.steps]
    return any(isinstance(step, SinhArcsinh) and step.location != 0.0 for step in steps)


@pytest.mark.parametrize(("adds_up", "bent"), [("values", False), ("bent", True)])
@pytest.mark.parametrize("inference", ["exact", "sparse"])
def test_numbers_are_bent_if_that_makes_the_evidence_higher(adds_up: str, bent: bool, inference: str) -> None:
    X, y = heavy(adds_up)
    model = OAKClassifier(max_order=1, inference=inference).fit(X, y)
    assert is_bent(model) == bent


def test_a_data_set_is_encoded_as_the_evidence_prefers_too(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    X, y = heavy("values", 1200)
    X.assign(y=y).to_parquet(tmp_path / "t.parquet")
    model = OAKClassifier(max_order=1, n_inducing=40).fit_dataset(tmp_path / "t.parquet", target="y")
    assert not is_bent(model)


def test_the_choice_predicts_better() -> None:
    """On rows that were left out, where values add up."""
    X, y = heavy("values")
    left_out = heavy("values", 2000, seed=1)
    chosen, bent = OAKClassifier(max_order=1), OAKClassifier(max_order=1, flow="fixed")
    scores = [np.mean(model.fit(X, y).log_predictive_density(*left_out)) for model in (chosen, bent)]
    assert scores[0] > scores[1] + 0.01


def test_a_fixed_encoding_stays_and_numbers_are_learned_from_bent_columns() -> None:
    X, y = heavy("values")
    assert is_bent(OAKClassifier(max_order=1, flow="fixed").fit(X, y))
    assert is_bent(OAKRegressor(max_order=1, n_restarts=1).fit(X, y.astype(float)))


def test_levels_have_one_encoding_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """No start is spent on the same again."""
    seen, real = [], base.learn

    def learn(candidates: Any, *rest: Any) -> Any:
        seen.append(len(candidates))
        return real(candidates, *rest)

    monkeypatch.setattr(base, "learn", learn)
    X, y = heavy("values", 60)
    levels = X[["a", "b"]].gt(0.0).astype(str)
    for table in (levels, levels.assign(c=X["c"])):
        OAKClassifier(max_order=1).fit(table, y)
    assert seen == [1, 2]
