"""Benchmark sets made up for a test."""

import csv
import gzip

import pytest


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """Writes a set of some name and columns to a folder that the benchmarks read from then on."""
    monkeypatch.setenv("TERMWISE_DATA", str(tmp_path))
    (tmp_path / "splits").mkdir()
    manifest = tmp_path / "MANIFEST.csv"
    manifest.write_text("name,categorical_columns\n")

    def write(name, columns, categorical=""):
        with gzip.open(tmp_path / f"{name}.csv.gz", "wt", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            table.writerow(columns)
            table.writerows(zip(*columns.values(), strict=True))
        with open(manifest, "a") as file:
            file.write(f"{name},{categorical}\n")

    return write
