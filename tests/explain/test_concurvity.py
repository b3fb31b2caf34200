"""Concurvity against numpy's least squares on the whole columns."""

from __future__ import annotations

import json

import numpy as np
import pytest

from termwise.errors import OptionError
from termwise.explain.concurvity import concurvity


def r_squared(values: np.ndarray, j: int) -> float:
    """The textbook formula, with an intercept."""
    others = np.column_stack([np.ones(len(values)), np.delete(values, j, axis=1)])
    fitted = others @ np.linalg.lstsq(others, values[:, j], rcond=None)[0]
    left = values[:, j] - fitted
    return float(1.0 - left @ left / np.sum((values[:, j] - values[:, j].mean()) ** 2))


def test_it_is_the_r_squared_of_least_squares() -> None:
    rng = np.random.default_rng(0)
    values = rng.standard_normal((80, 5)) @ rng.standard_normal((5, 5)) * [1.0, 10.0, 0.1, 1e-6, 1e6] + 3.0
    found = concurvity(list("abcde"), values)
    np.testing.assert_allclose(found.r_squared, [r_squared(values, j) for j in range(5)], rtol=1e-8)
    correlations = np.corrcoef(values.T) - np.eye(5)
    for j in range(5):
        best = int(np.argmax(np.abs(correlations[j])))
        assert found.nearest[j] == "abcde"[best]
        assert found.correlation[j] == pytest.approx(correlations[j, best], rel=1e-9)


def test_collinear_terms_have_one_and_others_about_zero() -> None:
    rng = np.random.default_rng(1)
    a, b, c = rng.standard_normal((3, 4000))
    found = concurvity(["a", "b", "sum", "c"], np.column_stack([a, b, 2.0 * a - b + 7.0, c]))
    np.testing.assert_allclose(found.r_squared[:3], 1.0, atol=1e-12)
    assert found.r_squared[3] < 0.01


def test_a_term_that_does_not_vary_has_none_and_explains_nothing() -> None:
    rng = np.random.default_rng(2)
    values = np.column_stack([rng.standard_normal(50), np.full(50, 0.1), rng.standard_normal(50)])
    found = concurvity(["a", "flat", "b"], values)
    assert np.isnan(found.r_squared[1])
    assert found.nearest == ("b", None, "a")
    assert found.r_squared[0] == pytest.approx(np.corrcoef(values[:, 0], values[:, 2])[0, 1] ** 2)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["terms"][1]["r_squared"] is None


def test_one_term_and_no_term() -> None:
    values = np.arange(5.0)[:, None]
    assert concurvity(["a"], values).r_squared.tolist() == [0.0]
    none = concurvity([], np.empty((5, 0)))
    assert none.terms == ()
    assert len(none.frame()) == 0
    assert "0 terms" in repr(none)


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(OptionError, match="3 rows for 3 terms"):
        concurvity(["a", "b", "c"], np.eye(3))


def test_as_a_frame() -> None:
    values = np.random.default_rng(3).standard_normal((20, 2))
    found = concurvity(["a", "b"], values)
    frame = found.frame()
    assert list(frame) == ["term", "r_squared", "nearest", "correlation"]
    np.testing.assert_array_equal(frame["r_squared"], found.r_squared)
    assert "of a" in repr(found) or "of b" in repr(found)
