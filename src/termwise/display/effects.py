"""The leading terms of a model as curves, points, surfaces and heat maps."""

from __future__ import annotations

from typing import Any, Self

from termwise.display.panels import effect_label, panel_of, reach
from termwise.display.style import Style, given_axes, new_figure, png, share_text, style_from
from termwise.errors import TermError
from termwise.explain.effects import Effect
from termwise.explain.explanation import Explanation

MARGIN = 0.05  # of the height, above and below the curves


class EffectsDisplay:
    """One panel for each effect of an explanation, on one vertical scale where it has one.

    Bands are two standard deviations wide on either side, or what becomes of that on the scale of
    probability. `plot` writes `figure_` and `axes_`.
    """

    figure_: Any
    axes_: list[Any]

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation

    @classmethod
    def from_estimator(cls, model: Any, *, n_terms: int = 6, **options: Any) -> Self:
        """Explain a fitted model; the terms with the largest shares are kept for drawing.

        Other options are those of `explain`, such as scale="probability" of a classifier.
        """
        return cls(model.explain(n_terms=n_terms, **options))

    def plot(self, *, axes: Any = None, **style: Any) -> Self:
        """Draw into `axes`, or into a new figure; `style` changes the fields of `Style`."""
        effects, look = self.explanation.effects, style_from(style)
        if not effects:
            raise TermError(
                "the explanation has no effects to draw: the model is its constant, or n_terms is 0"
            )
        panels = [panel_of(effect) for effect in effects]
        self.axes_ = _grid_of_axes(len(effects), look) if axes is None else given_axes(axes, len(effects))
        self.figure_ = self.axes_[0].figure
        for ax, effect, panel in zip(self.axes_, effects, panels, strict=True):
            panel(ax, effect, look)
            ax.set_title(self._title(effect), fontsize="medium", loc="left")
        self._same_height(look)
        return self

    def _title(self, effect: Effect) -> str:
        """The name of the term, its share and the interval of the share."""
        # a feature may itself be called "a:b", so the name alone does not tell
        wanted = (effect.term.name, effect.term.order)
        row = next(row for row in self.explanation.sobol if (row["term"], row["order"]) == wanted)
        return f"{effect.term.name}   {share_text(row['share'], row['low'], row['high'])}"

    def _same_height(self, look: Style) -> None:
        """One scale for all curves and points, so that effects can be compared by eye."""
        drawn = [
            (ax, effect)
            for ax, effect in zip(self.axes_, self.explanation.effects, strict=True)
            if not _is_map(effect)
        ]
        if not drawn:
            return
        low = min(reach(effect)[0] for _, effect in drawn)
        high = max(reach(effect)[1] for _, effect in drawn)
        room = MARGIN * (high - low) or 1.0
        for i, (ax, effect) in enumerate(drawn):
            # the histograms stand in the room below the curves
            ax.set_ylim(low - (3.0 * room if look.rows else room), high + room)
            if i == 0 or ax.get_subplotspec() is None or ax.get_subplotspec().is_first_col():
                ax.set_ylabel(effect_label(effect, look))

    def _repr_png_(self) -> bytes:
        """Show the figure in a notebook."""
        return png(getattr(self, "figure_", None) or self.plot().figure_)


def _is_map(effect: Effect) -> bool:
    """Whether both axes are features, and the effect is a colour."""
    return effect.term.order == 2 and len({axis.dtype == object for axis in effect.axes}) == 1


def _grid_of_axes(count: int, look: Style) -> list[Any]:
    n_columns = min(count, look.n_columns)
    n_rows = -(-count // n_columns)
    figure = new_figure(n_columns * look.panel_width, n_rows * look.panel_height)
    grid = figure.add_gridspec(n_rows, n_columns)
    return [figure.add_subplot(grid[i // n_columns, i % n_columns]) for i in range(count)]
