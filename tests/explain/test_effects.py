"""Effects on grids: slices of three features, missing cells, tables and plain data."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from termwise.encode.encoder import Encoder, fit_encoder
from termwise.errors import TermError
from termwise.explain.effects import Effect, effect
from termwise.explain.explanation import Explanation
from termwise.explain.plain import plain
from termwise.explain.probability import ChangeInProbability
from termwise.explain.terms import found_term, named_term, sobol_table
from termwise.kernels.additive import AdditiveKernel, Subset
from termwise.kernels.categorical import Categorical
from termwise.kernels.component import Component
from termwise.kernels.squared_exponential import SquaredExponential
from termwise.measures import Discrete, Normal
from termwise.posterior.posterior import Posterior
from termwise.table import Schema, read_table
from tests.oracle import additive as oracle

N, SCALE = 60, 3.0
CITIES = ["Bern", "Bonn", "Kyiv", "Lima", "Oslo", "Rome", "Riga", "Wien"]


def a_frame() -> pd.DataFrame:
    """Levels come first, so that slices change the order; the first of the cities has the fewest rows."""
    rng = np.random.default_rng(0)
    often = np.arange(1.0, 9.0) / 36.0
    frame = pd.DataFrame(
        {
            "city": np.concatenate([CITIES, rng.choice(CITIES, N - 8, p=often)]),
            "age": rng.uniform(20.0, 60.0, N),
            "mean": rng.normal(size=N),
            "dose": rng.choice([1.0, 2.5, 7.0], N, p=[0.2, 0.5, 0.3]),
        }
    )
    frame.loc[[3, 9], "age"] = np.nan
    frame.loc[[9, 11], "mean"] = np.nan
    frame.loc[4, "city"] = None
    return frame


@pytest.fixture(scope="module")
def learned() -> tuple[Posterior, Encoder]:
    table = read_table(a_frame())
    encoder = fit_encoder(Schema.infer(table), table, flow=False, unknown="marginalise")
    X = encoder.transform(table)
    n_levels = len(encoder.columns[0].to_dict()["levels"])
    levels = Component(
        Categorical(tuple(np.linspace(-1.0, 1.0, n_levels)), (0.5,) * n_levels),
        Discrete((1.0 / n_levels,) * n_levels),
    )
    numbers = [Component(SquaredExponential(length), Normal()) for length in (0.6, 1.0, 1.5)]
    kernel = AdditiveKernel((levels, *numbers), (0.2, 1.0, 0.5, 0.4, 0.3))
    y = np.sin(2.0 * np.nan_to_num(X[:, 1])) + np.nan_to_num(X[:, 2] * X[:, 3])
    return oracle.posterior_of(kernel, X, y, 0.1), encoder


def the_effect(learned: tuple[Posterior, Encoder], *columns: int) -> Effect:
    posterior, encoder = learned
    return effect(posterior, encoder, named_term(columns, encoder.names), SCALE)


def by_hand(learned: tuple[Posterior, Encoder], term: Subset, cells: dict[str, Any]) -> tuple[float, float]:
    """Mean and standard deviation of a term at one row, by dense algebra."""
    posterior, encoder = learned
    row = {name: cells.get(name) for name in encoder.names}
    x = np.array([[_code(encoder, d, row[name]) for d, name in enumerate(encoder.names)]])
    cross = oracle.term_matrix(posterior.kernel, term, x, posterior.centres)
    prior = oracle.term_matrix(posterior.kernel, term, x, x)
    B = posterior.root @ posterior.root.T
    return SCALE * float((cross @ posterior.alpha)[0]), SCALE * float(
        np.sqrt(prior - cross @ B @ cross.T)[0, 0]
    )


def _code(encoder: Encoder, d: int, value: Any) -> float:
    if value is None:
        return np.nan
    dtype = object if isinstance(value, str) else float
    return float(encoder.columns[d].forward(np.array([value], dtype=dtype))[0])


# Three features.


def test_three_numbers_are_shown_at_three_quantiles_of_the_third(learned: Any) -> None:
    found = the_effect(learned, 1, 2, 3)
    assert found.features == ("age", "mean", "dose")
    assert found.mean.shape == found.std.shape == (33, 33, 3)
    dose = a_frame()["dose"].to_numpy()
    np.testing.assert_allclose(found.axes[2], np.quantile(dose, [0.1, 0.5, 0.9]), atol=1e-12)
    for i, j, k in [(0, 5, 0), (20, 32, 1), (7, 7, 2)]:
        cells = {name: axis[at] for name, axis, at in zip(found.features, found.axes, (i, j, k), strict=True)}
        mean, std = by_hand(learned, (1, 2, 3), cells)
        assert found.mean[i, j, k] == pytest.approx(mean, abs=1e-9)
        assert found.std[i, j, k] == pytest.approx(std, abs=1e-7)


def test_slices_are_at_the_most_frequent_levels_and_numbers_come_first(learned: Any) -> None:
    found = the_effect(learned, 0, 1, 3)
    assert found.term.features == ("city", "age", "dose")
    assert found.features == ("age", "dose", "city")
    counts = a_frame()["city"].value_counts()
    assert len(found.axes[2]) == 6
    assert sorted(found.axes[2]) == list(found.axes[2])
    assert min(counts[found.axes[2]]) >= max(counts.drop(found.axes[2]))
    assert found.mean.shape == (33, 33, 6)
    cells = {"age": found.axes[0][4], "dose": found.axes[1][30], "city": found.axes[2][5]}
    assert found.mean[4, 30, 5] == pytest.approx(by_hand(learned, (0, 1, 3), cells)[0], abs=1e-9)
    for axis, name in zip(found.rows, found.features, strict=True):
        assert len(axis) == N
        if name != "city":
            np.testing.assert_allclose(axis, a_frame()[name])


def test_slices_that_are_one_are_shown_once(learned: Any) -> None:
    posterior, encoder = learned
    one = posterior.rows[np.where(np.abs(posterior.rows[:, 3] - posterior.rows[0, 3]) < 1e-12)]
    fewer = Posterior(
        posterior.kernel, posterior.centres, posterior.alpha, posterior.root, posterior.noise, seen=one
    )
    found = effect(fewer, encoder, named_term((1, 2, 3), encoder.names), SCALE)
    assert found.mean.shape == (33, 33, 1)


def test_more_than_three_features_are_refused_with_a_way_out(learned: Any) -> None:
    with pytest.raises(TermError, match=r"has 4 features.*explain\(X\)"):
        the_effect(learned, 0, 1, 2, 3)


# Missing cells.


def test_where_the_cell_is_missing_the_term_is_zero_and_varies_as_it_does_over_the_column(
    learned: Any,
) -> None:
    posterior, _ = learned
    for d, name in enumerate(("city", "age", "mean", "dose")):
        found = the_effect(learned, d)
        points, weights = posterior.kernel.components[d].measure.nodes()
        rows = np.full((points.size, 4), np.nan)
        rows[:, d] = points
        second = weights @ (posterior.term_variance((d,), rows) + posterior.term_mean((d,), rows) ** 2)
        assert found.missing_mean == 0.0
        assert found.missing_std == pytest.approx(SCALE * np.sqrt(second), rel=0.02)
        assert found.missing_high == -found.missing_low == 2.0 * found.missing_std
        assert found.n_missing == a_frame()[name].isna().sum()
    pair = the_effect(learned, 1, 2)
    assert pair.missing_mean is pair.missing_std is pair.missing_low is pair.missing_high is None
    assert pair.n_missing == 3  # of rows that lack one or both


def test_as_a_change_in_probability_the_missing_cell_has_a_band(learned: Any) -> None:
    def p(f: Any) -> Any:
        return 1.0 / (1.0 + np.exp(-np.asarray(f)))

    latent = the_effect(learned, 1)
    found = ChangeInProbability(p, 0.7).of_effect(latent)
    assert found.missing_mean == 0.0
    assert found.missing_std is None
    for end, side in [(found.missing_low, -1.0), (found.missing_high, 1.0)]:
        assert end == pytest.approx(p(0.7 + side * 2.0 * latent.missing_std) - p(0.7))
    assert ChangeInProbability(p, 0.7).of_effect(the_effect(learned, 1, 2)).missing_low is None


# Tables and plain data.


def test_a_frame_has_a_row_for_each_point(learned: Any) -> None:
    found = the_effect(learned, 0, 2)
    frame = found.frame()
    assert list(frame) == ["city", "mean (term)", "mean", "low", "high"]
    assert len(frame) == found.mean.size
    at = frame[frame["city"] == "Oslo"]
    i = list(found.axes[0]).index("Oslo")
    np.testing.assert_array_equal(at["mean (term)"], found.axes[1])
    np.testing.assert_array_equal(at["mean"], found.mean[i])
    np.testing.assert_allclose(at["high"] - at["low"], 4.0 * found.std[i])


@pytest.mark.parametrize("columns", [(0,), (1,), (0, 1), (0, 1, 3)])
def test_json_can_write_an_effect(learned: Any, columns: Subset) -> None:
    found = the_effect(learned, *columns)
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["term"] == found.term.name
    assert data["features"] == list(found.features)
    np.testing.assert_array_equal(data["mean"], found.mean)
    np.testing.assert_array_equal(data["low"], found.low)
    assert [len(axis) for axis in data["axes"]] == list(found.mean.shape)
    assert (data["missing"] is None) == (len(columns) > 1)


def test_what_json_cannot_write_becomes_none() -> None:
    found = plain({"a": np.array([1.0, np.nan, np.inf]), "b": (np.int64(3), np.True_, "x", None)})
    assert found == {"a": [1.0, None, None], "b": [3, True, "x", None]}


# Terms by name.


@pytest.mark.parametrize(
    ("name", "expected"),
    [("age", "age"), ("age:city", "city:age"), ("city:age", "city:age"), ("x:`a:b`", "`a:b`:x")],
)
def test_a_term_is_found_in_any_order_of_its_features(name: str, expected: str) -> None:
    assert found_term(name, ["age", "city", "city:age", "`a:b`:x", "a:b:x"]) == expected


def test_a_term_that_is_not_there_is_named_with_those_close_to_it() -> None:
    with pytest.raises(TermError, match="no term 'Agee'; did you mean 'age'"):
        found_term("Agee", ["age", "city"])
    with pytest.raises(TermError, match="no term 'zzz'; terms_ lists"):
        found_term("zzz", ["age", "city"])


def test_an_explanation_finds_the_effects_that_it_has(learned: Any) -> None:
    effects = (the_effect(learned, 0), the_effect(learned, 0, 1))
    terms = [one.term for one in effects] + [the_effect(learned, 3).term]
    table = sobol_table(terms, np.array([0.5, 0.3, 0.2]), np.full((3, 2), np.nan))
    whole = Explanation(table, np.array([0.7, 0.3]), effects, 0.9)
    assert whole.effect("age:city") is effects[1]
    assert whole.effect("city") is effects[0]
    with pytest.raises(TermError, match=r"explain\(terms=\['dose'\]\)"):
        whole.effect("dose")
    data = json.loads(json.dumps(whole.to_dict(), allow_nan=False))
    assert [one["term"] for one in data["effects"]] == ["city", "city:age"]
