"""Interactions of functions that are known, alone and as what other models may have."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import termwise as tw
from termwise.deep.detector import Search, detect
from termwise.errors import OptionError, TableError, TargetError
from termwise.explain.interactions import Interaction, Interactions


def table(n: int = 500, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """A pair and a pair with levels; another column acts alone, and one does nothing."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.uniform(-1.7, 1.7, (n, 4)), columns=["a", "b", "c", "idle"])
    frame["city"] = rng.choice(["Oslo", "Bern", "Rome"], n)
    slope = frame.city.map({"Oslo": -1.0, "Bern": 0.0, "Rome": 1.5})
    y = 1.5 * frame.a * frame.b + slope * frame.c + np.sin(frame.b) + 0.05 * rng.standard_normal(n)
    return frame, y.to_numpy()


@pytest.fixture(scope="module")
def found() -> Interactions:
    return tw.detect_interactions(*table(), n_seeds=3)


def test_the_true_sets_come_first_and_are_kept(found: Interactions) -> None:
    assert {row.columns for row in found[:2]} == {("a", "b"), ("c", "city")}
    assert {row.columns for row in found.kept} == {("a", "b"), ("c", "city")}
    assert all(row.stability > 0.5 for row in found[:2])
    strengths = [row.strength for row in found]
    assert strengths == sorted(strengths, reverse=True)
    assert all(0.0 <= row.stability <= 1.0 for row in found)


def test_the_same_seed_finds_the_same() -> None:
    X, y = table(120)
    one, other = (tw.detect_interactions(X, y, n_seeds=2, max_epochs=5, random_state=3) for _ in range(2))
    assert one.ranked == other.ranked


def test_noise_has_no_interactions_that_help() -> None:
    rng = np.random.default_rng(0)
    found = tw.detect_interactions(
        rng.standard_normal((200, 4)), rng.standard_normal(200), n_seeds=2, max_epochs=60
    )
    assert found.kept == []
    assert found.sets() == [(name,) for name in found.names] == found.terms()


def test_a_sum_of_single_columns_has_none_either() -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.7, 1.7, (400, 3))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 + X[:, 2]
    found = tw.detect_interactions(X, y, n_seeds=2, max_epochs=100)
    assert found.kept == []


def test_the_trend_is_the_mean_of_the_networks() -> None:
    frame, y = table(300)
    X, y = frame[["a", "b", "c", "idle"]].to_numpy(), (y - y.mean()) / y.std()
    found = detect(X, y, range(4), Search(2, 3, 40), np.random.default_rng(0))
    total = sum(part.outputs(X).sum(axis=(0, 2)) for part in found.trend)
    assert np.mean((y - total) ** 2) < 0.6
    assert np.abs(np.mean(y - total)) < 0.2


MADE = Interactions(
    (
        Interaction(("a", "b"), 3.0, 1.0, True),
        Interaction(("c", "d", "e", "f"), 2.0, 0.5, True),
        Interaction(("a", "b", "c"), 1.0, 0.5, True),
        Interaction(("a", "g:h"), 0.5, 0.0, False),
    ),
    ("a", "b", "c", "d", "e", "f", "g:h"),
)


def test_terms_are_what_another_model_may_have() -> None:
    terms = MADE.terms()
    assert terms[:7] == [("a",), ("b",), ("c",), ("d",), ("e",), ("f",), ("g:h",)]
    assert ("a", "g:h") not in terms
    assert {term for term in terms if len(term) == 3} == {
        ("a", "b", "c"),
        ("c", "d", "e"),
        ("c", "d", "f"),
        ("c", "e", "f"),
        ("d", "e", "f"),
    }
    assert max(map(len, terms)) == 3
    assert len(terms) == len(set(terms)) == 7 + 3 + 6 + 5
    assert max(map(len, MADE.terms(max_size=2))) == 2


def test_sets_are_whole_and_cover_all_columns() -> None:
    assert MADE.sets() == [("c", "d", "e", "f"), ("a", "b", "c"), ("g:h",)]


def test_they_are_plain_data() -> None:
    assert len(MADE) == 4
    assert [row.name for row in MADE] == ["a:b", "c:d:e:f", "a:b:c", "a:`g:h`"]
    assert list(MADE.frame().columns) == ["columns", "strength", "stability", "kept"]
    assert json.loads(json.dumps(MADE.to_dict()))["interactions"][0]["columns"] == ["a", "b"]
    assert repr(MADE).startswith("<Interactions of 7 columns, 3 of 4 kept: a:b 3 (100%), c:d:e:f 2 (50%)")


def test_an_oak_model_may_have_what_was_found(found: Interactions) -> None:
    X, y = table(150)
    model = tw.OAKRegressor(terms=found.terms(), n_restarts=1).fit(X, y)
    assert {term.name for term in model.terms_ if term.order == 2} == {"a:b", "c:city"}
    assert len(model.terms_) == 7


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_size": 1}, "max_size is 1"),
        ({"n_seeds": 0}, "n_seeds is 0"),
        ({"max_epochs": 0}, "max_epochs is 0"),
        ({"unknown": "so"}, "unknown is 'so'"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        tw.detect_interactions(*table(30), **options)


def test_one_column_cannot_act_together_with_others() -> None:
    X, y = table(30)
    with pytest.raises(TableError, match="it takes two to act together"):
        tw.detect_interactions(X[["a"]], y)
    with pytest.raises(TargetError):
        tw.detect_interactions(X, np.ones(30))
