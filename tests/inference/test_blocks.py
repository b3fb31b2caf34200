"""Sums over rows are the same whoever adds them up, and they are the sums of the formulas."""

import pickle
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import fields, is_dataclass
from functools import reduce
from itertools import pairwise
from multiprocessing import get_context
from operator import add

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from termwise.inference import blocks
from termwise.inference.blocks import (
    BLOCK_ROWS,
    ArrayChunk,
    Pull,
    Push,
    Setting,
    adjoint,
    in_order,
    statistics,
)
from termwise.inference.workers import ExecutorWorkers, LocalWorkers
from tests.inference.mixed import any_theta, explicit, first_theta, mixed_model
from tests.oracle.sparse import SparseOracle, known_variance

INDUCING = 6


@pytest.fixture(autouse=True)
def one_blas_thread():
    """Sums inside BLAS may differ in the last bit with the number of its threads."""
    with threadpool_limits(limits=1, user_api="blas"):
        yield


def problem(n=40, seed=0):
    """What sees rows, rows with missing cells and targets, and the dense oracle of them."""
    rng = np.random.default_rng(seed)
    model, both = mixed_model(rng, n + INDUCING)
    theta = any_theta(model, rng, first_theta(model, 0.9, 0.05))
    X, y, Z = both[:n], rng.standard_normal(n), both[n:]
    X[2, -1] = X[n // 2, 1] = Z[1, 0] = np.nan
    kernel, rows = explicit(model, theta, X)
    oracle = SparseOracle(kernel, rows, y, explicit(model, theta, Z)[1], float(np.exp(theta[-1])), 1e-10)
    root = np.linalg.inv(np.linalg.cholesky(oracle.Kuu).T) * np.exp(-0.5 * theta[-1])
    return Push(Setting(model, theta, Z), root), X, y, oracle


def pull_of(push, seed=1, late=True):
    rng = np.random.default_rng(seed)
    half = rng.standard_normal((INDUCING, INDUCING))
    return Pull(push.setting, half + half.T, rng.standard_normal(INDUCING), late)


def values(result):
    parts = [getattr(result, field.name) for field in fields(result)]
    return [array for part in parts for array in (values(part) if is_dataclass(part) else [np.asarray(part)])]


def assert_bitwise(one, other):
    assert type(one) is type(other)
    assert all(np.array_equal(a, b) for a, b in zip(values(one), values(other), strict=True))


def assert_close(one, other):
    for a, b in zip(values(one), values(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10 * max(1.0, np.abs(b).max(initial=0.0)))


# What the sums are.


def test_statistics_are_the_sums_of_the_formulas():
    push, X, y, oracle = problem()
    found = statistics(ArrayChunk(X, y), push)
    w = 1.0 / oracle.row_noise
    A = oracle.Kuf.T @ push.root * np.sqrt(oracle.noise)
    own = np.log(w) - w * y**2 - w * (known_variance(oracle.kernel, oracle.X) - np.sum(A**2, axis=1))
    assert found.n_rows == y.size
    assert found.own == pytest.approx(own.sum(), rel=1e-9)
    np.testing.assert_allclose(found.outer, np.triu(A.T @ np.diag(w) @ A), rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.linear, A.T @ (w * y), rtol=0, atol=1e-8)


@pytest.mark.parametrize("function", [statistics, adjoint])
def test_the_sums_of_chunks_add_up_to_that_of_all_rows(function, monkeypatch):
    push, X, y, _ = problem()
    message = push if function is statistics else pull_of(push)
    whole = function(ArrayChunk(X, y), message)
    parts = [
        function(ArrayChunk(X[rows], y[rows]), message) for rows in (slice(1), slice(1, 12), slice(12, None))
    ]
    assert_close(reduce(add, parts), whole)
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 7)
    assert_close(function(ArrayChunk(X, y), message), whole)


def test_the_gradient_for_the_noise_of_a_row_is_that_of_its_precision():
    """Rows enter by w_n (P k_n + y_n m): the derivative of the value that belongs to it."""
    push, X, y, oracle = problem()
    pull = pull_of(push)

    def value(noise):
        w = 1.0 / (oracle.row_noise - oracle.noise + noise)
        quadratic = np.einsum("in,ij,jn->n", oracle.Kuf, oracle.noise * pull.quadratic, oracle.Kuf)
        fitted = y * (pull.linear @ oracle.Kuf)
        own = np.log(w) - w * y**2 - w * known_variance(oracle.kernel, oracle.X)
        return float(np.sum(0.5 * own + 0.5 * w * quadratic + w * fitted))

    step = 1e-6
    expected = (value(oracle.noise + step) - value(oracle.noise - step)) / (2 * step)
    assert adjoint(ArrayChunk(X, y), pull).noise == pytest.approx(expected, rel=1e-6)


# Who adds them up.


@pytest.mark.parametrize("n", [1, 7, 8, 14, 15, 100])
def test_blocks_are_of_one_size_and_even_in_number_and_hold_all_rows(n, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 7)
    seen = blocks.total(ArrayChunk(np.zeros((n, 1)), np.arange(n)), lambda block: [block.y.tolist()], 1)
    assert [row for block in seen for row in block] == list(range(n))
    sizes = [len(block) for block in seen]
    assert max(sizes) <= 7
    assert max(sizes) - min(sizes) <= 1
    assert len(sizes) == 1 or len(sizes) % 2 == 0


@pytest.fixture(scope="module")
def many():
    """Chunks of one block, of several with a small rest, and of one row."""
    push, X, y, _ = problem(n=3 * BLOCK_ROWS + 60)
    ends = [0, BLOCK_ROWS - 9, BLOCK_ROWS - 8, len(y)]
    chunks = [ArrayChunk(X[a:b], y[a:b]) for a, b in pairwise(ends)]
    return push, chunks


def through(workers, push, chunks):
    return [
        *workers.map(statistics, chunks, push),
        *workers.map(adjoint, chunks, pull_of(push)),
    ]


@pytest.fixture(scope="module")
def by_one_thread(many):
    with threadpool_limits(limits=1, user_api="blas"):
        return through(LocalWorkers(1), *many)


def check(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert_bitwise(one, other)


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_the_threads_of_one_process_give_the_same_to_the_last_bit(threads, many, by_one_thread):
    check(through(LocalWorkers(threads), *many), by_one_thread)


def test_an_executor_of_threads_gives_the_same_to_the_last_bit(many, by_one_thread):
    with ThreadPoolExecutor(3) as pool:
        check(through(ExecutorWorkers(pool), *many), by_one_thread)


def test_other_processes_give_the_same_to_the_last_bit(many, by_one_thread):
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        check(through(ExecutorWorkers(pool), *many), by_one_thread)


@pytest.mark.parametrize("used", [False, True], ids=["fresh", "used"])
def test_a_message_survives_pickling_without_what_can_be_computed_again(used):
    push, X, y, _ = problem()
    chunk, size = ArrayChunk(X, y), len(pickle.dumps(push))
    pull = pull_of(push)
    if used:
        statistics(chunk, push)
        adjoint(chunk, pull)
    assert len(pickle.dumps(push)) == size
    sent, received = pickle.loads(pickle.dumps((push, chunk))), pickle.loads(pickle.dumps(pull))
    assert_bitwise(statistics(sent[1], sent[0]), statistics(chunk, push))
    assert_bitwise(adjoint(chunk, received), adjoint(chunk, pull))


# In order.


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_items(threads):
    items = [slice(i, i + 1) for i in range(23)]

    def slow_at_first(item):
        time.sleep(0.02 if item.start % 5 == 0 else 0.0)
        return item.start

    assert list(in_order(slow_at_first, items, threads)) == list(range(23))
    assert list(in_order(slow_at_first, [], threads)) == []


@pytest.mark.parametrize("threads", [1, 2])
def test_a_failure_is_passed_on(threads):
    def fails(item):
        if item.start == 3:
            raise ZeroDivisionError("row 3")
        return item.start

    results = in_order(fails, [slice(i, i + 1) for i in range(8)], threads)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ZeroDivisionError, match="row 3"):
        next(results)


def test_only_a_few_results_wait_to_be_taken():
    done = []

    def count(item):
        done.append(item.start)
        return item.start

    results = in_order(count, [slice(i, i + 1) for i in range(100)], 2)
    next(results)
    time.sleep(0.05)
    assert len(done) <= 6
    assert list(results) == list(range(1, 100))
