"""The command with counts, outliers and checkpoints."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import termwise as tw
from termwise.inference import coarse, stochastic
from tests.cli.test_labels import error_of, run

ROWS = 200
RNG = np.random.default_rng(0)
AGE, YEARS = RNG.uniform(20.0, 60.0, ROWS), RNG.uniform(0.5, 20.0, ROWS)
RATE = np.exp((AGE - 40.0) / 15.0 - 1.0)
CLAIMS = RNG.poisson(YEARS * RATE)
COMMON = ("--max-order", 1)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "claims.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "years", "claims"])
        writer.writerows(zip(AGE.tolist(), YEARS.tolist(), CLAIMS.tolist(), strict=True))
    return path


def test_counts_by_exposure(table: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.termwise"
    options = ("--likelihood", "poisson", "--exposure", "years", *COMMON)
    found = run("fit", table, "-t", "claims", "-o", model, "-q", *options)
    assert found.exit_code == 0, found.output
    assert "of the variance of the logarithm of the counts" in found.stdout
    assert tw.load(model).encoder_.schema.names == ("age",)
    rates, counts = (
        np.array(list(csv.reader(io.StringIO(run("predict", model, table, *more).stdout)))[1:], dtype=float)
        for more in ((), ("--exposure", "years"))
    )
    np.testing.assert_allclose(counts[:, 0], YEARS * rates[:, 0], rtol=1e-9)
    assert np.sqrt(np.mean((np.log(rates[:, 0]) - np.log(RATE)) ** 2)) < 0.2
    plain = json.loads(run("explain", model, "--json").stdout)
    assert (plain["estimator"], plain["likelihood"]) == ("OAKRegressor", "poisson")


def test_few_counts_are_no_labels_if_said_so(table: Path, tmp_path: Path) -> None:
    few = table.read_text().splitlines()
    few = [few[0], *[f"{line.rsplit(',', 1)[0]},{i % 3}" for i, line in enumerate(few[1:])]]
    table.write_text("\n".join(few) + "\n")
    out = tmp_path / "m.termwise"
    found = run("fit", table, "-t", "claims", "-o", out, "--likelihood", "poisson", "-q", *COMMON)
    assert found.exit_code == 0, found.output
    assert isinstance(tw.load(out), tw.OAKRegressor)


def test_options_that_do_not_go_together(table: Path, tmp_path: Path) -> None:
    def refused(*more: object, target: str = "claims") -> str:
        return error_of(run("fit", table, "-t", target, "-o", tmp_path / "m.termwise", *more))

    assert "--exposure is for counts" in refused("--exposure", "years")
    assert "--likelihood is for numbers" in refused("--likelihood", "student", "--task", "classification")
    assert "--checkpoint and --resume are for Parquet" in refused("--checkpoint", tmp_path / "c")
    assert "there is no such column besides the target" in refused(
        "--likelihood", "poisson", "--exposure", "year"
    )
    made = run("fit", table, "-t", "claims", "-o", tmp_path / "m.termwise", "-q", *COMMON)
    assert made.exit_code == 0, made.output
    wrong = error_of(run("predict", tmp_path / "m.termwise", table, "--exposure", "years"))
    assert "--exposure is for models of counts" in wrong


def test_parquet_with_checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(coarse, "FIRST_ROWS", 100)
    monkeypatch.setattr(stochastic, "LEAST_STEPS", 30)
    path, folder, model = tmp_path / "t.parquet", tmp_path / "c", tmp_path / "m.termwise"
    labels = np.where(CLAIMS > 3, "many", "few")
    pq.write_table(pa.table({"age": AGE, "years": YEARS, "kind": labels, "claims": CLAIMS}), path)
    options = ("-o", model, "-q", "--n-inducing", 20, *COMMON)
    found = run("fit", path, "-t", "kind", "--checkpoint", folder, *options)
    assert found.exit_code == 0, found.output
    assert "fit" in found.output or "explain" in found.output
    assert tw.load(model).classes_.tolist() == ["few", "many"]
    assert "holds checkpoints already" in error_of(
        run("fit", path, "-t", "kind", "--checkpoint", folder, *options)
    )
    assert run("fit", path, "-t", "kind", "--resume", folder, *options).exit_code == 0
    predicted = run("predict", model, path)
    assert predicted.stdout.splitlines()[0] == "prediction,p(few),p(many)"
    counts = ("--likelihood", "poisson", "--exposure", "years", "--inference", "sparse")
    found = run("fit", path, "-t", "claims", *counts, *options)
    assert found.exit_code == 0, found.output
    lines = run("predict", model, path, "--exposure", "years").stdout.splitlines()
    assert len(lines) == ROWS + 1


def test_the_help_says_that_checkpoints_mean_minibatches() -> None:
    shown = " ".join(run("fit", "--help").stdout.split())
    assert "what a long fit has come to. It goes by minibatches then, however few rows there are." in shown
