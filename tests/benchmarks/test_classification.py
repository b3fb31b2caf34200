"""What the benchmarks of labels compute, held against what it should be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import churn, late, logits


def test_the_calibration_error_is_the_mean_distance_of_said_and_true() -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(0.0, 1.0, 200_000)
    y = (rng.random(p.size) < p).astype(int)
    assert late.calibration_error(y, p) < 0.005
    assert late.calibration_error(y, np.clip(p - 0.1, 0.0, 1.0)) == pytest.approx(0.0975, abs=0.005)


def test_the_variances_of_the_known_terms() -> None:
    X = np.random.default_rng(0).standard_normal((1_000_000, logits.COLUMNS))
    assert np.var(logits.latent(X)) == pytest.approx(sum(logits.VARIANCES.values()), rel=0.01)
    others = X.copy()
    others[:, 3:5] = 0.0
    first = sum(logits.VARIANCES.values()) - logits.VARIANCES["x3:x4"]
    assert np.var(logits.latent(others)) == pytest.approx(first, rel=0.01)


def test_the_table_of_known_logits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(logits, "ROW_GROUP", 300)
    logits.write(str(tmp_path / "t.parquet"), 1000)
    file = pq.ParquetFile(tmp_path / "t.parquet")
    assert (file.metadata.num_rows, file.metadata.num_row_groups) == (1000, 4)
    assert file.schema_arrow.names == [*[f"x{d}" for d in range(8)], "yes"]


def test_leading_terms_are_those_of_all_folds_together() -> None:
    found = churn.leading([{"a": 0.5, "b": 0.1}, {"a": 0.3, "c": 0.4}])
    assert found == [("a", 0.4), ("c", 0.2), ("b", 0.05)]
