"""A sum of functions along directions, while it is learned: the scales of features before they are projected.

Directions are fixed. What is learned are a lengthscale for each feature (or one for all), by which it is
divided before it is projected, and perhaps the weights of the directions. Projected section 4.3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from termwise.inference.alike import ALIKE, alike_log_prior
from termwise.inference.columns import exponential_log_prior
from termwise.inference.learnable import Common, Layout, Learnable, Lines
from termwise.inference.orders import EachOrder, Orders
from termwise.kernels.fused import run
from termwise.kernels.projected import ProjectedKernel, radial_weights
from termwise.likelihoods import Likelihood
from termwise.measures.base import Array

# In units of the root of the number of features, the length of a direction: of such a lengthscale the
# coordinates along a direction have a standard deviation of one.
LOG_LENGTHSCALES = (float(np.log(0.02)), float(np.log(1000.0)))
LOG_WEIGHTS = (float(np.log(1e-6)), float(np.log(100.0)))
WEIGHT_RATE = 1.0
CONSTANT_AND_SUM = EachOrder((0, 1))


@dataclass(frozen=True, eq=False)
class ProjectedModel(Learnable):
    """s_0 + s_1 sum_j weight_j k(P_j x / l, P_j x' / l), with one P_j for each group of rows of `directions`.

    The vector is (log lengthscales, log weights, log s_0, log s_1, log noise).
    """

    directions: Array  # (C, D)
    groups: tuple[int, ...]  # how many rows of it each sub-kernel has
    kind: str
    ard: bool = True
    weighted: bool = False
    likelihood: Likelihood | None = None
    orders: Orders = CONSTANT_AND_SUM
    alike: float = ALIKE
    # Along every direction all features count: with short lengthscales rows are learned by heart.
    first_lengthscale: ClassVar[float] = 1.0  # type: ignore[misc]

    @property
    def n_columns(self) -> int:
        """The features."""
        return self.directions.shape[1]

    @property
    def levels(self) -> NDArray[np.bool_]:
        """All features are numbers."""
        return np.zeros(self.n_columns, dtype=bool)

    @property
    def _unit(self) -> float:
        return float(np.sqrt(self.n_columns))

    @property
    def _n_lengthscales(self) -> int:
        return self.n_columns if self.ard else 1

    def with_likelihood(self, likelihood: Likelihood) -> ProjectedModel:
        """The same with another likelihood."""
        return replace(self, likelihood=likelihood)

    @property
    def lines(self) -> Lines | None:
        """The directions, if every function has one."""
        return Lines(self.kind, len(self.groups)) if set(self.groups) == {1} else None

    def kernel_bounds(self) -> list[tuple[float, float]]:
        """Lengthscales, then weights if they are learned."""
        shift = np.log(self._unit)
        lengthscale = (LOG_LENGTHSCALES[0] + shift, LOG_LENGTHSCALES[1] + shift)
        return [lengthscale] * self._n_lengthscales + [LOG_WEIGHTS] * (len(self.groups) * self.weighted)

    def kernel_late(self) -> list[bool]:
        """All are learned from the first step on."""
        return [False] * len(self.kernel_bounds())

    def kernel_start(self, lengthscales: Array) -> Array:
        """Equal weights; lengthscales as they are for a function along one direction."""
        scaled = np.log(lengthscales * self._unit)
        first = scaled if self.ard else np.array([np.mean(scaled)])
        return np.concatenate([first, np.full(len(self.groups) * self.weighted, -np.log(len(self.groups)))])

    def kernel_log_prior(self, part: Array) -> tuple[float, Array]:
        """Lengthscales lie about their mean; weights times their number have an exponential."""
        scales, weights = part[: self._n_lengthscales], part[self._n_lengthscales :]
        value, apart = alike_log_prior(scales, self.alike)
        rate = WEIGHT_RATE * len(self.groups)
        priors = [exponential_log_prior(weight, rate) for weight in weights]
        slopes = np.concatenate([apart, [slope for _, slope in priors]])
        return value + sum(prior for prior, _ in priors), slopes

    def projection(self, theta: Array) -> Array:
        """P / l: what makes coordinates of features, (C, D)."""
        return self.directions / np.exp(theta[: self._n_lengthscales])

    def weights(self, theta: Array) -> Array:
        """The variance of each direction, beside the others."""
        if not self.weighted:
            return np.full(len(self.groups), 1.0 / len(self.groups))
        return np.exp(theta[self._n_lengthscales : self._n_lengthscales + len(self.groups)])

    def layout(
        self, theta: Array, cells: Array, *, late: bool = True, like: Layout | None = None
    ) -> ProjectedLayout:
        """Project the rows."""
        projection = like.projection if isinstance(like, ProjectedLayout) else self.projection(theta)
        return ProjectedLayout(self, theta, cells, projection, projection @ cells)

    def kernel(self, theta: Array) -> ProjectedKernel:
        """The kernel of projected rows."""
        constant, scale = self.orders.variances(self.order_parameters(theta))[0].tolist()
        return ProjectedKernel(self.kind, self.groups, tuple(self.weights(theta).tolist()), (constant, scale))

    def encoded(self, theta: Array, X: Array) -> Array:
        """The rows along the directions."""
        return X @ self.projection(theta).T


@dataclass(frozen=True, eq=False)
class ProjectedLayout(Layout):
    """Rows as coordinates along the directions."""

    model: ProjectedModel
    theta: Array
    cells: Array
    projection: Array
    u: Array

    @property
    def size(self) -> int:
        """All coordinates."""
        return self.u.size

    def copied_to(self, memory: Array) -> ProjectedLayout:
        """With the coordinates in this memory."""
        kept = memory[: self.u.size].reshape(self.u.shape)
        kept[:] = self.u
        return replace(self, u=kept)

    @cached_property
    def rows(self) -> run.Rows:
        """Coordinates; there are no amplitudes."""
        return run.Rows(self.u, np.broadcast_to(0.0, self.u.shape))

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """Nothing is."""
        return np.zeros(self.own_kernel.shape, dtype=bool)

    def weights(self, variances: Array) -> run.Kernel:
        """What the loops read besides the rows."""
        model = self.model
        return radial_weights(model.kind, model.groups, model.weights(self.theta), variances)

    @cached_property
    def own_kernel(self) -> Array:
        """The weight of each direction, for every row."""
        weights = self.model.weights(self.theta)
        return np.ascontiguousarray(np.broadcast_to(weights[:, None], (weights.size, self.cells.shape[1])))

    def row_gradient(self, given: run.Cotangents, by_own: Array) -> tuple[Array, Common]:
        """u = P x / l, so that the slope for log l_d is minus the sum of (P' g)_d x_d / l_d."""
        by_scale = -np.einsum("cn,cd,dn->d", given.x.u, self.projection, self.cells, optimize=True)
        lengthscales = by_scale if self.model.ard else np.array([np.sum(by_scale)])
        parts = np.zeros(len(self.model.kernel_bounds()))
        parts[: lengthscales.size] = lengthscales
        nothing = np.zeros(len(self.model.groups))
        return parts, Common(given.weight + by_own.sum(axis=1), nothing, given.tables)

    def common_gradient(self, given: Common) -> Array:
        """Through the weights, if they are learned."""
        parts = np.zeros(len(self.model.kernel_bounds()))
        if self.model.weighted:
            parts[-len(self.model.groups) :] = given.weight * self.model.weights(self.theta)
        return parts
