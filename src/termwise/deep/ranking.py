"""Sets of columns by how strongly the weights of a network say that they interact. NID (2017)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from termwise.deep.networks import Networks
from termwise.kernels.terms import Subset
from termwise.measures.base import Array

Strengths = Mapping[Subset, float]
MOST_RANKED = 1000  # sets that are looked at for being parts of others


def set_strengths(networks: Networks, which: int, sources: Sequence[int], max_size: int) -> Strengths:
    """The strength of every set that leads the weights of some unit of the first layer.

    Columns meet in the units of the first layer. A unit says of the columns with its r largest weights that
    they interact: by the least of these, times what it adds to the output at most, the product of absolute
    weights behind it. That is summed over units. `sources` is the column that each number comes from: one of
    several numbers has the length of their weights.
    """
    first = _by_column(networks.weights[0][which], sources)
    behind = np.ones(networks.weights[-1].shape[2])
    for weight in reversed(networks.weights[1:]):
        behind = np.abs(weight[which]) @ behind
    found: dict[Subset, float] = defaultdict(float)
    for weights, influence in zip(first.T, behind, strict=True):
        order = np.argsort(-weights, kind="stable")
        for size in range(2, min(max_size, order.size) + 1):
            leading = tuple(sorted(order[:size].tolist()))
            found[leading] += float(influence * weights[order[size - 1]])
    return dict(found)


def _by_column(weights: Array, sources: Sequence[int]) -> Array:
    squares = np.zeros((max(sources) + 1, weights.shape[1]))
    np.add.at(squares, np.asarray(sources), weights[: len(sources)] ** 2)
    return np.sqrt(squares)


def mean_strengths(each: Sequence[Strengths]) -> Strengths:
    """The mean over networks, a set that one of them does not name having none there."""
    total: dict[Subset, float] = defaultdict(float)
    for strengths in each:
        for columns, strength in strengths.items():
            total[columns] += strength / len(each)
    return dict(total)


def ranked(strengths: Strengths) -> list[Subset]:
    """The strongest first, without those that are part of a stronger one."""
    order = sorted(strengths, key=lambda columns: (-strengths[columns], columns))[:MOST_RANKED]
    kept: list[Subset] = []
    for columns in order:
        if not any(set(columns) < set(stronger) for stronger in kept):
            kept.append(columns)
    return kept
