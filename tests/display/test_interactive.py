"""Figures of Plotly have the numbers of the explanation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from termwise.display import (
    CumulativeDisplay,
    EffectDisplay,
    EffectsDisplay,
    OrdersDisplay,
    SharesDisplay,
    WaterfallDisplay,
)
from termwise.display.interactive import TRACES, plain
from termwise.display.panels import PANELS
from tests.display.made_up import (
    AGES,
    CITIES,
    DOSES,
    KINDS,
    LOCAL,
    ROWS,
    SCORE,
    effect_of,
    explanation_of,
    with_missing,
)


def named(figure, name):
    [trace] = [trace for trace in figure.data if trace.name == name]
    return trace


def test_both_libraries_draw_the_same_kinds():
    assert set(TRACES) == set(PANELS)


def test_a_curve_has_its_band_and_where_the_rows_are():
    effect = effect_of("age")
    figure = EffectDisplay(effect).plotly()
    np.testing.assert_array_equal(named(figure, "age").y, effect.mean)
    np.testing.assert_array_equal(named(figure, "age").x, AGES)
    np.testing.assert_array_equal(named(figure, "age low").y, effect.low)
    np.testing.assert_array_equal(named(figure, "age high").y, effect.high)
    assert named(figure, "age high").fill == "tonexty"
    assert sum(named(figure, "rows").customdata) == np.sum(~np.isnan(ROWS["age"]))
    first = f"age 20<br>{effect.mean[0]:.3g} ({effect.low[0]:.3g} to {effect.high[0]:.3g})"
    assert named(figure, "age").text[0] == first
    assert "rows" not in [trace.name for trace in EffectDisplay(effect).plotly(rows=False).data]


def test_levels_are_points_with_bars_and_what_stands_beside_them():
    effect = with_missing(effect_of("city"))
    figure = EffectDisplay(effect, others=True).plotly()
    points, beside = named(figure, "city"), named(figure, "beside")
    np.testing.assert_array_equal(points.y, effect.mean)
    np.testing.assert_allclose(points.error_y.array, 2.0 * effect.std)
    np.testing.assert_allclose(beside.error_y.array, [0.8, 0.8])
    assert list(figure.layout.xaxis.ticktext) == [*CITIES, "missing", "(other)"]
    assert list(named(figure, "rows").customdata)[3:] == [7, 0]
    assert "7 rows" in beside.text[0]


def test_a_surface_has_the_mean_and_a_veil_where_the_sign_is_a_guess():
    effect = effect_of("age", "dose")
    figure = EffectDisplay(effect).plotly()
    contours, veil = named(figure, "age:dose"), named(figure, "sd > |mean|")
    np.testing.assert_array_equal(contours.z, effect.mean.T)
    np.testing.assert_array_equal(contours.y, DOSES)
    np.testing.assert_allclose(veil.z, (effect.std - np.abs(effect.mean)).T)
    assert (veil.contours.start, veil.contours.end) == (0.0, 0.0)
    assert contours.zmax == -contours.zmin == np.max(np.abs(effect.mean))
    assert contours.showscale
    assert len(contours.text) == len(DOSES)
    assert len(contours.text[0]) == len(AGES)


def test_a_heat_map_has_the_means_and_the_names():
    effect = effect_of("city", "smoker")
    figure = EffectDisplay(effect).plotly()
    np.testing.assert_array_equal(named(figure, "city:smoker").z, effect.mean.T)
    assert list(figure.layout.xaxis.ticktext) == list(CITIES)
    assert list(figure.layout.yaxis.ticktext) == ["False", "True"]


@pytest.mark.parametrize("features", [("city", "dose"), ("dose", "city")], ids=":".join)
def test_a_number_with_levels_is_a_line_for_each(features):
    effect = effect_of(*features)
    figure = EffectDisplay(effect).plotly()
    means = effect.mean if features[0] == "city" else effect.mean.T
    for city, mean in zip(CITIES, means, strict=True):
        np.testing.assert_array_equal(named(figure, city).y, mean)
    assert figure.layout.xaxis.title.text == "dose"


def test_every_kind_stands_in_one_figure_on_one_scale():
    figure = EffectsDisplay(explanation_of(*KINDS)).plotly(n_columns=2)
    heights = {axis.range for axis in figure.select_yaxes() if axis.range}
    assert len(heights - {(0.0, 3.0)}) == 1  # besides the doses of the surface
    assert len(list(figure.select_xaxes())) == len(KINDS)
    maps = [named(figure, name) for name in ("age:dose", "city:smoker")]
    assert len({(trace.zmin, trace.zmax) for trace in maps}) == 1
    assert [bool(trace.showscale) for trace in maps] == [True, False]  # one bar is enough
    own = EffectsDisplay(explanation_of(*KINDS)).plotly(same_scale=False)
    cells = effect_of("city", "smoker")
    assert named(own, "city:smoker").zmax == np.max(np.abs(cells.mean))


def test_slices_of_three_features_are_panels():
    figure = EffectDisplay(effect_of("age", "dose", "city")).plotly()
    titles = [annotation.text for annotation in figure.layout.annotations]
    assert titles == [f"age:dose:city<br>city = {city}" for city in CITIES]


def test_shares_have_whiskers_from_end_to_end():
    explanation = explanation_of(("age",), ("city",))
    bars = SharesDisplay(explanation).plotly().data[0]
    np.testing.assert_allclose(bars.x, [31.0, 31.0])
    np.testing.assert_allclose(bars.x + bars.error_x.array, [39.0, 39.0])
    np.testing.assert_allclose(bars.x - bars.error_x.arrayminus, [24.0, 24.0])
    assert list(bars.y) == ["age", "city"]
    without = SharesDisplay(explanation_of(("age",), low=np.nan, high=np.nan)).plotly().data[0]
    assert list(without.error_x.array) == [0.0]


def test_orders_are_bars():
    explanation = replace(explanation_of(), order_shares=np.array([0.7, 0.2999, 0.0001]))
    [bars] = OrdersDisplay(explanation).plotly().data
    assert list(bars.x) == ["1", "2", "3"]
    np.testing.assert_allclose(bars.y, [70.0, 29.99, 0.01])


def test_scores_and_shares_are_lines():
    figure = CumulativeDisplay(SCORE, shares=np.array([0.5, 0.3, 0.1])).plotly()
    np.testing.assert_array_equal(named(figure, "RMSE").y, SCORE.scores)
    assert set(named(figure, "all terms").y) == {SCORE.whole}
    np.testing.assert_allclose(named(figure, "sum of shares").y, [0.0, 50.0, 80.0, 90.0])
    assert list(figure.layout.xaxis.ticktext) == ["constant", *SCORE.terms]
    assert len(CumulativeDisplay(SCORE).plotly().data) == 2


def test_a_waterfall_has_the_steps():
    display = WaterfallDisplay(LOCAL, n_terms=2)
    figure, steps = display.plotly(), display.steps()
    np.testing.assert_array_equal(named(figure, "terms").base, steps.starts)
    np.testing.assert_array_equal(named(figure, "terms").x, steps.added)
    np.testing.assert_allclose(named(figure, "bands").error_x.array, steps.half[:2])  # not of the others
    assert list(named(figure, "constant, prediction").x) == [10.0, 8.75]
    assert list(figure.layout.yaxis.ticktext) == ["constant", *steps.labels, "prediction"]
    said = {"scale": "logarithm", "outcomes": np.array([4.3, 1.0]), "outcome": "rate per row"}
    figure = WaterfallDisplay(replace(LOCAL, **said)).plotly()
    assert figure.layout.yaxis.ticktext[-1] == "prediction<br>rate per row: 4.3"


def test_names_are_shown_as_they_are():
    assert plain("a<b> & c\nd") == "a&lt;b&gt; &amp; c<br>d"
