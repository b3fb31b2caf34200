"""The benchmark sets: a table, its target, and a split into training and test rows."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from termwise.table.csv import read_csv

REPOSITORY = Path(__file__).resolve().parents[1]
TRAINED = 0.9  # of the rows, where a set has no masks


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


@dataclass(frozen=True, eq=False)
class Whole:
    """A set that is not split yet, with the target as it is."""

    X: dict[str, np.ndarray]
    y: np.ndarray
    categorical: list[str]

    def parted(self, train: np.ndarray, test: np.ndarray) -> Split:
        """Some rows to learn from and some to test with."""
        mean, sd = self.y[train].mean(), self.y[train].std()
        y, y_test = ((self.y[rows] - mean) / sd for rows in (train, test))
        X, X_test = ({key: x[rows] for key, x in self.X.items()} for rows in (train, test))
        return Split(X, y, X_test, y_test, self.categorical)


def folder() -> Path:
    """The folder of the sets: TERMWISE_DATA, or shared/data beside the repository."""
    found = Path(os.environ.get("TERMWISE_DATA", REPOSITORY.parent / "shared" / "data"))
    if not found.is_dir():
        raise NoDataError(
            f"no benchmark data at {found}; set TERMWISE_DATA to the folder that holds the sets"
        )
    return found


def load(name: str, split: int = 0, where: Path | None = None, *, masks: str | None = None) -> Split:
    """One split of a set: by the test masks of its name, or of another; shuffled if it has none."""
    where = where or folder()
    whole = read(name, where)
    path = where / "splits" / f"{masks or name}.csv.gz"
    if masks or path.exists():
        test = _columns(path)[f"split{split}"] == 1.0
        return whole.parted(np.flatnonzero(~test), np.flatnonzero(test))
    # As bayesian_benchmarks draws its splits.
    order = np.random.RandomState(split).permutation(whole.y.size)
    count = int(TRAINED * order.size)
    return whole.parted(order[:count], order[count:])


def read(name: str, where: Path | None = None) -> Whole:
    """A whole set."""
    where = where or folder()
    columns = _columns(where / f"{name}.csv.gz")
    y = columns.popitem()[1]  # the target is the last column
    return Whole(columns, y, _categorical(where, name))


def _columns(path: Path) -> dict[str, np.ndarray]:
    table = read_csv(path)
    return dict(zip(table.names, (np.asarray(column) for column in table.columns), strict=True))


def _categorical(where: Path, name: str) -> list[str]:
    with open(where / "MANIFEST.csv", encoding="utf-8", newline="") as file:
        row = next(row for row in csv.DictReader(file) if row["name"] == name)
    return [column for column in row["categorical_columns"].split(";") if column]
