"""What every figure promises."""

from __future__ import annotations

import inspect
import sys
from dataclasses import fields

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

from termwise import OAKClassifier, OAKRegressor, display
from termwise.display import (
    CumulativeDisplay,
    EffectDisplay,
    EffectsDisplay,
    OrdersDisplay,
    SharesDisplay,
    WaterfallDisplay,
)
from termwise.display.base import Display
from termwise.display.style import Style
from termwise.errors import OptionError, TermError
from termwise.posterior.posterior import Posterior
from tests.display.made_up import LOCAL, SCORE, effect_of, explanation_of

mpl.use("Agg")

MADE_UP = {
    CumulativeDisplay: lambda: CumulativeDisplay(SCORE, shares=np.array([0.5, 0.3, 0.1])),
    EffectDisplay: lambda: EffectDisplay(effect_of("age")),
    EffectsDisplay: lambda: EffectsDisplay(explanation_of(("age",), ("city",))),
    OrdersDisplay: lambda: OrdersDisplay(explanation_of(("age",))),
    SharesDisplay: lambda: SharesDisplay(explanation_of(("age",))),
    WaterfallDisplay: lambda: WaterfallDisplay(LOCAL),
}
every = pytest.mark.parametrize("make", MADE_UP.values(), ids=[kind.__name__ for kind in MADE_UP])


def test_every_figure_is_tried_here_and_exported():
    assert set(Display.__subclasses__()) == set(MADE_UP)
    assert sorted(kind.__name__ for kind in MADE_UP) == sorted(display.__all__)


@every
def test_plot_returns_itself_and_keeps_the_figure(make):
    made = make()
    assert made.plot() is made
    assert all(ax.figure is made.figure_ for ax in made.axes_)
    assert "pyplot" not in str(type(made.figure_.canvas))
    assert make()._repr_png_().startswith(b"\x89PNG")


@every
def test_given_axes_are_drawn_into(make):
    figure = Figure()
    axes = list(figure.subplots(1, 2))
    made = make()
    name = "axes" if "axes" in inspect.signature(made.plot).parameters else "ax"
    made.plot(**{name: axes})
    assert made.figure_ is figure
    assert made.axes_ == axes[: len(made.axes_)]
    with pytest.raises(OptionError, match="axes has 0 axes; pass at least"):
        made.plot(**{name: []})


@every
def test_an_unknown_style_is_named(make):
    for draw in (make().plot, make().plotly):
        with pytest.raises(OptionError, match=r"there is no style color; use one of .*colour"):
            draw(color="red")


@pytest.mark.parametrize("field", [field.name for field in fields(Style)])
def test_every_style_is_said_where_it_is_used(field):
    assert any(f"`{field}" in inspect.getdoc(kind.plot) for kind in MADE_UP)


@every
def test_without_matplotlib_the_remedy_is_named(make, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(OptionError, match=r"pip install termwise\[plot\]"):
        make().plot()


@every
def test_without_plotly_the_remedy_is_named(make, monkeypatch):
    for name in ["plotly", *(name for name in sys.modules if name.split(".")[0] == "plotly")]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(OptionError, match=r"pip install termwise\[plot\]"):
        make().plotly()


TABLE = {"x": np.random.default_rng(1).normal(size=50), "c": ["a", "b", "c", "a", "b"] * 10}


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(1)
    y = TABLE["x"] * (1.0 + np.array([c == "a" for c in TABLE["c"]])) + rng.normal(0.0, 0.1, 50)
    return OAKRegressor(max_order=2, n_restarts=1).fit(TABLE, y)


def from_estimator(model):
    return [
        EffectDisplay.from_estimator(model, "c:x"),
        CumulativeDisplay.from_estimator(model, TABLE, TABLE["x"]),
        EffectsDisplay.from_estimator(model),
        SharesDisplay.from_estimator(model),
        OrdersDisplay.from_estimator(model),
        WaterfallDisplay.from_estimator(model, TABLE, row=3),
    ]


def test_plot_never_predicts(model, monkeypatch):
    made = from_estimator(model)
    called = []
    for name in ("mean", "variance", "term_mean", "term_variance", "term_means", "covariance"):
        monkeypatch.setattr(Posterior, name, lambda *_, name=name: called.append(name))
    for one in made:
        one.plot()
        one.plotly()
    assert called == []


def test_figures_come_from_an_estimator(model):
    one, score, effects, shares, orders, row = (made.plot() for made in from_estimator(model))
    assert one.effect.term.name == "x:c"
    assert score.score.terms == tuple(model.sobol_["term"])
    assert [effect.term for effect in effects.explanation.effects] == model.terms_[: len(effects.axes_)]
    assert [label.get_text() for label in shares.axes_[0].get_yticklabels()] == list(model.sobol_["term"])
    heights = [bar.get_height() for bar in orders.axes_[0].patches]
    np.testing.assert_allclose(heights, 100.0 * model.order_shares_)
    assert row.steps().prediction == pytest.approx(model.predict(TABLE)[3])
    assert row.steps().constant + row.steps().added.sum() == pytest.approx(row.steps().prediction)


def test_a_classifier_is_taken_apart_on_the_latent_scale():
    labels = np.where(TABLE["x"] > 0.0, "up", "down")
    model = OAKClassifier(max_order=1, n_restarts=1).fit(TABLE, labels)
    display = WaterfallDisplay.from_estimator(model, TABLE, row=0).plot()
    steps = display.steps()
    assert steps.constant + steps.added.sum() == pytest.approx(steps.prediction)
    assert steps.prediction == pytest.approx(model.explain(TABLE).predictions[0])
    assert display.axes_[0].get_xlabel() == "log odds of up"
    assert display.plot(target="way").axes_[0].get_xlabel() == "log odds of up (way)"
    effects = model.explain().plot(target="way")
    assert "change in log odds of up (way)" in {ax.get_ylabel() for ax in effects.axes}


def test_an_explanation_plots_itself(model):
    figure = model.explain(n_terms=3).plot(target="y")
    assert "pyplot" not in str(type(figure.canvas))
    assert len(figure.axes) >= 3


def test_a_term_that_is_not_there_is_named(model):
    with pytest.raises(TermError, match="'y'"):
        EffectDisplay.from_estimator(model, "y")


def test_a_model_that_is_not_fitted_is_named():
    with pytest.raises(NotFittedError, match="OAKRegressor"):
        EffectDisplay.from_estimator(OAKRegressor(), "x")
    with pytest.raises(NotFittedError, match="OAKRegressor"):
        CumulativeDisplay.from_estimator(OAKRegressor(), TABLE, TABLE["x"])
    for kind in (EffectsDisplay, SharesDisplay, OrdersDisplay):
        with pytest.raises(NotFittedError, match="OAKRegressor"):
            kind.from_estimator(OAKRegressor())
    with pytest.raises(NotFittedError, match="OAKRegressor"):
        WaterfallDisplay.from_estimator(OAKRegressor(), TABLE)
