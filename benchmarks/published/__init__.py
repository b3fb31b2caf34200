"""What the papers print: one file per paper, one line per number.

Tables are named after their paper: oak-2 and oak-5 to oak-8 (Lu, Boukouvalas, Hensman 2022), additive-1 to
additive-5 (Duvenaud, Nickisch, Rasmussen 2011), projected-1 (Delbridge, Bindel, Wilson 2020), deep-kernel-3
and deep-kernel-4 (Dai, Zhang, Yin 2020). Sets have the names of our data, so "boston" is housing here.

Scores have the name of a cell's score where they are the same thing. The others are:

- order_share: per cent of the variance, with the order in the place of the method;
- mse: squared error of a target with variance 1;
- percent_error, negative_log_density: turned into accuracy and log_density on request;
- rmse_units: in units of the target, so it cannot stand beside an rmse in standard deviations.

A standard deviation is one, also where the paper prints two (projected-1).
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
# The printed score, and the intercept and slope that turn it into ours; only maps that keep means are here.
SAME_AS = {"accuracy": ("percent_error", 1.0, -0.01), "log_density": ("negative_log_density", 0.0, -1.0)}


class NotPrintedError(ValueError):
    """No paper prints this score in this table."""


@dataclass(frozen=True)
class Printed:
    """A printed number; `mean` is None if the paper has NaN or a dash there, `sd` if it gives none."""

    mean: float | None
    sd: float | None = None


def published(table: str, score: str) -> dict[str, dict[str, Printed]]:
    """The printed numbers of a table, by set and method."""
    rows = [row for row in _rows() if row["table"] == table]
    if not rows:
        known = sorted({row["table"] for row in _rows()})
        raise NotPrintedError(f"no table {table!r}; choose from {', '.join(known)}")
    scores = sorted({row["score"] for row in rows})
    stored, intercept, slope = SAME_AS.get(score, (score, 0.0, 1.0))
    if score in scores:
        stored, intercept, slope = score, 0.0, 1.0
    if stored not in scores:
        raise NotPrintedError(f"table {table!r} has no score {score!r}; it has {', '.join(scores)}")
    found: dict[str, dict[str, Printed]] = {}
    for row in rows:
        if row["score"] == stored:
            found.setdefault(row["dataset"], {})[row["method"]] = _printed(row, intercept, slope)
    return found


def _printed(row: dict[str, str], intercept: float, slope: float) -> Printed:
    mean = intercept + slope * float(row["mean"]) if row["mean"] else None
    return Printed(mean, abs(slope) * float(row["sd"]) if row["sd"] else None)


def _rows() -> Iterator[dict[str, str]]:
    for path in sorted(FOLDER.glob("*.csv")):
        with open(path, encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file)
