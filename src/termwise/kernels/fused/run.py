"""Sharing the compiled loops out among threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from termwise.kernels.fused import listed, loops
from termwise.kernels.fused.block import AMPLITUDE, BLOCK, COORDINATE, MISSING
from termwise.kernels.fused.factors import by_factors, fill_blocks
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
    def _blocks(self) -> dict[bytes, tuple[Array, Array]]:
        return {}

    def blocks(self, kinds: Array) -> tuple[Array, Array]:
        """The same as right-hand rows, see `fill_blocks`; kept, since they serve many left-hand sides."""
        key = kinds.tobytes()
        found = self._blocks.get(key)
        if found is None:
            columns, n = self.u.shape
            found = np.empty(columns), np.zeros((columns, -(-n // BLOCK), 4, BLOCK))
            fill_blocks(kinds, self.u, self.a, *found)
            self._blocks[key] = found  # only now: other threads may ask at the same time
        return found

    @cached_property
    def coordinate_blocks(self) -> Array:
        """The coordinates alone as right-hand rows, (D, blocks, BLOCK); missing cells as in `fill_blocks`."""
        columns, n = self.u.shape
        padded = np.zeros((columns, -(-n // BLOCK) * BLOCK))
        padded[:, :n] = np.where(self.u == MISSING, -MISSING, self.u)
        return padded.reshape(columns, -1, BLOCK)


class Kernel(Protocol):
    """What loops read besides rows, and which loops these are: for a pair of rows, and for the way back."""

    @property
    def weight(self) -> Array:
        """The variance of each part, a column or a direction, before that of its order."""

    @property
    def loop(self) -> Callable[..., Any]:
        """Fills a matrix: loop(*inputs, out, symmetric, start, step)."""

    @property
    def adjoint_loop(self) -> Callable[..., Any]:
        """Gradients: loop(*inputs, G, outer, inner, symmetric, start, step)."""

    def inputs(self, left: Rows, right: Rows) -> tuple[Any, ...]:
        """What both loops read first."""

    def cotangents(self, gradients: Sequence[Array]) -> Cotangents:
        """What the adjoint loop gives, by name."""


@dataclass(frozen=True)
class Weights:
    """The additive kernel as its loops read it: the column kernels and the order variances."""

    kinds: Array
    weight: Array
    tables: Array
    variances: Array
    loop: ClassVar[Callable[..., Any]] = staticmethod(loops.gram_rows)
    adjoint_loop: ClassVar[Callable[..., Any]] = staticmethod(loops.adjoint_rows)

    def inputs(self, left: Rows, right: Rows) -> tuple[Any, ...]:
        """Kinds, weights and rows, those on the right in blocks."""
        shift, blocks = right.blocks(self.kinds)
        kinds = by_factors(self.kinds, left.u, shift)
        return kinds, self.weight, self.tables, self.variances, left.u, left.a, shift, blocks

    def cotangents(self, gradients: Sequence[Array]) -> Cotangents:
        """Those of the right-hand rows out of their blocks."""
        s, weight, tables, x, ax, blocks = gradients
        z, az = (blocks[:, :, part].reshape(x.shape[0], -1) for part in (COORDINATE, AMPLITUDE))
        return Cotangents(s, weight, tables, Rows(x, ax), Rows(z, az))


@dataclass(frozen=True)
class ListedWeights:
    """The same with some terms only: (T, R), the columns of each from the left and -1 behind them."""

    every: Weights
    terms: Array
    loop: ClassVar[Callable[..., Any]] = staticmethod(listed.listed_rows)
    adjoint_loop: ClassVar[Callable[..., Any]] = staticmethod(listed.listed_adjoint_rows)

    @property
    def weight(self) -> Array:
        """That of each column."""
        return self.every.weight

    def inputs(self, left: Rows, right: Rows) -> tuple[Any, ...]:
        """The terms stand behind the variances."""
        inputs = self.every.inputs(left, right)
        return *inputs[:4], self.terms, *inputs[4:]

    def cotangents(self, gradients: Sequence[Array]) -> Cotangents:
        """As those of all terms."""
        return self.every.cotangents(gradients)


@dataclass(frozen=True)
class Cotangents:
    """Gradients for all that the loops read; `x` and `z` are for the left and the right rows."""

    variances: Array
    weight: Array
    tables: Array
    x: Rows
    z: Rows


def gram_below(w: Kernel, rows: Rows, out: Array, threads: int) -> None:
    """Fill the part of out strictly below the diagonal with the kernel between all rows."""
    _share(w.loop, (*w.inputs(rows, rows), out, True), threads)


def cross(w: Kernel, left: Rows, right: Rows, threads: int, out: Array | None = None) -> Array:
    """The kernel between two sets of rows."""
    if out is None:
        out = np.empty((left.u.shape[1], right.u.shape[1]))
    _share(w.loop, (*w.inputs(left, right), out, False), threads)
    return out


def adjoint_below(w: Kernel, rows: Rows, G: Array, left: Array, right: Array, threads: int) -> Cotangents:
    """Gradients of 2 sum_{i>j} (G + left right')_ij K_ij; only the part of G below the diagonal is read."""
    n = rows.u.shape[1]
    total = _adjoint(w, rows, rows, (G, left, right, True), threads)
    both = Rows(total.x.u + total.z.u[:, :n], total.x.a + total.z.a[:, :n])
    return Cotangents(total.variances, total.weight, total.tables, both, both)


def adjoint_cross(
    w: Kernel, left: Rows, right: Rows, G: Array, threads: int, outer: tuple[Array, Array] | None = None
) -> Cotangents:
    """Gradients of sum_ij (G_ij + p_i q_j) K_ij for two sets of rows, `outer` being p and q."""
    n, m = G.shape
    total = _adjoint(w, left, right, (G, *(outer or (np.zeros(n), np.zeros(m))), False), threads)
    return Cotangents(
        total.variances, total.weight, total.tables, total.x, Rows(total.z.u[:, :m], total.z.a[:, :m])
    )


def _adjoint(w: Kernel, left: Rows, right: Rows, given: tuple[Any, ...], threads: int) -> Cotangents:
    parts = _share(w.adjoint_loop, (*w.inputs(left, right), *given), threads)
    for part in parts[1:]:
        for total, more in zip(parts[0], part, strict=True):
            total += more
    return w.cotangents(parts[0])


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
