"""The two functions of sparse inference that see rows: sums for the bound, and the way back from it.

Rows come in chunks and are worked off in blocks that fit the cache. Every block is computed by one thread and
blocks are added in their order, so that a sum is the same to the last bit whoever computed it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any, Protocol, TypeVar

import numpy as np

from termwise.encode.rows import ArrayChunk
from termwise.inference.bound import Sums
from termwise.inference.kept import Block, Kept
from termwise.inference.learnable import Common, Layout, Learnable
from termwise.inference.summed import Summed
from termwise.kernels.fused import run
from termwise.linalg.in_place import multiply_by_upper, upper_square
from termwise.measures.base import Array

BLOCK_ROWS = 1024

S = TypeVar("S")
T = TypeVar("T")


class Chunk(Protocol):
    """A reference to encoded rows that can be read, in this process or in another."""

    def read(self) -> ArrayChunk:
        """The rows, in memory."""


@dataclass(frozen=True, eq=False)
class Setting:
    """What rows are seen through: the model at one vector, and the inducing rows."""

    model: Learnable
    theta: Array
    inducing: Array
    kept: Kept | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel without what can be computed again."""
        return Setting, (self.model, self.theta, self.inducing)

    @cached_property
    def layout(self) -> Layout:
        """The inducing rows as the loops read them."""
        return self.model.layout(self.theta, np.ascontiguousarray(self.inducing.T))

    @cached_property
    def variances(self) -> Array:
        """The order variances."""
        return self.model.orders.variances(self.model.order_parameters(self.theta))[0]

    @property
    def noise(self) -> float:
        """That of rows whose cells are all known; one where a likelihood takes its place."""
        return 1.0 if self.model.likelihood is not None else float(np.exp(self.theta[-1]))

    @cached_property
    def weights(self) -> run.Kernel:
        """What the loops read besides rows."""
        return self.layout.weights(self.variances)

    @cached_property
    def largest(self) -> float:
        """The prior variance of the inducing row that has most of it."""
        return float(np.max(Own(self.layout, self).whole))


@dataclass(frozen=True, eq=False)
class Push:
    """What makes a_n / sigma of k_n: U^-1 / sigma, for the kernel of inducing rows U'U and noise sigma^2."""

    setting: Setting
    root: Array


@dataclass(frozen=True, eq=False)
class Pull:
    """The gradient of the bound for k_n, w_n (P k_n + y_n m), and which parameters it is to reach.

    `quadratic` is P / sigma^2 and `linear` m: in a row without missing cells w_n is 1 / sigma^2.
    """

    setting: Setting
    quadratic: Array
    linear: Array
    late: bool = True


@dataclass(frozen=True, eq=False)
class Reached(Summed):
    """Gradients for the parameters of the columns through the rows, for what all rows have in common, for the
    order variances and the noise, and for the coordinates and amplitudes of the inducing rows.
    """

    columns: Array
    common: Common
    variances: Array
    noise: float
    u: Array
    a: Array


def statistics(chunk: Chunk, push: Push, threads: int = 1) -> Sums:
    """The sums over the rows of a chunk that the bound needs."""
    return total(chunk, lambda block: _block_sums(block, push), threads)


def adjoint(chunk: Chunk, pull: Pull, threads: int = 1) -> Reached:
    """The gradient of the bound, as far as it goes through the rows of a chunk."""
    return total(chunk, lambda block: _block_adjoint(block, pull), threads)


@dataclass(frozen=True, eq=False)
class Own:
    """The prior variance of rows: of the terms they have, and of those lost in missing cells, as noise."""

    layout: Layout
    setting: Setting

    @cached_property
    def some_missing(self) -> bool:
        """Whether any cell of these rows is missing; if not, all rows have the same noise."""
        return bool(np.any(self.layout.missing))

    @cached_property
    def _kept(self) -> Array:
        return np.where(self.layout.missing, 0.0, self.layout.own_kernel)

    @cached_property
    def variance(self) -> Array:
        """k_nn, of the terms whose cells are known."""
        return self._sum(self._kept if self.some_missing else self.layout.own_kernel)

    @cached_property
    def whole(self) -> Array:
        """k_nn, of all terms."""
        return self._sum(self.layout.own_kernel)

    @cached_property
    def precision(self) -> Array:
        """w_n = 1 / (noise + lost variance)."""
        if not self.some_missing:
            return np.full(self.layout.cells.shape[1], 1.0 / self.setting.noise)
        return 1.0 / (self.setting.noise + self.whole - self.variance)

    def _sum(self, z: Array) -> Array:
        variances = self.setting.variances
        value: Array = variances @ self.setting.model.selection.by_order(z, variances.size - 1)
        return value

    def adjoint(self, by_variance: Array, by_lost: Array) -> tuple[Array, Array]:
        """Gradients for the order variances and for z_d(x_n, x_n)."""
        if not self.some_missing:
            return self.adjoint_of_whole(by_variance)
        given = by_variance - by_lost
        kept_s, kept_z = self.setting.model.selection.adjoint(self._kept, self.setting.variances, given)
        all_s, all_z = self.adjoint_of_whole(by_lost)
        return kept_s + all_s, np.where(self.layout.missing, 0.0, kept_z) + all_z

    def adjoint_of_whole(self, by_whole: Array) -> tuple[Array, Array]:
        """The same of `whole`."""
        setting = self.setting
        return setting.model.selection.adjoint(self.layout.own_kernel, setting.variances, by_whole)


