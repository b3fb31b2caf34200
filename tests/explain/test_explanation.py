"""Explanations as tables."""

from __future__ import annotations

import numpy as np
import pytest

from termwise import OAKRegressor
from termwise.display import WaterfallDisplay
from termwise.explain.explanation import LocalExplanation
from termwise.explain.terms import column_names


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        (["age", "age:std"], ["age", "age:std"]),
        (["std", "age"], ["std (term)", "age"]),
        (["std", "std (term)"], ["std (term) (term)", "std (term)"]),
        (["std (term)", "std"], ["std (term)", "std (term) (term)"]),
    ],
)
def test_no_two_columns_of_a_table_have_one_name(terms: list[str], expected: list[str]) -> None:
    assert column_names(terms, ("prediction", "std")) == expected


def test_a_feature_may_be_called_like_a_column_of_the_frame() -> None:
    contributions = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    local = LocalExplanation(
        terms=("prediction", "constant", "std"),
        constant=10.0,
        contributions=contributions,
        std=np.ones((2, 3)),
        predictions=10.0 + contributions.sum(axis=1),
    )
    frame = local.frame()
    assert list(frame) == ["prediction", "constant", "prediction (term)", "constant (term)", "std"]
    np.testing.assert_array_equal(frame["prediction"], local.predictions)
    np.testing.assert_array_equal(frame["constant"], 10.0)
    np.testing.assert_array_equal(frame.iloc[:, 2:], contributions)


def test_explained_rows_say_what_their_numbers_are() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = rng.poisson(np.exp(X[:, 0]))
    model = OAKRegressor(likelihood="poisson", max_order=1, n_restarts=1).fit(X, y)
    assert model.explain(X[:2]).quantity == "logarithm of the rate"
    drawn = WaterfallDisplay.from_estimator(model, X[:1]).plot(target="calls")
    assert drawn.axes_[0].get_xlabel() == "logarithm of the rate (calls)"
    normal = model.set_params(likelihood="normal").fit(X, y)
    assert normal.explain(X[:2]).quantity == ""
    assert WaterfallDisplay.from_estimator(normal, X[:1]).plot().axes_[0].get_xlabel() == "prediction"
