"""Hostile tables and arguments: a sound fit, or an error with a name that says what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from termwise import AdditiveGPRegressor, OAKRegressor
from termwise.errors import (
    CellError,
    OptionError,
    TableError,
    TargetError,
)
from tests.estimators.hostile import DAYS, MODELS, ROWS, assert_sound, changed, numbers, quick, target

# Targets


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (changed(target(), 3, np.nan), r"NaN in row 3 \(1 in all\); leave those rows out"),
        (changed(target(), slice(3, 5), np.inf), r"infinity in row 3 \(2 in all\); leave those rows out"),
        (np.array([None, *target()[1:]], dtype=object), "NaN in row 0"),
        (pd.Series([None, *target()[1:]], dtype="Float64"), "NaN in row 0"),
        (np.full(ROWS, 7.0), "is 7 in every row.*check that the right column is the target"),
        (["low"] * ROWS, "not made of numbers .*pass one number for each row"),
        (None, "requires y to be passed.*pass one number for each row"),
        (target()[:-1], "table has 30 rows and the target 29"),
        (np.c_[target(), target()], r"shape \(30, 2\).*pass one number for each row"),
        (target() + 1j, "[Cc]omplex.*pass real ones"),
        (DAYS, "dates or durations; pass numbers, such as days since a first day"),
        (changed(DAYS, 3, np.datetime64("NaT")), "dates or durations; pass numbers"),
        (pd.Series(DAYS - DAYS[0]), "dates or durations; pass numbers"),
    ],
    ids=[
        "nan",
        "inf",
        "none",
        "NA",
        "constant",
        "text",
        "missing",
        "short",
        "two columns",
        "complex",
        "dates",
        "NaT",
        "durations",
    ],
)
def test_bad_targets_are_refused(kind: Any, y: Any, message: str) -> None:
    with pytest.raises(TargetError, match=message):
        quick(kind).fit(numbers(), y)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("scale", [1e300, 1e-300, 1e-12])
def test_a_target_of_any_scale_gives_the_same_model(kind: Any, scale: float) -> None:
    X, y = numbers(), target() / 4.0
    model = quick(kind).fit(X, scale * y)
    assert_sound(model, X)
    mean, std = quick(kind).fit(X, y).predict(X, return_std=True)
    scaled = model.predict(X, return_std=True)
    np.testing.assert_allclose(scaled[0] / scale, mean, atol=1e-4)
    np.testing.assert_allclose(scaled[1] / scale, std, rtol=1e-3)
    assert np.all(np.isfinite(model.log_predictive_density(X, scale * y)))


@pytest.mark.parametrize("kind", MODELS)
def test_a_target_far_from_zero_keeps_its_precision(kind: Any) -> None:
    X, y = numbers(), target()
    model = quick(kind).fit(X, y + 1e9)
    assert np.std(model.predict(X) - 1e9 - y) < 0.2


# Few, repeated and empty rows; columns without effect


@pytest.mark.parametrize("kind", MODELS)
def test_one_row_is_refused(kind: Any) -> None:
    with pytest.raises(TargetError, match="1 sample, a single row; at least two rows are needed"):
        quick(kind).fit(numbers(1), [1.0])


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (8, 20)])
def test_few_rows_are_enough(kind: Any, shape: tuple[int, int]) -> None:
    X = numbers(*shape)
    model = quick(kind).fit(X, X[:, 0])
    assert_sound(model, X)
    assert_sound(model, 3.0 + X)


@pytest.mark.parametrize("kind", MODELS)
def test_repeated_rows_with_one_target(kind: Any) -> None:
    X, y = np.repeat(numbers(8), 4, axis=0), np.repeat(target(8), 4)
    model = quick(kind).fit(X, y)
    assert_sound(model, X)
    assert np.max(np.abs(model.predict(X) - y)) < 0.1


@pytest.mark.parametrize("kind", MODELS)
def test_repeated_rows_with_different_targets_are_noise(kind: Any) -> None:
    X = np.repeat(numbers(10), 6, axis=0)
    y = np.repeat(target(10), 6) + np.random.default_rng(2).normal(size=60)
    model = quick(kind).fit(X, y)
    assert_sound(model, X)
    assert 0.7 < np.mean(model.predict(X, return_std=True)[1]) < 1.6


@pytest.mark.parametrize("kind", MODELS)
def test_a_constant_column_has_no_term(kind: Any) -> None:
    X = changed(numbers(), (slice(None), 2), 5.0)
    model = quick(kind).fit(X, target())
    assert_sound(model, X)
    assert {term.name for term in model.terms_} == {"x0", "x1", "x0:x1"}
    # and whatever it is later, nothing changes
    np.testing.assert_array_equal(model.predict(changed(X, (slice(None), 2), 9.0)), model.predict(X))


@pytest.mark.parametrize("kind", MODELS)
def test_a_column_all_missing_has_no_term(kind: Any) -> None:
    X = changed(numbers(), (slice(None), 2), np.nan)
    model = quick(kind).fit(X, target())
    assert_sound(model, X)
    assert "x2" not in {term.name for term in model.terms_}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("X", [np.ones((ROWS, 2)), np.full((ROWS, 2), np.nan)], ids=["constant", "missing"])
def test_a_table_that_does_not_vary_is_refused(kind: Any, X: np.ndarray) -> None:
    with pytest.raises(TableError, match="no column varies"):
        quick(kind).fit(X, target())


@pytest.mark.parametrize("kind", MODELS)
def test_a_row_all_missing_is_predicted_by_the_constant(kind: Any) -> None:
    X = changed(numbers(), 4, np.nan)
    model = quick(kind).fit(X, target())
    assert_sound(model, X)
    mean, std = model.predict(X, return_std=True)
    assert mean[4] == pytest.approx(model.constant_)
    assert std[4] > np.max(np.delete(std, 4))


@pytest.mark.parametrize("kind", MODELS)
def test_most_cells_may_be_missing(kind: Any) -> None:
    X = numbers()
    X[np.random.default_rng(5).uniform(size=X.shape) < 0.7] = np.nan
    assert_sound(quick(kind).fit(X, target()), X)


# Extreme numbers


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_features_of_any_scale_give_the_same_model(kind: Any, scale: float) -> None:
    X = numbers()
    model = quick(kind).fit(scale * X, target())
    assert_sound(model, scale * X)
    expected = quick(kind).fit(X, target()).predict(X)
    np.testing.assert_allclose(model.predict(scale * X), expected, atol=1e-3)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("value", [1e6, 1e300])
def test_one_wild_cell_does_not_spoil_the_fit(kind: Any, value: float) -> None:
    X = changed(numbers(), (0, 0), value)
    model = quick(kind).fit(X, target())
    assert_sound(model, X)


def test_the_flow_takes_a_wild_cell_in() -> None:
    X, y = numbers(200), target(200)
    model = quick().fit(changed(X, (0, 0), 1e6)[:60], y[:60])
    assert model.score(X[60:], y[60:]) > 0.9


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("value", [1e3, 1e30, 1e300, -1.7e308])
def test_far_outside_the_table_the_prediction_is_unsure(kind: Any, value: float) -> None:
    X = numbers()
    model = quick(kind).fit(X, target())
    far = np.full((2, 3), value)
    assert_sound(model, far)
    assert np.all(model.predict(far, return_std=True)[1] > np.max(model.predict(X, return_std=True)[1]))


@pytest.mark.parametrize("kind", MODELS)
def test_an_infinite_cell_is_refused(kind: Any) -> None:
    X = changed(numbers(), (2, 1), np.inf)
    with pytest.raises(
        TableError, match=r"column 'x1' has an infinite value in row 2.*mark the cell as missing"
    ):
        quick(kind).fit(X, target())
    with pytest.raises(
        TableError, match=r"column 'x1' has an infinite value in row 2.*mark the cell as missing"
    ):
        quick(kind).fit(numbers(), target()).predict(X)


# What is no table


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (numbers()[:, 0], "Expected 2D array, got 1D array.*Reshape your data"),
        (list(numbers()[:, 0]), "Expected 2D array, got 1D array.*Reshape your data"),
        (pd.Series(numbers()[:, 0]), r"Expected 2D array.*such as frame\[\['age'\]\]"),
        (pl.Series(numbers()[:, 0]), r"Expected 2D array.*such as frame\[\['age'\]\]"),
        (numbers()[None], "dim 3"),
        (3.0, "Expected 2D array, got scalar"),
        (None, "Expected 2D array, got scalar"),
        ("table.csv", "if it is a path use fit_dataset"),
        (np.empty((0, 3)), r"0 sample\(s\).*minimum of 1 is required"),
        (np.empty((ROWS, 0)), r"0 feature\(s\).*minimum of 1 is required"),
        (pd.DataFrame(), "0 feature"),
        (pd.DataFrame({"a": []}), "0 sample"),
        ([[1.0, 2.0], [3.0]], "rows must have equal length.*mark missing cells with None"),
        (pl.DataFrame({"a": [1.0, 2.0]}).lazy(), "call .collect"),
        (pd.DataFrame(numbers(), columns=["a", "b", "a"]), "'a'.*rename or drop|rename or drop.*"),
        (sp.csr_array(numbers()), "[Ss]parse"),
        (sp.dok_matrix(numbers()), "[Ss]parse"),
    ],
    ids=[
        "1-D", "list", "pandas series", "polars series", "3-D", "number", "none", "text", "no rows",
        "no columns", "empty frame", "frame without rows", "ragged", "lazy", "names twice", "sparse array",
        "sparse dictionary",
    ],
)  # fmt: skip
def test_what_is_no_table_is_refused(X: Any, message: str) -> None:
    with pytest.raises(TableError, match=f"(?s){message}"):
        quick().fit(X, target())


def test_cells_that_are_no_values_are_refused() -> None:
    X = pd.DataFrame({"a": numbers()[:, 0], "b": [[1, 2]] * ROWS})
    with pytest.raises(CellError, match=r"column 'b' has a list in row 0.*split it into columns or drop"):
        quick().fit(X, target())


# Arguments

COMMON = [
    ("max_order", 0, "max_order is 0; use a whole number, at least 1"),
    ("max_order", 1.5, "max_order is 1.5; use a whole number"),
    ("max_order", "2", "max_order is '2'; use a whole number"),
    ("kernel", "rbf", "kernel is 'rbf'; use one of 'se', 'matern12'"),
    ("kernel", None, "kernel is None; use one of 'se'"),
    ("categorical", "x1", r"categorical='x1'.*write categorical=\['x1'\]"),
    ("categorical", ["y1"], "categorical names the column 'y1', which is not there.*the columns are 'x0'"),
    ("categorical", [7], "categorical has the position 7, but the table has 3 columns"),
    ("categorical", [1.5], "categorical has the entry 1.5; expected the name or the position"),
    ("categorical", None, "categorical"),
    ("categorical", 1, "categorical"),
    ("likelihood", "gamma", "likelihood is 'gamma'; use one of 'normal', 'poisson', 'student'"),
    ("inference", "magic", "inference is 'magic'; use one of 'auto', 'exact', 'sparse'"),
    ("n_inducing", 0, "n_inducing is 0; use a whole number, at least 1"),
    ("n_inducing", 1.5, "n_inducing is 1.5; use a whole number"),
    ("n_inducing", "all", "n_inducing is 'all'; use a whole number"),
    ("n_orthogonal", -1, "n_orthogonal is -1; use a whole number, at least 0"),
    ("n_orthogonal", 1.5, "n_orthogonal is 1.5; use a whole number"),
    ("inducing", "random", r"inducing is 'random'; use one of 'variance', 'greedy', 'kmeans\+\+'"),
    ("inducing", None, "inducing is None; use one of 'variance'"),
    ("n_restarts", 0, "n_restarts is 0; use a whole number, at least 1"),
    ("n_restarts", "2", "n_restarts is '2'; use a whole number"),
    ("unknown", "skip", "unknown is 'skip'; use one of 'marginalise', 'error'"),
    ("random_state", "seed", "random_state"),
    ("random_state", -1, "random_state"),
    ("random_state", 1.5, "random_state"),
    ("n_jobs", 0, "n_jobs is 0; use None, a positive whole number, or -1"),
    ("n_jobs", 1.5, "n_jobs is 1.5; use None"),
    ("progress", "loud", "progress"),
]
OF_OAK = [
    ("terms", "age", "terms is 'age'; give a list of names"),
    ("measure", "gauss", "measure is 'gauss'; use one of 'auto', 'normal'"),
    ("measure", None, "measure is None; use one of 'auto', 'normal'"),
    ("measure", {"x9": "normal"}, r"measure names columns that are not there: x9; use \['x0'"),
    ("measure", {"x0": "gauss"}, "measure of 'x0' is 'gauss'; use one of"),
    ("flow", "bent", "flow is 'bent'; use one of 'learned', 'fixed', None"),
    ("flow", True, "flow is True; use one of"),
    ("normalise", "yes", "normalise is 'yes'; use one of True, False"),
]
OF_ADDITIVE = [("kind", "sum", "kind is 'sum'; use one of 'additive', 'gam', 'se', 'all-subsets'")]


@pytest.mark.parametrize(
    ("kind", "name", "value", "message"),
    [(kind, *case) for kind in MODELS for case in COMMON]
    + [(OAKRegressor, *case) for case in OF_OAK]
    + [(AdditiveGPRegressor, *case) for case in OF_ADDITIVE],
)
def test_bad_arguments_are_refused(kind: Any, name: str, value: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        quick(kind, **{name: value}).fit(numbers(), target())


@pytest.mark.parametrize("kind", MODELS)
def test_every_argument_is_tried_above(kind: Any) -> None:
    own = OF_OAK if kind is OAKRegressor else OF_ADDITIVE
    assert {name for name, *_ in [*COMMON, *own]} == set(kind().get_params())


def test_a_bad_argument_is_told_from_a_misspelled_one() -> None:
    with pytest.raises(TypeError, match="max_ordr"):
        OAKRegressor(max_ordr=2)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("max_order", [None, 99])
def test_an_order_beyond_the_columns_is_all_orders(kind: Any, max_order: int | None) -> None:
    model = quick(kind, max_order=max_order).fit(numbers(), target())
    assert_sound(model, numbers())
    assert max(term.order for term in model.terms_) == 3


def test_a_measure_may_name_a_column_that_turns_out_constant() -> None:
    X = changed(numbers(), (slice(None), 2), 5.0)
    assert_sound(quick(measure={"x2": "normal"}).fit(X, target()), X)
