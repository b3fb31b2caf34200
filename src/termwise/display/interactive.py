"""Effects with Plotly, from the same numbers as with matplotlib; point at them to read them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from termwise.display.maps import STEPS
from termwise.display.parts import (
    Mark,
    Panel,
    Scales,
    axis_name,
    by_level,
    doubt,
    effect_label,
    foot_heights,
    has_levels,
    histogram,
    level_counts,
    most_frequent,
    side_places,
    some_rows,
    value_text,
)
from termwise.display.style import Style
from termwise.errors import OptionError
from termwise.explain.effects import Effect
from termwise.measures.base import Array
from termwise.table import level_text

PIXELS = 100  # for each inch of a matplotlib figure
GREY = "#999999"
COLOURS = 33  # of a scale of colours
VEIL, UNSEEN = "rgba(120,120,120,0.45)", "rgba(120,120,120,0)"
DOUBT = "sd > |mean|"  # the name of the veil

Traces = list[Any]


def plotly() -> Any:
    """The objects of Plotly, or an error that says how to get them."""
    try:
        from plotly import graph_objects
    except ImportError:
        raise OptionError("interactive figures need plotly; install it: pip install termwise[plot]") from None
    return graph_objects


def effects_figure(panels: Sequence[Panel], scales: Sequence[Scales], style: Style) -> Any:
    """A panel for each effect, on common scales."""
    plotly()
    from plotly.subplots import make_subplots

    n_columns = min(len(panels), style.n_columns)
    n_rows = -(-len(panels) // n_columns)
    titles = [plain(panel.title) for panel in panels]
    figure = make_subplots(n_rows, n_columns, subplot_titles=titles, horizontal_spacing=0.3 / n_columns)
    for i, (panel, scale) in enumerate(zip(panels, scales, strict=True)):
        place = {"row": i // n_columns + 1, "col": i % n_columns + 1}
        for trace in traces(panel, scale, style):
            figure.add_trace(trace, **place)
        _label_axes(figure, panel, scale, style, place)
    _colour_bar(figure, panels, scales[0], style)
    figure.update_layout(
        template="simple_white",
        bargap=0.0,
        legend={"traceorder": "grouped"},
        width=PIXELS * n_columns * style.panel_width,
        height=PIXELS * (n_rows * style.panel_height + 0.4),
    )
    figure.update_annotations(font_size=13)
    return figure


def _colour_bar(figure: Any, panels: Sequence[Panel], scales: Scales, style: Style) -> None:
    """One bar for all maps, beside the names of the levels."""
    coloured = [t for t in figure.data if t.type in ("contour", "heatmap") and t.name != DOUBT]
    if not coloured or not style.same_scale:
        return
    title = {"text": plain(effect_label(panels[0].effect, style)), "side": "right"}
    place = 1.14 if any(trace.showlegend for trace in figure.data) else 1.02
    ticks = {"tickvals": np.linspace(-scales.limit, scales.limit, 5), "tickformat": ".2g"}
    coloured[0].update(showscale=True, colorbar={"title": title, "x": place, **ticks})


def traces(panel: Panel, scales: Scales, style: Style) -> Traces:
    """What is drawn of one panel."""
    return TRACES[tuple(has_levels(axis) for axis in panel.effect.axes)](panel, scales, style)


def plain(text: str) -> str:
    """A name as Plotly is to show it: with its own < and &, and with breaks between lines."""
    return escape(text, quote=False).replace("\n", "<br>")


def colour_scale(name: str) -> list[list[Any]]:
    """A scale of colours of matplotlib, for Plotly, so that both figures have the same."""
    try:
        from matplotlib import colormaps
        from matplotlib.colors import to_hex
    except ImportError:
        raise OptionError(
            "scales of colours need matplotlib; install it: pip install termwise[plot]"
        ) from None
    return [[float(x), to_hex(colormaps[name](x))] for x in np.linspace(0.0, 1.0, COLOURS)]


def band_traces(
    x: np.ndarray, band: tuple[Array, Array, Array], colour: str, name: str, texts: Sequence[str]
) -> Traces:
    """The two ends of a band with the room between them filled, and the mean."""
    low, mean, high = band
    go, hidden = plotly(), {"showlegend": False, "hoverinfo": "skip", "mode": "lines", "line": {"width": 0}}
    return [
        go.Scatter(x=x, y=low, name=f"{name} low", **hidden),
        go.Scatter(x=x, y=high, name=f"{name} high", fill="tonexty", fillcolor=faint(colour), **hidden),
        go.Scatter(
            x=x, y=mean, name=name, mode="lines", line={"color": colour, "width": 2},
            text=list(texts), hoverinfo="text", showlegend=False,
        ),
    ]  # fmt: skip


def point_traces(
    x: Iterable[Any], band: tuple[Array, Array, Array], colour: str, name: str, texts: Sequence[str]
) -> Traces:
    """Points with bars."""
    low, mean, high = band
    bars = {"type": "data", "array": high - mean, "arrayminus": mean - low, "symmetric": False}
    open_point = {"symbol": "circle-open" if name == "beside" else "circle", "size": 9, "color": colour}
    return [
        plotly().Scatter(
            x=list(x), y=mean, error_y=bars, mode="markers", marker=open_point, name=name,
            text=list(texts), hoverinfo="text", showlegend=False,
        )
    ]  # fmt: skip


def faint(colour: str) -> str:
    """A colour of six digits as the filling of a band."""
    if not re.fullmatch("#[0-9a-fA-F]{6}", colour):
        raise OptionError(f"the colour {colour!r} has no six digits; write it as '#0072b2'")
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"


def _curve(panel: Panel, scales: Scales, style: Style) -> Traces:
    effect = panel.effect
    [axis], [feature] = effect.axes, effect.features
    band = (effect.low, effect.mean, effect.high)
    texts = [
        f"{plain(feature)} {value_text(float(x))}<br>{said(*b)}" for x, *b in zip(axis, *band, strict=True)
    ]
    drawn = band_traces(axis, band, style.colour, plain(effect.term.name), texts)
    places, _ = side_places(axis, len(panel.marks))
    names = plotly().Scatter(
        x=places, y=[scales.high] * len(places), mode="text", text=[mark.label for mark in panel.marks],
        textposition="bottom center", textfont={"size": 10}, cliponaxis=False, hoverinfo="skip",
        showlegend=False, name="names",
    )  # fmt: skip
    beside = [*_beside(panel.marks, places, style), names] if panel.marks else []
    return [*_feet(panel, scales, style, 0), *drawn, *beside]


def _points(panel: Panel, scales: Scales, style: Style) -> Traces:
    effect, marks = panel.effect, panel.marks
    levels, [feature] = effect.axes[0], effect.features
    band = (effect.low, effect.mean, effect.high)
    counts = [*level_counts(levels, effect.rows[0]), *(mark.count or 0 for mark in marks)]
    texts = [
        f"{plain(feature)} {plain(level_text(level))}<br>{said(*b)}<br>{count:,} rows"
        for level, count, *b in zip(levels, counts[: len(levels)], *band, strict=True)
    ]
    drawn = point_traces(range(len(levels)), band, style.colour, plain(effect.term.name), texts)
    beside = [float(len(levels) + i) for i in range(len(marks))]
    feet: Traces = []
    if style.rows:
        places = np.arange(float(len(counts)))
        feet = [_foot(places, np.full(len(counts), 0.7), np.array(counts), scales)]
    return [*feet, *drawn, *_beside(marks, beside, style)]


def _lines(panel: Panel, scales: Scales, style: Style) -> Traces:
    effect = panel.effect
    number, level, parts = by_level(effect)
    features, levels, axis = effect.features, effect.axes[level], effect.axes[number]
    drawn = _feet(panel, scales, style, number)
    shown = most_frequent(levels, effect.rows[level], len(style.level_colours))
    for colour, i in zip(style.level_colours, shown, strict=False):
        low, mean, high = (part[i] for part in parts)
        name = plain(level_text(levels[i]))
        head = f"{plain(features[level])} {name}<br>{plain(features[number])}"
        texts = [
            f"{head} {value_text(float(x))}<br>{said(*b)}"
            for x, *b in zip(axis, low, mean, high, strict=True)
        ]
        found = band_traces(axis, (low, mean, high), colour, name, texts)
        group = {"text": plain(features[level])}
        found[-1].update(showlegend=True, legendgroup=effect.term.name, legendgrouptitle=group)
        drawn += found
    return drawn


def _surface(panel: Panel, scales: Scales, style: Style) -> Traces:
    """Contours; a grey veil lies where the standard deviation is larger than the mean."""
    go, effect, step = plotly(), panel.effect, 2.0 * scales.limit / (STEPS - 1)
    drawn = [
        go.Contour(
            x=effect.axes[0], y=effect.axes[1], z=effect.mean.T, line={"width": 0.5},
            contours={"start": -scales.limit + step, "end": scales.limit - step, "size": step},
            text=_cell_texts(effect), hoverinfo="text", name=plain(effect.term.name),
            **_colours(scales, style),
        )
    ]  # fmt: skip
    beyond = doubt(effect)
    most = float(np.max(np.abs(beyond)))
    if np.max(beyond) > 0.0:
        # two colours that meet at zero, of which one is not seen
        drawn.append(
            go.Contour(
                x=effect.axes[0], y=effect.axes[1], z=beyond.T, zmin=-most, zmax=most, line={"width": 0},
                contours={"start": 0.0, "end": 0.0, "size": most}, showscale=False, hoverinfo="skip",
                colorscale=[[0.0, UNSEEN], [0.5, UNSEEN], [0.5, VEIL], [1.0, VEIL]], name=DOUBT,
            )
        )  # fmt: skip
    if style.rows:
        x, y = some_rows(effect)
        look = {"size": 3, "color": "black", "opacity": 0.3}
        drawn.append(
            go.Scatter(x=x, y=y, mode="markers", marker=look, hoverinfo="skip", showlegend=False, name="rows")
        )
    return drawn


def _heat_map(panel: Panel, scales: Scales, style: Style) -> Traces:
    effect = panel.effect
    cells = plotly().Heatmap(
        z=effect.mean.T, text=_cell_texts(effect), hoverinfo="text", **_colours(scales, style),
        name=plain(effect.term.name), x=np.arange(len(effect.axes[0])), y=np.arange(len(effect.axes[1])),
    )  # fmt: skip
    wide = doubt(effect) > 0.0
    veil = plotly().Heatmap(
        z=np.where(wide, 1.0, np.nan).T, x=cells.x, y=cells.y, colorscale=[[0.0, GREY], [1.0, GREY]],
        opacity=0.35, showscale=False, hoverinfo="skip", name=DOUBT,
    )  # fmt: skip
    return [cells, veil] if wide.any() else [cells]


TRACES: dict[tuple[bool, ...], Callable[[Panel, Scales, Style], Traces]] = {
    (False,): _curve,
    (True,): _points,
    (False, False): _surface,
    (False, True): _lines,
    (True, False): _lines,
    (True, True): _heat_map,
}


def said(low: float, mean: float, high: float) -> str:
    """A mean and its band in words."""
    return f"{mean:.3g} ({low:.3g} to {high:.3g})"


def _cell_texts(effect: Effect) -> list[list[str]]:
    """What is read at each point of a map, a list for each value of the second feature."""
    first, second = (plain(feature) for feature in effect.features)
    xs, ys = ([plain(value_text(value)) for value in axis] for axis in effect.axes)
    return [
        [
            f"{first} {x}<br>{second} {y}<br>" + said(effect.low[i, j], effect.mean[i, j], effect.high[i, j])
            for i, x in enumerate(xs)
        ]
        for j, y in enumerate(ys)
    ]


def _colours(scales: Scales, style: Style) -> dict[str, Any]:
    limits = {"zmin": -scales.limit, "zmax": scales.limit}
    return {"colorscale": colour_scale(style.colormap), "showscale": False, **limits}


def _beside(marks: Sequence[Mark], places: Sequence[float], style: Style) -> Traces:
    if not marks:
        return []
    low, mean, high = (np.array([getattr(mark, end) for mark in marks]) for end in ("low", "mean", "high"))
    counts = ["" if mark.count is None else f"<br>{mark.count:,} rows" for mark in marks]
    texts = [
        f"{mark.label}<br>{said(mark.low, mark.mean, mark.high)}{rows}"
        for mark, rows in zip(marks, counts, strict=True)
    ]
    return point_traces(places, (low, mean, high), style.colour, "beside", texts)


def _feet(panel: Panel, scales: Scales, style: Style, position: int) -> Traces:
    if not style.rows:
        return []
    counts, edges = histogram(panel.effect.rows[position])
    return [_foot((edges[:-1] + edges[1:]) / 2.0, np.diff(edges), counts, scales)]


def _foot(places: np.ndarray, widths: np.ndarray, counts: np.ndarray, scales: Scales) -> Any:
    """Bars at the foot of a panel; what they count is read by pointing."""
    return plotly().Bar(
        x=places, y=foot_heights(counts) * (scales.high - scales.low), base=scales.low, width=widths,
        marker={"color": GREY, "opacity": 0.6, "line": {"width": 0}}, name="rows", customdata=counts,
        hovertemplate="%{customdata:,} rows<extra></extra>", showlegend=False,
    )  # fmt: skip


def _label_axes(figure: Any, panel: Panel, scales: Scales, style: Style, place: dict[str, int]) -> None:
    effect = panel.effect
    features, kinds = effect.features, [has_levels(axis) for axis in effect.axes]
    across = by_level(effect)[0] if set(kinds) == {True, False} else 0
    figure.update_xaxes(title_text=plain(axis_name(effect, across)), **place)
    if len(set(kinds)) == 1 and effect.term.order == 2:
        figure.update_yaxes(title_text=plain(features[1]), **place)
        if not any(kinds):
            for update, axis in zip((figure.update_xaxes, figure.update_yaxes), effect.axes, strict=True):
                update(range=[float(axis[0]), float(axis[-1])], **place)
    else:
        first = place["col"] == 1 or not style.same_scale
        label = plain(effect_label(effect, style)) if first else ""
        figure.update_yaxes(title_text=label, range=[scales.low, scales.high], **place)
    names = [
        [level_text(level) for level in axis] if kind else []
        for axis, kind in zip(effect.axes, kinds, strict=True)
    ]
    if kinds == [True]:
        names[0] += [mark.label for mark in panel.marks]
    if all(kinds):
        for update, labels in zip((figure.update_xaxes, figure.update_yaxes), names, strict=False):
            update(tickvals=list(range(len(labels))), ticktext=[plain(label) for label in labels], **place)
    elif kinds == [False]:
        end = side_places(effect.axes[0], len(panel.marks))[1]
        figure.update_xaxes(range=[float(effect.axes[0][0]), end], **place)
