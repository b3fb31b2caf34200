"""`termwise report` and `fit --report`: a page, or one line that says why not."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.cli.test_cli import error_of, run

ROWS = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(0)
    x, city = rng.normal(size=ROWS), rng.choice(["Oslo", "Rome"], ROWS)
    y = x + (city == "Oslo")
    lines = [f"{a:.4f},{b},{c:.4f}" for a, b, c in zip(x, city, y, strict=True)]
    (folder / "table.csv").write_text("\n".join(["size,city,price", *lines]) + "\n")
    made = run(
        *("fit", folder / "table.csv", "--target", "price", "-o", folder / "m.termwise", "--quiet"),
        *("--max-order", 1, "--report", folder / "fit.html"),
    )
    assert made.exit_code == 0, made.output
    return folder


def test_fit_writes_a_page_too(folder: Path) -> None:
    assert (folder / "fit.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_model_becomes_a_page(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = run("report", folder / "m.termwise", "-o", page, "--title", "Prices <of> houses")
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    assert result.stderr.startswith(f"wrote {page}, 0.")
    assert "<h1>Prices &lt;of&gt; houses</h1>" in page.read_text(encoding="utf-8")


def test_rows_of_a_table_are_looked_at(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    for _ in range(2):  # a page that is there is replaced
        made = run("report", folder / "m.termwise", "-o", page, "--test", folder / "table.csv", "-q")
        assert made.exit_code == 0, made.output
        assert made.stderr == ""
    assert "Row 3" in page.read_text(encoding="utf-8")
    checked = run("report", folder / "m.termwise", "-o", page, "--test", folder / "table.csv", "-t", "price")
    assert checked.exit_code == 0, checked.output
    assert "rows inside" in page.read_text(encoding="utf-8")


def test_rows_may_come_from_parquet(folder: Path, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(folder / "table.csv")
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=15)
    page = tmp_path / "page.html"
    made = run("report", folder / "m.termwise", "-o", page, "--test", tmp_path / "t.parquet", "-t", "price")
    assert made.exit_code == 0, made.output
    text = page.read_text(encoding="utf-8")
    assert "Row 3" in text
    assert f'<th scope="row">rows</th><td class="number">{ROWS}</td>' in text


def test_counts_are_checked_with_their_exposure(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, years = rng.normal(size=60), rng.uniform(1.0, 30.0, 60)
    lines = [
        f"{a:.4f},{b:.4f},{c}" for a, b, c in zip(x, years, rng.poisson(years * np.exp(0.3 * x)), strict=True)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["x,years,claims", *lines]) + "\n")
    model, page = tmp_path / "m.termwise", tmp_path / "page.html"
    counts = ("--target", "claims", "--exposure", "years", "--quiet")
    made = run("fit", tmp_path / "t.csv", *counts, "--likelihood", "poisson", "-o", model)
    assert made.exit_code == 0, made.output
    made = run("report", model, "-o", page, "--test", tmp_path / "t.csv", *counts)
    assert made.exit_code == 0, made.output
    covered = re.search(r"90 %</th><td class=\"number\">([\d.]+) %", page.read_text(encoding="utf-8"))
    assert covered is not None
    assert float(covered[1]) > 80.0
    assert "'year'" in error_of(
        run("report", model, "-o", page, "--test", tmp_path / "t.csv", "--exposure", "year")
    )


def test_what_cannot_be_is_said_in_one_line(folder: Path, tmp_path: Path) -> None:
    model = folder / "m.termwise"
    assert "does not exist" in error_of(run("report", model, "-o", tmp_path / "no" / "page.html"))
    assert "is a folder" in error_of(run("report", model, "-o", tmp_path))
    assert "no --test" in error_of(run("report", model, "-o", tmp_path / "p.html", "--target", "price"))
    assert "cannot be read" in error_of(run("report", tmp_path / "none", "-o", tmp_path / "p.html"))
    both = tmp_path / "both"
    same = ("fit", folder / "table.csv", "--target", "price", "-o", both, "--report", both)
    assert "are both" in error_of(run(*same))
    assert list(tmp_path.iterdir()) == []
