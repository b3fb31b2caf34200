"""The way of data larger than memory: one pass to know it, a sample to plan with, all rows to learn from."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from termwise.distributed.cluster import cluster_errors, cluster_workers, executor_errors
from termwise.distributed.frames import is_dask, partitions
from termwise.distributed.source import ClusterSource
from termwise.encode.encoder import MOST_SINGLE_LEVELS, Encoder, fit_encoder
from termwise.encode.scale import Standardise
from termwise.encode.target import NumberTarget
from termwise.errors import OptionError, TableError, TargetError, TermwiseWarning
from termwise.inference.blocks import ArrayChunk
from termwise.inference.coarse import MOST_SAMPLED, Data
from termwise.inference.source import FileSource, Packed, Question, Source, answer
from termwise.inference.workers import ExecutorWorkers, LocalWorkers, Workers
from termwise.measures.base import Array
from termwise.table import (
    Schema,
    Survey,
    Table,
    Values,
    open_dataset,
    sample_positions,
    stacked,
    surveyed_schema,
)
from termwise.table.infer import discrete_names
from termwise.table.survey import TargetSurvey
from termwise.table.target import feature_names

SMALLEST_RANGE, LARGEST = 1e-140, 1e140  # of a target: the sums of their squares are still numbers


@contextmanager
def opened(data: Any, client: Any, executor: Executor | None) -> Iterator[Source]:
    """The source of a data set: files by this process, an executor or a cluster, or a Dask dataframe."""
    if client is not None and executor is not None:
        raise OptionError("client and executor are both given; use one of them")
    workers = _workers(executor) if client is None else cluster_workers(client)
    on_cluster = client is not None or type(executor).__module__.startswith("distributed.")
    with cluster_errors() if on_cluster else executor_errors():
        source = _source(data, client, workers)
        try:
            yield source
        finally:
            source.close()


def _workers(executor: Any) -> Workers:
    if executor is None:
        return LocalWorkers()
    if not isinstance(executor, Executor):
        raise OptionError(
            f"executor is {executor!r}; use a concurrent.futures.Executor such as ProcessPoolExecutor(), and "
            "client for a dask.distributed.Client"
        )
    return ExecutorWorkers(executor)


def _source(data: Any, client: Any, workers: Workers) -> Source:
    if not is_dask(data):
        files = open_dataset(data)
        if client is None:
            return FileSource(files, workers)
        return ClusterSource(client, [Packed.of(chunk) for chunk in files], files, workers)
    if client is None:
        raise OptionError(
            "the data is of Dask, whose workers hold it; give their dask.distributed.Client as client, or "
            "write the data to Parquet and give the path"
        )
    return ClusterSource(client, *partitions(data, client), workers)


@dataclass(frozen=True, eq=False)
class Known:
    """What one pass over the rows has found: a schema, the scale of the target, and a random sample.

    The sample is in the order of the rows; `shuffled` has its positions in random order.
    """

    survey: Survey
    schema: Schema
    scale: Standardise
    sample: Table
    sample_target: Array
    shuffled: Values

    def encoder(self, *, flow: bool, unknown: str) -> tuple[Encoder, Array, Array]:
        """An encoder by the sample, and the rows it was made by with their standardised target.

        Where the sample lacks an extreme or a level they have a row more for it.
        """
        schema = _without_identifiers(self.schema, self.survey)
        rows = self.sample.select(schema.names)
        unseen = _unseen_values(schema, self.survey, rows)
        rows = rows if unseen is None else stacked([rows, unseen])
        encoder = fit_encoder(schema, rows, flow=flow, unknown=unknown)
        more = rows.n_rows - self.sample.n_rows
        y = self.scale.forward(self.sample_target)
        return encoder, encoder.transform(rows), np.concatenate([y, np.zeros(more)])

    def data(self, source: Source, encoder: Encoder, target: str) -> Data:
        """All rows, encoded when they are read, and the encoded sample."""
        chunks = source.encoded(encoder, NumberTarget(target, self.scale))
        X = encoder.transform(self.sample)[self.shuffled]
        y = self.scale.forward(self.sample_target)[self.shuffled]
        return Data(chunks, self.survey.n_rows, ArrayChunk(X, y))


def know(source: Source, target: str, categorical: Any, rng: np.random.Generator) -> Known:
    """Look at all rows once."""
    names = feature_names(source.about[0].names, target)
    question = Question(target, discrete_names(names, categorical))
    looks = source.looks(sample_positions(source.about, MOST_SAMPLED, rng))
    found = list(source.workers.map(answer, looks, question))
    scale = _scale([one.target for one, _, _ in found], target)
    survey = reduce(add, (one for one, _, _ in found))
    schema = surveyed_schema(survey, categorical)
    sample = schema.check(stacked([table for _, table, _ in found if table is not None]))
    sample_target = np.concatenate([y for _, _, y in found])
    return Known(survey, schema, scale, sample, sample_target, rng.permutation(sample.n_rows))


def _scale(parts: Sequence[TargetSurvey], target: str) -> Standardise:
    least, largest = min(part.least for part in parts), max(part.largest for part in parts)
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
