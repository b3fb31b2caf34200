"""The way of data larger than memory: one pass to know it, a sample to plan with, all rows to learn from."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from termwise.__about__ import __version__
from termwise.distributed.cluster import cluster_errors, cluster_workers, executor_errors
from termwise.distributed.frames import is_dask, partitions
from termwise.distributed.source import ClusterSource
from termwise.encode.encoder import Encoder
from termwise.encode.target import TargetColumn
from termwise.errors import OptionError
from termwise.estimators.columns import ColumnChoice, learned_encoder, plan_columns, require_columns
from termwise.estimators.encodings import Encoding, chosen_encoding, tried_by
from termwise.estimators.known import Known
from termwise.estimators.selected import plain_terms
from termwise.estimators.targets import Target
from termwise.inference.checkpoint import Checkpoints, new_folder, old_folder, refuse_others
from termwise.inference.coarse import Data, fit_sparse
from termwise.inference.fit import Candidate, Fit
from termwise.inference.progress import monitored
from termwise.inference.source import FileSource, Packed, Source
from termwise.inference.stochastic import fit_stochastic
from termwise.inference.workers import ExecutorWorkers, LocalWorkers, Workers
from termwise.likelihoods import Likelihood
from termwise.measures.base import Array
from termwise.table import Table, open_dataset

if TYPE_CHECKING:
    from termwise.estimators.base import AdditiveModel

IRRELEVANT = ("progress", "n_jobs")  # options that change no bit of a fit


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
class Given:
    """What a user gives to learn from, who is to work on it, and the folders of checkpoints."""

    data: Any
    client: Any = None
    executor: Executor | None = None
    checkpoint: Any = None
    resume: Any = None


@dataclass(frozen=True, eq=False)
class Task:
    """A data set that is to be learned from: where its rows are, what is known of them, and how to go about.

    `folder` is where checkpoints are, and are to be.
    """

    source: Source
    known: Known
    engine: str
    folder: Path | None
    rng: np.random.Generator


def label_tasks(task: Task, count: int) -> list[Task]:
    """A task for each label against the rest, with a stream and a folder of its own."""
    streams = task.rng.spawn(count)
    if task.folder is None:
        return [replace(task, rng=rng) for rng in streams]
    folders = [task.folder / f"label-{code}" for code in range(count)]
    refuse_others(task.folder, folders)
    for folder in folders:
        folder.mkdir(exist_ok=True)
    return [replace(task, folder=folder, rng=rng) for folder, rng in zip(folders, streams, strict=True)]


def checkpoint_folder(checkpoint: Any, resume: Any) -> Path | None:
    """The folder that a fit writes checkpoints to, an old one if it is to go on from there."""
    for name, given in (("checkpoint", checkpoint), ("resume", resume)):
        if given is not None and not isinstance(given, (str, os.PathLike)):
            raise OptionError(f"{name} is {given!r}; give the path of a folder")
    if resume is None:
        return None if checkpoint is None else new_folder(checkpoint)
    if checkpoint is not None and Path(checkpoint).absolute() != Path(resume).absolute():
        raise OptionError("checkpoint and resume are different folders; a fit that goes on writes to resume")
    return old_folder(resume)


def learn_dataset(
    model: AdditiveModel, task: Task, column: TargetColumn, likelihood: Likelihood | None
) -> tuple[Encoder, tuple[ColumnChoice, ...], Fit]:
    """Learn one function from all rows; also what was chosen for each column, and the learned encoding."""
    source, known = task.source, task.known
    n_rows = known.survey.n_rows
    sites = likelihood is not None
    options = model._asked().sparse_options(task.engine, n_rows, sites=sites, workers=source.workers)
    encoders, rows = known.encoders(flows=model._tried(), unknown=model.unknown, terms=model.terms)
    require_columns(encoders[0])
    tried = tried_by(task.engine, encoders)
    sampled = Sampled(model, known, rows, column, likelihood)
    with monitored(model.progress) as monitor:
        chosen, spent = chosen_encoding(tried, sampled.encoding, model._asked(), task.rng, monitor)
        encoder, additive = chosen.encoder, chosen.candidate.model
        data = Data(source.encoded(encoder, column), n_rows, chosen.candidate.rows)
        checkpoints = None
        if task.folder is not None:
            refuse_others(task.folder, [task.folder])
            checkpoints = Checkpoints(task.folder, fingerprint(model, known, column, data))
        if task.engine == "sparse":
            found = fit_sparse(additive, data, options, task.rng, monitor)
        else:
            found = fit_stochastic(additive, data, options, task.rng, monitor, checkpoints)
    found = replace(found, result=spent.before(found.result))
    return learned_encoder(encoder, found), chosen.choices, found


@dataclass(frozen=True, eq=False)
class Sampled:
    """How the sample of a data set is learned from: its rows, some for what they lack, and its target."""

    model: AdditiveModel
    known: Known
    rows: Table
    column: TargetColumn
    likelihood: Likelihood | None

    def encoding(self, encoder: Encoder) -> Encoding:
        """The sample encoded, in random order, and the columns that are learned of it."""
        X = encoder.transform(self.rows)
        sample = self.known.encoded_sample(X, self.column)
        hint = Target(sample.y, self.likelihood, sample.weight, sample.offset).hint
        more = len(X) - hint.size  # rows for what the sample lacks
        hint = np.concatenate([hint, np.full(more, np.mean(hint))])
        columns, choices = plan_columns(encoder, X, hint, self.model._plan(encoder))
        additive = self.model._model(columns, encoder, self.likelihood)
        return Encoding(encoder, choices, Candidate(additive, sample.rows(self.known.shuffled)))


def fingerprint(model: AdditiveModel, known: Known, column: TargetColumn, data: Data) -> Array:
    """Tells a fit from fits of other data or with other options."""
    options = {name: value for name, value in model.get_params().items() if name not in IRRELEVANT}
    options["terms"] = plain_terms(model.terms)
    about = (
        __version__,
        type(model).__name__,
        sorted(options.items()),
        column,
        known.schema.names,
        data.n_rows,
    )
    digest = hashlib.sha256(repr(about).encode())
    sample = data.sample
    for part in (sample.X, sample.y, sample.weight, sample.offset):
        if part is not None:
            digest.update(np.ascontiguousarray(part).tobytes())
    return np.frombuffer(digest.digest(), dtype=np.uint8).copy()
