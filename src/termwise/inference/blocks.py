"""The two functions of sparse inference that see rows: sums for the bound, and the way back from it.

Rows come in chunks and are worked off in blocks that fit the cache. Every block is computed by one thread and
blocks are added in their order, so that a sum is the same to the last bit whoever computed it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from termwise.inference.bound import Sums
from termwise.inference.model import Layout, Model
from termwise.kernels.fused import run
from termwise.kernels.fused.loops import symmetric_polynomials, symmetric_polynomials_adjoint
from termwise.linalg.triangular import solve_rows
from termwise.measures.base import Array

BLOCK_ROWS = 1024

T = TypeVar("T")


class Chunk(Protocol):
    """A reference to encoded rows that can be read, in this process or in another."""

    def read(self) -> tuple[Array, Array]:
        """The encoded rows (n, D) and the standardised target."""


@dataclass(frozen=True, eq=False)
class ArrayChunk:
    """Rows in memory."""

    X: Array
    y: Array

    def read(self) -> tuple[Array, Array]:
        """The arrays themselves."""
        return self.X, self.y


@dataclass(frozen=True, eq=False)
class Setting:
    """What rows are seen through: the model at one vector, the inducing rows and the factor of their kernel.

    Only `statistics` needs the factor.
    """

    model: Model
    theta: Array
    inducing: Array
    upper: Array | None

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel without what can be computed again."""
        return Setting, (self.model, self.theta, self.inducing, self.upper)

    @cached_property
    def layout(self) -> Layout:
        """The inducing rows as the loops read them."""
        return Layout.of(self.model, self.theta, np.ascontiguousarray(self.inducing.T))

    @cached_property
    def variances(self) -> Array:
        """The order variances."""
        return self.model.orders.variances(self.model.order_parameters(self.theta))[0]

    @cached_property
    def weights(self) -> run.Weights:
        """What the loops read besides rows."""
        return self.layout.weights(self.variances)


@dataclass(frozen=True, eq=False)
class Pull:
    """The gradient of the bound for k_n, w_n (P k_n + y_n m), and which parameters it is to reach."""

    setting: Setting
    quadratic: Array
    linear: Array
    late: bool = True


@dataclass(frozen=True, eq=False)
class Reached:
    """Gradients for the parameters of the columns, the order variances and the noise, and for the coordinates
    and amplitudes of the inducing rows.
    """

    columns: Array
    variances: Array
    noise: float
    u: Array
    a: Array

    def __add__(self, other: Self) -> Reached:
        return Reached(
            self.columns + other.columns,
            self.variances + other.variances,
            self.noise + other.noise,
            self.u + other.u,
            self.a + other.a,
        )


def statistics(chunk: Chunk, setting: Setting, threads: int = 1) -> Sums:
    """The sums over the rows of a chunk that the bound needs."""
    return _total(chunk, lambda X, y: _block_sums(X, y, setting), threads)


def adjoint(chunk: Chunk, pull: Pull, threads: int = 1) -> Reached:
    """The gradient of the bound, as far as it goes through the rows of a chunk."""
    return _total(chunk, lambda X, y: _block_adjoint(X, y, pull), threads)


@dataclass(frozen=True, eq=False)
class _Own:
    """The prior variance of rows: of the terms they have, and of those lost in missing cells, as noise."""

    layout: Layout
    variances: Array
    noise: float

    @cached_property
    def _some_missing(self) -> bool:
        return bool(np.any(self.layout.missing))

    @cached_property
    def _kept(self) -> Array:
        return np.where(self.layout.missing, 0.0, self.layout.own_kernel)

    @cached_property
    def variance(self) -> Array:
        """k_nn, of the terms whose cells are known."""
        return self._sum(self._kept if self._some_missing else self.layout.own_kernel)

    @cached_property
    def precision(self) -> Array:
        """w_n = 1 / (noise + lost variance)."""
        if not self._some_missing:
            return np.full(self.layout.cells.shape[1], 1.0 / self.noise)
        return 1.0 / (self.noise + self._sum(self.layout.own_kernel) - self.variance)

    def _sum(self, z: Array) -> Array:
        e = np.empty((self.variances.size, z.shape[1]))
        symmetric_polynomials(z, e)
        value: Array = self.variances @ e
        return value

    def adjoint(self, by_variance: Array, by_lost: Array) -> tuple[Array, Array]:
        """Gradients for the order variances and for z_d(x_n, x_n)."""
        if not self._some_missing:
            return symmetric_polynomials_adjoint(self.layout.own_kernel, self.variances, by_variance)
        kept_s, kept_z = symmetric_polynomials_adjoint(self._kept, self.variances, by_variance - by_lost)
        all_s, all_z = symmetric_polynomials_adjoint(self.layout.own_kernel, self.variances, by_lost)
        return kept_s + all_s, np.where(self.layout.missing, 0.0, kept_z) + all_z


def _own(X: Array, setting: Setting, late: bool) -> _Own:
    layout = Layout.of(setting.model, setting.theta, np.ascontiguousarray(X.T), late=late)
    return _Own(layout, setting.variances, float(np.exp(setting.theta[-1])))


def _block_sums(X: Array, y: Array, setting: Setting) -> Sums:
    own = _own(X, setting, late=False)
    A = run.cross(setting.weights, own.layout.rows, setting.layout.rows, 1)
    assert setting.upper is not None, "sums need the factor"
    solve_rows(setting.upper, A)
    w = own.precision
    root = np.sqrt(w)
    A *= root[:, None]
    residual = float(w @ own.variance) - float(np.vdot(A, A))
    value = float(np.sum(np.log(w))) - float(w @ y**2) - residual
    return Sums(y.size, value, A.T @ A, (root * y) @ A)


def _block_adjoint(X: Array, y: Array, pull: Pull) -> Reached:
    setting = pull.setting
    own = _own(X, setting, late=pull.late)
    K = run.cross(setting.weights, own.layout.rows, setting.layout.rows, 1)
    G = K @ pull.quadratic
    fitted = K @ pull.linear
    w, k_nn = own.precision, own.variance
    by_precision = 0.5 * (1.0 / w - y**2 - k_nn + np.einsum("ij,ij->i", K, G)) + y * fitted
    by_noise = -(w**2) * by_precision
    G += np.outer(y, pull.linear)
    G *= w[:, None]
    reached = run.adjoint_cross(setting.weights, own.layout.rows, setting.layout.rows, G, 1)
    by_order, by_own = own.adjoint(-0.5 * w, by_noise)
    columns = own.layout.gradient(reached, by_own)
    noise = float(np.sum(by_noise))
    return Reached(columns, reached.variances + by_order, noise, reached.z.u, reached.z.a)


def _total(chunk: Chunk, function: Callable[[Array, Array], T], threads: int) -> T:
    """The sum of a function over the blocks of a chunk, in their order."""
    X, y = chunk.read()
    blocks = [slice(start, start + BLOCK_ROWS) for start in range(0, y.size, BLOCK_ROWS)]
    return reduce(add, in_order(lambda rows: function(X[rows], y[rows]), blocks, threads))


def in_order(function: Callable[[slice], T], items: list[slice], threads: int) -> Iterator[T]:
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
