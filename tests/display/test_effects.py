"""Figures show what the explanation says, and compute nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from termwise.display import EffectDisplay, EffectsDisplay
from termwise.display.panels import PANELS
from termwise.display.style import share_text
from termwise.errors import OptionError, TermError
from termwise.explain.effects import Effect
from termwise.explain.explanation import Explanation
from termwise.explain.terms import SOBOL_DTYPE, Term
from tests.display.made_up import (
    AGES,
    CITIES,
    DOSES,
    GRIDS,
    KINDS,
    ROWS,
    Told,
    effect_of,
    explanation_of,
    with_missing,
)

mpl.use("Agg")


def drawn(*features: str, **style: Any) -> tuple[Any, Effect]:
    explanation = explanation_of(features)
    display = EffectsDisplay(explanation).plot(**style)
    display.figure_.canvas.draw()
    return display.axes_[0], explanation.effects[0]


def test_every_kind_of_panel_is_tried_here() -> None:
    kinds = {tuple(GRIDS[feature].dtype == object for feature in features) for features in KINDS}
    assert kinds == set(PANELS)


@pytest.mark.parametrize("features", KINDS, ids=":".join)
def test_a_panel_is_drawn_without_a_model(features: tuple[str, ...]) -> None:
    ax, effect = drawn(*features)
    assert ax.get_title(loc="left") == f"{effect.term.name}   31 % (24–39 %)"
    assert ax.get_xlabel() in features


def test_a_curve_is_the_mean_with_a_band_of_two_standard_deviations() -> None:
    ax, effect = drawn("age")
    line = next(line for line in ax.lines if len(line.get_xdata()) == len(AGES))
    np.testing.assert_array_equal(line.get_xdata(), AGES)
    np.testing.assert_array_equal(line.get_ydata(), effect.mean)
    band = ax.collections[0].get_paths()[0].vertices
    for x, mean, std in zip(AGES, effect.mean, effect.std, strict=True):
        heights = band[band[:, 0] == x, 1]
        assert heights.min() == pytest.approx(mean - 2.0 * std)
        assert heights.max() == pytest.approx(mean + 2.0 * std)


def test_a_curve_shows_where_the_rows_are() -> None:
    ax, _ = drawn("age")
    heights = np.array([bar.get_height() for bar in ax.patches])
    known = ROWS["age"][~np.isnan(ROWS["age"])]
    counts = np.histogram(known, bins=len(heights))[0]
    np.testing.assert_allclose(heights / heights.max(), counts / counts.max())
    assert not drawn("age", rows=False)[0].patches


def test_levels_are_points_with_bars_and_names() -> None:
    ax, effect = drawn("city")
    bars, counts = ax.containers
    np.testing.assert_array_equal(bars.lines[0].get_ydata(), effect.mean)
    ends = np.array([segment[:, 1] for segment in bars.lines[2][0].get_segments()])
    np.testing.assert_allclose(ends, np.c_[effect.mean - 2.0 * effect.std, effect.mean + 2.0 * effect.std])
    assert [label.get_text() for label in ax.get_xticklabels()] == list(CITIES)
    heights = np.array([bar.get_height() for bar in counts])
    rows = np.array([np.sum(ROWS["city"] == city) for city in CITIES])
    np.testing.assert_allclose(heights / heights.max(), rows / rows.max())


def test_a_surface_is_centred_at_zero_and_shows_the_rows() -> None:
    ax, effect = drawn("age", "dose")
    filled, _, hatched = ax.collections
    assert hatched.get_hatch() or hatched.hatches == ["////"]
    assert filled.norm.vmin == pytest.approx(-filled.norm.vmax)
    assert filled.norm.vmax >= 0.9 * np.max(np.abs(effect.mean))
    np.testing.assert_allclose(ax.get_xlim(), AGES[[0, -1]])
    [points] = ax.lines
    np.testing.assert_array_equal(points.get_xdata(), ROWS["age"])
    np.testing.assert_array_equal(points.get_ydata(), ROWS["dose"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "dose")
    assert len(ax.figure.axes) == 2  # the colour bar


def test_a_surface_has_its_axes_the_right_way_round() -> None:
    age, dose = np.meshgrid(AGES, DOSES, indexing="ij")
    effect = effect_of("age", "dose")
    rising = Effect(effect.term, effect.axes, age - 25.0 + 5.0 * dose, effect.std, effect.rows)
    table = explanation_of(("age", "dose")).sobol
    ax = EffectsDisplay(Explanation(table, np.array([0.0, 1.0]), (rising,))).plot(rows=False).axes_[0]
    filled = ax.collections[0]
    assert filled.norm.vmin == pytest.approx(-filled.norm.vmax)  # centred, though most of it is above zero
    layers = [path.vertices for path in filled.get_paths() if len(path.vertices)]
    np.testing.assert_allclose(layers[0].min(axis=0), [20.0, 0.0])  # lowest for the young without a dose
    assert layers[0][:, 0].max() < 35.0
    np.testing.assert_allclose(layers[-1].max(axis=0), [60.0, 3.0])  # highest for the old with the most
    assert layers[-1][:, 0].min() > 45.0


@pytest.mark.parametrize("features", [("city", "dose"), ("dose", "city")], ids=":".join)
def test_a_number_with_levels_is_a_line_for_each_level(features: tuple[str, ...]) -> None:
    ax, effect = drawn(*features)
    means = effect.mean if features[0] == "city" else effect.mean.T
    lines = [line for line in ax.lines if len(line.get_xdata()) == len(DOSES)]
    np.testing.assert_array_equal([line.get_ydata() for line in lines], means)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(CITIES)
    assert ax.get_legend().get_title().get_text() == "city"
    assert len({line.get_color() for line in lines}) == 3


def test_of_many_levels_the_most_frequent_are_drawn_and_it_is_said() -> None:
    levels = np.array([f"level {i:02d}" for i in range(40)], dtype=object)
    rows = (np.repeat(levels, np.arange(40) + 1), np.linspace(0.0, 3.0, 820))
    term = Term(("city", "dose"), (0, 1))
    effect = Effect(term, (levels, DOSES), np.ones((40, 7)), np.ones((40, 7)), rows)
    table = np.array([("city:dose", 2, 1.0, np.nan, np.nan)], dtype=SOBOL_DTYPE)
    ax = EffectsDisplay(Explanation(table, np.array([0.0, 1.0]), (effect,))).plot().axes_[0]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(levels[-7:])
    assert ax.get_legend().get_title().get_text() == "city (7 of 40)"


def test_two_columns_of_levels_are_a_heat_map() -> None:
    ax, effect = drawn("city", "smoker")
    [image] = ax.images
    np.testing.assert_array_equal(image.get_array(), effect.mean.T)
    assert image.norm.vmin == -image.norm.vmax
    assert [label.get_text() for label in ax.get_xticklabels()] == list(CITIES)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["False", "True"]
    assert {text.get_text() for text in ax.texts} == {f"{value:.2g}" for value in effect.mean.ravel()}


def test_curves_share_one_scale_and_it_holds_them_all() -> None:
    explanation = explanation_of(*KINDS)
    display = EffectsDisplay(explanation).plot(target="price")
    curves = [
        (ax, e)
        for ax, e in zip(display.axes_, explanation.effects, strict=True)
        if ax.lines and ax.collections
    ]
    limits = {ax.get_ylim() for ax, e in curves if e.term.features != ("age", "dose")}
    [(low, high)] = limits
    for i in (0, 1, 3, 4):
        effect = explanation.effects[i]
        assert low <= np.min(effect.mean - 2.0 * effect.std)
        assert high >= np.max(effect.mean + 2.0 * effect.std)
    assert display.axes_[0].get_ylabel() == "effect on price"


def test_effects_of_zero_can_be_drawn() -> None:
    flat = [Effect(e.term, e.axes, 0.0 * e.mean, 0.0 * e.std, e.rows) for e in explanation_of(*KINDS).effects]
    display = EffectsDisplay(Explanation(explanation_of(*KINDS).sobol, np.array([1.0]), tuple(flat))).plot()
    display.figure_.canvas.draw()
    assert len(display.axes_) == len(KINDS)


def test_given_axes_are_drawn_into() -> None:
    figure = Figure()
    axes = figure.subplots(2, 2)
    display = EffectsDisplay(explanation_of(("age",), ("city",), ("dose",))).plot(axes=axes)
    assert display.figure_ is figure
    assert display.axes_ == list(axes.ravel()[:3])
    single = Figure().add_subplot()
    assert EffectsDisplay(explanation_of(("age",))).plot(axes=single).axes_ == [single]
    with pytest.raises(OptionError, match="axes has 1 axes; pass at least 2"):
        EffectsDisplay(explanation_of(("age",), ("city",))).plot(axes=single)


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(TermError, match="no effects to draw"):
        EffectsDisplay(explanation_of()).plot()
    with pytest.raises(TermError, match="'age:dose:city:smoker' has 4 features; terms of up to three can"):
        EffectsDisplay(explanation_of(("age", "dose", "city", "smoker"))).plot()
    with pytest.raises(OptionError, match=r"there is no style color; use one of .*colour"):
        EffectsDisplay(explanation_of(("age",))).plot(color="red")


def test_of_three_features_there_is_a_panel_for_each_slice() -> None:
    effect = replace(effect_of("age", "dose", "city"), n_missing=3)
    display = EffectDisplay(effect, title="all").plot()
    assert {ax.get_xlabel() for ax in display.axes_} == {"age\n(3 rows lack a value)"}
    titles = [ax.get_title(loc="left") for ax in display.axes_]
    assert titles == ["all\ncity = Bern", "all\ncity = Oslo", "all\ncity = Rome"]
    assert len({ax.collections[0].norm.vmax for ax in display.axes_}) == 1  # one scale of colours
    single = Figure().add_subplot()
    with pytest.raises(OptionError, match="axes has 1 axes; pass at least 3"):
        EffectDisplay(effect).plot(ax=single)


def test_a_small_surface_beside_a_large_curve_looks_small() -> None:
    curve, surface, cells = (
        effect_of(*features) for features in (("age",), ("age", "dose"), ("city", "smoker"))
    )
    large = replace(curve, mean=100.0 * curve.mean)
    explanation = replace(explanation_of(*KINDS), effects=(large, surface, cells))
    _, of_surface, of_cells = EffectsDisplay(explanation).plot().axes_
    limit = np.max(np.abs(large.mean))
    assert of_surface.collections[0].norm.vmax >= 0.9 * limit
    assert of_cells.images[0].norm.vmax == pytest.approx(limit)
    own = EffectsDisplay(explanation).plot(same_scale=False).axes_
    assert own[2].images[0].norm.vmax == pytest.approx(np.max(np.abs(cells.mean)))


def test_where_even_the_sign_is_a_guess_a_map_is_hatched() -> None:
    cells = effect_of("city", "smoker")
    ax = EffectDisplay(cells).plot().axes_[0]
    hatched = {(round(patch.get_x() + 0.5), round(patch.get_y() + 0.5)) for patch in ax.patches}
    assert hatched == set(map(tuple, np.argwhere(cells.std > np.abs(cells.mean)).tolist()))
    sure = replace(cells, std=np.zeros_like(cells.std))
    assert not EffectDisplay(sure).plot().axes_[0].patches


def test_missing_cells_stand_beside_a_curve_with_their_band_and_number() -> None:
    effect = with_missing(effect_of("age"))
    [ax] = EffectDisplay(effect).plot().axes_
    assert [text.get_text() for text in ax.texts] == ["missing\n(7)"]
    [mark] = [container for container in ax.containers if hasattr(container, "has_yerr")]
    [ends] = [segment[:, 1] for segment in mark.lines[2][0].get_segments()]
    np.testing.assert_allclose(ends, [-0.8, 0.8])
    assert AGES[-1] < mark.lines[0].get_xdata()[0] < ax.get_xlim()[1]
    assert max(ax.get_xticks()) < AGES[-1]
    assert not EffectDisplay(with_missing(effect_of("age"), 0)).plot().axes_[0].texts


def test_missing_cells_and_unseen_levels_stand_beside_the_levels() -> None:
    effect = with_missing(effect_of("city"))
    [ax] = EffectDisplay(effect, others=True).plot().axes_
    assert [label.get_text() for label in ax.get_xticklabels()] == [*CITIES, "missing", "(other)"]
    assert [round(bar.get_x() + 0.35) for bar in ax.patches] == [0, 1, 2, 3, 4]
    [ax] = EffectDisplay(effect).plot().axes_
    assert [label.get_text() for label in ax.get_xticklabels()] == [*CITIES, "missing"]
    pair = replace(effect_of("age", "dose"), n_missing=7)
    assert EffectDisplay(pair).plot().axes_[0].get_xlabel() == "age\n(7 rows lack a value)"


def test_a_term_is_drawn_by_its_name() -> None:
    told = Told(explanation_of(("city",)))
    display = EffectDisplay.from_estimator(told, "city", scale="latent")
    assert told.asked == {"terms": ["city"], "scale": "latent"}
    single = Figure().add_subplot()
    assert display.plot(ax=single).axes_ == [single]
    assert display.others
    assert single.get_title(loc="left") == "city   31 % (24–39 %)"
    assert single.get_ylabel() == "effect on target"


@pytest.mark.parametrize(
    ("share", "text"),
    [
        ((0.31, 0.24, 0.39), "31 % (24–39 %)"),
        ((0.004, 0.001, 0.02), "<1 % (<1–2 %)"),
        ((0.001, 0.0005, 0.002), "<1 %"),
        ((0.5, np.nan, np.nan), "50 %"),
        ((0.0, 0.0, 0.01), "0 % (0–1 %)"),
    ],
)
def test_shares_are_written_as_whole_per_cent(share: tuple[float, float, float], text: str) -> None:
    assert share_text(*share) == text
