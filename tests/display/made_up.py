"""Explanations that no model has made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from termwise.explain.cumulative import CumulativeScore
from termwise.explain.effects import Effect
from termwise.explain.explanation import Explanation, LocalExplanation
from termwise.explain.terms import SOBOL_DTYPE, Term

RNG = np.random.default_rng(0)
AGES = np.linspace(20.0, 60.0, 9)
DOSES = np.linspace(0.0, 3.0, 7)
CITIES = np.array(["Bern", "Oslo", "Rome"], dtype=object)
SMOKER = np.array([False, True], dtype=object)
GRIDS = {"age": AGES, "dose": DOSES, "city": CITIES, "smoker": SMOKER}
ROWS = {
    "age": np.array([np.nan, *RNG.uniform(20.0, 60.0, 50)]),
    "dose": np.array([*RNG.uniform(0.0, 3.0, 50), np.nan]),
    "city": np.array([None, *RNG.choice(CITIES, 50)], dtype=object),
    "smoker": np.array([*RNG.choice(SMOKER, 50), None], dtype=object),
}
KINDS = [("age",), ("city",), ("age", "dose"), ("city", "dose"), ("dose", "city"), ("city", "smoker")]


def effect_of(*features: str) -> Effect:
    """An effect that no model has made."""
    axes = tuple(GRIDS[feature] for feature in features)
    shape = tuple(len(axis) for axis in axes)
    rng = np.random.default_rng(len(shape))
    rows = tuple(ROWS[feature] for feature in features)
    return Effect(
        Term(features, tuple(range(len(features)))),
        axes,
        rng.normal(size=shape),
        rng.uniform(size=shape),
        rows,
    )


def explanation_of(*terms: tuple[str, ...], low: float = 0.24, high: float = 0.39) -> Explanation:
    effects = tuple(effect_of(*features) for features in terms)
    table = np.array([(e.term.name, e.term.order, 0.31, low, high) for e in effects], dtype=SOBOL_DTYPE)
    return Explanation(table, np.array([0.7, 0.3]), effects)


def with_missing(effect: Effect, n_missing: int = 7) -> Effect:
    return replace(effect, missing_mean=0.0, missing_std=0.4, n_missing=n_missing)


SCORE = CumulativeScore(("age", "city", "age:city"), "rmse", np.array([1.0, 0.6, 0.5, 0.41]), 0.4)

LOCAL = LocalExplanation(
    terms=("age", "city", "dose", "age:city"),
    constant=10.0,
    contributions=np.array([[1.0, -3.0, 0.25, 0.5], [0.0, 2.0, 0.0, 0.0]]),
    std=np.array([[0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.3, 0.4]]),
    predictions=np.array([8.75, 12.0]),
)


class Told:
    """A model that says what it was made to say, and keeps what it was asked."""

    unknown = "marginalise"

    def __init__(self, answer: Any = None, score: Any = None) -> None:
        self.answer, self.score, self.asked = answer, score, {}
        self.sobol_ = None if answer is None else answer.sobol

    def explain(self, X: Any = None, **options: Any) -> Any:
        self.asked = options
        return self.answer

    def cumulative_score(self, X: Any, y: Any, *, n_terms: int) -> Any:
        self.asked = {"n_terms": n_terms}
        return self.score
