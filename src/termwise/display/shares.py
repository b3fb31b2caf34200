"""How much each term, and each order, explains."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from termwise.display.base import Display
from termwise.display.interactive_bars import orders_figure, shares_figure
from termwise.display.style import LONGEST, Style, given_axes, new_figure, percent, share_text, style_from
from termwise.errors import TermError
from termwise.explain.explanation import Explanation
from termwise.measures.base import Array
from termwise.table import shortened

BAR_HEIGHT = 0.32  # inches
NEGLIGIBLE = 1e-3  # of the explained variance: orders beyond which there is no more are one bar
SHARE_LABEL = "share of the explained variance, %"


class SharesDisplay(Display):
    """A bar for the share of each of the leading terms, with a whisker from its 5 % to its 95 % point.

    `plot` writes `figure_` and `axes_`.
    """

    def __init__(self, explanation: Explanation, *, n_terms: int = 12) -> None:
        self.explanation = explanation
        self.n_terms = n_terms

    @classmethod
    def from_estimator(cls, model: Any, *, n_terms: int = 12) -> Self:
        """Explain a fitted model."""
        return cls(model.explain(n_terms=0), n_terms=n_terms)

    def plot(self, *, ax: Any = None, **style: Any) -> Self:
        """Draw into `ax`, or into a new figure.

        Style: `colour` is that of the bars; a new figure is twice `panel_width` wide, in inches.
        """
        look, table = style_from(style), self._table()
        if ax is None:
            ax = new_figure(2.0 * look.panel_width, 1.0 + BAR_HEIGHT * len(table)).add_subplot()
        self.axes_ = given_axes(ax, 1)
        self.figure_ = self.axes_[0].figure
        _draw_shares(self.axes_[0], table, look)
        return self

    def plotly(self, **style: Any) -> Any:
        """The same as a Plotly figure; style as in `plot`."""
        look = style_from(style)
        return shares_figure(self._table(), SHARE_LABEL, look)

    def _table(self) -> np.ndarray:
        table = self.explanation.sobol[: self.n_terms]
        if not len(table):
            raise TermError(
                "the explanation has no terms to draw: the model is its constant, or n_terms is 0"
            )
        return table


class OrdersDisplay(Display):
    """A bar for the share of all terms of one feature, of two, and so on. OAK figure 4.

    The highest orders, if they have less than a thousandth together, are one bar. `plot` writes `figure_`
    and `axes_`.
    """

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation

    @classmethod
    def from_estimator(cls, model: Any) -> Self:
        """Explain a fitted model."""
        return cls(model.explain(n_terms=0))

    def plot(self, *, ax: Any = None, **style: Any) -> Self:
        """Draw into `ax`, or into a new figure.

        Style: `colour` is that of the bars; `panel_width` and `panel_height` are in inches.
        """
        look = style_from(style)
        labels, shares = _by_order(self.explanation.order_shares)
        if ax is None:
            ax = new_figure(look.panel_width, look.panel_height).add_subplot()
        self.axes_ = given_axes(ax, 1)
        self.figure_ = self.axes_[0].figure
        [ax] = self.axes_
        places = np.arange(len(shares))
        ax.bar(places, 100.0 * shares, 0.7, color=look.colour, alpha=0.55)
        for place, share in zip(places, shares, strict=True):
            text = f"{percent(share)} %"
            ax.annotate(text, (place, 100.0 * share), (0, 3), textcoords="offset points", ha="center")
        ax.set_xticks(places, labels=labels)
        ax.set_ylim(0.0, 115.0 * float(np.max(shares)) or 1.0)
        ax.set(xlabel="features in a term", ylabel=SHARE_LABEL.replace(" variance", "\nvariance"))
        ax.spines[["top", "right"]].set_visible(False)
        return self

    def plotly(self, **style: Any) -> Any:
        """The same as a Plotly figure; style as in `plot`."""
        look = style_from(style)
        return orders_figure(*_by_order(self.explanation.order_shares), SHARE_LABEL, look)


def _by_order(shares: Array) -> tuple[list[str], Array]:
    """The names and the shares of the bars."""
    beyond = np.cumsum(shares[::-1])[::-1]  # the share of an order and all that are higher
    kept = max(1, int(np.sum(beyond >= NEGLIGIBLE)))
    labels = [str(order) for order in range(1, kept + 1)]
    if kept == len(shares):
        return labels, shares
    last = f"{kept + 1}" if kept + 1 == len(shares) else f"{kept + 1}–{len(shares)}"
    return [*labels, last], np.append(shares[:kept], beyond[kept])


def _draw_shares(ax: Any, table: np.ndarray, look: Style) -> None:
    places = np.arange(len(table))
    ax.barh(places, 100.0 * table["share"], color=look.colour, alpha=0.55, height=0.7)
    # lines and not error bars, which would need lengths: an interval is given by its ends
    ax.hlines(places, 100.0 * table["low"], 100.0 * table["high"], color="0.2", linewidth=1.5)
    for place, row in zip(places, table, strict=True):
        end = 100.0 * np.nanmax([row["share"], row["high"]])
        text = share_text(row["share"], row["low"], row["high"])
        ax.annotate(text, (end, place), (6, 0), textcoords="offset points", va="center", fontsize="small")
    ax.set_yticks(places, labels=[shortened(name, LONGEST) for name in table["term"]])
    ax.invert_yaxis()
    ax.set_xlim(0.0, 1.3 * 100.0 * max(np.nanmax(table["share"]), np.nanmax([*table["high"], 0.0])) or 1.0)
    ax.set_xlabel(SHARE_LABEL)
    ax.spines[["top", "right"]].set_visible(False)
