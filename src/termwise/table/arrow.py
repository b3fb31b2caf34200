"""From an Arrow column to numbers or coded levels, each cell by itself, whatever stands beside it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import ModuleType
from typing import Any

import numpy as np

from termwise.errors import TableError
from termwise.table.cells import Level, column_of_levels, object_array
from termwise.table.table import Values

_PER_DAY = {"s": 86_400.0, "ms": 86_400e3, "us": 86_400e6}


class Content(StrEnum):
    """What a stored column holds."""

    NUMBERS = "numbers"
    DATES = "dates or times"
    TRUTHS = "truth values"
    TEXTS = "texts"
    CATEGORIES = "categories"
    OTHER_CATEGORIES = "categories that are not texts"
    NOTHING = "missing cells only"

    @property
    def is_coded(self) -> bool:
        """Whether the cells are levels and not numbers."""
        return self not in {Content.NUMBERS, Content.DATES, Content.NOTHING}


@dataclass(frozen=True)
class Codes:
    """Levels by their position in a list of distinct levels; the position after the last is missing."""

    levels: tuple[Level, ...]
    positions: Values

    def values(self) -> Values:
        """The levels themselves, None for missing."""
        return object_array([*self.levels, None])[self.positions]

    def at(self, rows: Values) -> Codes:
        """The codes of some rows."""
        return Codes(self.levels, self.positions[rows])


Cells = Values | Codes


def pyarrow() -> ModuleType:
    """The module pyarrow, with its datasets; imported here only, since few need it and it is heavy."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.dataset
    except ImportError:
        raise TableError(
            "data sets larger than memory and Parquet files need the extra 'large', which is not installed; "
            "pip install 'termwise[large]'"
        ) from None
    return pyarrow


def content_of(kind: Any) -> Content | None:
    """What a column of this Arrow type holds; None if it is nothing that a table can have."""
    types = pyarrow().types
    if types.is_dictionary(kind):
        inner = content_of(kind.value_type)
        plain = {Content.TEXTS: Content.CATEGORIES, Content.NOTHING: Content.NOTHING, None: None}
        return plain.get(inner, Content.OTHER_CATEGORIES)
    for content, tests in (
        (Content.NUMBERS, (types.is_integer, types.is_floating, types.is_decimal)),
        (Content.TEXTS, (types.is_string, types.is_large_string, types.is_string_view)),
        (Content.TRUTHS, (types.is_boolean,)),
        (Content.DATES, (types.is_date, types.is_timestamp, types.is_time, types.is_duration)),
        (Content.NOTHING, (types.is_null,)),
    ):
        if any(test(kind) for test in tests):
            return content
    return None


def joint_content(one: Content, other: Content) -> Content | None:
    """What a column holds of which two parts hold this; None if they do not fit."""
    if one is other or other is Content.NOTHING:
        return one
    if one is Content.NOTHING:
        return other
    # declared in one part is declared: then no text of the column is read as a number
    return Content.CATEGORIES if {one, other} == {Content.TEXTS, Content.CATEGORIES} else None


def cells_of(name: str, column: Any, content: Content) -> Cells:
    """The cells of a pyarrow ChunkedArray that is part of a column with this content."""
    if column.null_count == len(column):  # its type may be any, since there is nothing to see
        missing = len(column)
        return Codes((), np.zeros(missing, dtype=np.intp)) if content.is_coded else np.full(missing, np.nan)
    if content is Content.NUMBERS:
        numbers = column.cast(pyarrow().float64(), safe=False).to_numpy()  # a missing cell becomes NaN
        return np.asarray(numbers, dtype=np.float64)
    return _codes(name, column) if content.is_coded else _days(column)


def _days(column: Any) -> Values:
    pa = pyarrow()
    ticks = column.cast(pa.int32()) if column.type.bit_width == 32 else column
    known = ticks.cast(pa.int64()).fill_null(0).to_numpy()
    if pa.types.is_date(column.type):
        days = known / (1.0 if column.type.bit_width == 32 else _PER_DAY["ms"])
    elif column.type.unit == "ns":
        days = known // 1_000 / _PER_DAY["us"]  # in microseconds as everywhere, so that all readings agree
    else:
        days = known / _PER_DAY[column.type.unit]
    return np.where(column.is_null().to_numpy(), np.nan, days)


def _codes(name: str, column: Any) -> Codes:
    pa = pyarrow()
    declared = pa.types.is_dictionary(column.type)
    parts = (column.unify_dictionaries() if declared else column.dictionary_encode()).chunks
    stored = parts[0].dictionary  # the same for all; combine_chunks would compare them, which is slow
    assert all(len(part.dictionary) == len(stored) for part in parts)
    levels, code_of = _distinct_levels(name, stored)
    missing = len(stored)
    indices = [part.indices.cast(pa.int64()).fill_null(missing).to_numpy() for part in parts]
    return Codes(levels, np.append(code_of, len(levels))[np.concatenate(indices)])


def _distinct_levels(name: str, stored: Any) -> tuple[tuple[Level, ...], Values]:
    """The levels of the table, and the code of each stored level; some differ in the file only, as " a"."""
    pa = pyarrow()
    if content_of(stored.type) is Content.TEXTS:
        # by Arrow, because an identifier has millions; its blanks are those of Python
        trimmed = pa.compute.utf8_trim_whitespace(stored.cast(pa.large_string()))
        texts = pa.compute.if_else(pa.compute.equal(trimmed, ""), None, trimmed).dictionary_encode()
        levels = tuple(texts.dictionary.to_pylist())
        return levels, texts.indices.cast(pa.int64()).fill_null(len(levels)).to_numpy()
    cleaned = column_of_levels(name, stored.to_pylist()).tolist()
    known = {level: None for level in cleaned if level is not None}
    codes = {level: code for code, level in enumerate(known)}
    return tuple(known), np.array([codes.get(level, len(codes)) for level in cleaned], dtype=np.int64)
