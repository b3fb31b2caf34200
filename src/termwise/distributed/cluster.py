"""The same sums on a Dask cluster (extra `distributed`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from termwise.errors import ClusterError, OptionError
from termwise.inference.workers import apply

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class ClusterWorkers:
    """Chunks shared out among the workers of a cluster, one thread each."""

    client: Any

    def map(self, function: Callable[..., T], chunks: Sequence[Any], message: Any) -> Iterable[T]:
        """function(chunk, message) for every chunk."""
        # As a task of its own: Dask can run it again when the worker that holds its result has died.
        shared = self.client.submit(_itself, message, pure=False)
        futures = self.client.map(apply, chunks, function=function, message=shared, pure=False)
        try:
            for future in futures:
                yield future.result()
                future.release()  # now: results of many chunks may be large
        finally:
            release([shared, *futures])


def release(futures: Sequence[Any]) -> None:
    """Let go what the cluster holds for us now, and not when a traceback that has seen it goes.

    A client keeps the error of a task as long as someone holds its future. The error holds the frames that it
    has been through, and so the future, and all else that is in them.
    """
    for future in futures:
        future.release()


def cluster_workers(client: Any) -> ClusterWorkers:
    """The workers of a cluster, by a `dask.distributed.Client`."""
    try:
        from distributed import Client
    except ImportError:
        raise OptionError(
            "client is given, but Dask is not installed; pip install 'termwise[distributed]'"
        ) from None
    if not isinstance(client, Client) or client.asynchronous:
        raise OptionError(
            f"client is {client!r}; use a dask.distributed.Client that is not asynchronous, such as Client()"
        )
    return ClusterWorkers(client)


def _itself(message: Any) -> Any:
    return message


@contextmanager
def cluster_errors() -> Iterator[None]:
    """Turn what Dask raises when workers or the scheduler are lost into an error that says what to do."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.client import ClosedClientError, FutureCancelledError
    from distributed.comm.core import CommClosedError

    try:
        yield
    except KilledWorker as error:
        raise ClusterError(
            f"workers of the cluster died again and again on the same rows ({error}); look at their logs, "
            "and give them more memory or write smaller row groups"
        ) from error
    except (CancelledError, FutureCancelledError, ClosedClientError, CommClosedError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ClusterError(
            f"the connection to the cluster was lost in the middle of the fit ({reason}); see that the "
            "scheduler runs and that nothing closes the client, and fit again"
        ) from error
    except (ImportError, RuntimeError) as error:
        if not isinstance(error, ImportError) and "deserialization of the task graph" not in str(error):
            raise
        reason = " ".join(str(error).split())
        raise ClusterError(
            f"the cluster cannot read what it is sent ({reason}); install the same version of Termwise, and "
            "of what it needs, where the client, the scheduler and the workers run"
        ) from error


@contextmanager
def executor_errors() -> Iterator[None]:
    """The same for what an executor of the standard library raises."""
    try:
        yield
    except BrokenExecutor as error:
        reason = " ".join(str(error).split())
        raise ClusterError(
            f"the executor lost one of its workers ({reason}); make a new executor with more memory for each "
            "worker, or write smaller row groups, and fit again"
        ) from error
    except RuntimeError as error:
        if "after shutdown" not in str(error):
            raise
        raise OptionError("the executor has been shut down; fit while it is open") from error
