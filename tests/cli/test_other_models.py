"""The command with models that it did not fit itself: every kind that can be saved."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import termwise as tw
from termwise.estimators.terms import TermModel
from termwise.io.describe import ESTIMATORS
from tests.cli.test_labels import error_of, run

RNG = np.random.default_rng(0)
TABLE = {"age": RNG.uniform(20.0, 60.0, 50), "size": RNG.standard_normal(50), "same": np.ones(50)}
TARGET = np.sin(TABLE["age"] / 8.0) + TABLE["size"]
QUICK: dict[str, dict[str, Any]] = {"ProjectedGPRegressor": {"n_directions": 3, "n_restarts": 1}}
QUICK |= {"SphericalGPRegressor": {"n_inducing": 9}, "SphericalGPClassifier": {"n_inducing": 9}}
QUICK |= {"DeepKernelRegressor": {"max_epochs": 5, "n_seeds": 1}}
WITH_TERMS = [name for name, kind in ESTIMATORS.items() if issubclass(kind, TermModel)]


def saved(name: str, folder: Path, labels: int = 2) -> Any:
    y = TARGET if "Regressor" in name else np.digitize(TARGET, np.linspace(-0.5, 0.5, labels - 1))
    model = ESTIMATORS[name](**QUICK.get(name, {"max_order": 1, "n_restarts": 1})).fit(TABLE, y)
    tw.save(model, folder / "m")
    with open(folder / "rows.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(TABLE)
        writer.writerows(zip(*TABLE.values(), strict=True))
    return model


@pytest.mark.parametrize("name", ESTIMATORS)
def test_it_predicts(name: str, tmp_path: Path) -> None:
    model = saved(name, tmp_path)
    rows = list(csv.reader(io.StringIO(run("predict", tmp_path / "m", tmp_path / "rows.csv").stdout)))
    assert len(rows) == 51
    if "Regressor" in name:
        np.testing.assert_allclose([float(row[0]) for row in rows[1:]], model.predict(TABLE), rtol=1e-9)
    else:
        np.testing.assert_allclose(
            [float(row[2]) for row in rows[1:]], model.predict_proba(TABLE)[:, 1], rtol=1e-9
        )


@pytest.mark.parametrize("name", WITH_TERMS)
def test_it_explains(name: str, tmp_path: Path) -> None:
    model = saved(name, tmp_path)
    found = run("explain", tmp_path / "m")
    assert found.exit_code == 0, found.output
    assert model.terms_[0].name in found.stdout
    plain = json.loads(run("explain", tmp_path / "m", "--json").stdout)
    assert plain["estimator"] == name
    assert plain["orthogonal"] == name.startswith("OAK")
    assert plain["columns_without_effect"] == ["same"]


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("name", ["SphericalGPRegressor", "SphericalGPClassifier"])
def test_a_model_without_terms_says_who_has_some(name: str, labels: int, tmp_path: Path) -> None:
    saved(name, tmp_path, labels)
    page = tmp_path / "page.html"
    for command in (
        ("explain", tmp_path / "m"),
        ("report", tmp_path / "m", "-o", page),
        ("predict", tmp_path / "m", tmp_path / "rows.csv", "--terms"),
    ):
        message = error_of(run(*command))
        assert f"a {name} is one function of all columns, has no terms" in message
        assert f"use OAK{name[11:]} for terms" in message
    assert not page.exists()


def test_a_model_along_directions_has_no_page(tmp_path: Path) -> None:
    tw.save(tw.ProjectedGPRegressor(n_directions=3, n_restarts=1).fit(TABLE, TARGET), tmp_path / "m")
    assert "along directions" in error_of(run("report", tmp_path / "m", "-o", tmp_path / "page.html"))
    assert not (tmp_path / "page.html").exists()
