"""An explanation: plain data about a model, or about its predictions for some rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from termwise.errors import OptionError
from termwise.explain.effects import Effect
from termwise.explain.runnable import Runnable
from termwise.explain.terms import column_names
from termwise.measures.base import Array


@dataclass(frozen=True, eq=False)
class Explanation:
    """The ranked terms of a model, their shares, and the effects of the leading ones.

    `explained` is the part of the target's variance that all terms explain together; of a classifier, the
    part of the variance of the latent value of which the sign decides the label.
    """

    sobol: np.ndarray
    order_shares: Array
    effects: tuple[Effect, ...]
    explained: float = np.nan
    runs: Runnable | None = None  # the model itself, for a page in which it can be tried

    def __repr__(self) -> str:
        """The leading terms in one line."""
        leading = ", ".join(f"{row['term']} {row['share']:.1%}" for row in self.sobol[:3])
        return f"<Explanation of {len(self.sobol)} terms: {leading}>"

    def frame(self) -> Any:
        """The ranked terms as a pandas data frame."""
        return _frame({name: self.sobol[name] for name in self.sobol.dtype.names or ()})

    def to_dict(self) -> dict[str, Any]:
        """Plain data that JSON can write; NaN becomes None."""
        rows = [{name: _plain(row[name]) for name in self.sobol.dtype.names or ()} for row in self.sobol]
        return {
            "explained": _plain(self.explained),
            "terms": rows,
            "order_shares": [_plain(share) for share in self.order_shares],
        }

    def plot(self, **style: Any) -> Any:
        """Draw the effects of the leading terms; returns a matplotlib figure."""
        from termwise.display.effects import EffectsDisplay

        return EffectsDisplay(self).plot(**style).figure_

    def report(
        self, path: Any = None, *, title: str | None = None, rows: Any = None, checks: Any = None
    ) -> Any:
        """A page that shows the model and in which it runs, as one file; written to `path` if it is given.

        rows is what `explain` says of some rows, checks what `check` says of rows that were not learned from.
        """
        from termwise.report import Report

        made = Report(self, title=title, rows=rows, checks=checks)
        if path is not None:
            made.write_html(path)
        return made


@dataclass(frozen=True, eq=False)
class LocalExplanation:
    """What each term adds to the prediction of each row: prediction = constant + sum of the terms.

    With the scale "probability" a contribution is what the term alone does to the probability `constant`:
    these do not add up, and have no `std` but a `band` of its lower and upper ends.
    """

    terms: tuple[str, ...]
    constant: float
    contributions: Array
    std: Array | None
    predictions: Array
    band: tuple[Array, Array] | None = None
    scale: str = "target"

    def __repr__(self) -> str:
        """How much there is."""
        return f"<LocalExplanation of {self.predictions.size} rows by {len(self.terms)} terms>"

    def frame(self) -> Any:
        """One row of the data frame for each row explained, one column for each term.

        A term called "prediction" or "constant" is in the column "prediction (term)" or "constant (term)".
        """
        constant = np.full(self.predictions.size, self.constant)
        fixed = {"prediction": self.predictions, "constant": constant}
        names = column_names(self.terms, tuple(fixed))
        return _frame({**fixed, **dict(zip(names, self.contributions.T, strict=True))})

    def to_dict(self) -> dict[str, Any]:
        """Plain data that JSON can write."""
        rows = [
            {
                "prediction": float(prediction),
                "terms": {n: float(v) for n, v in zip(self.terms, values, strict=True)},
            }
            for prediction, values in zip(self.predictions, self.contributions, strict=True)
        ]
        return {"scale": self.scale, "constant": self.constant, "rows": rows}


def _plain(value: Any) -> Any:
    if isinstance(value, (float, np.floating)):
        return None if np.isnan(value) else float(value)
    return int(value) if isinstance(value, np.integer) else value


def _frame(columns: dict[str, np.ndarray]) -> Any:
    try:
        import pandas as pd
    except ImportError:
        raise OptionError("frame() needs pandas; install it, or use to_dict()") from None
    return pd.DataFrame(columns)
