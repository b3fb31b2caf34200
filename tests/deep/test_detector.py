"""Interactions of functions that are known, alone and as what other models may have."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import termwise as tw
from termwise.deep.detector import (
    FREE,
    SHRINKING,
    SLOWLY,
    STEPS,
    Sample,
    Search,
    _shrink,
    chosen_speed,
    detect,
    learned,
)
from termwise.deep.training import parted
from termwise.deep.trial import Trial
from termwise.errors import NumericalError, OptionError, TableError, TargetError, TermwiseWarning
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


def test_a_pair_is_found_among_skewed_and_collinear_columns() -> None:
    """As of houses: two columns that nearly are each other, sizes with long tails, and much noise."""
    rng = np.random.default_rng(0)
    n = 2000
    east = rng.uniform(-1.7, 1.7, n)
    north = -0.9 * east + np.sqrt(1.0 - 0.81) * rng.standard_normal(n)
    size = rng.standard_normal(n)
    sizes = {name: np.exp(1.5 * size + 0.4 * rng.standard_normal(n)) for name in ("rooms", "beds", "people")}
    frame = pd.DataFrame({"east": east, "north": north, "age": rng.uniform(0.0, 1.0, n), **sizes})
    across = (east + north) / np.std(east + north)
    y = 1.5 * np.sin(2.0 * east) * across + np.log(frame.rooms) + frame.age
    y += 0.45 * np.std(y) * rng.standard_normal(n)
    found = tw.detect_interactions(frame[["people", "north", "rooms", "age", "east", "beds"]], y, n_seeds=2)
    assert set(found[0].columns) == {"east", "north"}
    assert found[0].kept
    assert found[0].strength > 2.0 * found[1].strength > 0.0


def test_shrinking_may_cost_a_part_of_what_acting_together_gains() -> None:
    """With much noise a quarter of the least error would be all that there is to find."""
    errors = np.array([[0.284, 0.300, 0.297, 0.307], [0.290, 0.286, 0.310, 0.320]])
    assert chosen_speed(errors, 0.35) == SHRINKING[1]
    assert chosen_speed(errors, 0.55) == SHRINKING[3]
    assert chosen_speed(errors, 0.2) == SHRINKING[3]  # nothing acts together, and nothing can be lost
    # without noise a tenth of the gain would be a whole set
    assert chosen_speed(np.array([[0.01, 0.02, 0.07, 0.9]]), 1.0) == SHRINKING[1]


def test_networks_that_diverge_are_left_out() -> None:
    errors = np.full((2, 4), np.nan)
    with pytest.raises(NumericalError, match="diverged"):
        chosen_speed(errors, 0.5)
    errors[1, 2] = 0.3
    assert chosen_speed(errors, 0.5) == chosen_speed(errors, np.nan) == SHRINKING[2]
    assert learned(np.array([0.3, np.nan, 0.31]), 0.5) == [0, 2]
    assert learned(np.array([0.3, np.inf, 0.31]), np.nan) == [0, 2]


def test_networks_that_have_not_learned_are_not_asked() -> None:
    assert learned(np.array([0.3, 0.39, 0.41, 0.5]), 0.5) == [0, 1]
    assert learned(np.array([0.3, 0.39, 0.41, 0.5]), 0.2) == [0, 1, 2, 3]  # none has more to say than another


def test_weights_have_time_to_learn_before_they_shrink() -> None:
    def left(done: float) -> float:
        weights = [torch.ones((1, 2, 2))]
        _shrink(weights, torch.tensor([[[2.0]]]), 0.1, done)
        return float(weights[0][0, 0, 0])

    assert left(0.5 * FREE) == 1.0
    assert left(FREE + 0.5 * SLOWLY) == pytest.approx(0.9)
    assert left(1.0) == pytest.approx(0.8)


@pytest.mark.parametrize("n", [180, 1000, 20_000, 10_000_000])
def test_tables_of_all_lengths_have_about_as_many_steps(n: int) -> None:
    assert 0.3 * STEPS < Search().network(n).steps(n) <= STEPS


def test_the_trend_is_the_mean_of_the_networks() -> None:
    frame, y = table(300)
    X, y = frame[["a", "b", "c", "idle"]].to_numpy(), (y - y.mean()) / y.std()
    sample = Sample(X, y, range(4), parted(X, np.random.default_rng(1)))
    found = detect(sample, Search(2, 3, 40), np.random.default_rng(0))
    together, alone = found.trend
    seeds = len(together.inputs)
    assert len(alone.inputs) == 4 * seeds
    each = [
        seeds * (together.outputs(X)[k] + alone.outputs(X)[4 * k : 4 * k + 4].sum(axis=0))[:, 0]
        for k in range(seeds)
    ]
    total = sum(part.outputs(X).sum(axis=(0, 2)) for part in found.trend)
    np.testing.assert_allclose(total, np.mean(each, axis=0), atol=1e-10)
    assert max(np.mean((y - one)[sample.rows.train] ** 2) for one in each) < 0.3


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
    assert repr(replace(MADE, untold=0.25)).endswith("; 25% of the error untold>")


def test_who_is_not_told_all_is_warned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Trial, "untold", lambda self: 0.25)
    monkeypatch.setattr(Trial, "together", lambda self, pairs: ([], 0.25))
    X, y = table(40)
    with pytest.warns(TermwiseWarning, match="would take 25% off") as told:
        assert tw.detect_interactions(X, y, n_seeds=1, max_epochs=2).untold == 0.25
    assert told[0].filename == __file__
    with pytest.warns(TermwiseWarning, match="do not tell all") as told:
        tw.DeepKernelRegressor(n_seeds=1, max_epochs=2, hidden=(4,)).fit(X, y)
    assert told[0].filename == __file__


def test_an_oak_model_may_have_what_was_found(found: Interactions, tmp_path: Path) -> None:
    X, y = table(150)
    model = tw.OAKRegressor(terms=found.terms(), n_restarts=1).fit(X, y)
    assert {term.name for term in model.terms_ if term.order == 2} == {"a:b", "c:city"}
    assert len(model.terms_) == 7
    same = tw.OAKRegressor(terms=found, n_restarts=1).fit(X, y)
    assert {term.name for term in same.terms_} == {term.name for term in model.terms_}
    tw.save(same, tmp_path / "model.termwise")
    assert tw.load(tmp_path / "model.termwise").terms == [list(term) for term in found.terms()]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_size": 1}, "max_size is 1"),
        ({"n_seeds": 0}, "n_seeds is 0"),
        ({"max_epochs": 0}, "max_epochs is 0"),
        ({"n_jobs": "2"}, "n_jobs is '2'"),
        ({"n_jobs": 1.5}, "n_jobs is 1.5"),
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
