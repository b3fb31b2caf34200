"""The score of a model by its leading terms alone, one more at a time. OAK figures 5 and 6."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from termwise.explain.plain import frame_of, plain
from termwise.measures.base import Array

MOST_TERMS = 50  # added one by one; what more would add is in the score of the whole model

# Scores by name, of the latent means (n,) of some terms and the variance (n,) that is not known of the rest.
Scores = Callable[[Array, Array], dict[str, float]]


@dataclass(frozen=True, eq=False)
class CumulativeScore:
    """The score of predictions by the constant and the k leading terms, k = 0 .. len(terms).

    `score` says what `scores` are: "rmse", "log loss", or "mean log density". `whole` is that of all terms,
    those not listed too. `also` has other scores of the same predictions by name.

    Terms are those of the whole model: none is fitted again. Where a score needs to know how sure the model
    is, the variance that the terms left out have under the measure counts as not known.
    """

    terms: tuple[str, ...]
    score: str
    scores: Array
    whole: float
    also: dict[str, Array] = field(default_factory=dict)

    def __repr__(self) -> str:
        """From the constant to the whole model."""
        said = f"{self.scores[0]:.4g} by the constant, {self.whole:.4g} by the whole model"
        return f"<CumulativeScore of {len(self.terms)} terms: {self.score} {said}>"

    def frame(self) -> Any:
        """A pandas data frame with a row for each k: how many terms, the last of them, and the scores."""
        return frame_of(
            {
                "n_terms": np.arange(len(self.scores)),
                "term": [None, *self.terms],
                self.score: self.scores,
                **self.also,
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data that JSON can write; NaN becomes None."""
        found: dict[str, Any] = plain(
            {
                "score": self.score,
                "terms": self.terms,
                "scores": self.scores,
                "whole": self.whole,
                "also": self.also,
            }
        )
        return found


@dataclass(frozen=True, eq=False)
class Parts:
    """What predictions by some terms need: the constant, the leading terms at the rows, and the rest.

    `left_out` is the variance of the terms beyond the first k under the measure, for k = 0 .. terms; `whole`
    has the mean and `variance` the variance of the whole function at the rows.
    """

    constant: float
    contributions: Array
    left_out: Array
    whole: Array
    variance: Array


def cumulative_score(names: Sequence[str], parts: Parts, scores: Scores) -> CumulativeScore:
    """Score the constant, then the constant and one term, and so on; the first of the scores leads."""
    mean = np.full(parts.whole.size, parts.constant)
    found = [scores(mean, parts.variance + parts.left_out[0])]
    for values, left in zip(parts.contributions.T, parts.left_out[1:], strict=True):
        mean = mean + values
        found.append(scores(mean, parts.variance + left))
    leading, *others = found[0]
    by_name = {name: np.array([one[name] for one in found]) for name in (leading, *others)}
    whole = scores(parts.whole, parts.variance)[leading]
    return CumulativeScore(tuple(names), leading, by_name.pop(leading), whole, by_name)
