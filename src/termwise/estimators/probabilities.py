"""Predicting the probability of each label."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import logit, logsumexp, ndtri
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from termwise.encode.encoder import RowEncoder
from termwise.encode.scale import Standardise
from termwise.errors import OptionError, SeveralTermsError
from termwise.estimators.fitted import FittedModel
from termwise.estimators.labels import classes_of, codes_of, label_values, listed, weights_of
from termwise.estimators.options import one_of
from termwise.estimators.targets import Target
from termwise.explain.checks import Checks, checks_of_labels
from termwise.inference.fit import Fit
from termwise.inference.result import FitResult, Status
from termwise.likelihoods import Logit, Probit
from termwise.measures.base import Array
from termwise.posterior.noise import Noise
from termwise.table import Table, read_table

LINKS: dict[str, Logit | Probit] = {"logit": Logit(), "probit": Probit()}
# The variance of what a yes or no adds to the latent value, as if it were cut at zero.
LATENT_NOISE = {"logit": float(np.pi**2 / 3.0), "probit": 1.0}
SMALLEST = 2.0**-53  # probability whose distance from one is seen


class PosteriorClassifier(ClassifierMixin, FittedModel):
    """Abstract: labels by a latent function, of which there is a posterior.

    With more than two labels there is one model for each against the rest, in `estimators_`.
    """

    link: str
    class_weight: Any
    _of_labels: ClassVar[str] = "terms"  # what each of more than two has of its own

    @abstractmethod
    def _fit_one(self, table: Table, target: Target, classes: Array) -> Self:
        """Learn one label against another."""

    def _check_label_options(self) -> None:
        one_of("link", self.link, tuple(LINKS))
        given = self.class_weight
        balanced = isinstance(given, str) and given == "balanced"
        if not (given is None or balanced or isinstance(given, Mapping)):
            raise OptionError(f"class_weight is {given!r}; use None, 'balanced' or a dict of weights")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a table and labels of any kind.

        Terms, if there are some, are on the latent scale: the logarithm of the odds with `link="logit"`.
        Writes `link_`, `classes_`, and what a regressor has; with more than two labels that is in
        `estimators_`.

        A row of weight two is two equal rows, one of weight zero is none, and the order of the rows changes
        nothing; equal rows cost no more than one. Only rows with a missing cell are kept apart, as they may
        differ in it.
        """
        self._check_options()
        table = read_table(X)
        classes, codes = classes_of(y, table.n_rows)
        weights = weights_of(self.class_weight, classes, codes, sample_weight)
        target = Target(codes, LINKS[self.link], weights.of_rows(codes), times=weights.times)
        if classes.size == 2:
            return self._fit_one(table, replace(target, y=codes.astype(float)), classes)
        each = []
        for code in range(classes.size):
            one = clone(self).set_params(class_weight=None)
            against = replace(target, y=(codes == code).astype(float))
            each.append(one._fit_one(table, against, np.array([False, True])))
        self._keep_each(each, classes)
        return self

    @abstractmethod
    def _check_options(self) -> None:
        """Refuse options that there are not."""

    def _keep_labels(self, found: Fit, encoder: RowEncoder, classes: Array, middle: float = 0.0) -> Self:
        """Keep a model of one label against another, whose latent function is about some value."""
        self._keep(found, encoder, Standardise(middle, 1.0))
        self.link_, self.classes_ = self.link, classes
        self.noise_ = Noise.normal(LATENT_NOISE[self.link_])
        for name in ("estimators_", "label_"):  # of an earlier fit to more labels, or as one of them
            self.__dict__.pop(name, None)
        return self

    def _keep_each(self, estimators: Sequence[Self], classes: Array) -> None:
        """Keep a model for each label against the rest, and how their fits went together."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)  # of an earlier fit to two labels
        first, self.estimators_, self.classes_ = estimators[0], list(estimators), classes
        self.link_ = first.link_
        for one, label in zip(estimators, label_values(classes), strict=True):
            one.label_ = label  # the one against the rest, as figures call it
        self.fit_result_ = joint_result([one.fit_result_ for one in estimators])
        self.objective_ = self.fit_result_.objective
        self.n_features_in_ = first.n_features_in_
        if hasattr(first, "feature_names_in_"):
            self.feature_names_in_ = first.feature_names_in_

    def _check_has_posterior(self) -> None:
        check_is_fitted(self, "classes_")
        if self.classes_.size > 2:
            raise SeveralTermsError(
                f"each of the {self.classes_.size} labels has {self._of_labels} of its own; ask "
                "model.estimators_[k], the model of y == classes_[k]; classes_ has "
                f"{listed(self.classes_)}"
            )
        super()._check_has_posterior()

    def decision_function(self, X: Any) -> Array:
        """The logarithm of the odds of the second label, or a column for each label if there are more.

        Of the probabilities that `predict_proba` gives: averaged over what is not known of the latent
        function they are nearer to even odds than its mean, to which terms add up.
        """
        check_is_fitted(self, "classes_")
        if self.classes_.size == 2:
            # Not by probabilities, which round to one long before the odds are infinite.
            link, latent = LINKS[self.link_], self._latent(X)
            yes, no = np.ones_like(latent[0]), np.zeros_like(latent[0])
            return link.log_predictive(yes, *latent) - link.log_predictive(no, *latent)
        p = np.clip(self.predict_proba(X), SMALLEST, 1.0 - SMALLEST)
        odds: Array = np.log(p) - np.log1p(-p)
        return odds

    def predict_proba(self, X: Any) -> Array:
        """The probability of each of `classes_`, averaged over what is not known of the latent function."""
        check_is_fitted(self, "classes_")
        if self.classes_.size > 2:
            return np.exp(self._log_probabilities(read_table(X)))
        p = LINKS[self.link_].probability(*self._latent(X))
        return np.column_stack([1.0 - p, p])

    def predict(self, X: Any) -> Array:
        """The most likely label of each row."""
        most_likely = np.argmax(self.predict_proba(X), axis=1)
        labels: Array = self.classes_[most_likely]
        return labels

    def predict_dataset(self, data: Any) -> Iterator[Array]:
        """The probabilities of `predict_proba` for data that need not fit in memory.

        data is what `fit_dataset` takes but for dataframes; there is one array for each row group.
        """
        return (self.predict_proba(rows) for rows in self.pieces(data))

    def pieces(self, data: Any, more: Sequence[str] = ()) -> Iterator[Table]:
        """The columns that the model knows of a data set larger than memory, and more, by row group."""
        check_is_fitted(self, "classes_")
        # The models of the labels are fitted to the same columns.
        many = self.classes_.size > 2
        return self.estimators_[0].pieces(data, more) if many else super().pieces(data, more)

    def log_predictive_density(self, X: Any, y: Any) -> Array:
        """log p(y | x) for each row: the logarithm of the probability of the label that it has."""
        check_is_fitted(self, "classes_")
        table = read_table(X)
        codes = codes_of(y, self.classes_, table.n_rows)
        if self.classes_.size == 2:
            return self._log_probability(table, codes)
        value: Array = self._log_probabilities(table)[np.arange(codes.size), codes]
        return value

    def _log_probabilities(self, table: Table) -> Array:
        """log p of each of more than two labels: those of their models, so that they add up to one."""
        yes = np.ones(table.n_rows)
        each = np.column_stack([one._log_probability(table, yes) for one in self.estimators_])
        divided: Array = each - logsumexp(each, axis=1, keepdims=True)
        return divided

    def _log_probability(self, table: Table, codes: Array) -> Array:
        """log p of the first label where the code is 0, of the second where it is 1.

        Not the logarithm of a probability, which is zero in floating point where the model is very wrong.
        """
        return LINKS[self.link_].log_predictive(codes.astype(float), *self._latent(table))

    def _latent(self, X: Any) -> tuple[Array, Array]:
        """Mean and variance of what the link reads; what pruning took away is unknown too."""
        encoded = self._encode(X)
        mean = self.target_scale_.inverse(self.posterior_.mean(encoded))
        return mean, self.posterior_.variance(encoded) + self.posterior_.noise

    def check(self, X: Any, y: Any) -> Checks:
        """Whether the probabilities are right, on rows with labels that the model has not seen.

        Calibration in 20 bins and residuals; how near to normal the columns of numbers are that were bent to
        be so; and how the fit went.
        """
        self._check_has_posterior()
        table = read_table(X)
        codes = codes_of(y, self.classes_, table.n_rows)
        return self._checks(checks_of_labels(codes, self.predict_proba(table)[:, 1]))


def base_value(link: str, target: Target) -> float:
    """The latent value at which the link gives the part that the second label has of all rows."""
    powers = np.ones(target.y.size) if target.power is None else target.power
    # Sums that are right to the last digit: neither the order of rows nor their repetition changes them.
    part = math.fsum(powers * target.y) / math.fsum(powers)
    inverse = {"logit": logit, "probit": ndtri}[link]
    return float(inverse(np.clip(part, SMALLEST, 1.0 - SMALLEST)))


def joint_result(results: Sequence[FitResult]) -> FitResult:
    """How the fits for several labels went: sums, and the worst status; of what is no failure, the first."""
    failed = [result.status for result in results if result.status is not Status.CONVERGED]
    inducing = [result.inducing for result in results if result.inducing is not None]
    return FitResult(
        status=Status.STUCK if Status.STUCK in failed else failed[0] if failed else Status.CONVERGED,
        objective=sum(result.objective for result in results),
        evaluations=sum(result.evaluations for result in results),
        seconds=sum(result.seconds for result in results),
        jitter=max(result.jitter for result in results),
        starts=(),
        rows=results[0].rows,
        inducing=max(inducing) if inducing else None,
        orthogonal=max(result.orthogonal for result in results),
    )
