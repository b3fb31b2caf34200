"""The uniform measure, for columns that were designed or drawn evenly over a range."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from termwise.measures.base import PANELS, Array, Continuous, require_finite, require_positive


@dataclass(frozen=True)
class Uniform(Continuous):
    """Density 1 / (high - low) between low and high. OAK section 3.2."""

    kind: ClassVar[str] = "uniform"

    low: float = 0.0
    high: float = 1.0
    mean: float = field(init=False, compare=False, repr=False)
    sd: float = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        require_finite("the ends of a uniform measure", (self.low, self.high))
        require_positive("high - low of a uniform measure", self.high - self.low)
        object.__setattr__(self, "mean", 0.5 * (self.low + self.high))
        object.__setattr__(self, "sd", (self.high - self.low) / 12**0.5)

    @classmethod
    def fit(cls, x: Array) -> Uniform:
        """The smallest and the largest value of the data."""
        return cls(float(np.min(x)), float(np.max(x)))

    def density(self, x: Array) -> Array:
        """1 / (high - low) inside."""
        inside = (x.real >= self.low.real) & (x.real <= self.high.real)
        return np.where(inside, 1.0 / (self.high - self.low), 0.0)

    def cdf(self, x: Array) -> Array:
        """P(X <= x)."""
        return np.clip((x - self.low) / (self.high - self.low), 0.0, 1.0)

    def edges(self, panels: int = PANELS) -> Array:
        """Equal panels over [low, high]."""
        return self.low + (self.high - self.low) * np.linspace(0.0, 1.0, panels + 1)

    def sample(self, rng: np.random.Generator, size: int) -> Array:
        """Independent draws."""
        return rng.uniform(self.low, self.high, size)

    def scaled(self, factor: float) -> Uniform:
        """The measure of factor * X; a negative factor swaps the ends."""
        ends = (self.low * factor, self.high * factor)
        return Uniform(*(ends if factor.real > 0 else ends[::-1]))
