"""From the latent scale of a classifier to changes in probability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from termwise.explain.effects import Effect
from termwise.explain.explanation import LocalExplanation
from termwise.measures.base import Array


@dataclass(frozen=True)
class ChangeInProbability:
    """p(c + t) - p(c): what a term of latent value t alone does to a probability that is p(c) without it.

    c is the latent value that no feature moves, and p goes by the link alone, without averaging over what is
    not known. p rises with its argument, so the ends of a band stay its ends. Changes do not add up.
    """

    probability: Callable[[Array | float], Array]
    constant: float

    def of(self, latent: Array) -> Array:
        """The change for latent values of a term."""
        return self.probability(self.constant + latent) - self.probability(self.constant)

    def of_effect(self, effect: Effect) -> Effect:
        """The same effect as a change in probability; it has a band but no standard deviation."""
        return replace(
            effect,
            mean=self.of(effect.mean),
            std=None,
            band=(self.of(effect.low), self.of(effect.high)),
            quantity="change in probability of",
            missing_std=None,
            missing_band=self._ends(effect.missing_low, effect.missing_high),
        )

    def _ends(self, low: float | None, high: float | None) -> tuple[float, float] | None:
        if low is None or high is None:
            return None
        return float(self.of(np.asarray(low))), float(self.of(np.asarray(high)))

    def of_rows(self, rows: LocalExplanation, predictions: Array, label: str) -> LocalExplanation:
        """The same rows, explained by changes from the probability of a label without any term."""
        return replace(
            rows,
            constant=float(self.probability(self.constant)),
            contributions=self.of(rows.contributions),
            std=None,
            band=(self.of(rows.low), self.of(rows.high)),
            predictions=predictions,
            scale="probability",
            quantity=f"probability of {label}",
        )
