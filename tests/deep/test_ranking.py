"""Strengths of sets by the weights of a network, against a slow and obvious computation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from termwise.deep.networks import Networks, drawn_networks
from termwise.deep.ranking import mean_strengths, ordered, ranked, set_strengths, stability

# Rows in which four columns have a standard deviation of one, and nothing in common.
FOUR = np.array(list(product((-1.0, 1.0), repeat=4))), range(4)


def by_hand(weights: list[np.ndarray]) -> dict[tuple[int, ...], float]:
    """Every path of every unit, one by one."""
    first, second, last = (np.abs(weight) for weight in weights)
    found: dict[tuple[int, ...], float] = {}
    for unit in range(first.shape[1]):
        influence = sum(second[unit, k] * last[k, 0] for k in range(second.shape[1]))
        columns = sorted(range(first.shape[0]), key=lambda column: -first[column, unit])
        for size in range(2, first.shape[0] + 1):
            name = tuple(sorted(columns[:size]))
            least = min(first[column, unit] for column in name)
            found[name] = found.get(name, 0.0) + influence * least
    return found


def test_strengths_are_sums_over_units() -> None:
    networks = drawn_networks((tuple(range(4)),) * 2, (6, 5), 1, np.random.default_rng(0))
    found = set_strengths(networks, 1, *FOUR, 4)
    slow = by_hand([weight[1] for weight in networks.weights])
    assert found.keys() == slow.keys()
    for columns in slow:
        assert found[columns] == pytest.approx(slow[columns])
    assert max(map(len, set_strengths(networks, 1, *FOUR, 3))) == 3


def test_a_unit_of_two_columns_says_that_these_interact() -> None:
    first = np.zeros((1, 4, 2))
    first[0, [1, 3], 0] = (2.0, -0.5)
    first[0, [0, 2], 1] = (1.0, 1.0)
    weights = (first, np.array([[[3.0], [-0.1]]]))
    networks = Networks(((0, 1, 2, 3),), weights, (np.zeros((1, 1, 2)), np.zeros((1, 1, 1))))
    found = set_strengths(networks, 0, *FOUR, 2)
    assert found == {(1, 3): pytest.approx(1.5), (0, 2): pytest.approx(0.1)}
    assert ordered(found) == [(1, 3), (0, 2)]


def test_a_column_of_several_numbers_has_the_spread_of_what_a_unit_reads_there() -> None:
    first = np.array([[[3.0], [4.0], [6.0]]])
    networks = Networks(((0, 1, 2),), (first, np.ones((1, 1, 1))), (np.zeros((1, 1, 1)),) * 2)
    X = FOUR[0][:, :3]  # apart, two numbers have the length of their weights
    assert set_strengths(networks, 0, X, (0, 0, 1), 5) == {(0, 1): pytest.approx(5.0)}
    against = np.column_stack([X[:, 0], -X[:, 0], X[:, 2]])  # two levels: 3 x - 4 x
    assert set_strengths(networks, 0, against, (0, 0, 1), 5) == {(0, 1): pytest.approx(1.0)}


def test_a_network_without_weights_names_no_sets() -> None:
    """With no strength at all, the first columns of a table would lead by their place."""
    alive = drawn_networks(((0, 1, 2),), (4,), 1, np.random.default_rng(0))
    dead = Networks(alive.inputs, tuple(0.0 * weight for weight in alive.weights), alive.biases)
    assert set_strengths(dead, 0, FOUR[0][:, :3], range(3), 3) == {}
    assert mean_strengths([{}, {}]) == {}
    assert mean_strengths([{}, {(0, 1): 2.0}]) == {(0, 1): 0.5}


ORDER = [(0, 1, 2), (0, 1), (3, 4), (1, 2), (0, 1, 2, 3)]


def test_parts_of_stronger_sets_are_dropped_and_wholes_of_stronger_parts_are_not() -> None:
    assert ranked(ORDER, (), ()) == [(0, 1, 2), (3, 4), (0, 1, 2, 3)]


def test_what_was_tried_counts_for_more_than_what_is_strong() -> None:
    assert ranked(ORDER, [(0, 1)], [(0, 1, 2)]) == [(0, 1, 2), (0, 1), (3, 4), (1, 2), (0, 1, 2, 3)]
    assert ranked(ORDER, [(0, 1)], []) == [(0, 1, 2), (0, 1), (3, 4), (0, 1, 2, 3)]
    assert ranked(ORDER, [(0, 1, 2, 3)], [(0, 1, 2)]) == [(3, 4), (0, 1, 2, 3)]
    assert ranked([(0, 1, 2)], [(1, 2)], [(0, 1, 2)]) == [(0, 1, 2), (1, 2)]


def test_networks_count_alike_and_one_that_does_not_name_a_set_has_none() -> None:
    found = mean_strengths([{(0, 1): 200.0}, {(0, 1): 1.0, (1, 2): 4.0}])
    assert found == {(0, 1): pytest.approx(0.6), (1, 2): pytest.approx(0.4)}


def test_stability_is_how_many_networks_rank_a_set_as_high_as_it_stands() -> None:
    each = [{(0, 1): 2.0, (1, 2): 1.0, (0, 1, 2): 3.0}, {(1, 2): 1.0}]
    assert stability([(0, 1), (1, 2)], each, 0, asked=2) == [0.5, 1.0]
    assert stability([(1, 2), (0, 1)], each, 0, asked=2) == [0.5, 0.5]
    # Those that are kept may stand in another order.
    assert stability([(1, 2), (0, 1)], each, 2, asked=2) == [1.0, 0.5]
    assert stability([(1, 2), (0, 1)], each, 2, asked=4) == [0.5, 0.25]  # two have learned nothing
