"""What all models share whose posterior is a sum of terms: what each adds, ranks, shares, explanations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, overload

import numpy as np

from termwise.errors import OptionError, TermError
from termwise.estimators.fitted import FittedModel
from termwise.estimators.frames import frame_like, index_of
from termwise.estimators.options import whole_number
from termwise.estimators.ranked import Ranked, ranked_terms
from termwise.estimators.runs import explained_of, runnable_of
from termwise.explain import concurvity, cumulative
from termwise.explain.concurvity import Concurvity
from termwise.explain.cumulative import CumulativeScore, Parts, Scores
from termwise.explain.effects import DRAWN, Effect, effect
from termwise.explain.explanation import Explanation, LocalExplanation
from termwise.explain.runnable import Runnable
from termwise.explain.terms import Term
from termwise.kernels.terms import Subset
from termwise.measures.base import Array

LEADING = 6  # terms drawn by default


class TermModel(FittedModel):
    """Abstract: a fitted posterior that is a sum of terms."""

    @property
    def constant_(self) -> float:
        """The part of every prediction that no feature moves."""
        self._check_has_posterior()
        return float(self.target_scale_.inverse(np.array([self._latent_constant()]))[0])

    def predict_terms(self, X: Any, *, return_std: bool = False) -> Any:
        """What each term adds for each row: constant_ + the sum of a row = predict.

        Of counts that is the logarithm of the rate.

        One column for each of `terms_`, in that order; a pandas or polars frame with the names of the terms
        if X is one, otherwise an array. With return_std also the standard deviation of each term.
        """
        encoded = self._encode(X)
        terms = self._complete_terms()
        columns = [term.columns for term in terms]
        mean = self.target_scale_.scale * self._term_means(columns, encoded)
        names = [term.name for term in terms]
        if not return_std:
            return frame_like(X, mean, names)
        std = self._term_std(columns, encoded)
        return frame_like(X, mean, names), frame_like(X, std, names)

    def _latent_constant(self) -> float:
        """The constant in the units of the engine."""
        nothing = np.full((1, len(self.encoder_.columns)), np.nan)
        return float(self.posterior_.term_mean((), nothing)[0])

    def _term_means(self, terms: Sequence[Subset], encoded: Array) -> Array:
        """What each term adds to each row in the units of the engine, (n, terms)."""
        return self.posterior_.term_means(terms, encoded)

    def _term_std(self, terms: Sequence[Subset], encoded: Array) -> Array:
        """The standard deviation of each term at each row, (n, terms)."""
        variances = [self.posterior_.term_variance(term, encoded) for term in terms]
        std: Array = self.target_scale_.scale * np.sqrt(
            np.array(variances).reshape(len(terms), len(encoded)).T
        )
        return std

    def _complete_terms(self) -> tuple[Term, ...]:
        ranked = self._ranked()
        if not ranked.complete:
            raise TermError(
                "the model has too many terms to list them all; use a smaller max_order, or prune() it first"
            )
        return ranked.terms

    def _ranked(self) -> Ranked:
        """The terms by share, computed when first asked for and kept as long as the posterior is the same."""
        self._check_has_posterior()
        cached = self.__dict__.get("_ranked_cache")
        if cached is None or cached[0] is not self.posterior_:
            # A stream of its own: the same posterior has the same intervals whenever it is asked.
            rng = np.random.default_rng(0)
            cached = (self.posterior_, ranked_terms(self.posterior_, self.encoder_.names, rng))
            self._ranked_cache = cached
        ranked: Ranked = cached[1]
        return ranked

    @property
    def terms_(self) -> list[Term]:
        """All terms, the one with the largest share first."""
        return list(self._ranked().terms)

    @property
    def sobol_(self) -> np.ndarray:
        """Structured table: term, order, share of the explained variance, and its 5 % and 95 % points."""
        return self._ranked().table

    @property
    def order_shares_(self) -> Array:
        """The share of the explained variance that each order 1, 2, .. has."""
        return self._ranked().order_shares

    @property
    def explained_(self) -> float:
        """The part of the target's variance that the terms explain; the rest is noise to the model.

        Of a classifier, the part of the variance of a latent value that decides the label by its sign: the
        sum of the terms, with the noise of the link added.
        """
        explained = self._ranked().explained
        return explained / (explained + self.noise_.variance)

    @overload
    def explain(
        self, X: None = None, *, n_terms: int = LEADING, terms: Sequence[str] | None = None
    ) -> Explanation: ...

    @overload
    def explain(
        self, X: Any, *, n_terms: int = LEADING, terms: Sequence[str] | None = None
    ) -> LocalExplanation: ...

    def explain(
        self, X: Any = None, *, n_terms: int = LEADING, terms: Sequence[str] | None = None
    ) -> Explanation | LocalExplanation:
        """The model in plain data: ranked terms and effects; with rows, what each term adds to them.

        Effects are those of the n_terms leading terms of one or two features, or of the terms that are named:
        terms=["age", "age:income"], in any order of their features and of up to three.
        """
        if X is not None:
            if terms is not None:
                raise OptionError("rows are explained by all terms; leave terms out, or X")
            return self._explain_rows(X)
        whole_number("n_terms", n_terms, at_least=0)
        ranked = self._ranked()
        leading = [term for term in ranked.terms if term.order <= DRAWN][:n_terms]
        quantity, target = self._quantity()
        effects = tuple(
            replace(self._effect(term), quantity=quantity, target=target)
            for term in (leading if terms is None else ranked.named(terms))
        )
        runs, explains = self._runs(), explained_of(self)
        parts = ranked.table, ranked.order_shares, effects, self.explained_, runs, explains
        return Explanation(*parts, named=terms is not None)

    def _effect(self, term: Term) -> Effect:
        """One term on a grid, in the units of the target."""
        return effect(self.posterior_, self.encoder_, term, self.target_scale_.scale)

    def _runs(self) -> Runnable | None:
        """The model as something that can run elsewhere, if it can."""
        return runnable_of(self)

    def _kind(self) -> tuple[str, float]:
        """How a latent value becomes a prediction, and the variance of the noise on it."""
        return "normal", self.noise_.variance

    def _quantity(self) -> tuple[str, str]:
        """What terms are, and of what, as figures say it."""
        return "effect on", "target"

    def _explain_rows(self, X: Any) -> LocalExplanation:
        encoded = self._encode(X)
        terms = self._complete_terms()
        scale = self.target_scale_.scale
        means = scale * self._term_means([term.columns for term in terms], encoded)
        std = self._term_std([term.columns for term in terms], encoded)
        predictions = self.target_scale_.inverse(self.posterior_.mean(encoded))
        names = tuple(term.name for term in terms)
        return LocalExplanation(names, self.constant_, means, std, predictions, index=index_of(X))

    def concurvity(self, X: Any) -> Concurvity:
        """How far the other terms could stand in for each term on these rows, as R².

        Of terms with a share of at least 0.1 %, and at most 200 of them.
        """
        encoded = self._encode(X)
        ranked = self._ranked()
        count = min(int(np.sum(ranked.table["share"] >= concurvity.LEAST_SHARE)), concurvity.MOST_TERMS)
        terms = ranked.terms[:count]
        values = self.target_scale_.scale * self.posterior_.term_means([t.columns for t in terms], encoded)
        return concurvity.concurvity([term.name for term in terms], values)

    def _cumulative(self, encoded: Array, scores: Scores, n_terms: int | None) -> CumulativeScore:
        ranked = self._ranked()
        most = cumulative.MOST_TERMS if n_terms is None else whole_number("n_terms", n_terms, at_least=0)
        terms, shares = ranked.terms[:most], ranked.table["share"][:most]
        parts = Parts(
            constant=self._latent_constant(),
            contributions=self._term_means([term.columns for term in terms], encoded),
            left_out=ranked.explained * np.maximum(1.0 - np.cumsum([0.0, *shares]), 0.0),
            whole=self.posterior_.mean(encoded),
            variance=self.posterior_.variance(encoded),
        )
        return cumulative.cumulative_score([term.name for term in terms], parts, scores)

    def __getstate__(self) -> Any:
        """Leave out what can be computed again."""
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_ranked_cache"}
