"""One split of a set, as every model gets it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.data import NoDataError, SetError, Whole, folder, read, read_columns, split_rows
from benchmarks.harness.model import Columns

FOLDS = 10
ROW_NUMBER = "row_number"
# Names of the numeric encodings in the folder uci121, where they are not those of the readable tables.
ENCODED = {
    "sonar": "conn-bench-sonar-mines-rocks",
    "fertility-diagnosis": "fertility",
    "parkinsons-voice": "parkinsons",
}


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows to learn from and rows to test with.

    Numbers to be predicted have mean 0 and variance 1 on the training rows; labels are 0 and 1.
    """

    task: str
    X: Columns
    y: np.ndarray
    X_test: Columns
    y_test: np.ndarray
    categorical: tuple[str, ...]


@dataclass(frozen=True)
class Asked:
    """How a table wants its sets: by folds or by shuffles, and without some columns.

    `row_number` is how OAK's tables 7 and 8 came about: their loader took the numeric encoding of the sets,
    whose files begin with a row number, and read that as one more input.
    """

    task: str
    folds: bool = False
    row_number: bool = False
    dropped: tuple[tuple[str, tuple[str, ...]], ...] = ()  # columns that a set is used without


def problem(asked: Asked, name: str, split: int) -> Problem:
    """One split of a set."""
    whole = encoded(name) if asked.row_number else read(name)
    for column in dict(asked.dropped).get(name, ()):
        del whole.X[column]
    rows = fold_rows(split, whole.y.size) if asked.folds else split_rows(name, split, whole.y.size)
    y = labels(name, whole.y) if asked.task == "classification" else standardised(name, whole.y, rows[0])
    X, X_test = ({key: x[part] for key, x in whole.X.items()} for part in rows)
    categorical = tuple(column for column in whole.categorical if column in whole.X)
    return Problem(asked.task, X, y[rows[0]], X_test, y[rows[1]], categorical)


def labels(name: str, y: np.ndarray) -> np.ndarray:
    """The second of two labels is 1."""
    found = np.unique(y)
    if found.size != 2:
        raise SetError(f"{name} has {found.size} labels; the tables are of two")
    return (y == found[1]).astype(float)


def encoded(name: str) -> Whole:
    """A set of labels as numbers, with its row number before them."""
    path = folder() / "uci121" / f"{ENCODED.get(name, name)}.csv.gz"
    if not path.exists():
        raise NoDataError(f"no numeric encoding of {name!r}; it should be in uci121/{path.name}")
    columns = read_columns(path)
    y = columns.popitem()[1]
    return Whole({ROW_NUMBER: np.arange(y.size, dtype=float), **columns}, y, [])


def fold_rows(fold: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The training and the test rows of one of ten folds, shuffled with a seed."""
    order = np.random.default_rng(0).permutation(count)
    test = order[fold::FOLDS]
    return np.setdiff1d(order, test), test


def standardised(name: str, y: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Numbers with mean 0 and variance 1 on the training rows."""
    if not np.issubdtype(y.dtype, np.number):
        raise SetError(f"the target of {name} is not a number in all rows")
    return (y - y[train].mean()) / y[train].std()
