"""Classification: the probability of each label is predicted."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any, Self, overload

import numpy as np
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted

from termwise.encode.encoder import Encoder
from termwise.errors import OptionError
from termwise.estimators.base import AdditiveModel
from termwise.estimators.columns import ColumnChoice
from termwise.estimators.dataset import Given, label_tasks, learn_dataset
from termwise.estimators.frames import frame_like
from termwise.estimators.known import Wanted
from termwise.estimators.labels import (
    codes_of,
    label_column,
    label_text,
    label_values,
)
from termwise.estimators.options import one_of
from termwise.estimators.probabilities import LINKS, PosteriorClassifier
from termwise.estimators.runs import outcome_of
from termwise.estimators.targets import Target
from termwise.estimators.terms import LEADING
from termwise.explain.cumulative import CumulativeScore
from termwise.explain.explanation import Explanation, LocalExplanation
from termwise.explain.probability import ChangeInProbability
from termwise.inference.fit import Fit
from termwise.measures.base import Array
from termwise.table import Table, read_table

LATENT_NAMES = {"logit": "log odds", "probit": "probit"}
SCALES = ("latent", "probability")


class AdditiveClassifier(PosteriorClassifier, AdditiveModel):
    """Abstract: classification by a latent sum of terms. Subclasses say which kernel and which orders."""

    def _check_options(self) -> None:
        AdditiveModel._check_options(self)
        self._check_label_options()

    def _fit_one(self, table: Table, target: Target, classes: Array) -> Self:
        encoder, found = self._learn(table, target)
        return self._keep_one(encoder, self.columns_, found, classes)

    def _has_sites(self) -> bool:
        return True

    def fit_dataset(
        self,
        data: Any,
        *,
        target: str,
        client: Any = None,
        executor: Executor | None = None,
        checkpoint: Any = None,
        resume: Any = None,
    ) -> Self:
        """Learn labels from data that need not fit in memory: texts, truth values or whole numbers.

        Arguments as those of `AdditiveRegressor.fit_dataset`. With more than two labels every one of them has
        checkpoints in a folder of its own.
        """
        self._check_options()
        given = Given(data, client, executor, checkpoint, resume)
        with self._known(given, Wanted(target, labels=True), sites=True) as task:
            if task.engine == "exact":
                return self.fit(task.known.sample, np.array(task.known.targets.columns[0].tolist()))
            column, classes = label_column(self.class_weight, task.known)
            if classes.size == 2:
                return self._keep_one(*learn_dataset(self, task, column, LINKS[self.link]), classes)
            each = []
            for code, part in enumerate(label_tasks(task, classes.size)):
                one = clone(self).set_params(class_weight=None)
                learned = learn_dataset(one, part, replace(column, chosen=code), LINKS[self.link])
                each.append(one._keep_one(*learned, np.array([False, True])))
            self._keep_each(each, classes)
        return self

    def _keep_one(
        self, encoder: Encoder, choices: tuple[ColumnChoice, ...], found: Fit, classes: Array
    ) -> Self:
        self.columns_ = choices
        return self._keep_labels(found, encoder, classes)

    def predict_terms(self, X: Any, *, return_std: bool = False, scale: str = "latent") -> Any:
        """What each term adds for each row on the latent scale: constant_ + the sum of a row is its mean.

        That is the logarithm of the odds of the second label with `link="logit"`, before it is averaged over
        what is not known: `decision_function` is nearer to zero. With scale="probability",
        what the term alone does to the probability: p(constant_ + term) - p(constant_), the change in
        probability at the mean. These do not add up; they have bands, which `explain` gives, and no std.
        """
        one_of("scale", scale, SCALES)
        if scale == "latent":
            return super().predict_terms(X, return_std=return_std)
        if return_std:
            raise OptionError(
                "a change in probability has no standard deviation; leave return_std out and use the band of "
                "explain(X, scale='probability'), or use scale='latent'"
            )
        latent = super().predict_terms(read_table(X))
        return frame_like(X, self._change().of(latent), [term.name for term in self.terms_])

    def _change(self) -> ChangeInProbability:
        link = LINKS[self.link_]

        def probability(f: Array | float) -> Array:
            latent = np.asarray(f, dtype=float)
            value: Array = np.exp(link.log_density(np.ones_like(latent), latent))
            return value

        return ChangeInProbability(probability, self.constant_)

    @overload
    def explain(
        self,
        X: None = None,
        *,
        n_terms: int = LEADING,
        terms: Sequence[str] | None = None,
        scale: str = "latent",
    ) -> Explanation: ...

    @overload
    def explain(
        self, X: Any, *, n_terms: int = LEADING, terms: Sequence[str] | None = None, scale: str = "latent"
    ) -> LocalExplanation: ...

    def explain(
        self,
        X: Any = None,
        *,
        n_terms: int = LEADING,
        terms: Sequence[str] | None = None,
        scale: str = "latent",
    ) -> Explanation | LocalExplanation:
        """The model in plain data: ranked terms and effects; with rows, what each term adds to them.

        Effects are on the latent scale, or changes in the probability of the second label as `predict_terms`
        gives them; of the n_terms leading terms of one or two features, or of the terms that are named, which
        may have three. Shares are of the variance on the latent scale, on which terms add up, whatever the
        scale.
        """
        one_of("scale", scale, SCALES)
        if X is not None:
            rows, label = super().explain(X, terms=terms), self._quantity()[1]
            if scale == "latent":
                named = {"quantity": f"{LATENT_NAMES[self.link_]} of {label}", "outcome": outcome_of(self)}
                return replace(rows, scale="latent", outcomes=self.predict_proba(X)[:, 1], **named)
            return self._change().of_rows(rows, self.predict_proba(X)[:, 1], label)
        whole = super().explain(n_terms=n_terms, terms=terms)
        if scale == "latent":
            return whole
        return replace(whole, effects=tuple(self._change().of_effect(effect) for effect in whole.effects))

    def cumulative_score(self, X: Any, y: Any, *, n_terms: int | None = None) -> CumulativeScore:
        """The score of the constant and the leading terms alone, one more at a time, on rows with labels.

        The log loss of the probabilities, and besides it the area under the curve ("auc"); NaN with one
        label.
        """
        encoded = self._encode(X)
        codes = codes_of(y, self.classes_, len(encoded)).astype(float)
        link = LINKS[self.link_]

        def scores(mean: Array, variance: Array) -> dict[str, float]:
            unsure = variance + self.posterior_.noise
            loss = -float(np.mean(link.log_predictive(codes, mean, unsure)))
            both = np.ptp(codes) > 0.0
            # By the latent mean: how sure it is of a row must not rank what the terms do not tell apart.
            auc = float(roc_auc_score(codes, mean)) if both else np.nan
            return {"log loss": loss, "auc": auc}

        return self._cumulative(encoded, scores, n_terms)

    def _kind(self) -> tuple[str, float]:
        return self.link_, self.posterior_.noise

    def _quantity(self) -> tuple[str, str]:
        label = getattr(self, "label_", label_values(self.classes_)[1])
        return f"change in {LATENT_NAMES[self.link_]} of", label_text(label)

    def prune(self, threshold: float | None = None, *, n_terms: int | None = None) -> Self:
        """A fitted copy with the constant and the terms that have at least this share, and n_terms at most.

        The threshold is 0.01, or none if n_terms is given; of more terms those are taken of which the data
        tell most. The terms that stay take up what they can of the others; what they cannot makes the model
        less sure. With more than two labels, each label keeps terms of its own.
        """
        check_is_fitted(self, "classes_")
        if self.classes_.size == 2:
            return super().prune(threshold, n_terms=n_terms)
        pruned = copy.copy(self)
        pruned.estimators_ = [one.prune(threshold, n_terms=n_terms) for one in self.estimators_]
        return pruned
