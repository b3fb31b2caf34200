"""How much each term explains, as a ranked bar chart."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from termwise.display.style import given_axes, new_figure, png, share_text, style_from
from termwise.errors import TermError
from termwise.explain.explanation import Explanation

BAR_HEIGHT = 0.32  # inches


class SharesDisplay:
    """A bar for the share of each of the leading terms, with a whisker from its 5 % to its 95 % point.

    `plot` writes `figure_` and `axes_`.
    """

    figure_: Any
    axes_: list[Any]

    def __init__(self, explanation: Explanation, *, n_terms: int = 12) -> None:
        self.explanation = explanation
        self.n_terms = n_terms

    @classmethod
    def from_estimator(cls, model: Any, *, n_terms: int = 12) -> Self:
        """Explain a fitted model."""
        return cls(model.explain(n_terms=0), n_terms=n_terms)

    def plot(self, *, axes: Any = None, **style: Any) -> Self:
        """Draw into `axes`, or into a new figure; `style` changes the fields of `Style`."""
        look, table = style_from(style), self.explanation.sobol[: self.n_terms]
        if not len(table):
            raise TermError(
                "the explanation has no terms to draw: the model is its constant, or n_terms is 0"
            )
        if axes is None:
            axes = new_figure(2.0 * look.panel_width, 1.0 + BAR_HEIGHT * len(table)).add_subplot()
        self.axes_ = given_axes(axes, 1)
        self.figure_ = self.axes_[0].figure
        _draw(self.axes_[0], table, look.colour)
        return self

    def _repr_png_(self) -> bytes:
        """Show the figure in a notebook."""
        return png(getattr(self, "figure_", None) or self.plot().figure_)


def _draw(ax: Any, table: np.ndarray, colour: str) -> None:
    places = np.arange(len(table))
    ax.barh(places, 100.0 * table["share"], color=colour, alpha=0.55, height=0.7)
    # lines and not error bars, which would need lengths: an interval is given by its ends
    ax.hlines(places, 100.0 * table["low"], 100.0 * table["high"], color="0.2", linewidth=1.5)
    for place, row in zip(places, table, strict=True):
        end = 100.0 * np.nanmax([row["share"], row["high"]])
        text = share_text(row["share"], row["low"], row["high"])
        ax.annotate(text, (end, place), (6, 0), textcoords="offset points", va="center", fontsize="small")
    ax.set_yticks(places, labels=list(table["term"]))
    ax.invert_yaxis()
    ax.set_xlim(0.0, 1.3 * 100.0 * max(np.nanmax(table["share"]), np.nanmax([*table["high"], 0.0])) or 1.0)
    ax.set_xlabel("share of the explained variance, %")
    ax.spines[["top", "right"]].set_visible(False)
