"""Regression: a number is predicted, with its standard deviation."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any, Self

import numpy as np

from termwise.estimators.base import AdditiveModel
from termwise.estimators.dataset import Given, learn_dataset
from termwise.estimators.known import Wanted
from termwise.estimators.options import one_of
from termwise.estimators.predicting import TermRegressor
from termwise.estimators.targets import (
    LIKELIHOODS,
    NORMAL,
    latent_noise,
    prepared_target,
    refuse_exposure,
    target_column,
)
from termwise.table import read_table


class AdditiveRegressor(TermRegressor, AdditiveModel):
    """Abstract: regression by a sum of terms. Subclasses say which kernel and which orders."""

    likelihood: str

    def _check_options(self) -> None:
        super()._check_options()
        one_of("likelihood", self.likelihood, (NORMAL, *LIKELIHOODS))

    def fit(self, X: Any, y: Any, *, exposure: Any = None) -> Self:
        """Learn from a table and a target; any frame, numpy array or list of rows.

        Strings, booleans and categories are levels; empty cells are marginalised. Writes the attributes
        `encoder_`, `target_scale_`, `posterior_`, `noise_` (how observations scatter), `likelihood_` (with
        what was learned of it, None if it is normal), `exposed_` (whether counts had an exposure),
        `fit_result_`, `objective_` and `columns_` (what was chosen for each column).

        With `likelihood="poisson"` y are counts: numbers of zero or more. They need not be whole, as a mean
        of counts is not; then the likelihood is no density, but means and terms are as good. `exposure` is
        the time, area or number of cases behind each count, above zero: the rate is per unit of it. `noise_`
        is then log(1 + 1 / mean count), on the scale of the terms. With `likelihood="student"` it is how
        observations scatter, outliers aside, so that `explained_` is of the variance without them.
        """
        self._check_options()
        table = read_table(X)
        target, scale = prepared_target(self.likelihood, y, exposure, table.n_rows)
        encoder, found = self._learn(table, target)
        self._keep(found, encoder, scale)
        self.likelihood_, self.exposed_ = found.likelihood, exposure is not None
        if self.likelihood_ is not None:
            self.noise_ = latent_noise(self.likelihood_, float(np.mean(target.y)))
        return self

    def _has_sites(self) -> bool:
        return self.likelihood_ is not None

    def fit_dataset(
        self,
        data: Any,
        *,
        target: str,
        exposure: str | None = None,
        client: Any = None,
        executor: Executor | None = None,
        checkpoint: Any = None,
        resume: Any = None,
    ) -> Self:
        """Learn from data that need not fit in memory, or from the memory of a cluster.

        data is the path of a Parquet file or folder, a pattern such as "data/*.parquet", a list of these, a
        `pyarrow.dataset.Dataset`, or with client a Dask dataframe. Rows are read by row groups: once
        to see levels and ranges, then whenever the engine needs them. Encodings and measures come from a
        random sample of 256,000 rows. A data set small enough for the exact engine is read whole. With
        `likelihood="poisson"` exposure may name the column that has it.

        client is a `dask.distributed.Client` whose workers can read the files; executor any
        `concurrent.futures.Executor`. Without them the cores of this machine do the work. All give the same
        model.

        checkpoint is a folder to which the stochastic engine writes what it has come to, every so often. It
        means minibatches, however few rows there are: with inference="auto" the engine is "stochastic" then.
        After a fit was killed, the same call with resume= in its place goes on from there.
        """
        self._check_options()
        refuse_exposure(self.likelihood, exposure)
        wanted, given = Wanted(target, exposure=exposure), Given(data, client, executor, checkpoint, resume)
        with self._known(given, wanted, sites=self.likelihood != NORMAL) as task:
            columns = task.known.targets.columns
            if task.engine == "exact":
                return self.fit(task.known.sample, columns[0], exposure=columns[1] if exposure else None)
            column, scale = target_column(self.likelihood, task.known)
            likelihood = LIKELIHOODS.get(self.likelihood)
            encoder, self.columns_, found = learn_dataset(self, task, column, likelihood)
        self._keep(found, encoder, scale)
        self.likelihood_, self.exposed_ = found.likelihood, exposure is not None
        if self.likelihood_ is not None:
            self.noise_ = latent_noise(self.likelihood_, task.known.mean_target)
        return self

    def __sklearn_tags__(self) -> Any:
        """Say that counts are not negative."""
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.likelihood == "poisson"
        return tags
