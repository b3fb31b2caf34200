"""Bands of terms: the posterior of last layers, beside the process that has their kernel."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from termwise.deep import heads
from termwise.deep.heads import heads_of
from termwise.deep.networks import Networks, drawn_networks

UNITS, NOISE = 5, 0.3


def drawn(seed: int = 0) -> Networks:
    return drawn_networks(((0,), (1, 2)), (7, UNITS), 1, np.random.default_rng(seed))


def by_process(
    networks: Networks, X: np.ndarray, new: np.ndarray, every: np.ndarray | None = None
) -> np.ndarray:
    """Variances of terms, (k, n), of the process whose kernel is a product of hidden layers about means.

    Rows X that stand for `every` row count as many.
    """
    whole_table = X if every is None else every
    counts, middle = len(whole_table) / len(X), networks.hidden(whole_table).mean(axis=1, keepdims=True)
    left = (networks.weights[-1] != 0.0)[:, None, :, 0]
    seen, asked = ((networks.hidden(rows) - middle) * left for rows in (X, new))
    kernel = 2.0 / UNITS * np.einsum("knu,kmu->nm", seen, seen)
    whole = np.linalg.inv(kernel + NOISE / counts * np.eye(len(X)))
    found = []
    for own, at in zip(seen, asked, strict=True):
        beside = 2.0 / UNITS * at @ own.T
        found.append(2.0 / UNITS * np.sum(at**2, axis=1) - np.sum(beside @ whole * beside, axis=1))
    return np.array(found)


def rows(n: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, 3))


def variances(networks: Networks, X: np.ndarray, new: np.ndarray, *, pruned: bool = False) -> np.ndarray:
    found = heads_of(networks, X, NOISE, pruned=pruned)
    return np.array([found.variance(place, hidden) for place, hidden in enumerate(networks.hidden(new))])


def test_a_term_is_as_unsure_as_in_the_process_of_hidden_layers() -> None:
    networks, X, new = drawn(), rows(30), rows(8, seed=2)
    np.testing.assert_allclose(variances(networks, X, new), by_process(networks, X, new), rtol=1e-9)
    assert heads_of(networks, X, NOISE).constant == NOISE / 30


def test_rows_are_read_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    networks, X, new = drawn(), rows(30), rows(8, seed=2)
    whole = variances(networks, X, new)
    monkeypatch.setattr(importlib.import_module("termwise.deep.networks"), "BLOCK", 7)
    np.testing.assert_allclose(variances(networks, X, new), whole, rtol=1e-12)


def test_weights_that_were_pruned_away_are_known() -> None:
    networks, X, new = drawn(), rows(30), rows(8, seed=2)
    networks.weights[-1][0, 2:] = 0.0
    np.testing.assert_allclose(
        variances(networks, X, new, pruned=True), by_process(networks, X, new), rtol=1e-9
    )


def test_who_says_nothing_is_not_sure_of_it() -> None:
    """As a network that a penalty has silenced."""
    networks, X, new = drawn(), rows(30), rows(8, seed=2)
    as_it_was = variances(networks, X, new)
    networks.weights[-1][:] = 0.0
    np.testing.assert_array_equal(variances(networks, X, new), as_it_was)


def test_rows_that_are_not_looked_at_count_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "MOST_ROWS", 20)
    networks, X, new = drawn(), rows(58), rows(8, seed=2)
    np.testing.assert_allclose(
        variances(networks, X, new), by_process(networks, X[::3], new, every=X), rtol=1e-9
    )


def test_very_many_networks_are_each_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    networks, X, new = drawn(), rows(30), rows(8, seed=2)
    monkeypatch.setattr(heads, "MOST_WEIGHTS", UNITS)
    alone = [by_process(networks.only([place]), X, new)[0] for place in range(2)]
    np.testing.assert_allclose(variances(networks, X, new), alone, rtol=1e-9)


def test_what_is_known_well_stays_a_positive_variance() -> None:
    networks, X = drawn(), rows(2000)
    found = heads_of(networks, X, 1e-6)
    for place, hidden in enumerate(networks.hidden(X)):
        assert np.all(found.variance(place, hidden) > 0.0)
        assert np.mean(found.variance(place, hidden)) < 1e-7
