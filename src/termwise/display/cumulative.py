"""How few terms predict as well as all of them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from termwise.display.base import Display
from termwise.display.interactive_bars import cumulative_figure
from termwise.display.style import given_axes, new_figure, style_from
from termwise.explain.cumulative import CumulativeScore
from termwise.measures.base import Array

TERM_WIDTH = 0.32  # inches for each name of a term
CONSTANT = "constant"
ABBREVIATIONS = {"rmse": "RMSE", "auc": "AUC"}


class CumulativeDisplay(Display):
    """The score against the number of terms, those with the largest shares first. OAK figures 5 and 6.

    A broken line is the score of the whole model; another, if `shares` are given, the sum of the shares so
    far. `plot` writes `figure_` and `axes_`.
    """

    def __init__(self, score: CumulativeScore, *, shares: Array | None = None, n_terms: int = 15) -> None:
        self.score = score
        self.shares = shares
        self.n_terms = n_terms

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, n_terms: int = 15) -> Self:
        """Score the leading terms of a fitted model on rows that it has not seen, with their targets."""
        score = model.cumulative_score(X, y, n_terms=n_terms)
        share = {name: float(value) for name, value in model.sobol_[["term", "share"]].tolist()}
        return cls(score, shares=np.array([share[term] for term in score.terms]), n_terms=n_terms)

    def plot(self, *, ax: Any = None, **style: Any) -> Self:
        """Draw into `ax`, or into a new figure.

        Style: `colour` is that of the score, `second_colour` that of the shares; `panel_width` and
        `panel_height` are in inches, and the width grows with the number of terms.
        """
        look = style_from(style)
        labels, scores, shares = self._shown()
        if ax is None:
            width = max(look.panel_width, 1.4 + TERM_WIDTH * len(labels))
            ax = new_figure(width, look.panel_height + 0.6).add_subplot()
        self.axes_ = given_axes(ax, 1)
        self.figure_ = self.axes_[0].figure
        [ax] = self.axes_
        places = np.arange(len(labels))
        ax.plot(places, scores, "o-", color=look.colour, markersize=4, label=self._name())
        ax.axhline(self.score.whole, color=look.colour, linestyle="--", linewidth=1.0, label="all terms")
        ax.set_xticks(places, labels=labels, rotation=90.0, fontsize="small")
        ax.set_ylabel(self._name())
        ax.spines["top"].set_visible(False)
        handles = ax.get_legend_handles_labels()
        if shares is not None:
            beside = ax.twinx()
            beside.plot(places, 100.0 * shares, ":", color=look.second_colour, label="sum of shares")
            beside.set_ylim(-3.0, 103.0)
            beside.set_ylabel("sum of shares, %", color=look.second_colour)
            beside.spines["top"].set_visible(False)
            handles = tuple(a + b for a, b in zip(handles, beside.get_legend_handles_labels(), strict=True))
        else:
            ax.spines["right"].set_visible(False)
        ax.legend(*handles, fontsize="small", frameon=False, loc="center right")
        return self

    def plotly(self, **style: Any) -> Any:
        """The same as a Plotly figure; style as in `plot`."""
        look = style_from(style)
        labels, scores, shares = self._shown()
        return cumulative_figure(labels, (self._name(), scores, self.score.whole), shares, look)

    def _name(self) -> str:
        return ABBREVIATIONS.get(self.score.score, self.score.score)

    def _shown(self) -> tuple[list[str], Array, Array | None]:
        """The names of the steps, their scores and the sums of shares."""
        terms = list(self.score.terms[: self.n_terms])
        shares = None
        if self.shares is not None:
            shares = np.concatenate([[0.0], np.cumsum(self.shares)])[: len(terms) + 1]
        return [CONSTANT, *terms], np.asarray(self.score.scores)[: len(terms) + 1], shares
