"""Kernels of the angle between two rows, and their eigenvalues on the sphere.

A row is lengthened by a constant and taken apart into its direction and its norm. Between directions with
cosine t the kernel is kappa(t), with kappa(1) = 1; the norms come back to a power. Spherical (2023), 3.2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaln, hyp0f1, ive

from termwise.errors import OptionError
from termwise.kernels.sphere import of_power
from termwise.measures.base import Array

MIXED = (-5.0, 25.0, 0.0625)  # the logarithms over which a Matern kernel mixes: from, to, in steps of
LARGE, HANKEL = 1e7, 8  # from where on the expansion has all digits, up to order 100; its terms
MANY, LONGEST = 40.0, 600.0  # orders from which the series is taken, and its logarithm up to which
DOUBLE_FACTORIALS = (1.0, 1.0, 3.0)  # (2 n - 1)!!, by which the arc-cosine kernel of order n is divided


class Zonal(ABC):
    """A covariance between directions."""

    name: ClassVar[str]
    has_lengthscale: ClassVar[bool] = False

    @property
    def power(self) -> int:
        """Of the norms, with which the kernel between directions is multiplied."""
        return 1

    @abstractmethod
    def value(self, t: Array) -> Array:
        """kappa(t)."""

    @abstractmethod
    def slope(self, t: Array) -> Array:
        """kappa'(t)."""

    @abstractmethod
    def eigenvalues(self, dimension: int, degree: int) -> Array:
        """Those of degrees 0 .. degree on the sphere in so many coordinates; exact zeros where there are."""

    def by_lengthscale(self, t: Array) -> Array:
        """The derivative of kappa(t) for the log lengthscale."""
        return np.zeros_like(t)

    def eigenvalues_by_lengthscale(self, dimension: int, degree: int) -> Array:
        """The derivatives of the eigenvalues for the log lengthscale."""
        return np.zeros(degree + 1)


@dataclass(frozen=True)
class ArcCosine(Zonal):
    """A network of one infinite layer with the activation max(., 0)^order; Cho and Saul (2009)."""

    order: int = 1
    name: ClassVar[str] = "arccos"

    def __post_init__(self) -> None:
        if self.order not in (0, 1, 2):
            raise OptionError(f"the order of the arc-cosine kernel is {self.order!r}; use 0, 1 or 2")

    @property
    def power(self) -> int:
        """That of the activation."""
        return self.order

    def value(self, t: Array) -> Array:
        """J_n(angle) / (pi (2 n - 1)!!)."""
        t = np.clip(t, -1.0, 1.0)
        angle = np.arccos(t)
        sine = np.sqrt((1.0 - t) * (1.0 + t))
        if self.order == 0:
            J = np.pi - angle
        elif self.order == 1:
            J = sine + (np.pi - angle) * t
        else:
            J = 3.0 * sine * t + (np.pi - angle) * (1.0 + 2.0 * t**2)
        return J / (np.pi * DOUBLE_FACTORIALS[self.order])

    def slope(self, t: Array) -> Array:
        """n^2 times the kernel of order n - 1, up to the factors that make both one at t = 1."""
        t = np.clip(t, -1.0, 1.0)
        if self.order == 0:
            with np.errstate(divide="ignore"):
                steep: Array = 1.0 / (np.pi * np.sqrt((1.0 - t) * (1.0 + t)))
            return steep
        below = ArcCosine(self.order - 1)
        factor = DOUBLE_FACTORIALS[self.order - 1] / DOUBLE_FACTORIALS[self.order]
        return self.order**2 * factor * below.value(t)

    def eigenvalues(self, dimension: int, degree: int) -> Array:
        """The squares of those of the activation, as the kernel is its mean square over all weights."""
        n = self.order
        # E |w|^2n of normal weights, which the sphere lacks.
        growth = np.prod([dimension + 2.0 * k for k in range(n)])
        return 2.0 * growth / DOUBLE_FACTORIALS[n] * of_power(n, dimension, degree) ** 2


@dataclass(frozen=True)
class SphereSE(Zonal):
    """exp((t - 1) / l^2): the squared exponential of the distance through the sphere."""

    lengthscale: float = 1.0
    name: ClassVar[str] = "se"
    has_lengthscale: ClassVar[bool] = True

    def value(self, t: Array) -> Array:
        """kappa(t)."""
        value: Array = np.exp((t - 1.0) / self.lengthscale**2)
        return value

    def slope(self, t: Array) -> Array:
        """kappa(t) / l^2."""
        return self.value(t) / self.lengthscale**2

    def by_lengthscale(self, t: Array) -> Array:
        """2 (1 - t) / l^2 kappa(t)."""
        return 2.0 * (1.0 - t) / self.lengthscale**2 * self.value(t)

    def eigenvalues(self, dimension: int, degree: int) -> Array:
        """In closed form."""
        return _of_exponential(np.array([self.lengthscale**-2.0]), dimension, degree)[0][:, 0]

    def eigenvalues_by_lengthscale(self, dimension: int, degree: int) -> Array:
        """In closed form."""
        return -2.0 * _of_exponential(np.array([self.lengthscale**-2.0]), dimension, degree)[1][:, 0]


