"""Checks of a model on rows with their targets: is it as sure as it may be, and did the fit go well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import kstest, kurtosis, skew

from termwise.encode.encoder import NumberEncoder, RowEncoder
from termwise.explain.plain import frame_of, plain
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior

LEVELS = (0.5, 0.8, 0.9, 0.95)
BINS = 20


@dataclass(frozen=True)
class Coverage:
    """The part of the rows that lie in their central interval of this probability, and its sampling error."""

    level: float
    covered: float
    error: float


@dataclass(frozen=True)
class Residuals:
    """Target less prediction in the units of the target; `largest` in predicted standard deviations."""

    mean: float
    sd: float
    skewness: float
    largest: float


@dataclass(frozen=True, eq=False)
class Calibration:
    """Labels by bins of their predicted probability: its mean, and how often the label was there.

    `error` is the mean distance of the two over the rows. Empty bins have NaN.
    """

    edges: Array
    counts: Array
    predicted: Array
    observed: Array
    error: float


@dataclass(frozen=True)
class ColumnCheck:
    """How far an encoded column of numbers is from the standard normal that measures take it for.

    `distance` is Kolmogorov's, between the distribution functions; `kurtosis` is zero for a normal.
    """

    column: str
    distance: float
    skewness: float
    kurtosis: float
    rows: int


@dataclass(frozen=True)
class FitCheck:
    """How the fit went."""

    status: str
    evaluations: int
    seconds: float
    jitter: float


@dataclass(frozen=True, eq=False)
class Checks:
    """What a model says of some rows, against their targets; and of its columns and its fit.

    `pit` are the counts, in 20 equal bins, of P(new observation <= target): level if the model is right, like
    a U if it is too sure, like a hill if it is not sure enough. Labels have `calibration` in the place of
    `coverage` and `pit`.
    """

    n_rows: int
    residuals: Residuals
    coverage: tuple[Coverage, ...]
    pit: Array | None
    calibration: Calibration | None
    columns: tuple[ColumnCheck, ...]
    fit: FitCheck

    def __repr__(self) -> str:
        """The fit, and whether it is as sure as it may be."""
        if self.calibration is not None:
            said = f"calibration error {self.calibration.error:.3f}"
        else:
            said = ", ".join(f"{c.covered:.0%} in {c.level:.0%} intervals" for c in self.coverage)
        return f"<Checks of {self.n_rows} rows: {said}; fit {self.fit.status}>"

    def frame(self) -> Any:
        """A pandas data frame of all numbers: which check, of what, which number, and its value."""
        rows: list[tuple[str, str, str, Any]] = []
        for one in self.coverage:
            rows += [
                ("coverage", f"{one.level:g}", name, getattr(one, name)) for name in ("covered", "error")
            ]
        rows += [("residuals", "target", name, value) for name, value in asdict(self.residuals).items()]
        if self.pit is not None:
            rows += [("pit", f"{k / BINS:g}", "rows", int(count)) for k, count in enumerate(self.pit)]
        if self.calibration is not None:
            rows += _calibration_rows(self.calibration)
        for column in self.columns:
            named = {name: value for name, value in asdict(column).items() if name != "column"}
            rows += [("column", column.column, name, value) for name, value in named.items()]
        rows += [("fit", "model", name, value) for name, value in asdict(self.fit).items()]
        names = ("check", "of", "number", "value")
        return frame_of(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))

    def to_dict(self) -> dict[str, Any]:
        """Plain data that JSON can write; NaN becomes None."""
        found: dict[str, Any] = plain(asdict(self))
        return found


def checks_of_numbers(values: Array, residuals: Array, sd: Array) -> dict[str, Any]:
    """What a regressor is checked by: P(new observation <= target) of each row, and its residuals."""
    return {
        "n_rows": values.size,
        "residuals": residual_check(residuals, sd),
        "coverage": tuple(coverage_of(values, level) for level in LEVELS),
        "pit": np.histogram(values, bins=BINS, range=(0.0, 1.0))[0],
        "calibration": None,
    }


def checks_of_labels(codes: Array, p: Array) -> dict[str, Any]:
    """What a classifier of two labels is checked by: the probability of the second."""
    return {
        "n_rows": p.size,
        "residuals": residual_check(codes - p, np.sqrt(p * (1.0 - p))),
        "coverage": (),
        "pit": None,
        "calibration": calibration_of(codes, p),
    }


def coverage_of(values: Array, level: float) -> Coverage:
    """The part of the rows with |P(<= target) - 1/2| <= level / 2."""
    covered = float(np.mean(np.abs(values - 0.5) <= 0.5 * level))
    return Coverage(level, covered, float(np.sqrt(level * (1.0 - level) / values.size)))


def residual_check(residuals: Array, sd: Array) -> Residuals:
    """Moments of the residuals, and the largest in standard deviations."""
    spread = float(np.std(residuals))
    skewness = float(skew(residuals)) if spread > 0.0 else np.nan
    # A probability that has rounded to zero or one has no deviation: a residual of zero there is no surprise.
    known = (sd > 0.0) | (residuals != 0.0)
    with np.errstate(divide="ignore"):
        largest = np.abs(residuals[known]) / sd[known]
    return Residuals(float(np.mean(residuals)), spread, skewness, float(np.max(largest, initial=0.0)))


def calibration_of(codes: Array, p: Array) -> Calibration:
    """sum_b n_b / n |mean p - mean label| over equal bins of p."""
    place = np.minimum((p * BINS).astype(int), BINS - 1)
    counts = np.bincount(place, minlength=BINS)
    some = np.where(counts > 0, counts, np.nan)
    predicted = np.bincount(place, weights=p, minlength=BINS) / some
    observed = np.bincount(place, weights=codes.astype(float), minlength=BINS) / some
    error = float(np.nansum(counts * np.abs(predicted - observed)) / p.size)
    return Calibration(np.linspace(0.0, 1.0, BINS + 1), counts, predicted, observed, error)


def column_checks(posterior: Posterior, encoder: RowEncoder) -> tuple[ColumnCheck, ...]:
    """Every column of numbers as it was encoded for the fit."""
    return tuple(
        column_check(name, posterior.rows[:, d])
        for d, (name, column) in enumerate(zip(encoder.names, encoder.columns, strict=True))
        if isinstance(column, NumberEncoder)
    )


def column_check(name: str, encoded: Array) -> ColumnCheck:
    """Kolmogorov's distance of a column from the standard normal, its skewness and its kurtosis."""
    known = encoded[~np.isnan(encoded)]
    if known.size < 2 or np.min(known) == np.max(known):
        return ColumnCheck(name, np.nan, np.nan, np.nan, known.size)
    distance = float(kstest(known, "norm").statistic)
    return ColumnCheck(name, distance, float(skew(known)), float(kurtosis(known)), known.size)


def _calibration_rows(found: Calibration) -> Sequence[tuple[str, str, str, Any]]:
    rows: list[tuple[str, str, str, Any]] = [("calibration", "all", "error", found.error)]
    for name in ("counts", "predicted", "observed"):
        values = getattr(found, name)
        rows += [("calibration", f"{k / BINS:g}", name, values[k].item()) for k in range(BINS)]
    return rows
