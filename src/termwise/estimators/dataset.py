"""The way of data larger than memory: one pass to know it, a sample to plan with, all rows to learn from."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from termwise.encode.encoder import Encoder, fit_encoder
from termwise.encode.scale import Standardise
from termwise.errors import OptionError, TargetError
from termwise.inference.coarse import MOST_SAMPLED, Data
from termwise.inference.source import FileSource, Question, Source, answer
from termwise.inference.workers import ExecutorWorkers, LocalWorkers
from termwise.measures.base import Array
from termwise.table import Schema, Survey, Table, open_dataset, sample_positions, stacked, surveyed_schema
from termwise.table.infer import discrete_names
from termwise.table.target import feature_names


@contextmanager
def opened(data: Any, client: Any, executor: Executor | None) -> Iterator[Source]:
    """The source of a data set: files by this process, an executor or a cluster, or a Dask dataframe."""
    if client is None:
        workers = LocalWorkers() if executor is None else ExecutorWorkers(executor)
        source: Source = FileSource(open_dataset(data), workers)
        try:
            yield source
        finally:
            source.close()
        return
    if executor is not None:
        raise OptionError("client and executor are both given; use one of them")
    from termwise.distributed.cluster import cluster_errors, cluster_workers
    from termwise.distributed.frames import FrameSource, is_dask_frame

    on_cluster = cluster_workers(client)
    with cluster_errors():
        if is_dask_frame(data):
            source = FrameSource.of(data, client, on_cluster)
        else:
            source = FileSource(open_dataset(data), on_cluster)
        yield source


@dataclass(frozen=True, eq=False)
class Known:
    """What one pass over the rows has found: a schema, the scale of the target, and a random sample."""

    survey: Survey
    schema: Schema
    scale: Standardise
    sample: Table
    sample_y: Array

    def encoder(self, *, flow: bool, unknown: str) -> tuple[Encoder, Array, Array]:
        """An encoder by the sample, and the rows it was made by with their standardised target.

        These have a few rows more than the sample, so that every extreme and every level is among them.
        """
        rows = stacked([self.sample, _all_values(self.schema, self.survey)])
        encoder = fit_encoder(self.schema, rows, flow=flow, unknown=unknown)
        more = rows.n_rows - self.sample.n_rows
        return encoder, encoder.transform(rows), np.concatenate([self.sample_y, np.zeros(more)])

    def data(self, source: Source, encoder: Encoder, target: str) -> Data:
        """All rows, encoded when they are read, and the encoded sample."""
        chunks = source.encoded(encoder, target, self.scale)
        return Data(chunks, self.survey.n_rows, encoder.transform(self.sample), self.sample_y)


def know(source: Source, target: str, categorical: Any, rng: np.random.Generator) -> Known:
    """Look at all rows once."""
    names = feature_names(source.about[0].names, target)
    question = Question(target, discrete_names(names, categorical))
    looks = source.looks(sample_positions(source.about, MOST_SAMPLED, rng))
    found = list(source.workers.map(answer, looks, question))
    survey = reduce(add, (one for one, _, _ in found))
    schema, scale = surveyed_schema(survey, categorical), _scale(survey, target)
    sample = stacked([table for _, table, _ in found if table is not None])
    sample_y = scale.forward(np.concatenate([y for _, _, y in found]))
    order = rng.permutation(sample.n_rows)
    shuffled = Table(sample.names, tuple(values[order] for values in sample.columns))
    return Known(survey, schema, scale, schema.check(shuffled), sample_y[order])


def _scale(survey: Survey, target: str) -> Standardise:
    found = survey.target
    if found.least == found.largest:
        raise TargetError(
            f"the target {target!r} is {found.least:g} in every row; there is nothing to explain: "
            "check that the right column is the target"
        )
    return Standardise(found.mean, float(np.sqrt(found.variance)))


def _all_values(schema: Schema, survey: Survey) -> Table:
    """A table in which every level and both ends of every range occur, and other cells are missing."""
    by_name = {column.name: column for column in survey.columns}
    columns: dict[str, Any] = {}
    for column in schema.columns:
        numbers = by_name[column.name].numbers
        if column.is_discrete:
            columns[column.name] = list(column.levels)
        else:
            known = numbers is not None and np.isfinite(numbers.least)
            columns[column.name] = [numbers.least, numbers.largest] if known and numbers is not None else []
    length = max(1, *map(len, columns.values()))
    return Table(
        schema.names, tuple(_padded(column, columns[column.name], length) for column in schema.columns)
    )


def _padded(column: Any, values: list[Any], length: int) -> Any:
    if not column.is_discrete:
        return np.array([*values, *[np.nan] * (length - len(values))])
    cells = np.empty(length, dtype=object)
    cells[: len(values)] = values
    return cells
