"""What a measure is: the distribution of one encoded column, under which terms are orthogonal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np

from termwise.errors import OptionError
from termwise.measures.quadrature import Array, composite

__all__ = ["Array", "Continuous", "Measure"]

PANELS = 128
REACH = 8.0  # in sd; the mass of a normal beyond it is 1.2e-15


class Measure(ABC):
    """The distribution p of one column.

    Parameters are floats. At run time they may be complex: `scaled(1 + 1e-30j)` carries an infinitesimal, so
    that the imaginary part of whatever follows is its derivative (complex-step differentiation).
    """

    kind: ClassVar[str]
    mean: float
    sd: float

    @abstractmethod
    def nodes(self) -> tuple[Array, Array]:
        """Points s_q and weights w_q with E f(X) = sum_q w_q f(s_q): exact if discrete, else a quadrature."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, size: int) -> Array:
        """Independent draws."""

    @abstractmethod
    def scaled(self, factor: float) -> Measure:
        """The measure of factor * X."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data: the kind, which `MEASURES` knows, and the values of all fields."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.init}  # type: ignore[arg-type]
        plain = {name: list(v) if isinstance(v, tuple) else float(v) for name, v in values.items()}
        return {"kind": self.kind, **plain}


class Continuous(Measure):
    """A measure with a density."""

    @abstractmethod
    def density(self, x: Array) -> Array:
        """p(x), analytic in x and in the parameters."""

    @abstractmethod
    def cdf(self, x: Array) -> Array:
        """P(X <= x)."""

    @abstractmethod
    def edges(self, panels: int = PANELS) -> Array:
        """Increasing edges of panels that cover the mass and resolve the density."""

    def rule(self, edges: Array) -> tuple[Array, Array]:
        """The composite Gauss-Legendre rule for E f(X) with these panels."""
        points, weights = composite(edges)
        return points, weights * self.density(points)

    def nodes(self) -> tuple[Array, Array]:
        """Points and weights with E f(X) = sum_q w_q f(s_q), by composite Gauss-Legendre quadrature."""
        return self.rule(self.edges())


def as_floats(values: Any) -> tuple[float, ...]:
    """A tuple of Python numbers, so that a frozen measure can be compared, hashed and written as JSON."""
    return tuple(np.asarray(values).ravel().tolist())


def require_positive(name: str, value: float) -> None:
    """Raise unless the real part is finite and above zero."""
    if not 0.0 < value.real < np.inf:
        raise OptionError(f"{name} is {value}; it must be finite and above zero")


def require_finite(name: str, values: tuple[float, ...]) -> None:
    """Raise unless there is at least one number and all are finite."""
    if not values or not np.all(np.isfinite(values)):
        raise OptionError(f"{name} are {values[:5]}..; give at least one number, all of them finite")


def require_weights(name: str, weights: tuple[float, ...]) -> None:
    """Raise unless the weights are a probability vector."""
    array = np.asarray(weights, dtype=float)
    if not array.size or not np.all(array >= 0.0) or abs(array.sum() - 1.0) > 1e-9:
        raise OptionError(f"{name} must be non-negative and sum to 1; they sum to {array.sum():.9g}")
