"""The normal measure, what a flow aims at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtr

from termwise.measures.base import PANELS, REACH, Array, Continuous, require_finite, require_positive


@dataclass(frozen=True)
class Normal(Continuous):
    """N(mean, sd^2). OAK eq. 10."""

    kind: ClassVar[str] = "normal"

    mean: float = 0.0
    sd: float = 1.0

    def __post_init__(self) -> None:
        require_finite("the mean", (self.mean,))
        require_positive("the sd of a normal measure", self.sd)

    @classmethod
    def fit(cls, x: Array) -> Normal:
        """The mean and the standard deviation of the data."""
        return cls(float(np.mean(x)), float(np.std(x)))

    def components(self) -> tuple[Array, Array, Array]:
        """Weights, means and sds, as a mixture of one."""
        return np.ones(1), np.array([self.mean]), np.array([self.sd])

    def density(self, x: Array) -> Array:
        """exp(-(x - mean)^2 / 2 sd^2) / (sd sqrt(2 pi))."""
        density: Array = np.exp(-0.5 * ((x - self.mean) / self.sd) ** 2) / (self.sd * np.sqrt(2 * np.pi))
        return density

    def cdf(self, x: Array) -> Array:
        """P(X <= x)."""
        probability: Array = ndtr((x - self.mean) / self.sd)
        return probability

    def edges(self, panels: int = PANELS) -> Array:
        """Equal panels over mean +- 8 sd."""
        return self.mean + self.sd * np.linspace(-REACH, REACH, panels + 1)

    def sample(self, rng: np.random.Generator, size: int) -> Array:
        """Independent draws."""
        return rng.normal(self.mean, self.sd, size)

    def scaled(self, factor: float) -> Normal:
        """The measure of factor * X."""
        return Normal(self.mean * factor, self.sd * (factor if factor.real > 0 else -factor))
