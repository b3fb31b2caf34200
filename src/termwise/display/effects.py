"""Terms of a model as curves, points, surfaces and heat maps: one by name, or those that lead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from termwise.display.base import Display
from termwise.display.interactive import effects_figure
from termwise.display.maps import colour_bar
from termwise.display.panels import draw_panel
from termwise.display.parts import Panel, effect_label, is_map, panels_of, scales_of
from termwise.display.style import Style, given_axes, new_figure, share_text, style_from
from termwise.display.titles import fit_titles
from termwise.errors import TermError
from termwise.explain.effects import Effect
from termwise.explain.explanation import Explanation


class EffectDisplay(Display):
    """The effect of one term, named as in `terms_`: "age" or "age:income".

    A band is two standard deviations wide on either side, or what becomes of that on the scale of
    probability. Missing values stand beside the others, as do unseen levels if the model averages over them.
    Of three features there is a panel for each slice. `plot` writes `figure_` and `axes_`.
    """

    def __init__(self, effect: Effect, *, title: str | None = None, others: bool = False) -> None:
        self.effect = effect
        self.title = effect.term.name if title is None else title
        self.others = others

    @classmethod
    def from_estimator(cls, model: Any, term: str, **options: Any) -> Self:
        """Explain one term of a fitted model; options are those of `explain`, such as scale="probability"."""
        explanation = model.explain(terms=[term], **options)
        [effect] = explanation.effects
        return cls(effect, title=_title(effect, explanation), others=_marginalises(model))

    def plot(self, *, ax: Any = None, **style: Any) -> Self:
        """Draw into `ax`, or into a new figure.

        Style: `target` names what the effect is on; `colour` is that of curves and points, `level_colours`
        those of lines by level, `colormap` that of surfaces; `rows=False` hides where the rows are;
        `panel_width` and `panel_height` are in inches.
        """
        look = style_from(style)
        panels = panels_of(self.effect, self.title, others=self.others)
        self.axes_ = _draw(panels, ax, look)
        self.figure_ = self.axes_[0].figure
        return self

    def plotly(self, **style: Any) -> Any:
        """The same as a Plotly figure; style as in `plot`."""
        look, panels = style_from(style), panels_of(self.effect, self.title, others=self.others)
        return effects_figure(panels, scales_of(panels, look), look)


class EffectsDisplay(Display):
    """A panel for each effect of an explanation, on one vertical scale and one scale of colours.

    Bands are two standard deviations wide on either side, or what becomes of that on the scale of
    probability; surfaces are hatched where the standard deviation is larger than the effect. `plot` writes
    `figure_` and `axes_`.
    """

    def __init__(self, explanation: Explanation, *, others: bool = False) -> None:
        self.explanation = explanation
        self.others = others

    @classmethod
    def from_estimator(cls, model: Any, *, n_terms: int = 6, **options: Any) -> Self:
        """Explain a fitted model; the terms with the largest shares are kept for drawing.

        Other options are those of `explain`, such as scale="probability" of a classifier.
        """
        return cls(model.explain(n_terms=n_terms, **options), others=_marginalises(model))

    def plot(self, *, axes: Any = None, **style: Any) -> Self:
        """Draw into `axes`, or into a new figure.

        Style: `target` names what effects are on; `n_columns` panels stand side by side, `panel_width` and
        `panel_height` are in inches; `colour` is that of curves and points, `level_colours` those of lines by
        level, `colormap` that of surfaces; `rows=False` hides where the rows are; with `same_scale=False`
        each panel has a scale of its own.
        """
        look = style_from(style)
        self.axes_ = _draw(self._panels(), axes, look)
        self.figure_ = self.axes_[0].figure
        return self

    def plotly(self, **style: Any) -> Any:
        """The same as a Plotly figure; style as in `plot`."""
        look, panels = style_from(style), self._panels()
        return effects_figure(panels, scales_of(panels, look), look)

    def _panels(self) -> list[Panel]:
        effects = self.explanation.effects
        if not effects:
            more = (
                "no term has one or two features"
                if len(self.explanation.sobol)
                else "the model is its constant"
            )
            raise TermError(
                f"the explanation has no effects to draw: {more}, or n_terms was 0; a term of three features "
                "is drawn if explain(terms=[...]) names it, and of more none is"
            )
        titles = [_title(effect, self.explanation) for effect in effects]
        return [
            panel
            for effect, title in zip(effects, titles, strict=True)
            for panel in panels_of(effect, title, others=self.others)
        ]


def _title(effect: Effect, explanation: Explanation) -> str:
    """The name of the term, its share and the interval of the share."""
    # a feature may itself be called "a:b", so the name alone does not tell
    wanted = (effect.term.name, effect.term.order)
    row = next(row for row in explanation.sobol if (row["term"], row["order"]) == wanted)
    return f"{effect.term.name}   {share_text(row['share'], row['low'], row['high'])}"


def _marginalises(model: Any) -> bool:
    """Whether a level never seen is averaged over, and not refused."""
    return getattr(model, "unknown", None) == "marginalise"


def _draw(panels: Sequence[Panel], axes: Any, look: Style) -> list[Any]:
    drawn = _grid_of_axes(len(panels), look) if axes is None else given_axes(axes, len(panels))
    all_scales = scales_of(panels, look)
    coloured = [
        (draw_panel(ax, panel, scales, look), ax, panel.effect)
        for ax, panel, scales in zip(drawn, panels, all_scales, strict=True)
    ]
    maps = [one for one in coloured if one[0] is not None]
    if maps and axes is None and look.same_scale:
        # one bar for a figure of our own; of other axes nothing is known but that they are there
        colour_bar(maps[0][0], drawn, [effect for _, _, effect in maps], look)
    else:
        for colours, ax, effect in maps:
            colour_bar(colours, ax, [effect], look)
    _label_heights(drawn, panels, look)
    fit_titles(drawn, own=axes is None)
    return drawn


def _label_heights(axes: Sequence[Any], panels: Sequence[Panel], look: Style) -> None:
    """Say what the height is, once in each row of panels if it is the same for all."""
    labelled = set()
    for ax, panel in zip(axes, panels, strict=True):
        place = ax.get_subplotspec()
        row = place.rowspan.start if place is not None and look.same_scale else ax
        if row not in labelled and not is_map(panel.effect):
            labelled.add(row)
            ax.set_ylabel(effect_label(panel.effect, look))


def _grid_of_axes(count: int, look: Style) -> list[Any]:
    n_columns = min(count, look.n_columns)
    n_rows = -(-count // n_columns)
    figure = new_figure(n_columns * look.panel_width, n_rows * look.panel_height)
    grid = figure.add_gridspec(n_rows, n_columns)
    return [figure.add_subplot(grid[i // n_columns, i % n_columns]) for i in range(count)]
