"""Classification: the probability of each label is predicted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from termwise.encode.scale import Standardise
from termwise.estimators.base import AdditiveModel
from termwise.estimators.labels import classes_of, weights_of
from termwise.estimators.options import one_of
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

        Terms are on the latent scale: the logarithm of the odds with `link="logit"`.
        """
        self._check_options()
        table = read_table(X)
        self.classes_, codes = classes_of(y, table.n_rows)
        weight = weights_of(self.class_weight, self.classes_, codes, sample_weight)
        if self.classes_.size > 2:
            return self._fit_each(X, codes, weight)
        encoder, found = self._learn(table, codes.astype(float), LINKS[self.link], weight)
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

