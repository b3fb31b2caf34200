"""Columns while they are learned: parameters in, what the compiled loops read out, and gradients back.

A column's parameters are logarithms or signed numbers. In the form of the paper the weight of a
constrained kernel is one, so that a long lengthscale turns a column off (OAK section 3.2). Normalised, the
kernel is divided by its mean variance and a relevance of its own takes that part.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from termwise.encode.flow import SinhArcsinh
from termwise.encode.scale import Standardise
from termwise.kernels.column import Stationary
from termwise.kernels.component import Component
from termwise.kernels.fused.block import BLOCK, KINDS, MISSING
from termwise.kernels.fused.nodes import TANGENTS, warped_column
from termwise.kernels.means import kernel_mean, kernel_mean_variance, residual_variance
from termwise.measures.base import Array, Measure
from termwise.measures.empirical import Empirical

LOG_LENGTHSCALES = (float(np.log(0.02)), float(np.log(100.0)))  # in sd of the encoded column
LOG_RELEVANCES = (float(np.log(1e-6)), float(np.log(100.0)))
WARP_SD = (0.5, 0.25)  # prior sd of skew and log tail: a warp stays near the identity unless the data insist
RELEVANCE_RATE = 1.0
# log p(l) = -SHORTEST / l: without it a column of few values has an optimum at every small lengthscale.
SHORTEST = 0.1
STEP = 1e-30  # of complex-step differentiation


@dataclass(frozen=True)
class State:
    """What the loops read of one column, with tangents for its free parameters (first axis)."""

    u: Array
    a: Array
    weight: float
    mean_variance: float
    table: Array
    du: Array
    da: Array
    dweight: Array
    dmean_variance: Array


@dataclass(frozen=True)
class Cotangent:
    """Gradients of the objective for what all rows of one column have in common."""

    weight: float
    mean_variance: float
    table: Array


class TrainableColumn(ABC):
    """What is learned for one column of the table; its encoded cells x are given to `state`."""

    @abstractmethod
    def start(self, lengthscale: float) -> Array:
        """Where the parameters start."""

    @abstractmethod
    def bounds(self) -> list[tuple[float, float]]:
        """Lower and upper bound of every parameter; equal where it is not free."""

    def late(self) -> list[bool]:
        """Which parameters are learned only after the others have settled."""
        return [False] * len(self.bounds())

    @abstractmethod
    def state(self, theta: Array, x: Array, *, late: bool = True, like: State | None = None) -> State:
        """Evaluate the cells x at the parameters; tangents of late ones only if they are wanted.

        `like` is the state of other cells at the same parameters, whose table need not be made again.
        """

    @abstractmethod
    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """Log prior density up to a constant, and its gradient."""

    @abstractmethod
    def component(self, theta: Array) -> Component:
        """The column's kernel as a value."""

    @property
    @abstractmethod
    def kind(self) -> int:
        """Which compiled loop evaluates the kernel."""

    def steps(self, theta: Array) -> tuple[SinhArcsinh | Standardise, ...]:
        """What was learned of the encoding, to be put behind it."""
        return ()

    def row_gradient(self, state: State, by_u: Array, by_a: Array) -> Array:
        """Chain the gradients for the coordinates and amplitudes of rows to the parameters."""
        value: Array = state.du @ by_u + state.da @ by_a
        return value

    def gradient(self, theta: Array, state: State, given: Cotangent) -> Array:
        """Chain the gradients for what all rows have in common to the parameters."""
        value: Array = state.dweight * given.weight + state.dmean_variance * given.mean_variance
        return value


def exponential_log_prior(log_value: float, rate: float) -> tuple[float, float]:
    """Log density of Gamma(1, rate) at exp(log_value), and its derivative for log_value."""
    value = rate * float(np.exp(log_value))
    return -value, -value


def lengthscale_log_prior(log_lengthscale: float) -> tuple[float, float]:
    """-SHORTEST / l, and its derivative for log l: short lengthscales must be asked for by the data."""
    value = SHORTEST * float(np.exp(-log_lengthscale))
    return -value, value


