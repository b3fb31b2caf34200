"""Matern kernels of half-integer order: a polynomial times an exponential of the distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.polynomial.polynomial import polyval

from termwise.kernels.column import Stationary
from termwise.measures.base import Array


@dataclass(frozen=True)
class Matern(Stationary):
    """p(t) exp(-t) with t = sqrt(2 nu) |x - x'| / l and p a polynomial of degree nu - 1/2, unit variance."""

    kinked: ClassVar[bool] = True
    smoothness: ClassVar[float]
    polynomial: ClassVar[tuple[float, ...]]

    @property
    def rate(self) -> float:
        """sqrt(2 nu) / l, so that t = rate |x - x'|."""
        return self.unit_rate() / self.lengthscale

    @classmethod
    def unit_rate(cls) -> float:
        """sqrt(2 nu), the rate at lengthscale one."""
        return float(np.sqrt(2.0 * cls.smoothness))

    def evaluate(self, x: Array, y: Array) -> Array:
        """k(x, y) element by element."""
        return self.profile(self.distance(x, y))

    def profile(self, r: Array) -> Array:
        """p(t) exp(-t), t = sqrt(2 nu) r."""
        t = self.unit_rate() * r
        value: Array = polyval(t, self.polynomial) * np.exp(-t)
        return value

    def deficit(self, r: Array) -> Array:
        """1 - p(t) exp(-t) = -expm1(-t) - (p(t) - 1) exp(-t), which keeps the digits at small t."""
        t = self.unit_rate() * r
        value: Array = -np.expm1(-t) - polyval(t, (0.0, *self.polynomial[1:])) * np.exp(-t)
        return value


@dataclass(frozen=True)
class Matern12(Matern):
    """exp(-r), r = |x - x'| / l: continuous, rough. OAK section 3.2."""

    name: ClassVar[str] = "matern12"
    smoothness: ClassVar[float] = 0.5
    polynomial: ClassVar[tuple[float, ...]] = (1.0,)


@dataclass(frozen=True)
class Matern32(Matern):
    """(1 + t) exp(-t), t = sqrt(3) |x - x'| / l: once differentiable. OAK section 3.2."""

    name: ClassVar[str] = "matern32"
    smoothness: ClassVar[float] = 1.5
    polynomial: ClassVar[tuple[float, ...]] = (1.0, 1.0)


@dataclass(frozen=True)
class Matern52(Matern):
    """(1 + t + t^2 / 3) exp(-t), t = sqrt(5) |x - x'| / l: twice differentiable. OAK section 3.2."""

    name: ClassVar[str] = "matern52"
    smoothness: ClassVar[float] = 2.5
    polynomial: ClassVar[tuple[float, ...]] = (1.0, 1.0, 1.0 / 3.0)
