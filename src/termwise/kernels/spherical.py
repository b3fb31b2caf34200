"""A kernel of the angle between rows that are lengthened by a constant, and of features with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any, ClassVar

import numpy as np

from termwise.kernels.features import ROW, Covariances, covariances
from termwise.kernels.fused import run
from termwise.kernels.fused.angles import angle_adjoint_rows, angle_rows
from termwise.kernels.fused.block import BLOCK
from termwise.kernels.zonal import Zonal
from termwise.measures.base import Array


@dataclass(frozen=True, eq=False)
class AngleWeights:
    """Such a kernel as its loops read it. The second amplitude of a row is what it is."""

    shape: Zonal
    variance: float
    known: Covariances
    weight: ClassVar[Array] = np.ones(1)
    loop: ClassVar[Callable[..., Any]] = staticmethod(angle_rows)
    adjoint_loop: ClassVar[Callable[..., Any]] = staticmethod(angle_adjoint_rows)

    def inputs(self, left: run.Rows, right: run.Rows) -> tuple[Any, ...]:
        """The rows on the right in blocks, in each of which all are the same."""
        blocks = _blocks(np.maximum(right.a[1], ROW))  # between directions a point is a row
        places = [slice(first, first + count) for first, count, _ in blocks]
        u, a = np.zeros((len(right.u), len(blocks), BLOCK)), np.ones((len(blocks), BLOCK))
        for block, place in enumerate(places):
            u[:, block, : place.stop - place.start] = right.u[:, place]
            a[block, : place.stop - place.start] = right.a[0, place]
        tags = np.maximum(left.a[1], ROW).astype(np.intp)
        most = max(tags.max(initial=0), blocks[:, 2].max(initial=0))
        assert most < len(self.known.series), "the loops look series up without checking bounds"
        ours = self.shape.loop, self.shape.rate, self.variance, self.known.series
        return (*ours, left.u, left.a[0].copy(), tags, u, a, blocks)

    def cotangents(self, gradients: Sequence[Array]) -> run.Cotangents:
        """The gradient for the log lengthscale stands in the place of that for weights."""
        common, series, x, scale, z, scales = gradients
        by_lengthscale = common[1] + float(np.vdot(series, self.known.slopes))
        nothing = np.zeros((1, 1, 1))
        left, right = (run.Rows(u, np.stack([a, np.zeros(a.size)])) for u, a in ((x, scale), (z, scales)))
        return run.Cotangents(np.array([0.0, common[0]]), np.array([by_lengthscale]), nothing, left, right)


def angle_rows_of(long: Array, tags: Array, power: int) -> run.Rows:
    """Things that are lengthened, (d, n), as the loops read them: directions, amplitudes and tags.

    The amplitude of a row is its norm to a power; points and features have a direction alone.
    """
    norms = np.linalg.norm(long, axis=0)
    return run.Rows(long / norms, np.stack([np.where(tags == ROW, norms**power, 1.0), tags]))


@dataclass(frozen=True)
class SphericalKernel:
    """variance |x|^p |z|^p kappa(cos(x, z)) of rows (n, d + 1) that are lengthened, with tags behind them.

    The function is one, without terms.
    """

    shape: Zonal
    dimension: int
    variance: float
    features: str = "points"
    n_degrees: int = 6

    orthogonal: ClassVar[bool] = False

    @cached_property
    def known(self) -> Covariances:
        """Of features with rows and with each other."""
        return covariances(self.shape, self.features, self.dimension, self.n_degrees)

    def matrix(self, X: Array, Z: Array, *, threads: int | None = None) -> Array:
        """K between two sets of things."""
        weights = AngleWeights(self.shape, self.variance, self.known)
        return run.cross(weights, self._rows(X), self._rows(Z), threads or run.cores())

    def _rows(self, X: Array) -> run.Rows:
        return angle_rows_of(np.ascontiguousarray(X[:, :-1].T), X[:, -1], self.shape.power)

    def gram(self, X: Array, *, threads: int | None = None) -> Array:
        """K between rows of one set."""
        return self.matrix(X, X, threads=threads)

    def diagonal(self, X: Array) -> Array:
        """K(x, x) of rows."""
        value: Array = self.variance * np.linalg.norm(X[:, :-1], axis=1) ** (2 * self.shape.power)
        return value

    def scaled(self, factor: float) -> SphericalKernel:
        """The kernel times a factor; features, which are part of it, are multiplied alike."""
        return replace(self, variance=factor * self.variance)


def _blocks(tags: Array) -> Array:
    """First row, number of rows and tag of each block."""
    found, first = [], 0
    for tag, group in groupby(tags.tolist()):
        end = first + len(list(group))
        found += [(start, min(BLOCK, end - start), int(tag)) for start in range(first, end, BLOCK)]
        first = end
    return np.array(found, dtype=np.intp).reshape(-1, 3)
