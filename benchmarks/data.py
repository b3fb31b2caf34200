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


class SetError(ValueError):
    """A set is not what its manifest says."""


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
    whole = read(name, where)
    if masks and not mask_path(masks, where).exists():
        raise NoDataError(f"no test masks {masks!r}; they should be in splits/{masks}.csv.gz")
    return whole.parted(*split_rows(masks or name, split, whole.y.size, where))


def mask_path(name: str, where: Path | None = None) -> Path:
    """Where the test masks of a set are, if it has any."""
    return (where or folder()) / "splits" / f"{name}.csv.gz"


def split_rows(name: str, split: int, count: int, where: Path | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The training and the test rows of a split: by the masks of that name; shuffled if there are none."""
    path = mask_path(name, where)
    if path.exists():
        test = read_columns(path)[f"split{split}"] == 1.0
        if test.size != count:
            raise SetError(f"{name} has {count} rows and its test masks {test.size}")
        return np.flatnonzero(~test), np.flatnonzero(test)
    # As bayesian_benchmarks draws its splits.
    order = np.random.RandomState(split).permutation(count)
    trained = int(TRAINED * count)
    return order[:trained], order[trained:]


def read(name: str, where: Path | None = None) -> Whole:
    """A whole set, which must be as the manifest says."""
    where = where or folder()
    path = where / f"{name}.csv.gz"
    if not path.exists():
        raise NoDataError(f"no set {name!r} at {where}; it should be in {path.name}")
    columns = read_columns(path)
    row = manifest(name, where)
    target, y = columns.popitem()  # the target is the last column
    _check(name, row, columns, target, y.size)
    return Whole(columns, y, [column for column in row["categorical_columns"].split(";") if column])


def manifest(name: str, where: Path | None = None) -> dict[str, str]:
    """What the manifest says of a set."""
    path = (where or folder()) / "MANIFEST.csv"
    if not path.exists():
        raise NoDataError(f"no manifest at {path}; the folder should hold one")
    with open(path, encoding="utf-8", newline="") as file:
        found = [row for row in csv.DictReader(file) if row["name"] == name]
    if not found:
        raise SetError(f"{name} is not in the manifest {path}")
    return found[0]


def _check(name: str, row: dict[str, str], columns: dict[str, np.ndarray], target: str, count: int) -> None:
    """Refuse a set whose size or columns are not those of the manifest."""
    seen = {"n": str(count), "d": str(len(columns)), "target": target}
    words = {"n": "rows", "d": "inputs", "target": "target"}
    for field, value in seen.items():
        if row.get(field) and row[field] != value:
            raise SetError(f"{name}: {words[field]} {value}, but the manifest says {row[field]}")
    missing = [column for column in row["categorical_columns"].split(";") if column and column not in columns]
    if missing:
        raise SetError(f"{name} has no column {missing[0]!r}, which the manifest calls categorical")


def read_columns(path: Path) -> dict[str, np.ndarray]:
    """The columns of a CSV file by name."""
    table = read_csv(path)
    return dict(zip(table.names, (np.asarray(column) for column in table.columns), strict=True))
