"""Shares, scores and single rows are drawn as they are told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from termwise.display import CumulativeDisplay, OrdersDisplay, SharesDisplay, WaterfallDisplay
from termwise.errors import OptionError, TermError
from termwise.explain.explanation import Explanation
from termwise.explain.terms import SOBOL_DTYPE
from tests.display.made_up import LOCAL, SCORE, Told, explanation_of


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_bars_are_the_shares_with_whiskers():
    rows = [("age", 1, 0.6, 0.5, 0.7), ("city", 1, 0.3, 0.31, 0.4), ("dose", 1, 0.1, np.nan, np.nan)]
    explanation = Explanation(np.array(rows, dtype=SOBOL_DTYPE), np.array([1.0]), ())
    [ax] = SharesDisplay(explanation).plot().axes_
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], [60.0, 30.0, 10.0])
    first, second, _ = ax.collections[0].get_segments()  # the third has no interval
    np.testing.assert_allclose([first[:, 0], second[:, 0]], [[50.0, 70.0], [31.0, 40.0]])
    assert labels(ax.yaxis) == ["age", "city", "dose"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the largest on top
    assert len(SharesDisplay(explanation, n_terms=2).plot().axes_[0].patches) == 2
    with pytest.raises(TermError, match="no terms to draw"):
        SharesDisplay(explanation, n_terms=0).plot()


@pytest.mark.parametrize(
    ("shares", "names", "heights"),
    [
        ([0.7, 0.3], ["1", "2"], [70.0, 30.0]),
        ([0.7, 0.2995, 0.0003, 0.0002], ["1", "2", "3–4"], [70.0, 29.95, 0.05]),
        ([0.7, 0.2, 0.1 - 1e-5, 1e-5], ["1", "2", "3", "4"], [70.0, 20.0, 9.999, 0.001]),
        ([1.0], ["1"], [100.0]),
    ],
)
def test_orders_that_have_nothing_are_one_bar(shares, names, heights):
    explanation = Explanation(explanation_of().sobol, np.array(shares), ())
    [ax] = OrdersDisplay(explanation).plot().axes_
    assert labels(ax.xaxis) == names
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], heights)


def test_scores_are_drawn_against_the_names_of_the_terms():
    [ax] = CumulativeDisplay(SCORE).plot().axes_
    line, whole = ax.lines
    np.testing.assert_array_equal(line.get_xdata(), np.arange(4))
    np.testing.assert_array_equal(line.get_ydata(), SCORE.scores)
    assert set(whole.get_ydata()) == {SCORE.whole}
    assert labels(ax.xaxis) == ["constant", *SCORE.terms]
    assert ax.get_ylabel() == "RMSE"
    assert len(ax.figure.axes) == 1


def test_the_sum_of_the_shares_stands_beside_the_score():
    display = CumulativeDisplay(SCORE, shares=np.array([0.5, 0.3, 0.1]), n_terms=2).plot()
    _, beside = display.figure_.axes
    np.testing.assert_allclose(beside.lines[0].get_ydata(), [0.0, 50.0, 80.0])
    np.testing.assert_array_equal(display.axes_[0].lines[0].get_ydata(), SCORE.scores[:3])


def test_scores_come_from_an_estimator():
    model = Told(explanation_of(("age",), ("city",), ("age", "city")), SCORE)
    np.testing.assert_array_equal(CumulativeDisplay.from_estimator(model, None, None).shares, [0.31] * 3)
    CumulativeDisplay.from_estimator(model, None, None, n_terms=2)
    assert model.asked == {"n_terms": 2}


def test_a_waterfall_goes_from_the_constant_to_the_prediction():
    [ax] = WaterfallDisplay(LOCAL, n_terms=2, values={"city": "Oslo"}).plot(target="price").axes_
    assert labels(ax.yaxis) == ["constant", "city = Oslo", "age", "2 other terms", "prediction"]
    bars = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches]
    np.testing.assert_allclose(bars, [(10.0, 7.0), (7.0, 8.0), (8.0, 8.75)])
    whiskers = [segment[:, 0] for segment in ax.collections[0].get_segments()]
    np.testing.assert_allclose(whiskers, [(6.6, 7.4), (7.8, 8.2)])  # that of the others is not known
    [ends] = [line.get_xdata() for line in ax.lines]
    np.testing.assert_array_equal(ends, [10.0, 8.75])
    assert ax.get_xlabel() == "price"
    assert ax.get_ylim()[0] > ax.get_ylim()[1]


def test_a_waterfall_names_the_outcome_and_writes_rounding_as_zero():
    said = {"outcomes": np.array([0.8123, 0.5]), "outcome": "probability of yes"}
    local = replace(LOCAL, constant=-2.817e-08, scale="latent", quantity="log odds of yes", **said)
    local = replace(local, contributions=local.contributions * [1.0, 1.0, 1e-9, 1.0])
    [ax] = WaterfallDisplay(local).plot().axes_
    assert labels(ax.yaxis)[-1] == "prediction\nprobability of yes: 81.2 %"
    assert [text.get_text() for text in ax.texts] == ["0", "-3", "+1", "+0.5", "0", "8.75"]
    rate = replace(LOCAL, scale="logarithm", outcomes=np.array([4.31234, 1.0]), outcome="rate per row")
    assert WaterfallDisplay(rate).steps().names[-1] == "prediction\nrate per row: 4.312"
    small = replace(
        LOCAL, constant=1e-9, contributions=1e-8 * LOCAL.contributions, predictions=np.ones(2) * 1e-8
    )
    assert "0" not in WaterfallDisplay(small).steps().texts  # the unit of a target may be large


def test_a_waterfall_of_all_terms_has_no_others():
    steps = WaterfallDisplay(LOCAL, row=-2, n_terms=3).steps()
    assert steps.labels == ("city", "age", "age:city", "dose")  # a single other one is named
    assert steps.starts[-1] + steps.added[-1] == pytest.approx(steps.prediction)
    assert not np.isnan(steps.half).any()


def test_what_is_no_waterfall_is_said():
    with pytest.raises(OptionError, match="row is 2, and there are 2 rows; use one from 0 to 1"):
        WaterfallDisplay(LOCAL, row=2).plot()
    with pytest.raises(OptionError, match="do not add up; explain the rows with scale='latent'"):
        WaterfallDisplay(replace(LOCAL, scale="probability", std=None)).plot()


def test_rows_of_a_table_are_named_with_their_values():
    told = Told(explanation_of())
    told.answer = LOCAL
    table = {"age": [30.0, np.nan], "city": ["Oslo", "Rome"], "a:b": [1.0, 2.5]}
    display = WaterfallDisplay.from_estimator(told, table, row=1)
    assert display.values == {"age": "missing", "city": "Rome", "`a:b`": "2.5"}
    with pytest.raises(OptionError, match="row is 5, and there are 2 rows"):
        WaterfallDisplay.from_estimator(told, table, row=5)
