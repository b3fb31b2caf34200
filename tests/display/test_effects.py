"""Figures show what the explanation says, and compute nothing."""

from __future__ import annotations

import sys
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

from termwise import OAKRegressor
from termwise.display import EffectsDisplay, SharesDisplay
from termwise.display.panels import PANELS
from termwise.display.style import share_text
from termwise.errors import OptionError, TermError
from termwise.explain.effects import Effect
from termwise.explain.explanation import Explanation
from termwise.explain.terms import SOBOL_DTYPE, Term
from termwise.posterior.posterior import Posterior

mpl.use("Agg")

RNG = np.random.default_rng(0)
AGES = np.linspace(20.0, 60.0, 9)
DOSES = np.linspace(0.0, 3.0, 7)
CITIES = np.array(["Bern", "Oslo", "Rome"], dtype=object)
SMOKER = np.array([False, True], dtype=object)
GRIDS = {"age": AGES, "dose": DOSES, "city": CITIES, "smoker": SMOKER}
ROWS = {
    "age": np.array([np.nan, *RNG.uniform(20.0, 60.0, 50)]),
    "dose": np.array([*RNG.uniform(0.0, 3.0, 50), np.nan]),
    "city": np.array([None, *RNG.choice(CITIES, 50)], dtype=object),
    "smoker": np.array([*RNG.choice(SMOKER, 50), None], dtype=object),
}
KINDS = [("age",), ("city",), ("age", "dose"), ("city", "dose"), ("dose", "city"), ("city", "smoker")]


def effect_of(*features: str) -> Effect:
    """An effect that no model has made."""
    axes = tuple(GRIDS[feature] for feature in features)
    shape = tuple(len(axis) for axis in axes)
    rng = np.random.default_rng(len(shape))
    rows = tuple(ROWS[feature] for feature in features)
    return Effect(
        Term(features, tuple(range(len(features)))),
        axes,
        rng.normal(size=shape),
        rng.uniform(size=shape),
        rows,
    )


def explanation_of(*terms: tuple[str, ...], low: float = 0.24, high: float = 0.39) -> Explanation:
    effects = tuple(effect_of(*features) for features in terms)
    table = np.array([(e.term.name, e.term.order, 0.31, low, high) for e in effects], dtype=SOBOL_DTYPE)
    return Explanation(table, np.array([0.7, 0.3]), effects)


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
    [bars] = ax.containers
    np.testing.assert_array_equal(bars.lines[0].get_ydata(), effect.mean)
    ends = np.array([segment[:, 1] for segment in bars.lines[2][0].get_segments()])
    np.testing.assert_allclose(ends, np.c_[effect.mean - 2.0 * effect.std, effect.mean + 2.0 * effect.std])
    assert [label.get_text() for label in ax.get_xticklabels()] == list(CITIES)


def test_a_surface_is_centred_at_zero_and_shows_the_rows() -> None:
    ax, effect = drawn("age", "dose")
    [filled] = ax.collections
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
    [filled] = ax.collections
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
    from matplotlib.figure import Figure

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
    with pytest.raises(TermError, match="'age:dose:city' has 3 features; terms of one or two can be drawn"):
        EffectsDisplay(explanation_of(("age", "dose", "city"))).plot()
    with pytest.raises(OptionError, match=r"there is no style color; use one of .*colour"):
        EffectsDisplay(explanation_of(("age",))).plot(color="red")


@pytest.mark.parametrize("display", [EffectsDisplay, SharesDisplay])
def test_without_matplotlib_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch, display: Any) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(OptionError, match=r"pip install termwise\[plot\]"):
        display(explanation_of(("age",))).plot()


@pytest.mark.parametrize("display", [EffectsDisplay, SharesDisplay])
def test_notebooks_get_a_picture(display: Any) -> None:
    assert display(explanation_of(("age",)))._repr_png_().startswith(b"\x89PNG")


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


def test_bars_are_the_shares_with_whiskers() -> None:
    rows = [("age", 1, 0.6, 0.5, 0.7), ("city", 1, 0.3, 0.31, 0.4), ("dose", 1, 0.1, np.nan, np.nan)]
    explanation = Explanation(np.array(rows, dtype=SOBOL_DTYPE), np.array([1.0]), ())
    [ax] = SharesDisplay(explanation).plot().axes_
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], [60.0, 30.0, 10.0])
    first, second, _ = ax.collections[0].get_segments()  # the third has no interval
    np.testing.assert_allclose([first[:, 0], second[:, 0]], [[50.0, 70.0], [31.0, 40.0]])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["age", "city", "dose"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the largest on top
    assert len(SharesDisplay(explanation, n_terms=2).plot().axes_[0].patches) == 2
    with pytest.raises(TermError, match="no terms to draw"):
        SharesDisplay(explanation, n_terms=0).plot()


@pytest.fixture(scope="module")
def model() -> OAKRegressor:
    rng = np.random.default_rng(1)
    table = {"x": rng.normal(size=50), "c": rng.choice(["a", "b", "c"], 50).tolist()}
    y = table["x"] + np.array([c == "a" for c in table["c"]]) * table["x"]
    return OAKRegressor(max_order=2, n_restarts=1).fit(table, y + rng.normal(0.0, 0.1, 50))


def test_plot_never_predicts(model: OAKRegressor, monkeypatch: pytest.MonkeyPatch) -> None:
    effects, shares = EffectsDisplay.from_estimator(model), SharesDisplay.from_estimator(model)
    called: list[str] = []
    for name in ("mean", "variance", "term_mean", "term_variance", "term_means", "covariance"):
        monkeypatch.setattr(Posterior, name, lambda *_, name=name: called.append(name))
    effects.plot()
    shares.plot()
    assert called == []


def test_displays_come_from_an_estimator(model: OAKRegressor) -> None:
    display = EffectsDisplay.from_estimator(model, n_terms=2)
    assert [effect.term for effect in display.explanation.effects] == model.terms_[:2]
    assert display.plot() is display
    assert len(display.axes_) == 2
    shares = SharesDisplay.from_estimator(model).plot()
    assert [label.get_text() for label in shares.axes_[0].get_yticklabels()] == list(model.sobol_["term"])


def test_an_explanation_plots_itself(model: OAKRegressor) -> None:
    figure = model.explain(n_terms=3).plot(target="y")
    assert "pyplot" not in str(type(figure.canvas))
    assert len(figure.axes) >= 3
