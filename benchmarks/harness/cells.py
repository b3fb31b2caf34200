"""Cells: what one model did on one split of one set, and the file that keeps them."""

from __future__ import annotations

import csv
import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

TRIED_TERMS = 20


class CellsError(ValueError):
    """A file that this version did not write."""


class BusyError(RuntimeError):
    """Another run writes there."""


class Key(NamedTuple):
    """Where a cell stands in its table."""

    dataset: str
    split: int
    model: str


@dataclass(frozen=True)
class Cell:
    """The scores of one fit, on its test rows; None where a score is not for this task or model."""

    dataset: str
    split: int
    model: str
    train_rows: int | None = None
    test_rows: int | None = None
    features: int | None = None
    rmse: float | None = None  # in standard deviations of the training target
    mae: float | None = None  # mean absolute error, in the same; cells of older versions have none
    accuracy: float | None = None
    auc: float | None = None
    log_density: float | None = None  # mean over rows; of labels the log likelihood
    coverage: float | None = None  # of the 90 % interval
    terms: int | None = None  # that reach 99 % of the score of all; one more than are tried if these do not
    ten_terms: float | None = None  # the score of ten terms, over that of all
    first_order: float | None = None  # the share of single features
    orders: str = ""  # per cent of the prior variance that each order has, of a kernel with all of them
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    peak_megabytes: float | None = None
    threads: int | None = None
    version: str = ""  # of the library
    error: str = ""  # one line; empty if the fit succeeded

    @property
    def key(self) -> Key:
        """Where it stands."""
        return Key(self.dataset, self.split, self.model)

    @property
    def mse(self) -> float | None:
        """The mean squared error, which some papers print."""
        return None if self.rmse is None else self.rmse**2


COLUMNS = tuple(field.name for field in fields(Cell))
TEXTS = ("dataset", "model", "orders", "version", "error")
WHOLE = ("split", "train_rows", "test_rows", "features", "terms", "threads")


def read_cells(path: Path) -> list[Cell]:
    """The cells of a file, each the last of its key; none if there is no file.

    A line that was cut short when its run was killed counts as not written.
    """
    return list({cell.key: cell for cell in _lines(path)}.values())


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep other runs out of a folder, until this one ends or dies."""
    file = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(f"another run writes to {folder}; wait until it ends, or use --out") from None
        yield
    finally:
        os.close(file)


def append_cell(path: Path, cell: Cell) -> None:
    """Write one more cell to the end of a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    complete = len(_complete(path))
    with open(path, "a", encoding="utf-8", newline="") as file:
        file.truncate(complete)
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if not complete:
            writer.writeheader()
        writer.writerow(_texts(cell))


def write_cells(path: Path, cells: Iterable[Cell]) -> None:
    """Write a whole file, sorted, so that two runs with the same cells give the same file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with open(part, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(_texts(cell) for cell in sorted(cells, key=lambda cell: cell.key))
    part.replace(path)


def _lines(path: Path) -> Iterator[Cell]:
    rows = csv.DictReader(_complete(path).decode("utf-8").splitlines())
    if rows.fieldnames is not None and tuple(rows.fieldnames) != COLUMNS:
        raise CellsError(f"{path} has other columns than this version writes; move it away, or use --out")
    for row in rows:
        try:
            yield Cell(**{name: _value(name, text) for name, text in row.items()})
        except (TypeError, ValueError):
            raise CellsError(
                f"{path}, line {rows.line_num}, is damaged; delete it to measure it again"
            ) from None


def _complete(path: Path) -> bytes:
    """The content of a file up to its last line that has an end."""
    content = path.read_bytes() if path.exists() else b""
    return content[: content.rfind(b"\n") + 1]


def _value(name: str, text: str) -> Any:
    if name in TEXTS:
        return text
    if text == "":
        return None
    return int(text) if name in WHOLE else float(text)


def _texts(cell: Cell) -> dict[str, str]:
    return {name: _text(value) for name, value in asdict(cell).items()}


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split())
