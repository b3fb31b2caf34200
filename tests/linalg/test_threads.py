"""The limit on the threads of BLAS is given back, whoever leaves last."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from termwise.linalg.threads import one_blas_thread


def blas_threads():
    return {one["filepath"]: one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


@pytest.fixture
def two_threads():
    with threadpool_limits(limits=2, user_api="blas"):
        yield blas_threads()


def test_two_who_overlap_leave_what_they_found(two_threads):
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    assert set(blas_threads().values()) == {1}
    first.__exit__(None, None, None)
    assert set(blas_threads().values()) == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == two_threads


def test_it_is_given_back_after_an_error(two_threads):
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        raise ZeroDivisionError
    assert blas_threads() == two_threads
