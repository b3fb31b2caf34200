"""The measure of a categorical column: a probability for every level code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from termwise.errors import OptionError
from termwise.measures.base import Array, Measure, as_floats, require_weights
from termwise.measures.empirical import Empirical


@dataclass(frozen=True)
class Discrete(Measure):
    """P(X = i) = probabilities_i for the level codes i = 0 .. L - 1. OAK appendix C."""

    kind: ClassVar[str] = "discrete"

    probabilities: tuple[float, ...]
    mean: float = field(init=False, compare=False, repr=False)
    sd: float = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "probabilities", as_floats(self.probabilities))
        require_weights("the probabilities of the levels", self.probabilities)
        codes, weights = self.nodes()
        mean = float(weights @ codes)
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "sd", float(np.sqrt(weights @ (codes - mean) ** 2)))

    @classmethod
    def fit(cls, codes: Array, n_levels: int) -> Discrete:
        """The frequencies of the codes; a level that was never seen has probability zero."""
        whole = np.asarray(codes).astype(int)
        if not whole.size or whole.min() < 0 or whole.max() >= n_levels or np.any(whole != codes):
            raise OptionError(f"level codes must be whole numbers from 0 to {n_levels - 1}, at least one")
        counts = np.bincount(whole, minlength=n_levels)
        return cls(as_floats(counts / counts.sum()))

    def nodes(self) -> tuple[Array, Array]:
        """The codes and their probabilities, exactly."""
        return np.arange(len(self.probabilities), dtype=float), np.array(self.probabilities)

    def sample(self, rng: np.random.Generator, size: int) -> Array:
        """Independent draws of codes."""
        codes, weights = self.nodes()
        return rng.choice(codes, size=size, p=weights / weights.sum())

    def scaled(self, factor: float) -> Empirical:
        """The measure of factor * X, no longer one over codes."""
        codes, weights = self.nodes()
        return Empirical(as_floats(codes * factor), as_floats(weights))
