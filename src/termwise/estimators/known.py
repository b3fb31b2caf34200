"""Knowing data larger than memory: one pass over all rows, and a sample to plan with."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from termwise.encode.encoder import MOST_SINGLE_LEVELS, Encoder, fit_encoders
from termwise.encode.rows import ArrayChunk
from termwise.encode.scale import Standardise
from termwise.encode.target import TargetColumn
from termwise.errors import OptionError, TableError, TargetError, TermwiseWarning
from termwise.estimators.selected import used_columns, with_terms
from termwise.inference.coarse import MOST_SAMPLED
from termwise.inference.source import Question, Source, answer
from termwise.measures.base import Array
from termwise.table import Schema, Survey, Table, Values, sample_positions, stacked, surveyed_schema
from termwise.table.infer import discrete_names
from termwise.table.match import continuous_values
from termwise.table.names import did_you_mean, quoted
from termwise.table.survey import TargetSurvey
from termwise.table.target import feature_names

SMALLEST_RANGE, LARGEST = 1e-140, 1e140  # of a target: the sums of their squares are still numbers


@dataclass(frozen=True)
class Wanted:
    """The column that is predicted, whether it has labels, and the column that has its exposure."""

    target: str
    labels: bool = False
    exposure: str | None = None


@dataclass(frozen=True, eq=False)
class Known:
    """What one pass over the rows has found: a schema, the scale of the target, and a random sample.

    The sample is in the order of the rows; `targets` has its target, and its exposure if it has one;
    `shuffled` has its positions in random order.
    """

    wanted: Wanted
    survey: Survey
    schema: Schema
    scale: Standardise
    sample: Table
    targets: Table
    shuffled: Values

    def encoders(
        self, *, flows: Sequence[bool], unknown: str, terms: Any = None
    ) -> tuple[list[Encoder], Table]:
        """Encoders by the sample, of the columns of some terms or of all, and its rows.

        Where the sample lacks an extreme or a level they have a row more for it.
        """
        schema = _without_identifiers(self.schema, self.survey)
        rows = self.sample.select(schema.names)
        unseen = _unseen_values(schema, self.survey, rows)
        rows = rows if unseen is None else stacked([rows, unseen])
        only = used_columns(terms, schema.names)
        encoders = fit_encoders(schema, rows, flows=flows, unknown=unknown, only=only)
        return [with_terms(terms, encoder) for encoder in encoders], rows

    @property
    def mean_target(self) -> float:
        """That of all rows, if they have numbers."""
        assert isinstance(self.survey.target, TargetSurvey), "labels have no mean"
        return self.survey.target.mean

    def encoded_sample(self, X: Array, column: TargetColumn) -> ArrayChunk:
        """The sample with its target, X being the encoded rows that came with the encoder."""
        return column.beside(X[: self.sample.n_rows], self.targets)


def know(source: Source, wanted: Wanted, categorical: Any, rng: np.random.Generator) -> Known:
    """Look at all rows once."""
    names = feature_names(source.about[0].names, wanted.target)
    if wanted.exposure is not None:
        names = _without_exposure(names, wanted.exposure)
    question = Question(wanted.target, wanted.labels, discrete_names(names, categorical))
    looks = source.looks(sample_positions(source.about, MOST_SAMPLED, rng))
    found = list(source.workers.map(answer, looks, question))
    scale = Standardise(0.0, 1.0)
    if not wanted.labels:
        parts = [one.target for one, _, _ in found if isinstance(one.target, TargetSurvey)]
        # Counts that are all the same still have rates that differ, if their exposures do.
        scale = _scale(parts, wanted.target, may_be_constant=wanted.exposure is not None)
    survey = reduce(add, (one for one, _, _ in found))
    rows = stacked([table for _, table, _ in found if table is not None])
    targets = Table((wanted.target,), (np.concatenate([y for _, _, y in found]),))
    if wanted.exposure is not None:
        exposures = _exposures(survey, wanted.exposure, rows)
        targets = Table((*targets.names, wanted.exposure), (*targets.columns, exposures))
        survey, rows = survey.without(wanted.exposure), rows.select(names)
    schema = surveyed_schema(survey, categorical)
    sample = schema.check(rows)
    return Known(wanted, survey, schema, scale, sample, targets, rng.permutation(sample.n_rows))


def _without_exposure(names: Sequence[str], exposure: str) -> tuple[str, ...]:
    if exposure not in names:
        raise OptionError(
            f"exposure is {exposure!r}, and there is no such column besides the target"
            f"{did_you_mean(str(exposure), names)}; the columns are {quoted(names)}"
        )
    left = tuple(name for name in names if name != exposure)
    if not left:
        raise TableError(
            "there is no column besides the target and its exposure; add columns to predict from"
        )
    return left


def _exposures(survey: Survey, name: str, rows: Table) -> Array:
    column = next(column for column in survey.columns if column.name == name)
    if column.numbers is None or column.known < survey.n_rows or not column.numbers.least > 0.0:
        raise OptionError(
            f"the exposure {name!r} must be a number above zero in every row; leave rows without exposure out"
        )
    return continuous_values(name, rows.column(name))


def _scale(parts: Sequence[TargetSurvey], target: str, *, may_be_constant: bool) -> Standardise:
    least, largest = min(part.least for part in parts), max(part.largest for part in parts)
    if least == largest and may_be_constant:
        return Standardise(least, 1.0)
    if least == largest:
        raise TargetError(
            f"the target {target!r} is {least:g} in every row; there is nothing to explain: "
            "check that the right column is the target"
        )
    if largest - least < SMALLEST_RANGE or max(largest, -least) > LARGEST:
        raise TargetError(
            f"the target {target!r} goes from {least:g} to {largest:g}, and squares of that are out of the "
            "range of numbers; give it in other units"
        )
    whole = reduce(add, parts)
    return Standardise(whole.mean, float(np.sqrt(whole.variance)))


def _without_identifiers(schema: Schema, survey: Survey) -> Schema:
    """Leave out columns that have a new level in every row, of which nothing can be learned."""
    single = {column.name for column in survey.columns if column.has_single_levels}
    kept = []
    for column in schema.columns:
        if column.is_discrete and column.name in single and len(column.levels) > MOST_SINGLE_LEVELS:
            warnings.warn(
                f"column {column.name!r} has a new level in every row, like an identifier, and is left out; "
                "leave it out of the data set, or make it a number if it is one",
                TermwiseWarning,
                stacklevel=2,
            )
        else:
            kept.append(column)
    if not kept:
        raise TableError(
            "every column has a new level in every row, so none can explain the target; add columns in which "
            "values come back"
        )
    return replace(schema, columns=tuple(kept))


def _unseen_values(schema: Schema, survey: Survey, sample: Table) -> Table | None:
    """A table of the levels and the ends of ranges that the sample lacks; other cells are missing."""
    by_name = {column.name: column for column in survey.columns}
    columns: dict[str, Any] = {}
    for column in schema.columns:
        numbers = by_name[column.name].numbers
        if column.is_discrete:
            seen = set(sample.column(column.name).tolist())
            columns[column.name] = [level for level in column.levels if level not in seen]
        else:
            known = numbers is not None and np.isfinite(numbers.least)
            ends = [numbers.least, numbers.largest] if known and numbers is not None else []
            columns[column.name] = [end for end in ends if end not in sample.column(column.name)]
    length = max(map(len, columns.values()), default=0)
    if length == 0:
        return None
    return Table(
        schema.names, tuple(_padded(column, columns[column.name], length) for column in schema.columns)
    )


def _padded(column: Any, values: list[Any], length: int) -> Any:
    if not column.is_discrete:
        return np.array([*values, *[np.nan] * (length - len(values))])
    cells = np.empty(length, dtype=object)
    cells[: len(values)] = values
    return cells
