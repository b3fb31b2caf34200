"""Tables that differ from the one of fit, and levels of any type: a sound answer or an error with a name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from termwise import OAKRegressor
from termwise.errors import (
    SchemaError,
    TableError,
    TermwiseError,
    TermwiseWarning,
    UnknownLevelError,
)
from termwise.table import level_text
from tests.estimators.hostile import MODELS, ROWS, assert_sound, numbers, quick, target

# Tables that differ from the one of fit


def frame() -> pd.DataFrame:
    table = pd.DataFrame(numbers(), columns=["age", "size", "dose"])
    table["city"] = np.random.default_rng(3).choice(["Bern", "Oslo", "Rome"], ROWS)
    return table


def frame_target() -> np.ndarray:
    return target() + np.asarray(frame()["city"] == "Oslo", dtype=float)


@pytest.fixture(scope="module")
def fitted() -> OAKRegressor:
    return quick().fit(frame(), frame_target())


def test_a_column_that_is_not_there_is_named(fitted: OAKRegressor) -> None:
    with pytest.raises(SchemaError, match=r"no column 'size'.*add it, filled with missing values"):
        fitted.predict(frame().drop(columns="size"))
    with pytest.raises(SchemaError, match=r"no column 'size' \(did you mean 'Size'\?\)"):
        fitted.predict(frame().rename(columns={"size": "Size"}))


def test_columns_may_be_in_any_order_and_more(fitted: OAKRegressor) -> None:
    more = frame()[["city", "dose", "size", "age"]].assign(y=1.0, note="x")
    np.testing.assert_array_equal(fitted.predict(more), fitted.predict(frame()))


@pytest.mark.parametrize("width", [2, 4])
def test_an_array_of_another_width_is_refused(width: int) -> None:
    model = quick().fit(numbers(), target())
    with pytest.raises(
        SchemaError, match=f"X has {width} features, but OAKRegressor is expecting 3 features"
    ):
        model.predict(numbers(5, width))


def test_names_on_one_side_only_are_warned_about(fitted: OAKRegressor) -> None:
    with pytest.warns(TermwiseWarning, match="matched by position"):
        mean = fitted.predict(frame().to_numpy())
    np.testing.assert_array_equal(mean, fitted.predict(frame()))


def test_text_in_a_column_of_numbers_is_refused(fitted: OAKRegressor) -> None:
    table = frame().astype({"age": object})
    table.loc[3, "age"] = "old"
    with pytest.raises(
        SchemaError, match=r"'age' must be numbers, but has the text 'old' in row 3.*correct the cell"
    ):
        fitted.predict(table)


def test_an_empty_table_is_not_predicted(fitted: OAKRegressor) -> None:
    with pytest.raises(TableError, match="no rows"):
        fitted.predict(frame()[:0])


@pytest.mark.parametrize("kind", MODELS)
def test_an_unseen_level_is_marginalised(kind: Any) -> None:
    model = quick(kind).fit(frame(), frame_target())
    unseen, missing = frame().assign(city="Pisa"), frame().assign(city=None)
    assert_sound(model, unseen)
    mean, std = model.predict(unseen, return_std=True)
    assert np.all(std > model.predict(frame(), return_std=True)[1])
    # as if it were not known where
    np.testing.assert_array_equal(mean, model.predict(missing))
    np.testing.assert_array_equal(std, model.predict(missing, return_std=True)[1])


@pytest.mark.parametrize("kind", MODELS)
def test_an_unseen_level_is_refused_if_asked(kind: Any) -> None:
    model = quick(kind, unknown="error").fit(frame(), frame_target())
    table = frame()
    table.loc[5, "city"] = "Pisa"
    with pytest.raises(
        UnknownLevelError, match="'city' has level 'Pisa' in row 5, not seen in fit; leave the row out"
    ):
        model.predict(table)
    table.loc[5, "city"] = None  # a hole is no level
    assert_sound(model, table)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("columns", [None, ["age", "size", "dose", "city"]])
def test_every_error_is_one_of_ours(kind: Any, columns: Any) -> None:
    with pytest.raises(TermwiseError):
        quick(kind).fit(pd.DataFrame([], columns=columns), [])


# Columns of levels

NAMES = ("high", "low", "mid")
CODES = np.random.default_rng(6).integers(0, 3, ROWS)
TEXTS = [NAMES[code] for code in CODES]
LEVELS = [
    ("float codes", pd.DataFrame({"c": CODES + 1.0}), ["c"], ["1", "2", "3"]),
    ("integer codes", pl.DataFrame({"c": CODES}), ["c"], ["0", "1", "2"]),
    ("two numbers", pd.DataFrame({"c": (CODES > 0) * 2.5}), "auto", ["0", "2.5"]),
    ("truth values", pd.DataFrame({"c": CODES > 0}), "auto", ["False", "True"]),
    ("truth values, polars", pl.DataFrame({"c": CODES > 0}), "auto", ["False", "True"]),
    ("texts", pd.DataFrame({"c": TEXTS}), "auto", list(NAMES)),
    ("texts, polars", pl.DataFrame({"c": TEXTS}), "auto", list(NAMES)),
    ("categorical", pd.DataFrame({"c": pd.Categorical(TEXTS, ["low", "mid", "high"])}), "auto", list(NAMES)),
    ("categories of numbers", pd.DataFrame({"c": pd.Categorical(CODES)}), "auto", ["0", "1", "2"]),
    (
        "enum",
        pl.DataFrame({"c": pl.Series(TEXTS, dtype=pl.Enum(["low", "mid", "high"]))}),
        "auto",
        list(NAMES),
    ),
    ("categorical, polars", pl.DataFrame({"c": pl.Series(TEXTS, dtype=pl.Categorical)}), "auto", list(NAMES)),
]


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(
    ("table", "categorical", "names"), [case[1:] for case in LEVELS], ids=[c[0] for c in LEVELS]
)
def test_levels_of_any_type_are_fitted_and_named(
    kind: Any, table: Any, categorical: Any, names: list[str]
) -> None:
    x = numbers()[:, 0]
    wide = table.assign(x=x) if isinstance(table, pd.DataFrame) else table.with_columns(pl.Series("x", x))
    y = x + (CODES > 0) + np.random.default_rng(7).normal(0.0, 0.1, ROWS)
    model = quick(kind, categorical=categorical).fit(wide, y)
    assert_sound(model, wide)
    effects = {effect.term.name: effect for effect in model.explain().effects}
    assert [level_text(level) for level in effects["c"].axes[0]] == names
    assert effects["c"].mean.shape == (len(names),)
    assert effects["c:x"].mean.shape == (len(names), 33)
    assert effects["c"].mean[names.index(level_text(effects["c"].rows[0][0]))] == pytest.approx(
        np.asarray(model.predict_terms(wide[:1]))[0, [term.name for term in model.terms_].index("c")]
    )
