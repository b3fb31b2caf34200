"""What all additive models share: the way of the data from a table to a posterior and its terms."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self, overload

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from termwise.encode.encoder import Encoder, fit_encoder
from termwise.encode.rows import ArrayChunk
from termwise.encode.scale import Standardise
from termwise.errors import OptionError, TermError
from termwise.estimators.columns import ColumnPlan, learned_encoder, plan_columns, require_columns
from termwise.estimators.dataset import Given, Task, checkpoint_folder, opened
from termwise.estimators.engine import INFERENCES, Asked, check_sparse_memory, learn
from termwise.estimators.frames import frame_like, index_of
from termwise.estimators.known import Wanted, know
from termwise.estimators.merge import merged_rows, repeated_rows
from termwise.estimators.options import KERNELS, one_of, whole_number
from termwise.estimators.ranked import Ranked, ranked_terms
from termwise.estimators.runs import runnable_of
from termwise.estimators.targets import Target
from termwise.explain import concurvity, cumulative
from termwise.explain.checks import Checks, FitCheck, column_checks
from termwise.explain.concurvity import Concurvity
from termwise.explain.cumulative import CumulativeScore, Parts, Scores
from termwise.explain.effects import effect
from termwise.explain.explanation import Explanation, LocalExplanation
from termwise.explain.terms import Term
from termwise.inference.alone import alone
from termwise.inference.fit import Fit
from termwise.inference.inducing import CHOICES
from termwise.inference.model import Model
from termwise.inference.orders import Orders
from termwise.inference.progress import monitored
from termwise.inference.workers import LocalWorkers
from termwise.kernels.terms import Subset
from termwise.measures.base import Array
from termwise.posterior.select import most_telling
from termwise.table import Schema, Table, open_dataset, read_table

LEADING = 6  # terms drawn by default
SMALL = 0.01  # share of a term that pruning leaves out


class AdditiveModel(BaseEstimator):
    """Abstract: a Gaussian process that is a sum of terms.

    Subclasses say which kernel and which orders, and what is predicted.
    """

    kernel: str
    categorical: Any
    inference: str
    n_inducing: int | None
    inducing: str
    n_restarts: int
    unknown: str
    progress: Any
    random_state: Any
    n_jobs: int | None

    @abstractmethod
    def _orders(self, n_columns: int) -> Orders:
        """The order variances that are learned."""

    @abstractmethod
    def _plan(self, encoder: Encoder) -> ColumnPlan:
        """What is asked of the columns."""

    @abstractmethod
    def _uses_flow(self) -> bool:
        """Whether numbers are bent towards the normal before anything else."""

    def _learn(self, table: Table, target: Target) -> tuple[Encoder, Fit]:
        """Learn from a table and a target in the units that the engine works in; writes `columns_`."""
        n_rows = table.n_rows
        if target.likelihood is not None:
            table, target = merged_rows(table, target)
        schema = _schema(table, self.categorical)
        table = schema.check(table, owner=type(self).__name__)
        counted = repeated_rows(target.times, table.n_rows)
        flow, unknown = self._uses_flow(), self.unknown
        encoder = fit_encoder(schema, table, flow=flow, unknown=unknown, counted=counted)
        require_columns(encoder)
        encoded = encoder.transform(table)
        columns, choices = plan_columns(encoder, encoded[counted], target.hint[counted], self._plan(encoder))
        rng = np.random.default_rng(seed_of(self.random_state))
        model = Model(columns, self._orders(len(columns)), target.likelihood)
        rows = ArrayChunk(encoded, target.y, target.power, target.offset)
        with monitored(self.progress) as monitor:
            found = learn(model, rows, self._asked(), rng, monitor)
        self.columns_ = choices
        return learned_encoder(encoder, found), replace(found, result=replace(found.result, rows=n_rows))

    def _keep(self, found: Fit, encoder: Encoder, scale: Standardise) -> None:
        self.encoder_, self.posterior_, self.target_scale_ = encoder, found.posterior, scale
        self.noise_ = found.noise
        self.fit_result_, self.objective_ = found.result, found.result.objective
        self.n_features_in_ = len(encoder.schema)
        if encoder.schema.named:
            self.feature_names_in_ = np.array(encoder.schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _asked(self) -> Asked:
        return Asked(self.inference, self.n_inducing, self.inducing, self.n_restarts, self.n_jobs)

    @contextmanager
    def _known(self, given: Given, wanted: Wanted, *, sites: bool) -> Iterator[Task]:
        """Look at all rows of a data set once, and say which engine is to learn from them."""
        kept = given.checkpoint is not None or given.resume is not None
        if kept and not (self.random_state is None or isinstance(self.random_state, (int, np.integer))):
            raise OptionError(
                f"random_state is {type(self.random_state).__name__} and checkpoints are asked for; give a "
                "whole number or None, so that a resumed fit draws the same"
            )
        with opened(given.data, given.client, given.executor) as source:
            n_rows = sum(chunk.n_rows for chunk in source.about)
            local = isinstance(source.workers, LocalWorkers)
            engine = self._asked().engine(n_rows, sites=sites, local=local, kept=kept)
            folder = checkpoint_folder(given.checkpoint, given.resume)
            if engine != "exact":
                asked = self._asked()
                options = asked.sparse_options(engine, n_rows, sites=sites, workers=source.workers)
                check_sparse_memory(options, n_rows, len(source.about[0].names))
            rng = np.random.default_rng(seed_of(self.random_state))
            # The exact engine takes so few rows that the sample has all of them.
            known = know(source, wanted, self.categorical, rng)
            yield Task(source, known, engine, folder, rng)

    def _check_options(self) -> None:
        one_of("kernel", self.kernel, tuple(KERNELS))
        one_of("inference", self.inference, INFERENCES)
        one_of("inducing", self.inducing, CHOICES)
        if self.n_inducing is not None:
            whole_number("n_inducing", self.n_inducing, at_least=1)
        if not callable(self.progress):
            one_of("progress", self.progress, (True, False, None))
        one_of("unknown", self.unknown, ("marginalise", "error"))
        whole_number("n_restarts", self.n_restarts, at_least=1)
        if self.n_jobs is not None and (
            isinstance(self.n_jobs, bool)
            or not isinstance(self.n_jobs, (int, np.integer))
            or self.n_jobs == 0
        ):
            raise OptionError(
                f"n_jobs is {self.n_jobs!r}; use None, a positive whole number, or -1 for all cores"
            )

    def _check_has_terms(self) -> None:
        """Refuse what needs one sum of terms to a model that is not fitted, or that has several."""
        check_is_fitted(self, "posterior_")

    def _encode(self, X: Any) -> Array:
        self._check_has_terms()
        return self.encoder_.transform(read_table(X), owner=type(self).__name__)

    def pieces(self, data: Any, more: Sequence[str] = ()) -> Iterator[Table]:
        """The columns that the model knows of a data set larger than memory, and more, by row group."""
        check_is_fitted(self, "posterior_")
        known = {*self.encoder_.schema.names, *more}
        chunks = open_dataset(data)  # now: a wrong path should not wait for the first row
        return (
            chunk.read([name for name in chunk.names if name in known] or chunk.names) for chunk in chunks
        )

    @property
    def constant_(self) -> float:
        """The part of every prediction that no feature moves."""
        self._check_has_terms()
        nothing = np.full((1, len(self.encoder_.columns)), np.nan)
        return float(self.target_scale_.inverse(self.posterior_.term_mean((), nothing))[0])

    def predict_terms(self, X: Any, *, return_std: bool = False) -> Any:
        """What each term adds for each row: constant_ + the sum of a row = predict.

        Of counts that is the logarithm of the rate.

        One column for each of `terms_`, in that order; a pandas or polars frame with the names of the terms
        if X is one, otherwise an array. With return_std also the standard deviation of each term.
        """
        encoded = self._encode(X)
        terms = self._complete_terms()
        columns = [term.columns for term in terms]
        mean = self.target_scale_.scale * self.posterior_.term_means(columns, encoded)
        names = [term.name for term in terms]
        if not return_std:
            return frame_like(X, mean, names)
        std = self._term_std(columns, encoded)
        return frame_like(X, mean, names), frame_like(X, std, names)

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
        self._check_has_terms()
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

    def prune(self, threshold: float | None = None, *, n_terms: int | None = None) -> Self:
        """A fitted copy with the constant and the terms that have at least this share, and n_terms at most.

        The threshold is 0.01, or none if n_terms is given. Of more terms those are taken of which the data
        tell most: a small share may tell much where columns go together. Those that stay take up what they
        can of the others, with lengthscales and variances learned anew as if these had never been there; what
        they cannot counts as noise. Shares are those of the terms that stay.
        """
        if threshold is None:
            threshold = SMALL if n_terms is None else 0.0
        number = isinstance(threshold, (int, float, np.number)) and not isinstance(threshold, bool)
        if not number or not 0.0 <= threshold <= 1.0:
            raise OptionError(f"threshold is {threshold!r}; use a share between 0 and 1")
        if n_terms is not None:
            whole_number("n_terms", n_terms, at_least=0)
        ranked = self._ranked()
        shares = ranked.table["share"]
        kept = tuple(
            term.columns for term, share in zip(ranked.terms, shares, strict=True) if share >= threshold
        )
        if n_terms is not None:
            kept = most_telling(self.posterior_, kept, n_terms)
        pruned = copy.copy(self)
        pruned.posterior_ = alone(self.posterior_, kept)
        pruned.noise_ = self.noise_.widened(pruned.posterior_.noise - self.posterior_.noise)
        pruned.__dict__.pop("_ranked_cache", None)
        return pruned

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
        leading = [term for term in ranked.terms if term.order <= 2][:n_terms]
        scale = self.target_scale_.scale
        quantity, target = self._quantity()
        effects = tuple(
            replace(effect(self.posterior_, self.encoder_, term, scale), quantity=quantity, target=target)
            for term in (leading if terms is None else ranked.named(terms))
        )
        return Explanation(ranked.table, ranked.order_shares, effects, self.explained_, runnable_of(self))

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
        means = scale * self.posterior_.term_means([term.columns for term in terms], encoded)
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
            constant=float(self.posterior_.term_mean((), encoded[:1])[0]),
            contributions=self.posterior_.term_means([term.columns for term in terms], encoded),
            left_out=ranked.explained * np.maximum(1.0 - np.cumsum([0.0, *shares]), 0.0),
            whole=self.posterior_.mean(encoded),
            variance=self.posterior_.variance(encoded),
        )
        return cumulative.cumulative_score([term.name for term in terms], parts, scores)

    def _checks(self, of_rows: Mapping[str, Any]) -> Checks:
        """What rows tell, with what is known of the columns and of the fit."""
        went = self.fit_result_
        fit = FitCheck(str(went.status), went.evaluations, went.seconds, went.jitter)
        return Checks(**of_rows, columns=column_checks(self.posterior_, self.encoder_), fit=fit)

    def __sklearn_tags__(self) -> Any:
        """Say what tables are taken: missing cells and categories too."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    def __getstate__(self) -> Any:
        """Leave out what can be computed again."""
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_ranked_cache"}


def keep_arguments(model: AdditiveModel, arguments: dict[str, Any]) -> None:
    """Keep the arguments of a constructor as they are, as scikit-learn wants it."""
    for name, value in arguments.items():
        if name != "self":
            setattr(model, name, value)


def _schema(table: Table, categorical: Any) -> Schema:
    """The kinds of the columns; a mapping {name: kind} sets some, a list names columns of levels."""
    if isinstance(categorical, Mapping):
        return Schema.infer(table, kinds=categorical)
    return Schema.infer(table, categorical=categorical)


def seed_of(random_state: Any) -> Any:
    """A seed for NumPy's generators from what scikit-learn allows as random_state."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if random_state is None or isinstance(random_state, np.random.Generator):
        return 0 if random_state is None else random_state
    return whole_number("random_state", random_state, at_least=0)
