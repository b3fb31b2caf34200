"""The benchmark sets: a table, its target, and a split into training and test rows."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from termwise.table.csv import read_csv

REPOSITORY = Path(__file__).resolve().parents[1]


class NoDataError(FileNotFoundError):
    """The benchmark sets are not where they are looked for."""


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test rows; the target has mean 0 and variance 1 on the training rows."""

    X: dict[str, np.ndarray]
    y: np.ndarray
    X_test: dict[str, np.ndarray]
    y_test: np.ndarray
    categorical: list[str]


def folder() -> Path:
    """The folder of the sets: TERMWISE_DATA, or shared/data beside the repository."""
    found = Path(os.environ.get("TERMWISE_DATA", REPOSITORY.parent / "shared" / "data"))
    if not found.is_dir():
        raise NoDataError(
            f"no benchmark data at {found}; set TERMWISE_DATA to the folder that holds the sets"
        )
    return found


def load(name: str, split: int = 0, where: Path | None = None) -> Split:
    """One split of a set."""
    where = where or folder()
    columns = _columns(where / f"{name}.csv.gz")
    y = columns.popitem()[1]  # the target is the last column
    test = _columns(where / "splits" / f"{name}.csv.gz")[f"split{split}"] == 1.0
    mean, sd = y[~test].mean(), y[~test].std()
    y = (y - mean) / sd
    train, held = ({key: x[rows] for key, x in columns.items()} for rows in (~test, test))
    return Split(train, y[~test], held, y[test], _categorical(where, name))


def _columns(path: Path) -> dict[str, np.ndarray]:
    table = read_csv(path)
    return dict(zip(table.names, (np.asarray(column) for column in table.columns), strict=True))


def _categorical(where: Path, name: str) -> list[str]:
    with open(where / "MANIFEST.csv", encoding="utf-8", newline="") as file:
        row = next(row for row in csv.DictReader(file) if row["name"] == name)
    return [column for column in row["categorical_columns"].split(";") if column]
