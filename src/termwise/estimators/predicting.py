"""Predicting a number, with its standard deviation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from termwise.errors import OptionError
from termwise.estimators.fitted import FittedModel
from termwise.estimators.options import finite_target
from termwise.estimators.runs import outcome_of
from termwise.estimators.targets import (
    NORMAL,
    checked_counts,
    checked_exposure,
    refuse_exposure,
)
from termwise.estimators.terms import TermModel
from termwise.explain.checks import Checks, checks_of_numbers
from termwise.explain.cumulative import CumulativeScore
from termwise.explain.distribution import (
    count_distribution,
    normal_distribution,
    randomised,
    student_distribution,
)
from termwise.explain.explanation import LocalExplanation
from termwise.likelihoods import Likelihood, Poisson, Student
from termwise.measures.base import Array


class PosteriorRegressor(RegressorMixin, FittedModel):
    """Abstract: what a posterior predicts of a number, and how well."""

    likelihood_: Likelihood | None
    exposed_: bool

    def predict(self, X: Any, *, return_std: bool = False, exposure: Any = None) -> Any:
        """The mean for each row, and with return_std the standard deviation of a new observation there.

        Both in the units of the target. Columns are matched by name; a missing cell or an unseen level
        leaves out the terms that need it, and adds their variance. Where a model is of all columns at once,
        along directions or on the sphere, it stands at the mean, and adds nothing; of networks it stands
        there too, and adds how far off that may be.
        Counts are those of this exposure, of one if none is given: their mean is that of the rate over what
        is not known of it, and their standard deviation has both. With `likelihood="student"` the standard
        deviation is that of the rows without the outliers: of a normal with the same middle 68 %.
        """
        encoded = self._encode(X)
        if isinstance(self.likelihood_, Poisson):
            mean, variance = self.likelihood_.moments(*self._latent(encoded, exposure))
            return (mean, np.sqrt(variance)) if return_std else mean
        self._refuse_exposure(exposure)
        mean = self.target_scale_.inverse(self.posterior_.mean(encoded))
        if not return_std:
            return mean
        variance = self.posterior_.variance(encoded) + self.noise_.variance
        return mean, self.target_scale_.scale * np.sqrt(variance)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, exposure: Any = None) -> float:
        """R² of the predictions, as of all regressors of scikit-learn; of counts those of this exposure."""
        predicted = self.predict(X, exposure=exposure)
        self._check_comparable(exposure)
        return float(r2_score(y, predicted, sample_weight=sample_weight))

    def _latent(self, encoded: Array, exposure: Any = None) -> tuple[Array, Array]:
        """Mean and variance of what the likelihood reads; what pruning took away is unknown too."""
        mean = self.posterior_.mean(encoded)
        if isinstance(self.likelihood_, Poisson):
            mean = self.target_scale_.inverse(mean) + np.log(checked_exposure(exposure, len(encoded)))
        return mean, self.posterior_.variance(encoded) + self.posterior_.noise

    def _check_comparable(self, exposure: Any) -> None:
        """Refuse to hold a rate against counts."""
        if self.exposed_ and exposure is None:
            raise OptionError(
                "the model was fitted with an exposure, so that it predicts a rate, and the targets are "
                "counts; pass exposure=, one number above zero for each row (--exposure on the command line)"
            )

    def _refuse_exposure(self, exposure: Any) -> None:
        refuse_exposure("student" if isinstance(self.likelihood_, Student) else NORMAL, exposure)

    def predict_dataset(self, data: Any, *, exposure: str | None = None) -> Iterator[tuple[Array, Array]]:
        """Mean and standard deviation as `predict` gives them, for data that need not fit in memory.

        data is what `fit_dataset` takes but for dataframes; there is one pair of arrays for each row group.
        exposure names the column that has the exposure of counts.
        """
        more = () if exposure is None else (exposure,)
        return (
            self.predict(rows, return_std=True, exposure=None if exposure is None else rows.column(exposure))
            for rows in self.pieces(data, more)
        )

    def log_predictive_density(self, X: Any, y: Any, *, exposure: Any = None) -> Array:
        """log p(y | x) for each row, in the units of the target; of counts their log probability.

        With enough rows the shape of the scatter about the function is learned too: it may have heavier tails
        than a normal with the standard deviation that `predict` gives, or be skewed, or end.
        """
        encoded = self._encode(X)
        values = self._targets(y, len(encoded), exposure)
        if isinstance(self.likelihood_, Poisson):
            return self.likelihood_.log_predictive(values, *self._latent(encoded, exposure))
        return self._log_density(values, self.posterior_.mean(encoded), self.posterior_.variance(encoded))

    def _log_density(self, values: Array, mean: Array, variance: Array) -> Array:
        """log p of numbers where the function has this mean and this variance, both standardised."""
        target = self.target_scale_.forward(values)
        if self.likelihood_ is not None:
            density = self.likelihood_.log_predictive(target, mean, variance + self.posterior_.noise)
        else:
            density = self.noise_.log_density(target - mean, variance)
        value: Array = density - np.log(self.target_scale_.scale)
        return value

    def check(self, X: Any, y: Any, *, exposure: Any = None) -> Checks:
        """Whether the model is as sure as it may be, on rows with targets that it has not seen.

        Coverage of central intervals, the histogram of P(new observation <= target), and residuals; how near
        to normal the columns of numbers are that were bent to be so; and how the fit went. Counts are
        randomised between P(< y) and P(<= y), always alike.
        """
        encoded = self._encode(X)
        values = self._targets(y, len(encoded), exposure)
        predicted, sd = self.predict(X, return_std=True, exposure=exposure)
        return self._checks(
            checks_of_numbers(self._distribution(encoded, values, exposure), values - predicted, sd)
        )

    def _targets(self, y: Any, n_rows: int, exposure: Any) -> Array:
        if isinstance(self.likelihood_, Poisson):
            self._check_comparable(exposure)
            return checked_counts(y, n_rows)
        self._refuse_exposure(exposure)
        return finite_target(y, n_rows)

    def _distribution(self, encoded: Array, values: Array, exposure: Any) -> Array:
        """P(new observation <= value) for each row."""
        if isinstance(self.likelihood_, Poisson):
            latent = self._latent(encoded, exposure)
            upto = count_distribution(self.likelihood_, values, *latent)
            below = count_distribution(self.likelihood_, np.ceil(values) - 1.0, *latent)
            return randomised(below, upto, seed=0)
        target = self.target_scale_.forward(values)
        if isinstance(self.likelihood_, Student):
            return student_distribution(self.likelihood_, target, *self._latent(encoded))
        residuals = target - self.posterior_.mean(encoded)
        return normal_distribution(self.noise_, residuals, self.posterior_.variance(encoded))


class TermRegressor(PosteriorRegressor, TermModel):
    """Abstract: the same of a posterior that is a sum of terms."""

    def cumulative_score(
        self, X: Any, y: Any, *, n_terms: int | None = None, exposure: Any = None
    ) -> CumulativeScore:
        """The score of the constant and the leading terms alone, one more at a time, on rows with targets.

        The root mean squared error, with the mean log density besides it; of counts the mean log density.
        """
        encoded = self._encode(X)
        values = self._targets(y, len(encoded), exposure)
        exposures = checked_exposure(exposure, len(encoded))

        def scores(mean: Array, variance: Array) -> dict[str, float]:
            found = self.target_scale_.inverse(mean)
            if isinstance(self.likelihood_, Poisson):
                latent = (found + np.log(exposures), variance + self.posterior_.noise)
                return {"mean log density": float(np.mean(self.likelihood_.log_predictive(values, *latent)))}
            density = float(np.mean(self._log_density(values, mean, variance)))
            return {"rmse": float(np.sqrt(np.mean((values - found) ** 2))), "mean log density": density}

        return self._cumulative(encoded, scores, n_terms)

    def _explain_rows(self, X: Any) -> LocalExplanation:
        rows = super()._explain_rows(X)
        if not isinstance(self.likelihood_, Poisson):
            return rows
        rows = replace(rows, scale="logarithm", quantity="logarithm of the rate")
        return replace(rows, outcomes=self.predict(X), outcome=outcome_of(self))

    def _kind(self) -> tuple[str, float]:
        if isinstance(self.likelihood_, Poisson):
            return "poisson", self.posterior_.noise
        return super()._kind()

    def _quantity(self) -> tuple[str, str]:
        if isinstance(self.likelihood_, Poisson):
            return "change in logarithm of", "rate"
        return super()._quantity()
