"""The squared exponential kernel, smooth to all orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from termwise.kernels.column import Stationary
from termwise.measures.base import Array


@dataclass(frozen=True)
class SquaredExponential(Stationary):
    """exp(-(x - x')^2 / 2 l^2), unit variance. OAK section 3.2."""

    name: ClassVar[str] = "se"
    kinked: ClassVar[bool] = False

    def evaluate(self, x: Array, y: Array) -> Array:
        """k(x, y) element by element."""
        value: Array = np.exp(-0.5 * ((x - y) / self.lengthscale) ** 2)
        return value

    def profile(self, r: Array) -> Array:
        """exp(-r^2 / 2)."""
        value: Array = np.exp(-0.5 * r**2)
        return value

    def deficit(self, r: Array) -> Array:
        """1 - exp(-r^2 / 2)."""
        value: Array = -np.expm1(-0.5 * r**2)
        return value
