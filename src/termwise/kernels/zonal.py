"""Kernels of the angle between two rows, and their eigenvalues on the sphere.

A row is lengthened by a constant and taken apart into its direction and its norm. Between directions with
cosine t the kernel is kappa(t), with kappa(1) = 1; the norms come back to a power. Spherical (2023), 3.2.

Its values are computed by the loops of `fused/angles.py` alone, which know it by a number. So a new one is a
class here, its name in KERNELS, and a line of `shapes` there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from scipy.special import gammaln, hyp0f1, ive

from termwise.kernels.fused import angles
from termwise.kernels.sphere import of_power
from termwise.measures.base import Array

MIXED = (-5.0, 25.0, 0.0625)  # the logarithms over which a Matern kernel mixes: from, to, in steps of
LARGE, HANKEL = 1e7, 8  # from where on the expansion has all digits, up to order 100; its terms
MANY, LONGEST = 40.0, 600.0  # orders from which the series is taken, and its logarithm up to which
DOUBLE_FACTORIALS = (1.0, 1.0, 3.0)  # (2 n - 1)!!, by which the arc-cosine kernel of order n is divided


class Zonal(ABC):
    """A covariance between directions."""

    name: ClassVar[str]
    loop: ClassVar[int]  # its number in the compiled loops
    has_lengthscale: ClassVar[bool] = True
    power: ClassVar[int] = 1  # of the norms, with which the kernel between directions is multiplied

    @classmethod
    def of(cls, lengthscale: float) -> Self:
        """That of a lengthscale, if it has one."""
        return cls(lengthscale)  # type: ignore[call-arg]

    @property
    @abstractmethod
    def rate(self) -> float:
        """What the loops know of the lengthscale."""

    @abstractmethod
    def eigenvalues(self, dimension: int, degree: int) -> Array:
        """Those of degrees 0 .. degree on the sphere in so many coordinates; exact zeros where there are."""

    @abstractmethod
    def eigenvalues_by_lengthscale(self, dimension: int, degree: int) -> Array:
        """Their derivatives for the log lengthscale."""


@dataclass(frozen=True)
class ArcCosine(Zonal):
    """A network of one infinite layer, J_n(angle) / (pi (2 n - 1)!!); Cho and Saul (2009).

    Its activation is max(., 0) to the power n, by which norms count too.
    """

    has_lengthscale: ClassVar[bool] = False

    @classmethod
    def of(cls, lengthscale: float) -> Self:
        """There is but one."""
        return cls()

    @property
    def rate(self) -> float:
        """Without a lengthscale there is none."""
        return 0.0

    def eigenvalues(self, dimension: int, degree: int) -> Array:
        """The squares of those of the activation, as the kernel is its mean square over all weights."""
        n = self.power
        # E |w|^2n of normal weights, which the sphere lacks.
        growth = np.prod([dimension + 2.0 * k for k in range(n)])
        return 2.0 * growth / DOUBLE_FACTORIALS[n] * of_power(n, dimension, degree) ** 2

    def eigenvalues_by_lengthscale(self, dimension: int, degree: int) -> Array:
        """Without a lengthscale nothing changes with it."""
        return np.zeros(degree + 1)


@dataclass(frozen=True)
class ArcCosine0(ArcCosine):
    """1 - angle / pi, of a step: continuous, as rough as a kernel of the angle may be."""

    name: ClassVar[str] = "arccos0"
    loop: ClassVar[int] = angles.ARC0
    power: ClassVar[int] = 0


@dataclass(frozen=True)
class ArcCosine1(ArcCosine):
    """(sin + (pi - angle) cos) / pi, of max(., 0)."""

    name: ClassVar[str] = "arccos1"
    loop: ClassVar[int] = angles.ARC1
    power: ClassVar[int] = 1


@dataclass(frozen=True)
class ArcCosine2(ArcCosine):
    """(3 sin cos + (pi - angle) (1 + 2 cos^2)) / 3 pi, of max(., 0)^2."""

    name: ClassVar[str] = "arccos2"
    loop: ClassVar[int] = angles.ARC2
    power: ClassVar[int] = 2


@dataclass(frozen=True)
class SphereSE(Zonal):
    """exp((t - 1) / l^2): the squared exponential of the distance through the sphere."""

    lengthscale: float = 1.0
    name: ClassVar[str] = "se"
    loop: ClassVar[int] = angles.SE

    @property
    def rate(self) -> float:
        """1 / l^2."""
        return self.lengthscale**-2.0

    def eigenvalues(self, dimension: int, degree: int) -> Array:
        """In closed form."""
        return _of_exponential(np.array([self.rate]), dimension, degree)[0][:, 0]

    def eigenvalues_by_lengthscale(self, dimension: int, degree: int) -> Array:
        """In closed form."""
        return -2.0 * _of_exponential(np.array([self.rate]), dimension, degree)[1][:, 0]


@dataclass(frozen=True)
class SphereMatern(Zonal):
    """p(x) exp(-x) with x = rate sqrt(2 - 2 t): a Matern kernel of the distance through the sphere."""

    lengthscale: float = 1.0
    smoothness: ClassVar[float]

    @property
    def rate(self) -> float:
        """sqrt(2 nu) / l."""
        return float(np.sqrt(2.0 * self.smoothness)) / self.lengthscale

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


@dataclass(frozen=True)
class SphereMatern32(SphereMatern):
    """(1 + x) exp(-x)."""

    name: ClassVar[str] = "matern32"
    loop: ClassVar[int] = angles.MATERN32
    smoothness: ClassVar[float] = 1.5


@dataclass(frozen=True)
class SphereMatern52(SphereMatern):
    """(1 + x + x^2 / 3) exp(-x)."""

    name: ClassVar[str] = "matern52"
    loop: ClassVar[int] = angles.MATERN52
    smoothness: ClassVar[float] = 2.5


KERNELS: dict[str, type[Zonal]] = {
    kernel.name: kernel
    for kernel in (ArcCosine0, ArcCosine1, ArcCosine2, SphereSE, SphereMatern32, SphereMatern52)
}


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
