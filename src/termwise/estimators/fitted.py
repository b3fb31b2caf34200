"""What all models share: a fitted posterior, the way of a table into it, and the way out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from termwise.encode.encoder import RowEncoder
from termwise.encode.scale import Standardise
from termwise.explain.checks import Checks, FitCheck, column_checks
from termwise.inference.fit import Fit
from termwise.measures.base import Array
from termwise.table import Table, open_dataset, read_table


class FittedModel(BaseEstimator):
    """Abstract: a fitted posterior with the way into it, `encoder_`, and out of it, `target_scale_`."""

    def _keep(self, found: Fit, encoder: RowEncoder, scale: Standardise) -> None:
        self.encoder_: Any
        self.encoder_, self.posterior_, self.target_scale_ = encoder, found.posterior, scale
        self.noise_ = found.noise
        self.fit_result_, self.objective_ = found.result, found.result.objective
        self.n_features_in_ = len(encoder.schema)
        if encoder.schema.named:
            self.feature_names_in_ = np.array(encoder.schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _check_has_posterior(self) -> None:
        """Refuse what needs one posterior to a model that is not fitted, or that has several."""
        check_is_fitted(self, "posterior_")

    def _encode(self, X: Any) -> Array:
        self._check_has_posterior()
        return self.encoder_.transform(read_table(X), owner=type(self).__name__)

    def pieces(self, data: Any, more: Sequence[str] = ()) -> Iterator[Table]:
        """The columns that the model knows of a data set larger than memory, and more, by row group."""
        check_is_fitted(self, "posterior_")
        known = {*self.encoder_.schema.names, *more}
        chunks = open_dataset(data)  # now: a wrong path should not wait for the first row
        return (
            chunk.read([name for name in chunk.names if name in known] or chunk.names) for chunk in chunks
        )

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