def alike_log_prior(log_lengthscales: Array, sd: float) -> tuple[float, Array]:
    """Log density of normals about their mean, up to a constant, and its gradient."""
    apart = log_lengthscales - np.mean(log_lengthscales)
    return -0.5 * float(apart @ apart) / sd**2, -apart / sd**2


NO_TABLE = np.zeros((1, 1))


@dataclass(frozen=True, eq=False)
class WarpedColumn(TrainableColumn):
    """A number bent by the evidence: (log lengthscale, skew, log tail, log relevance).

    Terms are orthogonal under the empirical measure of the bent column, whose nodes bend with it.
    """

    measure: Empirical
    kernel: type[Stationary]
    normalise: bool = True
    warp: bool = True

    @property
    def kind(self) -> int:
        """Which compiled loop evaluates the kernel."""
        return KINDS[self.kernel.name]

    @cached_property
    def _nodes(self) -> tuple[Array, Array]:
        points, weights = self.measure.nodes()
        pad = (0, -points.size % BLOCK)
        return np.pad(points, pad), np.pad(weights, pad)

    def start(self, lengthscale: float) -> Array:
        """No warp, a lengthscale, and the relevance that gives the kernel of the paper."""
        theta = np.array([np.log(lengthscale), 0.0, 0.0, 0.0])
        if self.normalise:
            residual = warped_column(self.kind, np.zeros(1), *self._nodes, *theta[:3], 1)[4]
            theta[3] = np.log(residual)
        return theta

    def bounds(self) -> list[tuple[float, float]]:
        """The warp and the relevance are fixed if they are not wanted."""
        return [
            LOG_LENGTHSCALES,
            (-3.0, 3.0) if self.warp else (0.0, 0.0),
            (-2.0, 2.0) if self.warp else (0.0, 0.0),
            LOG_RELEVANCES if self.normalise else (0.0, 0.0),
        ]

    def late(self) -> list[bool]:
        """The warp: from the optimum without it nearly every start goes the same way."""
        return [False, True, True, False]

    def state(self, theta: Array, x: Array, *, late: bool = True, like: State | None = None) -> State:
        """Evaluate the cells at the parameters."""
        tangents = TANGENTS if self.warp and late else 1
        u, du, a, da, residual, dresidual = warped_column(self.kind, x, *self._nodes, *theta[:3], tangents)
        full = np.zeros((4, u.size))
        dfull, dres = full.copy(), np.zeros(4)
        full[:tangents], dfull[:tangents], dres[:tangents] = du, da, dresidual
        if not self.normalise:
            return State(u, a, 1.0, residual, NO_TABLE, full, dfull, np.zeros(4), dres)
        relevance = float(np.exp(theta[3]))
        weight = relevance / residual
        dweight = -weight * dres / residual
        dweight[3] = weight
        root = np.sqrt(weight)
        dfull = root * dfull + np.outer(0.5 * dweight / root, a)
        dmean = np.array([0.0, 0.0, 0.0, relevance])
        return State(u, root * a, weight, relevance, NO_TABLE, full, dfull, dweight, dmean)

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """Normal for the warp, exponential for the relevance, and none too short a lengthscale."""
        gradient = np.zeros(4)
        value, gradient[0] = lengthscale_log_prior(theta[0])
        gradient[1:3] = -theta[1:3] / np.square(WARP_SD)
        value += 0.5 * float(theta[1:3] @ gradient[1:3])
        if self.normalise:
            relevance, gradient[3] = exponential_log_prior(theta[3], RELEVANCE_RATE)
            value += relevance
        return value, gradient

    def steps(self, theta: Array) -> tuple[SinhArcsinh | Standardise, ...]:
        """The warp and its scale."""
        if theta[1] == 0.0 and theta[2] == 0.0:
            return ()
        scale = float(np.exp(theta[2]) * np.cosh(theta[1]))
        return (SinhArcsinh(skew=float(theta[1]), log_tail=float(theta[2])), Standardise(0.0, scale))

    def component(self, theta: Array) -> Component:
        """The kernel on the bent column."""
        points, weights = self.measure.nodes()
        for step in self.steps(theta):
            points = step.forward(points)
        bent = Empirical(tuple(points.tolist()), tuple(weights.tolist()))
        kernel = self.kernel(float(np.exp(theta[0])))
        if not self.normalise:
            return Component(kernel, bent, 1.0)
        return Component(kernel, bent, float(np.exp(theta[3])) / float(residual_variance(kernel, bent)))


