"""The kernel of one column as it enters the additive kernel: constrained and weighted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from termwise.kernels.column import ColumnKernel, Stationary
from termwise.kernels.fused.block import KINDS, MISSING, TABLE
from termwise.kernels.means import kernel_mean, kernel_mean_variance, residual_variance
from termwise.kernels.resolved import resolved_nodes
from termwise.kernels.second_moments import SECOND_MOMENTS
from termwise.measures.base import Array, Continuous, Measure


@dataclass(frozen=True)
class Component:
    """z(x, y) = weight (k(x, y) - c(x) c(y) / v), orthogonal to constants under the measure. OAK eq. 8.

    Without a measure there is no constraint: z = weight k. A missing cell is NaN: it has z = 0 with every
    other cell, which under the constraint is the mean over what the cell might have been.
    """

    kernel: ColumnKernel
    measure: Measure | None
    weight: float = 1.0

    @cached_property
    def mean_variance(self) -> float:
        """E z(X, X), the prior variance of the effect of a cell that is not known."""
        if self.measure is not None:
            return self.weight * float(residual_variance(self.kernel, self.measure))
        if isinstance(self.kernel, Stationary):
            return self.weight
        levels = np.arange(self.table.shape[0] - 1.0)
        return self.weight * float(np.mean(self.kernel.diag(levels)))

    def amplitude(self, x: Array) -> Array:
        """a(x) = sqrt(weight / v) c(x), so that z = weight k - a a'; zero where missing."""
        if self.measure is None:
            return np.zeros(x.shape)
        known = ~np.isnan(x)
        filled = np.where(known, x, 0.0)
        mean = kernel_mean(self.kernel, self.measure, filled)
        scale = np.sqrt(self.weight / kernel_mean_variance(self.kernel, self.measure))
        return np.where(known, scale * mean, 0.0)

    def matrix(self, x: Array, y: Array) -> Array:
        """z(x_i, y_j) for all pairs."""
        known = np.outer(~np.isnan(x), ~np.isnan(y))
        base = self.kernel.matrix(np.nan_to_num(x), np.nan_to_num(y))
        return np.where(known, self.weight * base - np.outer(self.amplitude(x), self.amplitude(y)), 0.0)

    def diagonal(self, x: Array) -> Array:
        """z(x_i, x_i), and where x_i is missing the mean of it."""
        value = self.weight * self.kernel.diag(np.nan_to_num(x)) - self.amplitude(x) ** 2
        return np.where(np.isnan(x), self.mean_variance, value)

    def nodes(self) -> tuple[Array, Array]:
        """Points and weights of the measure, fine enough for the kernel; those of weight zero left out."""
        assert self.measure is not None, "shares need orthogonal terms"
        points, weights = resolved_nodes(self.kernel, self.measure)
        return points[weights > 0.0], weights[weights > 0.0]

    def coarse_nodes(self, panels: int) -> tuple[Array, Array]:
        """The same without regard to the kernel, a few panels of eight nodes only."""
        if not isinstance(self.measure, Continuous):
            return self.nodes()
        return self.measure.rule(self.measure.edges(panels))

    def second_moments(self, x: Array) -> Callable[[slice, slice], Array]:
        """int z(x_i, s) z(s, x_j) dp(s) for any tile (i, j): closed form, or nodes. OAK eq. 40, 44-48."""
        assert self.measure is not None, "shares need orthogonal terms"
        closed = SECOND_MOMENTS.get((type(self.kernel), type(self.measure)))
        if closed is None:
            points, weights = self.nodes()
            C = self.matrix(x, points) * np.sqrt(weights)
            return lambda i, j: C[i] @ C[j].T
        kernel, measure, known, filled = self.kernel, self.measure, ~np.isnan(x), np.nan_to_num(x)

        def tile(i: slice, j: slice) -> Array:
            both = np.outer(known[i], known[j])
            return np.where(both, self.weight**2 * closed(kernel, measure, filled[i], filled[j]), 0.0)

        return tile

    # What the compiled loops read.

    @property
    def code(self) -> int:
        """Which loop evaluates the kernel."""
        return KINDS.get(self.kernel.name, TABLE)

    @cached_property
    def table(self) -> Array:
        """z between all levels, with a last level of zeros for missing cells; 1 x 1 if it is not by table."""
        if self.code != TABLE:
            return np.zeros((1, 1))
        size = cast("Array", self.kernel.table).shape[0]  # type: ignore[attr-defined]
        levels = np.arange(float(size))
        table = np.zeros((size + 1, size + 1))
        table[:size, :size] = self._level_matrix(levels)
        return table

    def _level_matrix(self, levels: Array) -> Array:
        base = self.weight * self.kernel.matrix(levels, levels)
        if self.measure is None:
            return base
        a = self.amplitude(levels)
        return base - np.outer(a, a)

    def coordinates(self, x: Array, *, missing: float = MISSING) -> Array:
        """The scaled value x / lengthscale, or the level code; missing cells lie out of reach."""
        if isinstance(self.kernel, Stationary):
            return np.where(np.isnan(x), missing, x / self.kernel.lengthscale)
        return np.where(np.isnan(x), float(self.table.shape[0] - 1), x)
