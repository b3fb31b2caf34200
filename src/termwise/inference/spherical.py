"""Kernels of the angle between rows while they are learned."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from termwise.inference.alike import alike_log_prior
from termwise.inference.climb import FIRST_NOISES
from termwise.inference.learnable import Common, Layout, Learnable, Lines
from termwise.inference.orders import EachOrder, Orders
from termwise.kernels.features import FEATURE, POINT, ROW, Covariances, common_degrees, covariances
from termwise.kernels.fused import run
from termwise.kernels.spherical import AngleWeights, SphericalKernel, angle_rows_of
from termwise.kernels.zonal import KERNELS, Zonal
from termwise.likelihoods import Likelihood
from termwise.measures.base import Array

FIRST_LENGTHSCALES = (1.0, 0.5, 0.25)
LOG_SCALES, LOG_LENGTHSCALES, LOG_VARIANCES = (
    (float(np.log(low)), float(np.log(high))) for low, high in ((1e-4, 1e2), (5e-2, 1e1), (1e-8, 1e6))
)


@dataclass(frozen=True)
class OneVariance(EachOrder):
    """That of a row of length one. It has no prior: rows are as long as their scales make them."""

    orders: tuple[int, ...] = (1,)

    def bounds(self) -> list[tuple[float, float]]:
        """Wide, for the same reason."""
        return [LOG_VARIANCES]

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """Zero, as there is none."""
        return 0.0, np.zeros(theta.size)


@dataclass(frozen=True, eq=False)
class SphericalModel(Learnable):
    """variance |x|^p |z|^p kappa(cos(x, z)) with rows lengthened: (scale_1 x_1, .., scale_D x_D, 1).

    The vector is (log scales, log lengthscale if kappa has one, log variance, log noise). Behind its features
    a row has a tag: what it is, a row or an inducing feature.
    """

    n_features: int
    kind: str
    features: str = "points"
    n_degrees: int = 6
    likelihood: Likelihood | None = None
    orders: Orders = OneVariance()  # it is frozen
    alike: float | None = None  # how alike scales are; where rows are many, as they say
    first_lengthscale: ClassVar[float] = 1.0  # type: ignore[misc]

    @property
    def n_columns(self) -> int:
        """The features, and the tag."""
        return self.n_features + 1

    @property
    def levels(self) -> NDArray[np.bool_]:
        """Between tags there is nothing."""
        return np.arange(self.n_columns) == self.n_features

    @property
    def lines(self) -> Lines | None:
        """All features act together."""
        return None

    def with_likelihood(self, likelihood: Likelihood) -> SphericalModel:
        """The same with another likelihood."""
        return replace(self, likelihood=likelihood)

    @property
    def _has_lengthscale(self) -> bool:
        return KERNELS[self.kind].has_lengthscale

    def lengthscale(self, theta: Array) -> float:
        """That of kappa; one if it has none."""
        return float(np.exp(theta[self.n_features])) if self._has_lengthscale else 1.0

    def shape(self, theta: Array) -> Zonal:
        """kappa."""
        return KERNELS[self.kind].of(self.lengthscale(theta))

    def known(self, theta: Array) -> Covariances:
        """The covariances of features with rows and with each other."""
        return covariances(self.shape(theta), self.features, self.n_features + 1, self.n_degrees)

    @property
    def degrees(self) -> tuple[int, ...]:
        """Those that features and kappa have in common, whatever the lengthscale.

        Eigenvalues are the smallest at either end of what it may be.
        """
        shapes = [KERNELS[self.kind].of(float(np.exp(log))) for log in LOG_LENGTHSCALES]
        ends = [common_degrees(one, self.features, self.n_features + 1, self.n_degrees) for one in shapes]
        return tuple(degree for degree in ends[0] if degree in ends[1])

    def kernel_bounds(self) -> list[tuple[float, float]]:
        """Scales, lengthscale."""
        return [*[LOG_SCALES] * self.n_features, *[LOG_LENGTHSCALES] * self._has_lengthscale]

    def kernel_late(self) -> list[bool]:
        """All are learned from the first step on."""
        return [False] * len(self.kernel_bounds())

    def kernel_start(self, lengthscales: Array) -> Array:
        """Scales with which a row is about as long as what it is lengthened by."""
        scales = -np.log(lengthscales[: self.n_features] * np.sqrt(self.n_features))
        return np.concatenate([scales, np.zeros(int(self._has_lengthscale))])

    def starts(self) -> list[Array]:
        """Vectors to start from: with little noise and with more, and lengthscales if there are any."""
        found = [self.start(np.ones(self.n_columns), noise) for noise in reversed(FIRST_NOISES)]
        if self.likelihood is not None:
            found = found[:1]
        if self._has_lengthscale:
            lengths = np.log(FIRST_LENGTHSCALES)[:, None] * np.eye(found[0].size)[self.n_features]
            found = [theta + length for theta in found for length in lengths]
        return found

    def kernel_log_prior(self, part: Array) -> tuple[float, Array]:
        """None but that of scales of which rows say too little: bounds are enough."""
        slopes = np.zeros(part.size)
        if self.alike is None:
            return 0.0, slopes
        value, slopes[: self.n_features] = alike_log_prior(part[: self.n_features], self.alike)
        return value, slopes

    def layout(
        self, theta: Array, cells: Array, *, late: bool = True, like: Layout | None = None
    ) -> SphericalLayout:
        """Lengthen the rows; one of which nothing is known has the mean length."""
        known = like.known if isinstance(like, SphericalLayout) else self.known(theta)
        numbers, tags = np.nan_to_num(cells[:-1], nan=1.0), np.nan_to_num(cells[-1], nan=ROW)
        return SphericalLayout(self, theta, cells, known, self._lengthened(theta, numbers, tags), tags)

    def _lengthened(self, theta: Array, numbers: Array, tags: Array) -> Array:
        """(D + 1, n) of features (D, n)."""
        scales = np.where(self.fixed(tags), 1.0, np.exp(theta[: self.n_features])[:, None])
        return np.concatenate([scales * numbers, np.ones((1, numbers.shape[1]))])

    def fixed(self, tags: Array) -> NDArray[np.bool_]:
        """Which are directions that no scale turns: harmonics, which else fall together along few columns."""
        return (tags >= FEATURE) & (self.features == "harmonics")

    def kernel(self, theta: Array) -> SphericalKernel:
        """The kernel of rows that are lengthened."""
        variance = float(self.orders.variances(self.order_parameters(theta))[0][1])
        shape, dimension = self.shape(theta), self.n_features + 1
        return SphericalKernel(shape, dimension, variance, self.features, self.n_degrees)

    def encoded(self, theta: Array, X: Array) -> Array:
        """Rows (n, D + 1) lengthened, with their tags."""
        return np.column_stack([self._lengthened(theta, X[:, :-1].T, X[:, -1]).T, X[:, -1]])

    def movable(self, inducing: Array) -> NDArray[np.bool_]:
        """All numbers but those of harmonics, which are of the sphere and not of the rows."""
        placed = (inducing[:, -1:] == POINT) | (self.features != "harmonics")
        return super().movable(inducing) & placed

    def cells_gradient(self, theta: Array, inducing: Array, by_rows: run.Rows) -> Array:
        """In closed form: every number of a row is a part of its direction and of its norm."""
        layout = self.layout(theta, np.ascontiguousarray(inducing.T))
        scales = np.exp(theta[: self.n_features])
        by_numbers = scales[:, None] * layout.by_lengthened(by_rows.u, by_rows.a[0])[:-1]
        return np.column_stack([by_numbers.T, np.zeros(len(inducing))])


@dataclass(frozen=True, eq=False)
class SphericalLayout(Layout):
    """Rows lengthened."""

    model: SphericalModel
    theta: Array
    cells: Array
    known: Covariances
    long: Array
    tags: Array

    @property
    def size(self) -> int:
        """All their numbers."""
        return self.long.size

    def copied_to(self, memory: Array) -> SphericalLayout:
        """With these in this memory."""
        kept = memory[: self.long.size].reshape(self.long.shape)
        kept[:] = self.long
        return replace(self, long=kept)

    @property
    def _power(self) -> int:
        return KERNELS[self.model.kind].power

    @cached_property
    def rows(self) -> run.Rows:
        """Directions; norms and tags as amplitudes."""
        return angle_rows_of(self.long, self.tags, self._power)

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """Nothing is."""
        return np.zeros((1, self.cells.shape[1]), dtype=bool)

    def weights(self, variances: Array) -> run.Kernel:
        """What the loops read besides the rows."""
        return AngleWeights(self.model.shape(self.theta), float(variances[1]), self.known)

    @cached_property
    def own_kernel(self) -> Array:
        """|x|^2p of rows."""
        return self.rows.a[:1] ** 2

    def by_lengthened(self, by_direction: Array, by_amplitude: Array) -> Array:
        """The gradient for the rows as they are lengthened."""
        norms, unit = np.linalg.norm(self.long, axis=0), self.rows.u
        across = by_direction - unit * np.sum(unit * by_direction, axis=0)
        along = np.where(self.tags == ROW, self._power * norms ** (self._power - 1) * by_amplitude, 0.0)
        return across / norms + along * unit

    def row_gradient(self, given: run.Cotangents, by_own: Array) -> tuple[Array, Common]:
        """Through the factors that rows are lengthened by; the lengthscale is what all have in common."""
        amplitude = given.x.a[0] + 2.0 * self.rows.a[0] * by_own[0]
        by_long = self.by_lengthened(given.x.u, amplitude)
        parts = np.zeros(len(self.model.kernel_bounds()))
        turned = ~self.model.fixed(self.tags)
        parts[: self.model.n_features] = np.sum((by_long * self.long)[:-1, turned], axis=1)
        return parts, Common(given.weight, np.zeros(1), given.tables)

    def common_gradient(self, given: Common) -> Array:
        """For the lengthscale, if there is one."""
        parts = np.zeros(len(self.model.kernel_bounds()))
        if parts.size > self.model.n_features:
            parts[-1] = given.weight[0]
        return parts
