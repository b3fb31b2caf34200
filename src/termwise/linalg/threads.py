"""How many threads BLAS may use, for all of the process."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

_lock = threading.Lock()
_inside = 0  # how many are in need of it now
_limit: threadpool_limits | None = None


def _forget() -> None:
    """In a child of fork no other thread is left that could leave, or give back the lock."""
    global _lock, _inside, _limit
    _lock, _inside, _limit = threading.Lock(), 0, None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One thread inside BLAS while anyone needs it so; the last to leave gives back what there was.

    The limit is one for the whole process: if each of two fits at once put back what it had found, one of
    them would put back the limit of the other, for good.
    """
    global _inside, _limit
    with _lock:
        if _inside == 0:
            _limit = threadpool_limits(limits=1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _limit is not None:
                _limit.restore_original_limits()
                _limit = None
