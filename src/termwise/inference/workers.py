"""Who adds up: the threads of this process, or any executor of the standard library's kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from threadpoolctl import threadpool_limits

from termwise.inference.blocks import Chunk
from termwise.kernels.fused.run import cores

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


def _itself(message: Any) -> Any:
    return message


@dataclass(frozen=True)
class ExecutorWorkers:
    """Chunks shared out among the workers of an executor, one thread each.

    `share` turns a message into what the executor can send once for all chunks, if it can.
    """

    executor: Executor
    share: Callable[[Any], Any] = _itself

    def map(self, function: Callable[..., T], chunks: Sequence[Chunk], message: Any) -> Iterable[T]:
        """function(chunk, message) for every chunk."""
        shared = [self.share(message)] * len(chunks)
        return self.executor.map(_apply, [function] * len(chunks), chunks, shared)


def _apply(function: Callable[..., T], chunk: Chunk, message: Any) -> T:
    with threadpool_limits(limits=1, user_api="blas"):
        return function(chunk, message)
