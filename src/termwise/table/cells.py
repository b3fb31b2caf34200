"""From the cells of one column to an array of numbers or of levels."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from termwise.errors import CellError
from termwise.table.table import Values

Level: TypeAlias = str | bool | float
Texts: TypeAlias = Sequence[str | None] | Values

CUT = ".."  # in the place of what a long name is shortened by

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_DAY = dt.timedelta(days=1)
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?")


def column_of_cells(name: str, cells: Iterable[Any]) -> Values:
    """Cells of any kind: numbers and texts that all read as numbers become floats, the others levels."""
    cleaned = _clean_all(name, cells)
    types = {type(cell) for cell in cleaned} - {type(None)}
    if types <= {float, bool} and types != {bool}:
        return np.array(cleaned, dtype=np.float64)  # None becomes NaN
    if types == {bool}:
        return object_array(cleaned)
    texts = [None if cell is None else level_text(cell) for cell in cleaned]
    numbers = parse_numbers(texts)
    return object_array(texts) if numbers is None else numbers


def column_of_levels(name: str, cells: Iterable[Any]) -> Values:
    """Cells of a column that its source declares categorical: always levels, even if they are numbers."""
    cleaned = _clean_all(name, cells)
    types = {type(cell) for cell in cleaned} - {type(None)}
    if len(types) <= 1:
        return object_array(cleaned)
    return object_array([None if cell is None else level_text(cell) for cell in cleaned])


def object_array(cells: Sequence[Any]) -> Values:
    """A one-dimensional object array; np.array would look inside the cells."""
    values = np.empty(len(cells), dtype=object)
    values[:] = cells
    return values


def parse_numbers(texts: Texts) -> Values | None:
    """The numbers, or the days since 1970 if all are ISO dates; None if some text is neither."""
    try:
        values = np.asarray(texts, dtype=object).astype(np.float64)  # None becomes NaN
    except ValueError:
        return _parse_dates(texts)
    # Python reads "12_34" as 1234, but in a table that is a code and not a number
    return None if "_" in "".join(filter(None, texts)) else values


def _parse_dates(texts: Texts) -> Values | None:
    # every text must have the form, not only the first: the order of the rows must not matter
    if not all(text is None or is_date(text) for text in texts):
        return None
    try:
        days = [np.nan if text is None else _days(dt.datetime.fromisoformat(text)) for text in texts]
    except ValueError:
        return None
    return np.array(days, dtype=np.float64)


def is_date(text: str) -> bool:
    """Whether a text has the form of an ISO date, with or without a time."""
    return _ISO_DATE.fullmatch(text) is not None


def number_of(level: Level) -> float | None:
    """The finite number that a level stands for, if it does."""
    if isinstance(level, str) and "_" in level:
        return None
    try:
        number = float(level)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def shortened(name: str, most: int) -> str:
    """A name without its middle if it is long: names differ at their ends, and levels stand there."""
    half = (most - len(CUT)) // 2
    return name if len(name) <= most else f"{name[:half]}{CUT}{name[-half:]}"


def level_text(level: Level) -> str:
    """A level as it is shown: whole numbers without a decimal point."""
    if isinstance(level, float) and level.is_integer() and abs(level) < 1e15:
        return str(int(level))
    return str(level)


def days_since_epoch(values: Values) -> Values:
    """Numpy dates or durations as days, NaT as NaN."""
    unit = "datetime64[us]" if values.dtype.kind == "M" else "timedelta64[us]"
    days = values.astype(unit).astype(np.int64) / (_DAY / dt.timedelta(microseconds=1))
    return np.where(np.isnat(values), np.nan, days)


def _days(moment: dt.datetime) -> float:
    # a time without a zone is read as UTC, so that the result does not depend on the machine
    aware = moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment
    return (aware - _EPOCH) / _DAY


def _clean_all(name: str, cells: Iterable[Any]) -> list[Level | None]:
    listed = list(cells)
    cleaners = {kind: _cleaner(kind) for kind in set(map(type, listed))}
    for kind, cleaner in cleaners.items():
        if cleaner is None:
            row = next(index for index, cell in enumerate(listed) if type(cell) is kind)
            raise CellError(_unreadable(name, row, kind))
    return [cleaners[type(cell)](cell) for cell in listed]  # type: ignore[misc]  # None was refused above


def _unreadable(name: str, row: int, kind: type) -> str:
    if issubclass(kind, (complex, np.complexfloating)):
        return (
            f"Complex data not supported: column {name!r} has a complex number in row {row} (counting from "
            "0); give its real and imaginary part as two columns"
        )
    return (
        f"column {name!r} has a {kind.__name__} in row {row} (counting from 0); every cell argument must be "
        "a string, a truth value, a date or a real number: split it into columns or drop the column"
    )


def _cleaner(kind: type) -> Callable[[Any], Level | None] | None:
    """How cells of one Python type become a level; None if they cannot."""
    # pandas' missing values are known by the name of their type, so that pandas is not imported
    if kind is type(None) or kind.__name__ in {"NAType", "NaTType"}:
        return lambda cell: None
    for base, cleaner in _CLEANERS:
        if issubclass(kind, base):
            return cleaner
    return None


def _number(cell: Any) -> float | None:
    number = float(cell)
    return None if number != number else number


def _text(cell: Any) -> str | None:
    # str() drops subclasses such as numpy's; the blanks around a text are never meant
    return str(cell).strip() or None


def _date(cell: dt.date) -> float:
    return _days(dt.datetime(cell.year, cell.month, cell.day))


def _time(cell: dt.time) -> float:
    return _days(dt.datetime.combine(dt.date(1970, 1, 1), cell.replace(tzinfo=None)))


def _numpy_date(cell: Any) -> float | None:
    return _number(days_since_epoch(np.array([cell]))[0])


# the first match counts: a datetime is also a date, a bool is also an int, a timedelta64 also an integer
_CLEANERS: tuple[tuple[tuple[type, ...], Callable[[Any], Level | None]], ...] = (
    ((str,), _text),
    ((bool, np.bool_), bool),
    ((np.datetime64, np.timedelta64), _numpy_date),
    ((int, float, np.integer, np.floating, Decimal, Fraction), _number),
    ((dt.datetime,), _days),
    ((dt.date,), _date),
    ((dt.timedelta,), lambda cell: cell / _DAY),
    ((dt.time,), _time),
)
