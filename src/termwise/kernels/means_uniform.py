"""Kernel means under a uniform measure, through integrals of the kernel over the distance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.polynomial import polyder, polyval
from scipy.special import erf, erfc

from termwise.kernels.column import ColumnKernel, Stationary
from termwise.kernels.matern import Matern, Matern12, Matern32, Matern52
from termwise.kernels.resolved import resolved_nodes
from termwise.kernels.squared_exponential import SquaredExponential
from termwise.measures.base import Array, Measure
from termwise.measures.quadrature import composite
from termwise.measures.uniform import Uniform

# Below one lengthscale sixteen nodes integrate any of these kernels to the last digit, and nothing cancels.
NARROW = 1.0
NARROW_NODES = 16


@dataclass(frozen=True)
class Integrals(ABC):
    """Integrals of k over the distance d >= 0; analytic in d and in the lengthscale."""

    kernel: Stationary

    @abstractmethod
    def inner(self, d: Array) -> Array:
        """int_0^d k."""

    @abstractmethod
    def outer(self, d: Array) -> Array:
        """int_d^inf k."""

    @abstractmethod
    def double(self, d: float) -> float:
        """int_0^d inner."""


class GaussianIntegrals(Integrals):
    """Integrals of exp(-d^2 / 2 l^2)."""

    def inner(self, d: Array) -> Array:
        """l sqrt(pi / 2) erf(d / sqrt(2) l)."""
        value: Array = np.sqrt(np.pi / 2) * self.kernel.lengthscale * erf(self._scaled(d))
        return value

    def outer(self, d: Array) -> Array:
        """l sqrt(pi / 2) erfc(d / sqrt(2) l)."""
        value: Array = np.sqrt(np.pi / 2) * self.kernel.lengthscale * erfc(self._scaled(d))
        return value

    def double(self, d: float) -> float:
        """d inner(d) - l^2 (1 - exp(-d^2 / 2 l^2))."""
        width = np.asarray(d)
        short = np.expm1(-(self._scaled(width) ** 2))
        value: float = (width * self.inner(width) + self.kernel.lengthscale**2 * short).item()
        return value

    def _scaled(self, d: Array) -> Array:
        return d / (np.sqrt(2.0) * self.kernel.lengthscale)


class MaternIntegrals(Integrals):
    """Integrals of p(t) exp(-t), t = rate d: int_t^inf p exp(-t) = (p + p' + p'' + ..) exp(-t)."""

    def inner(self, d: Array) -> Array:
        """(q_0 - q(t) exp(-t)) / rate with q = p + p' + .., small t kept apart by expm1."""
        t, q = self._rate() * d, self._tail()
        value: Array = (-q[0] * np.expm1(-t) - polyval(t, [0.0, *q[1:]]) * np.exp(-t)) / self._rate()
        return value

    def outer(self, d: Array) -> Array:
        """q(t) exp(-t) / rate."""
        t = self._rate() * d
        value: Array = polyval(t, self._tail()) * np.exp(-t) / self._rate()
        return value

    def double(self, d: float) -> float:
        """(q_0 t - s_0 + s(t) exp(-t)) / rate^2 with s = q + q' + .."""
        t, q = self._rate() * d, self._tail()
        s = _with_derivatives(q)
        value: float = (q[0] * t - s[0] + polyval(t, s) * np.exp(-t)) / self._rate() ** 2
        return value

    def _rate(self) -> float:
        assert isinstance(self.kernel, Matern)
        return self.kernel.rate

    def _tail(self) -> Array:
        assert isinstance(self.kernel, Matern)
        return _with_derivatives(np.array(self.kernel.polynomial))


def _with_derivatives(p: Array) -> Array:
    """The coefficients of p + p' + p'' + .."""
    total = p.copy()
    for order in range(1, len(p)):
        total[: len(p) - order] += polyder(p, order)
    return total


INTEGRALS: dict[type[Stationary], type[Integrals]] = {
    SquaredExponential: GaussianIntegrals,
    Matern12: MaternIntegrals,
    Matern32: MaternIntegrals,
    Matern52: MaternIntegrals,
}


def mean(kernel: ColumnKernel, measure: Measure, x: Array) -> Array:
    """c(x) = (inner(high - x) + inner(x - low)) / (high - low) inside; differences of `outer` outside."""
    assert isinstance(kernel, Stationary)
    assert isinstance(measure, Uniform)
    integrals = INTEGRALS[type(kernel)](kernel)
    low, high = measure.low, measure.high
    below, above = x.real < low.real, x.real > high.real
    inside = ~below & ~above
    value = np.empty(x.shape, dtype=np.result_type(x, low, high, kernel.lengthscale, float))
    value[inside] = integrals.inner(high - x[inside]) + integrals.inner(x[inside] - low)
    # Outside, the two inner integrals are nearly equal and opposite; what lies beyond them is small itself.
    value[below] = integrals.outer(low - x[below]) - integrals.outer(high - x[below])
    value[above] = integrals.outer(x[above] - high) - integrals.outer(x[above] - low)
    return value / (high - low)


def variance(kernel: ColumnKernel, measure: Measure) -> float:
    """v = 2 / w^2 int_0^w (w - d) k(d) dd, w = high - low."""
    assert isinstance(kernel, Stationary)
    width = _width(measure)
    if (width / kernel.lengthscale).real < NARROW:
        t, weights = _triangle()
        value: float = (weights @ kernel.profile(t * width / kernel.lengthscale)).item()
        return value
    return 2.0 * INTEGRALS[type(kernel)](kernel).double(width) / width**2


def square(kernel: ColumnKernel, measure: Measure) -> float:
    """E c(X)^2 by nodes that resolve the edges, where c falls to a half within a lengthscale."""
    points, weights = resolved_nodes(kernel, measure)
    value: float = (weights @ mean(kernel, measure, points) ** 2).item()
    return value


def residual(kernel: ColumnKernel, measure: Measure) -> float:
    """1 - E c^2 / v = (G - E g^2) / v, g = 1 - c, G = 1 - v = 2 / w^2 int_0^w (w - d) (1 - k(d)) dd."""
    assert isinstance(kernel, Stationary)
    width, v = _width(measure), variance(kernel, measure)
    lost = 1.0 - v
    if (width / kernel.lengthscale).real < NARROW:
        t, triangle = _triangle()
        lost = (triangle @ kernel.deficit(t * width / kernel.lengthscale)).item()
    points, weights = resolved_nodes(kernel, measure)
    square_lost: float = (weights @ (1.0 - mean(kernel, measure, points)) ** 2).item()
    return (lost - square_lost) / v


def _width(measure: Measure) -> float:
    assert isinstance(measure, Uniform)
    return measure.high - measure.low


def _triangle() -> tuple[Array, Array]:
    """Nodes and weights for the density 2 (1 - t) of |X - X'| / w on [0, 1]."""
    t, weights = composite(np.array([0.0, 1.0]), order=NARROW_NODES)
    return t, 2.0 * (1.0 - t) * weights