@dataclass(frozen=True)
class SphereMatern(Zonal):
    """The Matern kernel of the distance through the sphere, r = sqrt(2 - 2 t); smoothness 3/2 or 5/2."""

    lengthscale: float = 1.0
    smoothness: float = 2.5

    has_lengthscale: ClassVar[bool] = True

    @property
    def name(self) -> str:  # type: ignore[override]
        """By its smoothness."""
        return {1.5: "matern32", 2.5: "matern52"}[self.smoothness]

    def _scaled(self, t: Array) -> Array:
        """sqrt(2 nu) r / l."""
        return np.sqrt(2.0 * self.smoothness * np.maximum(2.0 - 2.0 * t, 0.0)) / self.lengthscale

    def value(self, t: Array) -> Array:
        """(1 + x) exp(-x), or (1 + x + x^2 / 3) exp(-x)."""
        x = self._scaled(t)
        polynomial = 1.0 + x if self.smoothness == 1.5 else 1.0 + x + x**2 / 3.0
        value: Array = polynomial * np.exp(-x)
        return value

    def slope(self, t: Array) -> Array:
        """3 exp(-x) / l^2, or 5 (1 + x) exp(-x) / 3 l^2."""
        return self._by_square(t) * 4.0 * self.smoothness / self.lengthscale**2

    def by_lengthscale(self, t: Array) -> Array:
        """2 x^2 times minus the derivative for x^2."""
        return 2.0 * self._scaled(t) ** 2 * self._by_square(t)

    def _by_square(self, t: Array) -> Array:
        """Minus the derivative for x^2."""
        x = self._scaled(t)
        value: Array = np.exp(-x) * (0.5 if self.smoothness == 1.5 else (1.0 + x) / 6.0)
        return value

    def eigenvalues(self, dimension: int, degree: int) -> Array:
        """Those of squared exponentials, of which it is a mixture."""
        rates, weights = self._mixture
        return _of_exponential(rates, dimension, degree)[0] @ weights

    def eigenvalues_by_lengthscale(self, dimension: int, degree: int) -> Array:
        """Through the rates of the mixture."""
        rates, weights = self._mixture
        return -2.0 * _of_exponential(rates, dimension, degree)[1] @ weights

    @property
    def _mixture(self) -> tuple[Array, Array]:
        """Rates of exp(s (t - 1)) and their weights: an inverse gamma distribution of s l^2.

        Everything in the sum is positive, so that the smallest eigenvalues have all their digits, which
        polynomials of high degree would cancel. The integrand falls off on both sides of the logarithm: equal
        steps are exact but for their last digits.
        """
        nu, log = self.smoothness, np.arange(*MIXED)
        weights = np.exp(nu * np.log(nu) - gammaln(nu) - nu * log - nu * np.exp(-log)) * MIXED[2]
        return np.exp(log) / self.lengthscale**2, weights


def _of_exponential(s: Array, dimension: int, degree: int) -> tuple[Array, Array]:
    """The eigenvalues of exp(s (t - 1)), (degree + 1, n), and their derivatives for log s.

    Gamma(a + 1) (2 / s)^a I_(l + a)(s) exp(-s) with a = d / 2 - 1. In many dimensions the factors are out of
    the range of numbers while their product is not: there it is by the power series of I.
    """
    a, n = 0.5 * dimension - 1.0, np.arange(degree + 2)[:, None]
    order, squared = n + a, 0.25 * s**2
    many = (order > MANY) & (squared < LONGEST * (order + 1.0))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        few = np.exp(gammaln(a + 1.0) + a * np.log(2.0 / s)) * _scaled_bessel(order, s)
        log = n * np.log(0.5 * s) + gammaln(a + 1.0) - gammaln(order + 1.0) - s
        series = np.exp(log) * hyp0f1(order + 1.0, np.where(many, squared, 0.0))
    found: Array = np.where(many, series, few)
    slope: Array = s * found[1:] + (n[:-1] - s) * found[:-1]
    return found[:-1], slope


def _scaled_bessel(order: Array, s: Array) -> Array:
    """I_order(s) exp(-s); by Hankel's expansion where s is larger than SciPy takes."""
    found: Array = ive(order, np.minimum(s, LARGE))
    term = total = np.ones(np.broadcast_shapes(order.shape, s.shape))
    for k in range(1, HANKEL):
        term = term * ((2 * k - 1) ** 2 - 4.0 * order**2) / (8.0 * k * s)
        total = total + term
    return np.where(s > LARGE, total / np.sqrt(2.0 * np.pi * s), found)
