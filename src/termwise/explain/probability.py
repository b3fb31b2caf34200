"""From the latent scale of a classifier to changes in probability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from termwise.explain.effects import BAND, Effect
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
        )

    def of_rows(self, rows: LocalExplanation, predictions: Array) -> LocalExplanation:
        """The same rows, explained by changes from the probability without any term."""
        assert rows.std is not None, "the rows are explained on the latent scale"
        low, high = (rows.contributions + side * BAND * rows.std for side in (-1.0, 1.0))
        return replace(
            rows,
            constant=float(self.probability(self.constant)),
            contributions=self.of(rows.contributions),
            std=None,
            band=(self.of(low), self.of(high)),
            predictions=predictions,
            scale="probability",
        )
