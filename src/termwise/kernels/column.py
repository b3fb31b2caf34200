"""What a column kernel is: the covariance of a function of one column."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from termwise.errors import OptionError
from termwise.measures.base import Array


@dataclass(frozen=True)
class ColumnKernel(ABC):
    """A covariance k(x, y) between values of one column; its fields are its hyperparameters."""

    name: ClassVar[str]

    @abstractmethod
    def evaluate(self, x: Array, y: Array) -> Array:
        """k(x, y) element by element, with broadcasting."""

    def matrix(self, x: Array, y: Array) -> Array:
        """k(x_i, y_j) for all pairs."""
        return self.evaluate(x[:, None], y[None, :])

    def diag(self, x: Array) -> Array:
        """k(x_i, x_i)."""
        return self.evaluate(x, x)


@dataclass(frozen=True)
class Stationary(ColumnKernel):
    """A kernel of unit variance that depends on r = |x - y| / lengthscale only.

    The lengthscale is a float; at run time it may carry an imaginary infinitesimal (complex-step derivative).
    """

    # Whether k has a kink at x = y, in any derivative; quadrature then breaks its panels there.
    kinked: ClassVar[bool]

    lengthscale: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < self.lengthscale.real < np.inf:
            raise OptionError(f"lengthscale is {self.lengthscale}; it must be finite and above zero")

    @abstractmethod
    def profile(self, r: Array) -> Array:
        """k as a function of the scaled distance r >= 0."""

    @abstractmethod
    def deficit(self, r: Array) -> Array:
        """1 - k(r), with full relative accuracy where k is close to one."""

    def distance(self, x: Array, y: Array) -> Array:
        """|x - y| / lengthscale, by the sign of the real part so that it stays analytic."""
        difference = (x - y) / self.lengthscale
        return np.where(difference.real < 0.0, -difference, difference)
