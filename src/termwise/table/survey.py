"""What one pass over a data set learns: its schema, the scale of its target, and a sample of its rows."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress, islice

import numpy as np

from termwise.errors import SchemaError, TableError, TargetError, TermwiseWarning
from termwise.table.arrow import Cells, Codes, Content
from termwise.table.cells import Level, is_date, object_array, parse_numbers
from termwise.table.chunks import Chunk
from termwise.table.column import Kind
from termwise.table.infer import declared_kinds, discrete_names
from termwise.table.schema import Schema
from termwise.table.table import Table, Values
from termwise.table.target import feature_names

MOST_LABELS = 100  # of a target: each costs a fit
MOST_LEVELS = 100_000  # a column with more levels is given up, so that what is kept stays small


@dataclass(frozen=True)
class NumberSurvey:
    """The range of some numbers, and their distinct values as long as there are at most two.

    ``dates`` says whether they were written as dates, in a text column; None if there were none yet.
    """

    least: float = np.inf
    largest: float = -np.inf
    few: tuple[float, ...] | None = ()
    dates: bool | None = None

    @classmethod
    def of(cls, values: Values, dates: bool = False) -> NumberSurvey:
        """Of all values that are not NaN."""
        known = values[~np.isnan(values)]
        if not known.size:
            return cls(dates=dates if values.size else None)
        least, largest = float(known.min()), float(known.max())
        if np.all((known == least) | (known == largest)):
            return cls(least, largest, tuple(sorted({least, largest})), dates)
        return cls(least, largest, None, dates)

    def joined(self, other: NumberSurvey) -> NumberSurvey | None:
        """Of both together; None if one has dates and the other numbers, which together are texts."""
        if None not in (self.dates, other.dates) and self.dates != other.dates:
            return None
        few = None
        if self.few is not None and other.few is not None:
            both = tuple(sorted({*self.few, *other.few}))
            few = both if len(both) <= 2 else None
        dates = other.dates if self.dates is None else self.dates
        return NumberSurvey(min(self.least, other.least), max(self.largest, other.largest), few, dates)


@dataclass(frozen=True)
class ColumnSurvey:
    """One column: how many cells are not missing, which numbers there are, and how often each level.

    ``numbers`` is None if some text is not a number. ``levels`` is None where they are not counted: in a
    column of numbers, unless asked for, and in one that is ``given_up`` for having too many.
    """

    name: str
    content: Content
    known: int
    numbers: NumberSurvey | None
    levels: Mapping[Level, int] | None
    given_up: bool = False

    @property
    def has_single_levels(self) -> bool:
        """Whether no level occurs twice, as in an identifier; so it is said of a column given up."""
        return self.given_up or (self.levels is not None and len(self.levels) == self.known)

    def __add__(self, other: ColumnSurvey) -> ColumnSurvey:
        assert (self.name, self.content) == (other.name, other.content), (self, other)
        numbers = None
        if self.numbers is not None and other.numbers is not None:
            numbers = self.numbers.joined(other.numbers)
        levels, given_up = None, self.given_up or other.given_up
        if self.levels is not None and other.levels is not None:
            levels, given_up = _kept(_added(self.levels, other.levels))
        known = self.known + other.known
        return ColumnSurvey(self.name, self.content, known, numbers, levels, given_up)


@dataclass(frozen=True)
class TargetSurvey:
    """The target: its mean, the sum of its squared deviations from it, and its range."""

    count: int
    mean: float
    squares: float
    least: float
    largest: float

    @property
    def variance(self) -> float:
        """The mean squared deviation."""
        return self.squares / self.count

    @classmethod
    def of(cls, y: Values) -> TargetSurvey:
        """Of these values."""
        mean = float(np.mean(y))
        squares = float(np.sum((y - mean) ** 2))
        return cls(y.size, mean, squares, float(np.min(y)), float(np.max(y)))

    def __add__(self, other: TargetSurvey) -> TargetSurvey:
        # Chan, Golub & LeVeque (1983), eq. 2.1: sums of y^2 would cancel when the mean is far from 0
        count = self.count + other.count
        shift = other.mean - self.mean
        mean = self.mean + shift * (other.count / count)
        squares = self.squares + other.squares + shift**2 * (self.count * (other.count / count))
        least, largest = min(self.least, other.least), max(self.largest, other.largest)
        return TargetSurvey(count, mean, squares, least, largest)


@dataclass(frozen=True)
class LabelSurvey:
    """The labels of a target, and how often each occurs."""

    counts: Mapping[Level, int]

    def __add__(self, other: LabelSurvey) -> LabelSurvey:
        # One label more than anybody can use says enough, and keeps what is kept small.
        counts = _added(self.counts, other.counts)
        return LabelSurvey(dict(islice(counts.items(), MOST_LABELS + 1)))


@dataclass(frozen=True)
class Survey:
    """What one pass over some rows learns; that of more rows is the sum."""

    n_rows: int
    columns: tuple[ColumnSurvey, ...]
    target: TargetSurvey | LabelSurvey

    @property
    def names(self) -> tuple[str, ...]:
        """The columns other than the target."""
        return tuple(column.name for column in self.columns)

    def __add__(self, other: Survey) -> Survey:
        assert self.names == other.names, (self.names, other.names)
        columns = tuple(one + two for one, two in zip(self.columns, other.columns, strict=True))
        target: TargetSurvey | LabelSurvey = self.target + other.target  # type: ignore[operator]
        return Survey(self.n_rows + other.n_rows, columns, target)

    def without(self, name: str) -> Survey:
        """The same without one column."""
        return replace(self, columns=tuple(column for column in self.columns if column.name != name))


def survey_chunk(
    chunk: Chunk,
    target: str,
    *,
    rows: Sequence[int] | Values = (),
    discrete: Sequence[str] | frozenset[str] = (),
    labels: bool = False,
) -> tuple[Survey, Table | None, Values]:
    """Survey a chunk; with it come some of its rows, as a table of features and the values of the target.

    ``rows`` are positions in the chunk; without any the table is None. ``discrete`` names the columns of
    numbers whose levels are counted, see `discrete_names`. With ``labels`` the target is not numbers.
    """
    features = feature_names(chunk.names, target)
    contents = dict(zip(chunk.names, chunk.contents, strict=True))
    cells = chunk.cells(chunk.names)
    y = (_target_labels if labels else _target_values)(chunk, target, cells[target])
    for name in features:
        _refuse_infinite(chunk, name, cells[name])
    columns = tuple(_survey_column(name, contents[name], cells[name], name in discrete) for name in features)
    positions = np.asarray(rows, dtype=np.intp)
    sample = None
    if positions.size:
        sample = Table(features, tuple(_values_at(cells[name], positions) for name in features))
    about = LabelSurvey(Counter(y.tolist())) if labels else TargetSurvey.of(y)
    return Survey(chunk.n_rows, columns, about), sample, y[positions]


def stacked(tables: Sequence[Table]) -> Table:
    """The rows of several tables with the same columns, one table under the other."""
    first = tables[0]
    assert all(table.names == first.names for table in tables)
    columns = zip(*(table.columns for table in tables), strict=True)
    return Table(first.names, tuple(np.concatenate(parts) for parts in columns), first.named)


def surveyed_schema(
    found: Survey, categorical: str | Sequence[str | int] | Mapping[str, Kind | str] = "auto"
) -> Schema:
    """The schema that `Schema.infer` would find with all rows in memory, where they fit.

    ``categorical`` is a list of columns, or a mapping to their kinds; the survey must have been made with
    the `discrete_names` of it. A column with more than MOST_LEVELS levels is left out, with a warning.
    """
    discrete = discrete_names(found.names, categorical)
    kinds = declared_kinds(found.names, categorical) if isinstance(categorical, Mapping) else {}
    columns = {}
    for column in found.columns:
        values = _distinct(column, column.name in discrete, kinds.get(column.name))
        if values is not None:
            columns[column.name] = values
        else:
            warnings.warn(
                f"column {column.name!r} has more than {MOST_LEVELS} levels, like an identifier, and is left "
                "out; leave it out of the data set, or make it a number if it is one",
                TermwiseWarning,
                stacklevel=2,
            )
    as_levels = [name for name in columns if name in discrete and name not in kinds]
    kinds = {name: kind for name, kind in kinds.items() if name in columns}
    # the rules look at the distinct values only, so a table of these has the schema of all rows
    return Schema.infer(_padded(columns), as_levels, kinds)


def _distinct(column: ColumnSurvey, as_levels: bool, kind: Kind | None) -> Values | None:
    """The distinct values as reading the whole column would give them; None if there are too many.

    Of numbers that are no levels it is enough to know whether there are none, one, two or more.
    """
    must_be_numbers = kind is Kind.CONTINUOUS
    if must_be_numbers and column.numbers is None:
        raise SchemaError(_not_numbers(column))
    declared = column.content in {Content.CATEGORIES, Content.OTHER_CATEGORIES} and not must_be_numbers
    if column.known == 0:
        return object_array([None]) if declared else np.array([np.nan])
    is_text = column.content is Content.TEXTS and column.numbers is None
    if declared or is_text or column.content is Content.TRUTHS:
        return None if column.levels is None else object_array(list(column.levels))
    assert column.numbers is not None
    _refuse_infinite_texts(column)
    if as_levels:
        assert column.given_up or column.levels is not None, "the survey was made without these levels"
        return None if column.levels is None else _as_numbers(list(column.levels))
    return np.arange(3.0) if column.numbers.few is None else np.array([*column.numbers.few, np.nan])


def _padded(columns: Mapping[str, Values]) -> Table:
    """Columns of any length as a table, with missing cells below."""
    length = max(map(len, columns.values()), default=0)
    missing = {np.dtype(object): None, np.dtype(np.float64): np.nan}
    filled = [
        np.concatenate([values, np.full(length - len(values), missing[values.dtype], dtype=values.dtype)])
        for values in columns.values()
    ]
    return Table(tuple(columns), tuple(filled))


def _not_numbers(column: ColumnSurvey) -> str:
    texts = [level for level in column.levels or () if isinstance(level, str) and _is_no_number(level)]
    # of a mixture of numbers and dates the first date, otherwise what is neither
    first = next((text for text in texts if not is_date(text)), texts[0] if texts else None)
    shown = "texts that are not" if first is None else f"the text {first!r}"
    return (
        f"column {column.name!r} must be numbers, but has {shown}; correct the cell, mark it as missing, or "
        "fit with the column as categorical"
    )


def _refuse_infinite_texts(column: ColumnSurvey) -> None:
    assert column.numbers is not None
    if np.inf in (column.numbers.largest, -column.numbers.least):
        raise TableError(
            f"column {column.name!r} has an infinite value; features must not contain infinity: mark the "
            "cell as missing or give a finite number"
        )


def _refuse_infinite(chunk: Chunk, name: str, cells: Cells) -> None:
    if not isinstance(cells, Codes):
        try:
            Table((name,), (cells,))  # it checks its values
        except TableError as error:
            raise TableError(f"{chunk.name}: {error}") from error


def _values_at(cells: Cells, rows: Values) -> Values:
    return cells.at(rows).values() if isinstance(cells, Codes) else cells[rows]


def _survey_column(name: str, content: Content, cells: Cells, discrete: bool) -> ColumnSurvey:
    levels: Mapping[Level, int] | None = None
    given_up = False
    if isinstance(cells, Codes):
        counts = _used(cells)
        used = _chosen(cells.levels, counts > 0)
        numbers = _numbers_among(used)
        given_up = len(used) > MOST_LEVELS
        if not given_up:
            levels = dict(zip(used, counts[counts > 0].tolist(), strict=True))
        return ColumnSurvey(name, content, int(counts.sum()), numbers, levels, given_up)
    known = cells[~np.isnan(cells)]
    if discrete:
        distinct, counts = np.unique(known, return_counts=True)
        levels, given_up = _kept(dict(zip(distinct.tolist(), counts.tolist(), strict=True)))
    return ColumnSurvey(name, content, known.size, NumberSurvey.of(known), levels, given_up)


def _used(cells: Codes) -> Values:
    """How often each level occurs; a declared category may have levels that never do."""
    return np.bincount(cells.positions, minlength=len(cells.levels) + 1)[:-1]


def _chosen(levels: Sequence[Level], chosen: Values) -> list[Level]:
    return list(compress(levels, chosen.tolist()))


def _kept(levels: Mapping[Level, int]) -> tuple[Mapping[Level, int] | None, bool]:
    """The levels, or None and that they are given up."""
    return (None, True) if len(levels) > MOST_LEVELS else (levels, False)


def _added(one: Mapping[Level, int], other: Mapping[Level, int]) -> dict[Level, int]:
    return {**one, **{level: count + one.get(level, 0) for level, count in other.items()}}


def _numbers_among(levels: Sequence[Level]) -> NumberSurvey | None:
    numbers = _as_numbers(levels)
    if numbers is None:
        return None
    return NumberSurvey.of(numbers, any(isinstance(level, str) and is_date(level) for level in levels[:1]))


def _as_numbers(levels: Sequence[Level]) -> Values | None:
    """The numbers or dates that all levels stand for; None if some level is neither."""
    if levels and isinstance(levels[0], str):  # then all are
        return parse_numbers(object_array(levels))
    return np.array(levels, dtype=np.float64)


def _target_values(chunk: Chunk, name: str, cells: Cells) -> Values:
    """The target as finite numbers; texts may be numbers, but not dates, which other chunks may not be."""
    y = cells if not isinstance(cells, Codes) else _target_numbers(chunk, name, cells)
    bad = np.flatnonzero(~np.isfinite(y))
    if bad.size:
        what = "is missing" if np.isnan(y[bad[0]]) else "is infinite"
        raise TargetError(
            f"{chunk.name}: the target {name!r} {what} in row {bad[0]} (counting from 0; "
            f"{_such_rows(bad.size)} here), expected a finite number in each row; write the files without "
            "those rows"
        )
    return y


def _such_rows(count: int) -> str:
    return "1 such row" if count == 1 else f"{count} such rows"


def _target_labels(chunk: Chunk, name: str, cells: Cells) -> Values:
    """The target as labels: texts, truth values, or whole numbers."""
    if isinstance(cells, Codes):
        missing, values = cells.positions == len(cells.levels), cells.values()
    else:
        missing, values = np.isnan(cells), object_array(cells.tolist())
        broken = np.flatnonzero(~missing & (cells != np.round(cells)))
        if broken.size:
            raise TargetError(
                f"{chunk.name}: the target {name!r} is {cells[broken[0]]:g} in row {broken[0]} (counting "
                "from 0), which is a number and no label; use a regressor, or write labels as texts"
            )
        if np.all(np.isfinite(cells)):
            values = object_array([int(value) for value in cells.tolist()])
    if np.any(missing):
        raise TargetError(
            f"{chunk.name}: the label {name!r} is missing in row {int(np.argmax(missing))} (counting from 0; "
            f"{_such_rows(int(np.sum(missing)))} here); write the files without those rows"
        )
    return values


def _target_numbers(chunk: Chunk, name: str, cells: Codes) -> Values:
    used = _used(cells) > 0
    levels = _chosen(cells.levels, used)
    numbers = _as_numbers(levels)
    if numbers is None or any(isinstance(level, str) and is_date(level) for level in levels[:1]):
        wrong = [isinstance(level, str) and _is_no_number(level) for level in cells.levels]
        row = int(np.argmax(np.array([*wrong, False])[cells.positions]))
        raise TargetError(
            f"{chunk.name}: the target {name!r} has the text {cells.levels[cells.positions[row]]!r} in row "
            f"{row} (counting from 0), expected a number in each row; correct it, or leave the row out"
        )
    of_level = np.full(used.size + 1, np.nan)
    of_level[:-1][used] = numbers
    return of_level[cells.positions]


def _is_no_number(text: str) -> bool:
    return is_date(text) or parse_numbers([text]) is None
