"""Shift and scale of one column, safe at both ends of the float range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SMALLEST = float(np.nextafter(0.0, 1.0))
IQR_OF_NORMAL = 1.3489795003921634  # 2 Phi^-1(3/4): makes the quartile distance a standard deviation
LARGEST_ROBUST = 1e8  # farthest value in robust units; beyond it the quartiles say nothing about the column


@dataclass(frozen=True)
class Standardise:
    """Shift and scale a column: z = (x - shift) / scale. OAK appendix J.5."""

    shift: float
    scale: float

    @classmethod
    def fit(cls, x: Array) -> Standardise:
        """Take the mean and the standard deviation; a constant column keeps its unit (scale 1)."""
        if _is_constant(x):
            return cls(float(x[0]), 1.0)
        unit, exponent = _to_unit(x)
        mean = _mean(unit)
        return _from_unit(mean, float(np.sqrt(np.mean((unit - mean) ** 2))), exponent)

    @classmethod
    def robust(cls, x: Array) -> Standardise:
        """Take the median and the quartile distance, which a few wild values cannot move.

        scale = (q75 - q25) / 1.349, and the standard deviation where half of the column is one value.
        """
        if _is_constant(x):
            return cls(float(x[0]), 1.0)
        unit, exponent = _to_unit(x)
        low, median, high = np.quantile(unit, [0.25, 0.5, 0.75])
        spread = float(high - low) / IQR_OF_NORMAL
        if spread * LARGEST_ROBUST < np.max(np.abs(unit - median)):
            return cls.fit(x)
        return _from_unit(float(median), spread, exponent)

    @classmethod
    def by_quartiles(cls, x: Array) -> Standardise:
        """Take the median and the quartile distance, however far away a few values are.

        Where half of the column is one value the quartiles are those of the distinct values.
        """
        if _is_constant(x):
            return cls(float(x[0]), 1.0)
        unit, exponent = _to_unit(x)
        low, median, high = np.quantile(unit, [0.25, 0.5, 0.75])
        if low == high:
            low, high = np.quantile(np.unique(unit), [0.25, 0.75])
        return _from_unit(float(median), float(high - low) / IQR_OF_NORMAL, exponent)

    def forward(self, x: Array) -> Array:
        """Return (x - shift) / scale."""
        guard = self._guard()
        return (guard * x - guard * self.shift) / (guard * self.scale)

    def inverse(self, z: Array) -> Array:
        """Return shift + scale z."""
        guard = self._guard()
        return (guard * self.scale * z + guard * self.shift) / guard

    def derivative(self, x: Array) -> Array:
        """Return dz/dx = 1 / scale at every x."""
        return np.full(np.shape(x), 1.0 / self.scale)

    def _guard(self) -> float:
        # x - shift overflows when both are near 1e308; a quarter of each does not, and 1/4 is exact.
        return 0.25 if self.scale > 1.0 else 1.0


def _is_constant(x: Array) -> bool:
    return bool(np.min(x) == np.max(x))


def _to_unit(x: Array) -> tuple[Array, int]:
    """Divide by a power of two so that |x| <= 1: exact, and squares neither overflow nor vanish."""
    exponent = int(np.frexp(np.max(np.abs(x)))[1])
    return np.ldexp(x, -exponent), exponent


def _from_unit(shift: float, scale: float, exponent: int) -> Standardise:
    # The spread of subnormal values can round to zero.
    return Standardise(float(np.ldexp(shift, exponent)), max(float(np.ldexp(scale, exponent)), SMALLEST))


def _mean(x: Array) -> float:
    # The second pass recovers the digits the first loses when the mean is far larger than the spread.
    first = np.mean(x)
    return float(first + np.mean(x - first))
