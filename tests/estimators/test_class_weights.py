"""How labels count beside each other, whatever rows count and however they are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import termwise as tw
from termwise.estimators.labels import weights_of
from termwise.estimators.merge import repeated_rows

OPTIONS: dict[str, Any] = {"max_order": 1, "n_restarts": 1}
BY_LABEL = [0, 0, 1]


def rare(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of which about one in eight is a yes, more often with a large x and in Rome."""
    rng = np.random.default_rng(seed)
    x, city = rng.standard_normal(n), rng.choice(["Bern", "Oslo", "Rome"], n, p=[0.5, 0.3, 0.2])
    f = 1.2 * x + 1.5 * (city == "Rome") - 2.9
    labels = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-f)), "yes", "no")
    return pd.DataFrame({"x": x, "city": city}), labels


def test_labels_are_balanced_by_what_their_rows_count() -> None:
    weights = weights_of("balanced", np.array([0, 1]), np.array(BY_LABEL), [1.0, 1.0, 2.0])
    assert weights.of_label is None  # two rows each
    fewer = weights_of("balanced", np.array([0, 1]), np.array(BY_LABEL), None)
    assert fewer.of_label is not None
    np.testing.assert_array_equal(fewer.of_label, [0.5, 1.0])


@pytest.mark.parametrize("class_weight", ["balanced", {"no": 0.3}], ids=str)
@pytest.mark.parametrize("labels", [2, 3])
def test_a_weight_is_a_repetition_with_class_weights_too(class_weight: Any, labels: int) -> None:
    frame, y = rare(120)
    if labels == 3:
        y = np.where(frame["x"] > 0.7, "top", y)
    weight = np.where(y == "no", 1, np.arange(120) % 4)
    times = np.random.default_rng(0).permutation(np.repeat(np.arange(120), weight))
    model = tw.OAKClassifier(**OPTIONS, class_weight=class_weight)
    weighted = model.fit(frame, y, sample_weight=weight).predict_proba(frame)
    repeated = model.fit(frame.iloc[times], y[times]).predict_proba(frame)
    np.testing.assert_array_equal(repeated, weighted)


def test_class_weights_leave_the_measure_of_the_inputs_alone() -> None:
    frame, y = rare(200)
    plain = tw.OAKClassifier(**OPTIONS).fit(frame, y)
    balanced = tw.OAKClassifier(**OPTIONS, class_weight="balanced").fit(frame, y)
    measures = [model.posterior_.kernel.components[1].measure for model in (plain, balanced)]
    shares = [np.mean(frame["city"] == city) for city in ("Bern", "Oslo", "Rome")]
    for measure in measures:
        np.testing.assert_allclose(measure.probabilities, shares, atol=1e-12)
    assert abs(balanced.constant_) < abs(plain.constant_) - 1.0


def test_a_data_set_has_the_model_of_a_table(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frame, y = rare(1500)
    frame.assign(late=y).to_parquet(tmp_path / "t.parquet")
    options = {**OPTIONS, "n_inducing": 60, "inference": "sparse", "class_weight": "balanced"}
    one = tw.OAKClassifier(**options).fit(frame, y)
    other = tw.OAKClassifier(**options).fit_dataset(tmp_path / "t.parquet", target="late")
    assert other.constant_ == pytest.approx(one.constant_, abs=0.02)
    shares = [dict(zip(m.sobol_["term"], m.sobol_["share"], strict=True)) for m in (one, other)]
    assert shares[1] == pytest.approx(shares[0], abs=0.01)


def test_weights_that_are_not_whole_keep_their_sum_in_any_part_of_many_rows() -> None:
    weight = np.where(np.arange(200_000) < 100_000, 1.0, 1.2)
    times = np.bincount(repeated_rows(weight, weight.size), minlength=weight.size)
    assert times[100_000:].sum() / times[:100_000].sum() == pytest.approx(1.2, abs=1e-3)
    assert times.min() > 0