@dataclass(frozen=True, eq=False)
class FixedColumn(TrainableColumn):
    """A number whose encoding is fixed: (log lengthscale, log relevance); unconstrained without a measure."""

    measure: Measure | None
    kernel: type[Stationary]
    normalise: bool = True

    @property
    def kind(self) -> int:
        """Which compiled loop evaluates the kernel."""
        return KINDS[self.kernel.name]

    @property
    def _normalised(self) -> bool:
        return self.normalise and self.measure is not None

    def start(self, lengthscale: float) -> Array:
        """A lengthscale, and the relevance that gives the kernel of the paper."""
        theta = np.array([np.log(lengthscale), 0.0])
        if self._normalised and self.measure is not None:
            theta[1] = np.log(residual_variance(self.kernel(lengthscale), self.measure))
        return theta

    def bounds(self) -> list[tuple[float, float]]:
        """The relevance is fixed if it is not wanted."""
        return [LOG_LENGTHSCALES, LOG_RELEVANCES if self._normalised else (0.0, 0.0)]

    def state(self, theta: Array, x: Array, *, late: bool = True, like: State | None = None) -> State:
        """Evaluate the cells; the derivative for the lengthscale is a complex step in the closed forms."""
        lengthscale, known = float(np.exp(theta[0])), ~np.isnan(x)
        u = np.where(known, x / lengthscale, MISSING)
        du = np.stack([np.where(known, -u, 0.0), np.zeros(u.size)])
        if self.measure is None:
            none = np.zeros(2)
            return State(u, np.zeros(u.size), 1.0, 1.0, NO_TABLE, du, np.zeros(du.shape), none, none)
        kernel = self.kernel(lengthscale * (1.0 + STEP * 1j))  # type: ignore[arg-type]
        mean = kernel_mean(kernel, self.measure, np.where(known, x, 0.0))
        a = np.where(known, mean / np.sqrt(np.asarray(kernel_mean_variance(kernel, self.measure))), 0.0)
        weight = np.asarray(1.0 + 0.0j)
        residual = np.asarray(residual_variance(kernel, self.measure))
        if self._normalised:
            weight = np.exp(theta[1]) / residual
            a = a * np.sqrt(weight)
        da, dweight = np.stack([a.imag / STEP, np.zeros(u.size)]), np.array([weight.imag / STEP, 0.0])
        dmean = np.array([(weight * residual).imag / STEP, 0.0])
        if self._normalised:
            da[1], dweight[1], dmean = 0.5 * a.real, weight.real, np.array([0.0, np.exp(theta[1])])
        mean_variance = float((weight * residual).real)
        return State(u, a.real, float(weight.real), mean_variance, NO_TABLE, du, da, dweight, dmean)

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """Exponential for the relevance, and none too short a lengthscale."""
        value, slope = lengthscale_log_prior(theta[0])
        if not self._normalised:
            return value, np.array([slope, 0.0])
        relevance, by_relevance = exponential_log_prior(theta[1], RELEVANCE_RATE)
        return value + relevance, np.array([slope, by_relevance])

    def component(self, theta: Array) -> Component:
        """The kernel as a value."""
        kernel = self.kernel(float(np.exp(theta[0])))
        if not self._normalised or self.measure is None:
            return Component(kernel, self.measure, 1.0)
        residual = float(residual_variance(kernel, self.measure))
        return Component(kernel, self.measure, float(np.exp(theta[1])) / residual)