def _layout(block: Block, setting: Setting, *, late: bool) -> Layout:
    cells = np.ascontiguousarray(block.rows.X.T)
    return setting.model.layout(setting.theta, cells, late=late, like=setting.layout)


def layout_for_sums(block: Block, setting: Setting) -> Layout:
    """The layout of sums before at the same setting, or a new one, kept for the way back if there is room."""
    kept = setting.kept
    found = None if kept is None else kept.find(block)
    if found is not None:
        return found
    if kept is None or not kept.has_room():
        return _layout(block, setting, late=False)
    layout = _layout(block, setting, late=kept.late)
    kept.keep(block, layout)
    return layout


def layout_for_adjoint(block: Block, setting: Setting, *, late: bool) -> Layout:
    """The layout that the sums have kept, or a new one."""
    found = None if setting.kept is None else setting.kept.take(block, late=late)
    return _layout(block, setting, late=late) if found is None else found


_memory = threading.local()


def workspace(rows: int, columns: int) -> tuple[Array, Array]:
    """Two matrices of this thread, used again and again: fresh memory costs more than what is done in it."""
    kept = getattr(_memory, "kept", None)
    if kept is None or kept.shape[1] < rows or kept.shape[2] != columns:
        kept = _memory.kept = np.empty((2, rows, columns))
    return kept[0, :rows], kept[1, :rows]


def _block_sums(block: Block, push: Push) -> Sums:
    setting, y = push.setting, block.y
    own = Own(layout_for_sums(block, setting), setting)
    A, _ = workspace(y.size, len(setting.inducing))
    run.cross(setting.weights, own.layout.rows, setting.layout.rows, 1, out=A)
    multiply_by_upper(A, push.root)
    w = own.precision
    if own.some_missing:
        A *= np.sqrt(w * setting.noise)[:, None]
    residual = float(w @ own.variance) - float(np.vdot(A, A))
    value = float(np.sum(np.log(w))) - float(w @ y**2) - residual
    return Sums(y.size, value, upper_square(A), (np.sqrt(w) * y) @ A)


def _block_adjoint(block: Block, pull: Pull) -> Reached:
    setting, y = pull.setting, block.y
    own = Own(layout_for_adjoint(block, setting, late=pull.late), setting)
    K, G = workspace(y.size, len(setting.inducing))
    run.cross(setting.weights, own.layout.rows, setting.layout.rows, 1, out=K)
    np.matmul(K, pull.quadratic, out=G)
    w, noise, fitted = own.precision, setting.noise, K @ pull.linear
    # Half of k_n' P k_n of each row, or of all together where all have the same noise.
    bent = 0.5 * noise * (np.einsum("ij,ij->i", K, G) if own.some_missing else np.vdot(K, G) / y.size)
    by_noise = -(w**2) * (0.5 * (1.0 / w - y**2 - own.variance) + bent + y * fitted)
    if own.some_missing:
        G *= (w * noise)[:, None]
    rows = setting.layout.rows
    reached = run.adjoint_cross(setting.weights, own.layout.rows, rows, G, 1, (w * y, pull.linear))
    by_order, by_own = own.adjoint(-0.5 * w, by_noise)
    columns, common = own.layout.row_gradient(reached, by_own)
    total = float(np.sum(by_noise))
    return Reached(columns, common, reached.variances + by_order, total, reached.z.u, reached.z.a)


def total(chunk: Chunk, function: Callable[[Block], T], threads: int) -> T:
    """The sum of a function over the blocks of a chunk, in their order."""
    rows = chunk.read()
    blocks = [Block(rows.rows(cut), chunk, cut.start) for cut in _cuts(rows.y.size)]
    return reduce(add, in_order(function, blocks, threads))


def _cuts(n: int) -> list[slice]:
    """Where blocks begin and end: of one size, and an even number of them, so that no thread ends late."""
    count = -(-n // BLOCK_ROWS)
    count += count % 2 if count > 1 else 0
    return [slice(k * n // count, (k + 1) * n // count) for k in range(count)]


def in_order(function: Callable[[S], T], items: Sequence[S], threads: int) -> Iterator[T]:
    """The results of a function in the order of the items, computed by some threads a few items ahead."""
    if threads == 1 or len(items) == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="termwise-rows") as pool:
        waiting: deque[Future[T]] = deque()
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
