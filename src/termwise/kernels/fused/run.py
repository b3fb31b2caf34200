"""Sharing the compiled loops out among threads."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from termwise.kernels.fused import loops
from termwise.kernels.fused.block import BLOCK, MISSING
from termwise.measures.base import Array

# Threads of a BLAS spin for a while after their work and hold a core meanwhile. Many threads of ours with
# small shares of the work get most of the cores all the same.
CROWD, SHARES = 12, 6  # for each thread asked for

_pool: ThreadPoolExecutor | None = None
_pid = 0  # the process that made the pool; its threads do not survive a fork


def cores() -> int:
    """The number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Rows:
    """Rows as the loops read them: coordinates u and amplitudes a, both (D, n)."""

    u: Array
    a: Array

    @cached_property
    def blocks(self) -> tuple[Array, Array]:
        """The same as (D, blocks, BLOCK), padded. Missing cells move to the other side of the line.

        Two missing cells are then as far from each other as from all the rest.
        """
        return _blocked(np.where(self.u == MISSING, -MISSING, self.u)), _blocked(self.a)


def _blocked(rows: Array) -> Array:
    return np.pad(rows, ((0, 0), (0, -rows.shape[1] % BLOCK))).reshape(rows.shape[0], -1, BLOCK)


@dataclass(frozen=True)
class Weights:
    """What the loops read besides the rows: the column kernels and the order variances."""

    kinds: Array
    weight: Array
    tables: Array
    variances: Array


@dataclass(frozen=True)
class Cotangents:
    """Gradients for all that the loops read; `x` and `z` are for the left and the right rows."""

    variances: Array
    weight: Array
    tables: Array
    x: Rows
    z: Rows


def gram_below(w: Weights, rows: Rows, out: Array, threads: int) -> None:
    """Fill the part of out strictly below the diagonal with the kernel between all rows."""
    args = (w.kinds, w.weight, w.tables, w.variances, rows.u, rows.a, *rows.blocks, out, True)
    _share(loops.gram_rows, args, threads)


def cross(w: Weights, left: Rows, right: Rows, threads: int) -> Array:
    """The kernel between two sets of rows."""
    out = np.empty((left.u.shape[1], right.u.shape[1]))
    args = (w.kinds, w.weight, w.tables, w.variances, left.u, left.a, *right.blocks, out, False)
    _share(loops.gram_rows, args, threads)
    return out


def adjoint_below(w: Weights, rows: Rows, G: Array, left: Array, right: Array, threads: int) -> Cotangents:
    """Gradients of 2 sum_{i>j} (G + left right')_ij K_ij; only the part of G below the diagonal is read."""
    n = rows.u.shape[1]
    total = _adjoint(w, rows, rows, (G, left, right, True), threads)
    both = Rows(total.x.u + total.z.u[:, :n], total.x.a + total.z.a[:, :n])
    return Cotangents(total.variances, total.weight, total.tables, both, both)


def adjoint_cross(w: Weights, left: Rows, right: Rows, G: Array, threads: int) -> Cotangents:
    """Gradients of sum_ij G_ij K_ij for the kernel between two sets of rows."""
    n, m = G.shape
    total = _adjoint(w, left, right, (G, np.zeros(n), np.zeros(m), False), threads)
    return Cotangents(
        total.variances, total.weight, total.tables, total.x, Rows(total.z.u[:, :m], total.z.a[:, :m])
    )


def _adjoint(w: Weights, left: Rows, right: Rows, given: tuple[Any, ...], threads: int) -> Cotangents:
    args = (w.kinds, w.weight, w.tables, w.variances, left.u, left.a, *right.blocks, *given)
    parts = _share(loops.adjoint_rows, args, threads)
    s, weight, tables, x, ax, z, az = parts[0]
    for part in parts[1:]:
        for total, more in zip((s, weight, tables, x, ax, z, az), part, strict=True):
            total += more
    columns = x.shape[0]
    return Cotangents(s, weight, tables, Rows(x, ax), Rows(z.reshape(columns, -1), az.reshape(columns, -1)))


def _share(loop: Callable[..., Any], args: tuple[Any, ...], threads: int) -> list[Any]:
    """Run loop(*args, start, step) for start = 0 .. step - 1 on some threads, each taking the next when free.

    Results are in the order of the shares, whoever computed them, so that sums do not depend on timing.
    """
    if threads == 1:
        return [loop(*args, 0, 1)]
    global _pool, _pid
    if _pool is None or _pid != os.getpid():
        _pool, _pid = ThreadPoolExecutor(CROWD * cores(), thread_name_prefix="termwise"), os.getpid()
    step = SHARES * threads
    results: list[Any] = [None] * step
    waiting = iter(range(step))

    def work() -> None:
        for start in waiting:
            results[start] = loop(*args, start, step)

    futures = [_pool.submit(work) for _ in range(1, CROWD * threads)]
    work()
    for future in futures:
        future.result()
    return results
