"""An explanation: plain data about a model, or about its predictions for some rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from termwise.errors import TermError
from termwise.explain.effects import DRAWN, Effect, band_end
from termwise.explain.plain import frame_of, plain
from termwise.explain.runnable import Runnable
from termwise.explain.terms import column_names, found_term
from termwise.measures.base import Array

NEGLIGIBLE = 1e-6  # of the largest number that stands beside it


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
    explains: str = ""  # of what `explained` is a part, in words
    named: bool = False  # whether the effects are those that were asked for

    def __repr__(self) -> str:
        """How much is explained, and the leading terms, in one line."""
        leading = ", ".join(f"{row['term']} {row['share']:.1%}" for row in self.sobol[:3])
        if not self.explains:
            return f"<Explanation of {self.counted}: {leading}>"
        of_that = f"; of that {leading}" if leading else ""
        part = "nothing" if not len(self.sobol) else f"{self.explained:.1%}"
        explain = "explains" if len(self.sobol) == 1 else "explain"
        return f"<Explanation of {self.counted}, which {explain} {part} of {self.explains}{of_that}>"

    @property
    def counted(self) -> str:
        """How many terms there are, or how many of them are listed."""
        count = len(self.sobol)
        if self.runs is not None and not self.runs.complete:
            return f"very many terms ({count} of low order are listed)"
        return "1 term" if count == 1 else f"{count} terms"

    def frame(self) -> Any:
        """The ranked terms as a pandas data frame."""
        return frame_of({name: self.sobol[name] for name in self.sobol.dtype.names or ()})

    def effect(self, name: str) -> Effect:
        """The effect of one term: "age", or "age:income", in any order of the features."""
        drawn = {effect.term.name: effect for effect in self.effects}
        term = found_term(name, self.sobol["term"].tolist())
        if term not in drawn:
            raise TermError(
                f"the term {term!r} is not among the effects that were asked for; ask for it with "
                f"explain(terms=[{term!r}])"
            )
        return drawn[term]

    def to_dict(self) -> dict[str, Any]:
        """Plain data that JSON can write; NaN becomes None."""
        rows = [{name: plain(row[name]) for name in self.sobol.dtype.names or ()} for row in self.sobol]
        return {
            "explained": plain(self.explained),
            "terms": rows,
            "order_shares": plain(self.order_shares),
            "effects": [effect.to_dict() for effect in self.effects],
        }

    def plot(self, **style: Any) -> Any:
        """Draw the effects of the leading terms; returns a matplotlib figure."""
        from termwise.display.effects import EffectsDisplay

        picture = EffectsDisplay(self).plot(**style).figure_
        self._warn_of_leading_terms()
        return picture

    def _warn_of_leading_terms(self) -> None:
        """A picture that lacks what is larger than all that it shows should not pass for the whole."""
        if self.named:
            return
        first = self.sobol[0]
        if first["order"] > DRAWN:
            warnings.warn(
                f"the term {first['term']!r} has {first['share']:.0%} of what is explained and is not drawn, "
                f"as it is of {first['order']} features; explain(terms=[...]) draws terms of three, and "
                "explain(X) tells of single rows",
                stacklevel=3,
            )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Show the page in a notebook."""
        if self.runs is None:
            return {"text/plain": repr(self)}
        shown: dict[str, str] = self.report()._repr_mimebundle_()
        return {**shown, "text/plain": repr(self)}

    def report(self, path: Any = None, **told: Any) -> Any:
        """A page that shows the model and in which it runs, as one file; written to `path` if it is given.

        Besides a title it can be told more (`Report`): rows is what `explain` says of some rows; checks,
        scores and concurvity what `check`, `cumulative_score` and `concurvity` say of new rows.
        """
        from termwise.report import Report

        made = Report(self, **told)
        if path is not None:
            made.write_html(path)
        return made


@dataclass(frozen=True, eq=False)
class LocalExplanation:
    """What each term adds to the prediction of each row: prediction = constant + sum of the terms.

    With the scale "probability" a contribution is what the term alone does to the probability `constant`:
    these do not add up, and have no `std` but a `band` of its lower and upper ends. `index` names the rows,
    if they were those of a pandas frame; `quantity` says what the numbers are, if not the target itself.
    Where terms add up to a latent value or a logarithm, `outcomes` is what is predicted for each row, and
    `outcome` its name, such as "probability of yes".
    """

    terms: tuple[str, ...]
    constant: float
    contributions: Array
    std: Array | None
    predictions: Array
    band: tuple[Array, Array] | None = None
    scale: str = "target"
    index: Any = None
    quantity: str = ""
    outcomes: Array | None = None
    outcome: str = ""

    @property
    def low(self) -> Array:
        """The lower end of the band of each contribution."""
        return band_end(self.contributions, self.std, self.band, 0)

    @property
    def high(self) -> Array:
        """The upper end of the band of each contribution."""
        return band_end(self.contributions, self.std, self.band, 1)

    def outcome_text(self, row: int) -> str:
        """What is predicted for a row, if not the sum of its terms: "probability of yes: 81.2 %"."""
        if self.outcomes is None:
            return ""
        value = float(self.outcomes[row])
        return f"{self.outcome}: " + (f"{100.0 * value:.3g} %" if self.scale == "latent" else f"{value:.4g}")

    @property
    def negligible(self) -> float:
        """A size below which a number is zero to a reader, being rounding or next to it."""
        parts = (self.contributions, self.predictions, np.array([self.constant]))
        largest = max(float(np.max(np.abs(part), initial=0.0)) for part in parts)
        # Odds and logarithms have a unit of their own; that of a target is not known.
        return NEGLIGIBLE * (largest if self.scale == "target" else max(largest, 1.0))

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
        columns = {**fixed, **dict(zip(names, self.contributions.T, strict=True))}
        return frame_of(columns, self.index)

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
