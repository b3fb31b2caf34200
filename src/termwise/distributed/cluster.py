"""The same sums on a Dask cluster (extra `distributed`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from termwise.errors import ClusterError, OptionError
from termwise.inference.workers import ExecutorWorkers


def cluster_workers(client: Any) -> ExecutorWorkers:
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

    def share(message: Any) -> Any:
        # As a task of its own: Dask can run it again when the worker that holds its result has died.
        return client.submit(_itself, message, pure=False)

    return ExecutorWorkers(client.get_executor(pure=False), share)


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
