"""What all additive models share: the way of the data from a table to a posterior and its terms."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from termwise.encode.encoder import Encoder, fit_encoders
from termwise.encode.rows import ArrayChunk
from termwise.errors import OptionError
from termwise.estimators.columns import ColumnPlan, learned_encoder, plan_columns, require_columns
from termwise.estimators.dataset import Given, Task, checkpoint_folder, opened
from termwise.estimators.encodings import Encoding, learn_encoded
from termwise.estimators.engine import INFERENCES, Asked, check_sparse_memory
from termwise.estimators.known import Wanted, know
from termwise.estimators.merge import merged_rows, repeated_rows
from termwise.estimators.options import KERNELS, one_of, search_options, whole_number
from termwise.estimators.selected import asked_terms, listed_terms, used_columns, with_terms
from termwise.estimators.targets import Target
from termwise.estimators.terms import TermModel
from termwise.inference.alone import alone
from termwise.inference.columns import TrainableColumn
from termwise.inference.fit import Candidate, Fit
from termwise.inference.inducing import CHOICES
from termwise.inference.model import Model
from termwise.inference.orders import EachOrder, Orders
from termwise.inference.progress import monitored
from termwise.inference.workers import LocalWorkers
from termwise.kernels.selection import selection_of
from termwise.likelihoods import Likelihood
from termwise.posterior.select import most_telling
from termwise.table import Schema, Table
from termwise.table.target import feature_names

SMALL = 0.01  # share of a term that pruning leaves out


class AdditiveModel(TermModel):
    """Abstract: a Gaussian process that is a sum of terms.

    Subclasses say which kernel and which orders, and what is predicted.
    """

    kernel: str
    terms: Any = None  # those that are allowed, where a model can be told
    categorical: Any
    inference: str
    n_inducing: int | None
    n_orthogonal: int
    inducing: str
    n_restarts: int
    unknown: str
    progress: Any
    random_state: Any
    n_jobs: int | None
    alike: ClassVar[float | None] = None  # prior sd of the log lengthscales of numbers about their mean

    @abstractmethod
    def _orders(self, n_columns: int) -> Orders:
        """The order variances that are learned."""

    @abstractmethod
    def _plan(self, encoder: Encoder) -> ColumnPlan:
        """What is asked of the columns."""

    @abstractmethod
    def _flows(self) -> tuple[bool, ...]:
        """Whether numbers are bent towards the normal before anything else; both if the evidence chooses."""

    def _learn(self, table: Table, target: Target) -> tuple[Encoder, Fit]:
        """Learn from a table and a target in the units that the engine works in; writes `columns_`."""
        n_rows = table.n_rows
        if target.likelihood is not None:
            table, target = merged_rows(table, target)
        schema = schema_of(table, self.categorical)
        table = schema.check(table, owner=type(self).__name__)
        counted = repeated_rows(target.times, table.n_rows)
        unknown, only = self.unknown, used_columns(self.terms, schema.names)
        encoders = fit_encoders(
            schema, table, flows=self._tried(), unknown=unknown, counted=counted, only=only
        )
        encoders = [with_terms(self.terms, encoder) for encoder in encoders]
        require_columns(encoders[0])
        rng = np.random.default_rng(seed_of(self.random_state))

        def encoded(encoder: Encoder) -> Encoding:
            return self._encoding(encoder, table, target, counted)

        with monitored(self.progress) as monitor:
            chosen, found = learn_encoded(encoders, encoded, self._asked(), rng, monitor)
        self.columns_ = chosen.choices
        result = replace(found.result, rows=n_rows)
        return learned_encoder(chosen.encoder, found), replace(found, result=result)

    def _tried(self) -> tuple[bool, ...]:
        """The flows that are tried: each takes a start."""
        return self._flows()[: self.n_restarts]

    def _encoding(self, encoder: Encoder, table: Table, target: Target, counted: Any) -> Encoding:
        """The table encoded, and the columns that are learned of it."""
        encoded = encoder.transform(table)
        columns, choices = plan_columns(encoder, encoded[counted], target.hint[counted], self._plan(encoder))
        model = self._model(columns, encoder, target.likelihood)
        rows = ArrayChunk(encoded, target.y, target.power, target.offset)
        return Encoding(encoder, choices, Candidate(model, rows))

    def _model(
        self, columns: tuple[TrainableColumn, ...], encoder: Encoder, likelihood: Likelihood | None
    ) -> Model:
        """The kernel of all terms that are allowed, by their orders or by a list."""
        listed = listed_terms(self.terms, encoder)
        if listed is None:
            return Model(columns, self._orders(len(columns)), likelihood, alike=self.alike)
        orders = EachOrder((0, *sorted({len(term) for term in listed})), len(columns))
        return Model(columns, orders, likelihood, selection_of(listed, len(columns)), self.alike)

    def _asked(self) -> Asked:
        search = self.inference, self.n_inducing, self.inducing, self.n_restarts, self.n_jobs
        return Asked(*search, n_orthogonal=self.n_orthogonal)

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
            if engine == "ski":
                raise OptionError(
                    "inference='ski' learns from a table in memory; use fit, or inference='sparse'"
                )
            folder = checkpoint_folder(given.checkpoint, given.resume)
            if engine != "exact":
                asked = self._asked()
                options = asked.sparse_options(engine, n_rows, sites=sites, workers=source.workers)
                check_sparse_memory(options, n_rows, len(source.about[0].names))
            asked_terms(self.terms, feature_names(source.about[0].names, wanted.target))
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
        whole_number("n_orthogonal", self.n_orthogonal, at_least=0)
        one_of("unknown", self.unknown, ("marginalise", "error"))
        search_options(self.n_restarts, self.n_jobs, self.progress)

    @abstractmethod
    def _has_sites(self) -> bool:
        """Whether rows are something else than numbers with normal noise."""

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
        pruned.posterior_ = alone(self.posterior_, kept, sites=self._has_sites())
        pruned.noise_ = self.noise_.widened(pruned.posterior_.noise - self.posterior_.noise)
        pruned.__dict__.pop("_ranked_cache", None)
        return pruned


def keep_arguments(model: BaseEstimator, arguments: dict[str, Any]) -> None:
    """Keep the arguments of a constructor as they are, as scikit-learn wants it."""
    for name, value in arguments.items():
        if name != "self":
            setattr(model, name, value)


def schema_of(table: Table, categorical: Any) -> Schema:
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
