"""Shares, scores and single rows with Plotly, from the same numbers as with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from termwise.display.interactive import PIXELS, plain, plotly
from termwise.display.style import Style, percent, share_text
from termwise.measures.base import Array


def shares_figure(table: np.ndarray, label: str, style: Style) -> Any:
    """A bar for each term, the largest on top, with a whisker for its interval."""
    share, low, high = (100.0 * table[name] for name in ("share", "low", "high"))
    # a bar without interval has no whisker
    whiskers = {
        "type": "data",
        "symmetric": False,
        "array": np.nan_to_num(high - share),
        "arrayminus": np.nan_to_num(share - low),
    }
    names = [plain(term) for term in table["term"]]
    texts = [
        f"{name}<br>{share_text(row['share'], row['low'], row['high'])}"
        for name, row in zip(names, table, strict=True)
    ]
    bars = plotly().Bar(
        x=share, y=names, orientation="h", error_x=whiskers, marker={"color": style.colour, "opacity": 0.55},
        hovertext=texts, hoverinfo="text",
    )  # fmt: skip
    figure = _figure([bars], style, width=2.0 * style.panel_width, height=1.5 + 0.32 * len(table))
    figure.update_xaxes(title_text=label, rangemode="tozero")
    figure.update_yaxes(autorange="reversed", automargin=True)
    return figure


def orders_figure(labels: Sequence[str], shares: Array, label: str, style: Style) -> Any:
    """A bar for each order."""
    texts = [f"{percent(share)} %" for share in shares]
    bars = plotly().Bar(
        x=list(labels), y=100.0 * shares, text=texts, textposition="outside",
        marker={"color": style.colour, "opacity": 0.55}, hovertemplate="%{y:.2f} %<extra></extra>",
    )  # fmt: skip
    figure = _figure([bars], style)
    figure.update_xaxes(title_text="features in a term", type="category")
    figure.update_yaxes(title_text=label)
    return figure


def cumulative_figure(
    labels: Sequence[str], score: tuple[str, Array, float], shares: Array | None, style: Style
) -> Any:
    """The score with one term more at each step, that of all terms, and the sum of the shares."""
    go, (name, scores, whole) = plotly(), score
    names, places = [plain(label) for label in labels], list(range(len(labels)))
    texts = [f"{label}<br>{name} {value:.4g}" for label, value in zip(names, scores, strict=True)]
    line = {"color": style.colour}
    traces = [
        go.Scatter(
            x=places, y=scores, mode="lines+markers", name=name, line=line, text=texts, hoverinfo="text"
        ),
        go.Scatter(
            x=[places[0], places[-1]], y=[whole, whole], mode="lines", name="all terms",
            line={**line, "dash": "dash", "width": 1},
        ),
    ]  # fmt: skip
    if shares is not None:
        dotted = {"color": style.second_colour, "dash": "dot"}
        traces.append(
            go.Scatter(
                x=places, y=100.0 * shares, mode="lines", name="sum of shares", line=dotted, yaxis="y2"
            )
        )
    width = max(style.panel_width, 1.4 + 0.32 * len(labels)) + 1.5
    figure = _figure(traces, style, width=width, height=style.panel_height + 1.0)
    figure.update_xaxes(tickvals=places, ticktext=names, tickangle=-90, automargin=True)
    figure.update_yaxes(title_text=name)
    if shares is not None:
        second = {"title": {"text": "sum of shares, %"}, "overlaying": "y", "side": "right", "dtick": 20}
        figure.update_layout(
            yaxis2={**second, "range": [-3.0, 103.0], "tickmode": "linear", "tick0": 0}, legend={"x": 1.25}
        )
    return figure


def waterfall_figure(steps: Any, label: str, style: Style) -> Any:
    """Bars from the constant to the prediction, each beginning where the one above it ended."""
    go, ends = plotly(), steps.starts + steps.added
    colours = [style.second_colour if value > 0.0 else style.colour for value in steps.added]
    known = ~np.isnan(steps.half)
    # numbers and not names along the axis: two terms may look the same
    places = list(range(1, len(steps.labels) + 1))
    spread = ["" if np.isnan(h) else f" ± {h:.2g}" for h in steps.half]
    names, numbers = [plain(name) for name in steps.names], steps.texts
    texts = [
        f"{name}<br>{value}{band}"
        for name, value, band in zip(names[1:-1], numbers[1:-1], spread, strict=True)
    ]
    bars = go.Bar(
        x=steps.added, y=places, base=steps.starts, orientation="h", hovertext=texts, hoverinfo="text",
        marker={"color": colours, "opacity": 0.6}, name="terms",
    )  # fmt: skip
    bands = go.Scatter(
        x=ends[known], y=np.array(places)[known], mode="markers", marker={"size": 1, "color": "#333333"},
        error_x={"type": "data", "array": steps.half[known], "color": "#333333", "thickness": 1.5},
        hoverinfo="skip", name="bands",
    )  # fmt: skip
    stops = [steps.constant, steps.prediction]
    ends_of_all = go.Scatter(
        x=stops, y=[0, len(steps.labels) + 1], mode="markers", hoverinfo="text", name="constant, prediction",
        marker={"symbol": "diamond", "size": 10, "color": "#333333"},
        text=[f"{names[0]} {numbers[0]}", f"{names[-1]}<br>{numbers[-1]}"],
    )  # fmt: skip
    figure = _figure(
        [bars, bands, ends_of_all], style, width=2.0 * style.panel_width, height=1.5 + 0.36 * len(names)
    )
    figure.update_xaxes(title_text=plain(label))
    ticks = {"tickvals": list(range(len(names))), "ticktext": names}
    figure.update_yaxes(autorange="reversed", automargin=True, **ticks)
    figure.update_layout(showlegend=False)
    return figure


def _figure(traces: list[Any], style: Style, width: float | None = None, height: float | None = None) -> Any:
    figure = plotly().Figure(traces)
    figure.update_layout(
        template="simple_white",
        width=PIXELS * (style.panel_width if width is None else width),
        height=PIXELS * (style.panel_height if height is None else height),
        margin={"t": 40},
    )
    return figure
