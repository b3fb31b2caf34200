"""Where the rows of a data set are, and who works on them: files and this process, or a cluster."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from termwise.encode.encoded import EncodedChunk, forget
from termwise.encode.encoder import Encoder
from termwise.encode.target import TargetColumn
from termwise.inference.workers import LocalWorkers, Workers
from termwise.table import Chunk, Survey, Table, Values, survey_chunk


@dataclass(frozen=True, eq=False)
class Packed:
    """A chunk on its way to other processes.

    pyarrow looks into the file whenever it pickles a piece of it that has come from elsewhere, and the
    scheduler of a cluster does pickle what it passes on: it would have to see the files, and would lose its
    workers, for good, when it cannot. Bytes can be passed on by anyone.
    """

    content: bytes

    @classmethod
    def of(cls, chunk: Chunk) -> Packed:
        """Pack it where it was opened."""
        return cls(pickle.dumps(chunk))

    @property
    def chunk(self) -> Chunk:
        """The chunk again."""
        chunk: Chunk = pickle.loads(self.content)
        return chunk

    def read(self, columns: Sequence[str]) -> Table:
        """These columns of the rows."""
        return self.chunk.read(columns)


@dataclass(frozen=True, eq=False)
class Look:
    """Rows to be surveyed, and which of them to bring back as a sample."""

    chunk: Chunk | Packed
    positions: Values


@dataclass(frozen=True)
class Question:
    """What a survey is to know: the target, perhaps labels, and the numbers whose levels are counted."""

    target: str
    labels: bool
    discrete: frozenset[str]


def answer(look: Look, question: Question, threads: int = 1) -> tuple[Survey, Table | None, Values]:
    """The survey of some rows, and the sample."""
    chunk = look.chunk.chunk if isinstance(look.chunk, Packed) else look.chunk
    with np.errstate(over="ignore"):  # a target whose squares are too large is refused when all is known
        return survey_chunk(
            chunk, question.target, rows=look.positions, discrete=question.discrete, labels=question.labels
        )


class Source(Protocol):
    """The rows of a data set as chunks, and who works on them.

    `about` has the number of rows and the columns of every chunk; the chunks themselves may be far away.
    """

    @property
    def about(self) -> Sequence[Chunk]:
        """The chunks, perhaps without their rows."""

    @property
    def workers(self) -> Workers:
        """Who works on them."""

    def looks(self, positions: Sequence[Values]) -> Sequence[Any]:
        """A `Look` at each chunk."""

    def encoded(self, encoder: Encoder, target: TargetColumn) -> Sequence[Any]:
        """Encoded chunks."""

    def close(self) -> None:
        """Let go what was kept of the rows."""


@dataclass(frozen=True, eq=False)
class FileSource:
    """Files that all workers can read."""

    about: Sequence[Chunk]
    workers: Workers = field(default_factory=LocalWorkers)
    name: str = field(default_factory=lambda: uuid.uuid4().hex)

    @cached_property
    def _chunks(self) -> Sequence[Chunk | Packed]:
        if isinstance(self.workers, LocalWorkers):
            return self.about
        return [Packed.of(chunk) for chunk in self.about]

    def looks(self, positions: Sequence[Values]) -> Sequence[Look]:
        """A look at each chunk."""
        return [Look(chunk, rows) for chunk, rows in zip(self._chunks, positions, strict=True)]

    def encoded(self, encoder: Encoder, target: TargetColumn) -> Sequence[EncodedChunk]:
        """References, read and encoded by whoever works on them; what was encoded before is let go."""
        forget(self.name)
        return [
            EncodedChunk(chunk, encoder, target, (self.name, number))
            for number, chunk in enumerate(self._chunks)
        ]

    def close(self) -> None:
        """Let go what this process has kept; that of others goes when they need the room."""
        forget(self.name)
