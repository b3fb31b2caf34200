"""The empirical measure: the values of the column themselves, or a few weighted nodes in their place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from termwise.errors import OptionError
from termwise.measures.base import Array, Measure, as_floats, require_finite, require_weights

MAX_POINTS = 64


@dataclass(frozen=True)
class Empirical(Measure):
    """sum_i weights_i delta(x - points_i). OAK appendix E, eq. 32."""

    kind: ClassVar[str] = "empirical"

    points: tuple[float, ...]
    weights: tuple[float, ...]
    mean: float = field(init=False, compare=False, repr=False)
    sd: float = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("points", "weights"):
            object.__setattr__(self, name, as_floats(getattr(self, name)))
        require_finite("the points of an empirical measure", self.points)
        require_weights("the weights of an empirical measure", self.weights)
        if len(self.points) != len(self.weights):
            raise OptionError(
                f"an empirical measure has {len(self.points)} points and {len(self.weights)} weights; "
                "pass one weight for each point"
            )
        points, weights = self.nodes()
        mean = weights @ points
        object.__setattr__(self, "mean", mean.item())
        object.__setattr__(self, "sd", np.sqrt(weights @ (points - mean) ** 2).item())

    @classmethod
    def fit(cls, x: Array, *, max_points: int = MAX_POINTS) -> Empirical:
        """The distinct values with their frequencies, compressed to at most `max_points` nodes."""
        if max_points < 2:
            raise OptionError(f"max_points is {max_points}; an empirical measure needs at least 2")
        values, counts = np.unique(np.asarray(x, dtype=float), return_counts=True)
        frequencies = counts / counts.sum()
        if values.size > max_points:
            values, frequencies = compress(values, frequencies, max_points)
        return cls(as_floats(values), as_floats(frequencies / frequencies.sum()))

    def nodes(self) -> tuple[Array, Array]:
        """The points and their weights, exactly."""
        return np.array(self.points), np.array(self.weights)

    def sample(self, rng: np.random.Generator, size: int) -> Array:
        """Independent draws."""
        points, weights = self.nodes()
        return rng.choice(points, size=size, p=weights / weights.sum())

    def scaled(self, factor: float) -> Empirical:
        """The measure of factor * X."""
        return Empirical(as_floats(np.array(self.points) * factor), self.weights)


def compress(values: Array, frequencies: Array, max_points: int) -> tuple[Array, Array]:
    """Atoms kept as they are, the rest replaced by the means of bins; the mean of the measure stays the same.

    Bins are equal steps of (rank + position in the range) / 2, not of the rank alone: in a long tail bins of
    equal probability are far wider than a lengthscale. For a lognormal column with 64 nodes the largest error
    of the kernel mean at lengthscale 0.3 sd is 1.4e-4 instead of 1.3e-2.
    """
    atom = frequencies > 1.0 / max_points
    rest, mass = values[~atom], frequencies[~atom]
    if not rest.size:
        return values, frequencies
    bins = max_points - int(atom.sum())
    rank = (np.cumsum(mass) - 0.5 * mass) / mass.sum()
    position = (rest - rest[0]) / max(rest[-1] - rest[0], np.finfo(float).tiny)
    step = np.minimum((0.5 * (rank + position) * bins).astype(int), bins - 1)
    _, first, number = np.unique(step, return_index=True, return_inverse=True)
    weights = np.bincount(number, mass)
    # Relative to the first value of the bin, so that a bin of one value has exactly that value as its node.
    means = rest[first] + np.bincount(number, mass * (rest - rest[first][number])) / weights
    points = np.concatenate([values[atom], means])
    order = np.argsort(points)
    return points[order], np.concatenate([frequencies[atom], weights])[order]
