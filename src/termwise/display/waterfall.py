"""From the constant to the prediction of one row, term by term."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from termwise.display.base import Display
from termwise.display.interactive_bars import waterfall_figure
from termwise.display.parts import value_text
from termwise.display.style import LONGEST, Style, given_axes, new_figure, style_from
from termwise.errors import OptionError
from termwise.explain.effects import BAND
from termwise.explain.explanation import LocalExplanation
from termwise.measures.base import Array
from termwise.table import Table, read_table, shortened

BAR_HEIGHT = 0.36  # inches
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Steps:
    """From `constant` to `prediction`: what each step adds, with the half of its band (NaN if not known).

    `outcome` says what the prediction is in the units of the target, if these are others; numbers smaller
    than `negligible` are written as zero.
    """

    labels: tuple[str, ...]
    added: Array
    half: Array
    constant: float
    prediction: float
    outcome: str = ""
    negligible: float = 0.0

    @property
    def names(self) -> list[str]:
        """What stands beside the bars, from the constant to the prediction."""
        return ["constant", *self.labels, f"prediction\n{self.outcome}" if self.outcome else "prediction"]

    @property
    def texts(self) -> list[str]:
        """The numbers that stand at the ends of the bars."""
        added = [f"{value:+.3g}" if self._counts(value) else "0" for value in self.added]
        ends = [f"{v:.4g}" if self._counts(v) else "0" for v in (self.constant, self.prediction)]
        return [ends[0], *added, ends[1]]

    def _counts(self, value: float) -> bool:
        return abs(value) >= max(self.negligible, TINY)

    @property
    def starts(self) -> Array:
        """Where each step begins."""
        starts: Array = self.constant + np.concatenate([[0.0], np.cumsum(self.added)[:-1]])
        return starts


class WaterfallDisplay(Display):
    """What the leading terms add to the constant for one row, and the others together.

    Whiskers are two standard deviations of a term to either side of where its bar ends. Terms add up on the
    latent scale of a classifier and on the logarithm of a rate, so these are what is drawn; the probability
    or the rate that they come to stands beside the prediction. `plot` writes `figure_` and `axes_`.
    """

    def __init__(
        self,
        local: LocalExplanation,
        *,
        row: int = 0,
        n_terms: int = 8,
        values: Mapping[str, str] | None = None,
    ) -> None:
        self.local = local
        self.row = row
        self.n_terms = n_terms
        self.values = dict(values or {})

    @classmethod
    def from_estimator(cls, model: Any, X: Any, *, row: int = 0, n_terms: int = 8) -> Self:
        """Explain one row of a table; features are shown with their values."""
        table = read_table(X)
        place = _position(row, table.n_rows)
        one = table.rows(np.array([place]))
        return cls(model.explain(one), n_terms=n_terms, values=_values(one))

    def plot(self, *, ax: Any = None, **style: Any) -> Self:
        """Draw into `ax`, or into a new figure.

        Style: `target` names what is predicted; bars that add have `second_colour`, those that take away
        `colour`; a new figure is twice `panel_width` wide, in inches.
        """
        look, steps = style_from(style), self.steps()
        if ax is None:
            ax = new_figure(2.0 * look.panel_width, 1.0 + BAR_HEIGHT * (len(steps.labels) + 2)).add_subplot()
        self.axes_ = given_axes(ax, 1)
        self.figure_ = self.axes_[0].figure
        _draw(self.axes_[0], steps, look)
        self.axes_[0].set_xlabel(self._label(look))
        return self

    def plotly(self, **style: Any) -> Any:
        """The same as a Plotly figure; style as in `plot`."""
        look = style_from(style)
        return waterfall_figure(self.steps(), self._label(look), look)

    def steps(self) -> Steps:
        """The leading terms of the row by the size of what they add, then the rest."""
        local = self.local
        if local.scale == "probability":
            raise OptionError("changes in probability do not add up; explain the rows with scale='latent'")
        row = _position(self.row, len(local.contributions))
        added = local.contributions[row]
        std = np.full(added.shape, np.nan) if local.std is None else local.std[row]
        order = np.argsort(-np.abs(added), kind="stable")
        leading, rest = order[: self.n_terms], order[self.n_terms :]
        labels = [self._named(local.terms[i]) for i in leading]
        values, halves = [*added[leading]], [*(BAND * std[leading])]
        if rest.size:
            labels.append(f"{rest.size} other terms" if rest.size > 1 else self._named(local.terms[rest[0]]))
            values.append(float(np.sum(added[rest])))
            # terms are not independent of each other, so the band of a sum is not known from theirs
            halves.append(BAND * float(std[rest[0]]) if rest.size == 1 else np.nan)
        return Steps(
            tuple(labels),
            np.array(values),
            np.array(halves),
            local.constant,
            float(local.predictions[row]),
            local.outcome_text(row),
            local.negligible,
        )

    def _named(self, term: str) -> str:
        return f"{term} = {self.values[term]}" if term in self.values else term

    def _label(self, look: Style) -> str:
        if self.local.quantity:
            return f"{self.local.quantity} ({look.target})" if look.target else self.local.quantity
        return look.target or "prediction"


def _values(one: Table) -> dict[str, str]:
    """The cells of a row by the names that terms of one feature have."""
    cells = zip(one.names, one.columns, strict=True)
    return {f"`{name}`" if ":" in name else name: value_text(column[0]) for name, column in cells}


def _position(row: int, n_rows: int) -> int:
    if not -n_rows <= row < n_rows:
        raise OptionError(f"row is {row}, and there are {n_rows} rows; use one from 0 to {n_rows - 1}")
    return row % n_rows


def _draw(ax: Any, steps: Steps, look: Style) -> None:
    places, starts = 1.0 + np.arange(len(steps.labels)), steps.starts
    ends = starts + steps.added
    colours = [look.second_colour if value > 0.0 else look.colour for value in steps.added]
    ax.barh(places, steps.added, left=starts, color=colours, alpha=0.6, height=0.7)
    known = ~np.isnan(steps.half)
    ax.hlines(
        places[known], (ends - steps.half)[known], (ends + steps.half)[known], color="0.2", linewidth=1.5
    )
    last = len(places) + 1.0
    # each bar begins where the one above it ended
    stops = np.concatenate([[steps.constant], ends])
    ax.vlines(stops, np.arange(len(stops)), 1.0 + np.arange(len(stops)), color="0.6", linewidth=0.8)
    ax.plot([steps.constant, steps.prediction], [0.0, last], "D", color="0.2", markersize=6)
    right = np.maximum(np.maximum(starts, ends), np.where(known, ends + steps.half, -np.inf))
    for place, x, text in zip(
        [0.0, *places, last], [steps.constant, *right, steps.prediction], steps.texts, strict=True
    ):
        ax.annotate(text, (x, place), (7, 0), textcoords="offset points", va="center", fontsize="small")
    ax.set_yticks([0.0, *places, last], labels=[shortened(name, LONGEST) for name in steps.names])
    ax.invert_yaxis()
    ax.use_sticky_edges = False  # the first bar begins at the constant, which needs room on its left
    ax.margins(x=0.12)
    ax.spines[["top", "right"]].set_visible(False)
