"""Checking the arguments of estimators, with a remedy in every message."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning

from termwise.errors import OptionError, TargetError
from termwise.kernels.column import Stationary
from termwise.kernels.matern import Matern12, Matern32, Matern52
from termwise.kernels.squared_exponential import SquaredExponential
from termwise.measures.base import Array

KERNELS: dict[str, type[Stationary]] = {
    kernel.name: kernel for kernel in (SquaredExponential, Matern12, Matern32, Matern52)
}
MEASURES = ("auto", "normal", "mixture", "uniform", "empirical")


def one_of(name: str, value: Any, allowed: Sequence[Any]) -> Any:
    """The value, or an error that lists what is allowed."""
    if not any(value is option or (type(value) is type(option) and value == option) for option in allowed):
        raise OptionError(f"{name} is {value!r}; use one of {', '.join(map(repr, allowed))}")
    return value


def whole_number(name: str, value: Any, *, at_least: int, others: str = "") -> int:
    """The value as an int, or an error that names what else there is."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < at_least:
        raise OptionError(f"{name} is {value!r}; use a whole number, at least {at_least}{others}")
    return int(value)


def number_within(name: str, value: Any, low: float, high: float) -> None:
    """Refuse what is no number from low to below high."""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not number or not low <= value < high:
        raise OptionError(f"{name} is {value!r}; use a number from {low:g} to below {high:g}")


def search_options(n_restarts: Any, n_jobs: Any, progress: Any) -> None:
    """Refuse what is no way to search."""
    if not callable(progress):
        one_of("progress", progress, (True, False, None))
    whole_number("n_restarts", n_restarts, at_least=1)
    whole = isinstance(n_jobs, (int, np.integer)) and not isinstance(n_jobs, bool) and n_jobs != 0
    if n_jobs is not None and not whole:
        raise OptionError(f"n_jobs is {n_jobs!r}; use None, a positive whole number, or -1 for all cores")


def measure_of_columns(measure: Any, names: Sequence[str], known: Sequence[str]) -> list[str]:
    """The asked kind of measure for each column: one word for all, or a dict by name.

    `known` are all columns of the table, `names` those that vary.
    """
    if isinstance(measure, Mapping):
        unknown = [str(name) for name in measure if name not in known]
        if unknown:
            raise OptionError(
                f"measure names columns that are not there: {', '.join(unknown)}; use {list(known)}"
            )
        return [one_of(f"measure of {name!r}", measure.get(name, "auto"), MEASURES) for name in names]
    return [one_of("measure", measure, MEASURES)] * len(names)


def checked_target(y: Any, n_rows: int) -> Array:
    """A target that there is something to learn from: at least two rows, not all the same."""
    values = finite_target(y, n_rows)
    if values.size == 1:
        raise TargetError(
            "the table has 1 sample, a single row; at least two rows are needed to learn anything"
        )
    if np.min(values) == np.max(values):
        raise TargetError(
            f"the target is {values[0] + 0.0:g} in every row; there is nothing to explain: "
            "check that the right column is the target"
        )
    return values


def one_column(y: Array) -> Array:
    """The target without its second axis, if that has one column only."""
    if y.ndim != 2 or y.shape[1] != 1:
        return y
    warnings.warn(
        "A column-vector y was passed when a 1d array was expected; its one column is taken",
        DataConversionWarning,
        stacklevel=4,
    )
    column: Array = y[:, 0]
    return column


def finite_target(y: Any, n_rows: int) -> Array:
    """The target as finite floats, one for each row."""
    if y is None:
        raise TargetError("requires y to be passed, but the target y is None; pass one number for each row")
    values = one_column(np.asarray(y))
    if values.ndim != 1:
        raise TargetError(f"y has shape {values.shape}; bad input shape, pass one number for each row")
    if np.iscomplexobj(values):
        raise TargetError("Complex data not supported: the target has complex numbers; pass real ones")
    if values.dtype.kind in "mM":
        raise TargetError("the target has dates or durations; pass numbers, such as days since a first day")
    try:
        values = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TargetError(
            f"the target is not made of numbers ({error}); pass one number for each row, or use a classifier "
            "for labels"
        ) from None
    if values.size != n_rows:
        raise TargetError(
            f"the table has {n_rows} rows and the target {values.size}; inconsistent numbers of samples"
        )
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        what = "NaN" if np.isnan(values[bad[0]]) else "infinity"
        raise TargetError(
            f"the target contains {what} in row {bad[0]} ({bad.size} in all); leave those rows out"
        )
    return values
