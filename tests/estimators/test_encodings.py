"""A classifier encodes numbers as the evidence prefers: bent towards the normal, or as they are."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from termwise import OAKClassifier, OAKRegressor
from termwise.encode.flow import SinhArcsinh
from termwise.errors import NotEnoughMemoryError, TermwiseWarning
from termwise.estimators import base, encodings, engine

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


def test_a_measure_that_is_asked_for_one_start_and_minibatches_leave_columns_bent() -> None:
    X, y = heavy("values")
    stochastic = {"inference": "stochastic", "n_inducing": 20}
    for options in ({"measure": "normal"}, {"measure": {"a": "normal"}}, {"n_restarts": 1}, stochastic):
        assert is_bent(OAKClassifier(max_order=1, **options).fit(X, y)), options
    assert not is_bent(OAKClassifier(max_order=1, measure={"a": "empirical"}).fit(X, y))


def test_what_was_chosen_is_said() -> None:
    X, y = heavy("values")
    reasons = {choice.reason for choice in OAKClassifier(max_order=1).fit(X, y).columns_}
    assert reasons == {"its encoding was learned by the evidence, from its values as they are"}


def test_encodings_that_are_the_same_are_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels, and numbers of so few values that no flow bends them; of what is left out one warning tells."""
    seen, real = [], base.learn_encoded

    def learn(encoders: Any, *rest: Any) -> Any:
        seen.append(len(encoders))
        return real(encoders, *rest)

    monkeypatch.setattr(base, "learn_encoded", learn)
    X, y = heavy("values", 60)
    levels = X[["a", "b"]].gt(0.0).astype(str)
    grades = levels.assign(c=np.arange(60) % 3)
    for table in (levels, grades, levels.assign(c=X["c"])):
        OAKClassifier(max_order=1).fit(table, y)
    assert seen == [1, 1, 2]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        OAKClassifier(max_order=1).fit(X.assign(name=[f"row {i}" for i in range(60)]), y)
    assert len([one for one in caught if issubclass(one.category, TermwiseWarning)]) == 1


@pytest.mark.parametrize("inference", ["sparse", "exact"])
def test_what_the_choice_took_is_part_of_the_result(inference: str) -> None:
    """Every evaluation is told on the way, and counted."""
    seen: list[Any] = []
    model = OAKClassifier(max_order=1, inference=inference, progress=seen.append)
    model.fit(*heavy("values", 120))
    assert model.fit_result_.evaluations == len(seen)


def test_the_threads_of_the_choice_change_no_bit() -> None:
    X, y = heavy("values", 200)
    one, two = (
        OAKClassifier(max_order=1, inference="sparse", n_inducing=20, n_jobs=jobs).fit(X, y)
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_levels_that_memory_cannot_hold_are_refused_before_a_choice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    X, y = heavy("values", 1200)
    X.assign(name=[f"level {i // 2}" for i in range(1200)], y=y).to_parquet(tmp_path / "t.parquet")

    def refuse(needed: int, what: str, remedy: str) -> None:
        if "levels" in what:
            raise NotEnoughMemoryError(what)

    monkeypatch.setattr(engine, "require_memory", refuse)
    monkeypatch.setattr(encodings, "preferred", lambda *_: pytest.fail("climbed before memory was checked"))
    with pytest.raises(NotEnoughMemoryError, match="600 levels"):
        OAKClassifier(max_order=1, n_inducing=10).fit_dataset(tmp_path / "t.parquet", target="y")
