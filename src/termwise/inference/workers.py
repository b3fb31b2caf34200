"""Who adds up: the threads of this process, or any executor of the standard library's kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from termwise.inference.blocks import Chunk
from termwise.kernels.fused.run import cores
from termwise.linalg.threads import one_blas_thread

T = TypeVar("T")


class Workers(Protocol):
    """Applies a function of (chunk, message, threads) to every chunk; results keep their order."""

    def map(self, function: Callable[..., T], chunks: Sequence[Chunk], message: Any) -> Iterable[T]:
        """function(chunk, message) for every chunk."""


@dataclass(frozen=True)
class LocalWorkers:
    """One chunk after the other, its blocks shared out among the threads of this process."""

    threads: int = field(default_factory=cores)

    def map(self, function: Callable[..., T], chunks: Sequence[Chunk], message: Any) -> Iterable[T]:
        """function(chunk, message) for every chunk."""
        return (function(chunk, message, self.threads) for chunk in chunks)


@dataclass(frozen=True)
class ExecutorWorkers:
    """Chunks shared out among the workers of an executor, one thread each."""

    executor: Executor

    def map(self, function: Callable[..., T], chunks: Sequence[Chunk], message: Any) -> Iterable[T]:
        """function(chunk, message) for every chunk."""
        return self.executor.map(apply, chunks, [function] * len(chunks), [message] * len(chunks))


def apply(chunk: Chunk, function: Callable[..., T], message: Any) -> T:
    """function(chunk, message) by one thread, also inside BLAS."""
    with one_blas_thread():
        return function(chunk, message)
