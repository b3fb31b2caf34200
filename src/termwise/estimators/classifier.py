"""Classification: the probability of each label is predicted. No estimator is made public from here yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from termwise.encode.scale import Standardise
from termwise.errors import OptionError, TargetError
from termwise.estimators.base import AdditiveModel
from termwise.estimators.options import one_column, one_of
from termwise.estimators.targets import Target
from termwise.likelihoods import Logit, Probit
from termwise.measures.base import Array
from termwise.posterior.noise import Noise
from termwise.table import read_table

LINKS: dict[str, Logit | Probit] = {"logit": Logit(), "probit": Probit()}
# The variance of what a yes or no adds to the latent value, as if it were cut at zero.
LATENT_NOISE = {"logit": float(np.pi**2 / 3.0), "probit": 1.0}


class AdditiveClassifier(ClassifierMixin, AdditiveModel):
    """Abstract: classification by a latent sum of terms. Subclasses say which kernel and which orders.

    With more than two labels there is one model for each against the rest, in `estimators_`.
    """

    link: str
    class_weight: Any

    def _check_options(self) -> None:
        super()._check_options()
        one_of("link", self.link, tuple(LINKS))
        if not (self.class_weight is None or isinstance(self.class_weight, Mapping)):
            one_of("class_weight", self.class_weight, ("balanced",))

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a table and labels of any kind.

        Terms are on the latent scale: the logarithm of the odds with `link="logit"`. A row of weight two is
        two equal rows, one of weight zero is none, and the order of the rows changes nothing; equal rows
        without missing cells cost no more than one.
        """
        self._check_options()
        table = read_table(X)
        self.classes_, codes = _classes(y, table.n_rows)
        weight = _weights(self.class_weight, self.classes_, codes, sample_weight)
        if self.classes_.size > 2:
            return self._fit_each(X, codes, weight)
        encoder, found = self._learn(table, Target(codes.astype(float), LINKS[self.link], weight))
        self._keep(found, encoder, Standardise(0.0, 1.0))
        self.noise_ = Noise.normal(LATENT_NOISE[self.link])
        return self

    def _fit_each(self, X: Any, codes: Array, weight: Array | None) -> Self:
        self.estimators_ = []
        for code in range(self.classes_.size):
            one = clone(self).set_params(class_weight=None)
            self.estimators_.append(one.fit(X, codes == code, sample_weight=weight))
        first = self.estimators_[0]
        self.n_features_in_ = first.n_features_in_
        if hasattr(first, "feature_names_in_"):
            self.feature_names_in_ = first.feature_names_in_
        return self

    def decision_function(self, X: Any) -> Array:
        """The logarithm of the odds of the second label, or a column for each label if there are more."""
        p = self.predict_proba(X)
        odds: Array = np.log(p) - np.log1p(-p)
        return odds if self.classes_.size > 2 else odds[:, 1]

    def predict_proba(self, X: Any) -> Array:
        """The probability of each of `classes_`, averaged over what is not known of the latent function."""
        check_is_fitted(self, "classes_")
        if self.classes_.size > 2:
            each = np.column_stack([one.predict_proba(X)[:, 1] for one in self.estimators_])
            total: Array = each / np.sum(each, axis=1, keepdims=True)
            return total
        encoded = self._encode(X)
        variance = self.posterior_.variance(encoded) + self.posterior_.noise
        p = LINKS[self.link].probability(self.posterior_.mean(encoded), variance)
        return np.column_stack([1.0 - p, p])

    def predict(self, X: Any) -> Array:
        """The most likely label of each row."""
        most_likely = np.argmax(self.predict_proba(X), axis=1)
        labels: Array = self.classes_[most_likely]
        return labels


def _classes(y: Any, n_rows: int) -> tuple[Array, Array]:
    """The labels in order, and their positions."""
    if y is None:
        raise TargetError(
            "fit requires y to be passed, but the target y is None; give one label for each row"
        )
    labels = one_column(np.asarray(y))
    if labels.ndim != 1 or labels.size != n_rows:
        raise TargetError(
            f"the target has the shape {labels.shape}, but the table has {n_rows} rows; give "
            "one label for each row"
        )
    kinds = {type(label).__name__ for label in labels.tolist()}
    missing = [i for i, label in enumerate(labels.tolist()) if label is None or label != label]
    if missing:
        raise TargetError(f"the label of row {missing[0]} is missing or NaN; leave such rows out")
    if "str" in kinds and len(kinds) > 1:
        raise TargetError(f"the labels are of the types {', '.join(sorted(kinds))}; give all of them as one")
    try:
        check_classification_targets(labels)
    except ValueError as error:
        raise TargetError(f"{error}; use a regressor for numbers") from None
    classes, codes = np.unique(labels, return_inverse=True)
    if classes.size < 2:
        raise TargetError(
            f"all rows have the label {classes.tolist()[0]!r}: one class, expected at least two; check "
            "that the right column is the target"
        )
    return classes, codes


def _weights(class_weight: Any, classes: Array, codes: Array, sample_weight: Any) -> Array | None:
    """The weight of every row, or None if all count alike."""
    weight = None
    if sample_weight is not None:
        weight = np.broadcast_to(np.asarray(sample_weight, dtype=float), codes.shape).copy()
        if not np.all(np.isfinite(weight)) or np.any(weight < 0.0):
            raise OptionError("sample_weight has weights that are negative or not finite; use zero or more")
        if np.sum(weight) <= 0.0:
            raise OptionError("sample_weight is zero in every row; some row must count")
    if class_weight is not None:
        try:
            each = compute_class_weight(class_weight, classes=classes, y=classes[codes])
        except ValueError as error:
            raise OptionError(f"class_weight is {class_weight!r}; {error}") from None
        if np.any(each < 0.0) or not np.any(each > 0.0):
            raise OptionError(f"class_weight is {class_weight!r}; use weights of zero or more, not all zero")
        weight = each[codes] * (1.0 if weight is None else weight)
    return weight
