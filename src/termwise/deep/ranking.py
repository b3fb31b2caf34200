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


def set_strengths(
    networks: Networks, which: int, X: Array, sources: Sequence[int], max_size: int
) -> Strengths:
    """The strength of every set that leads the weights of some unit of the first layer.

    Columns meet in the units of the first layer. A unit says of the columns with its r largest weights that
    they interact: by the least of these, times what it adds to the output at most, the product of absolute
    weights behind it. That is summed over units. The weight of a column is the standard deviation of what the
    unit reads there over the rows X: that of one standardised number is its weight, and that of levels, whose
    numbers move against each other, less than the length of theirs. `sources` is the column of each number.
    """
    first = _by_column(networks.weights[0][which], X, sources)
    behind = np.ones(networks.weights[-1].shape[2])
    for weight in reversed(networks.weights[1:]):
        behind = np.abs(weight[which]) @ behind
    found: dict[Subset, float] = defaultdict(float)
    for weights, influence in zip(first.T, behind, strict=True):
        order = np.argsort(-weights, kind="stable")
        for size in range(2, min(max_size, order.size) + 1):
            leading = tuple(sorted(order[:size].tolist()))
            found[leading] += float(influence * weights[order[size - 1]])
    # Those of no strength would stand in the order of the columns, which says nothing.
    return {columns: strength for columns, strength in found.items() if strength > 0.0}


def _by_column(weights: Array, X: Array, sources: Sequence[int]) -> Array:
    own = [np.flatnonzero(np.asarray(sources) == column) for column in range(max(sources) + 1)]
    return np.array([np.std(X[:, places] @ weights[places], axis=0) for places in own])


def mean_strengths(each: Sequence[Strengths]) -> Strengths:
    """The mean over networks, each by what its sets have together; one that does not name a set has none."""
    total: dict[Subset, float] = defaultdict(float)
    for strengths in each:
        whole = sum(strengths.values())
        for columns, strength in strengths.items():
            total[columns] += strength / (whole * len(each))
    return dict(total)


def ordered(strengths: Strengths) -> list[Subset]:
    """The strongest first."""
    return sorted(strengths, key=lambda columns: (-strengths[columns], columns))[:MOST_RANKED]


def ranked(order: Sequence[Subset], kept: Sequence[Subset], refused: Sequence[Subset]) -> list[Subset]:
    """The same order without those that a stronger set says already, of which they are a part.

    What was tried counts for more than what is strong: sets that were kept stay, sets that were refused say
    nothing of their parts, and parts of those that were kept have nothing of their own.
    """
    stays, says_nothing = set(kept), set(refused)
    found, stronger = [], [set(columns) for columns in kept]
    for columns in [*order, *(one for one in kept if one not in set(order))]:
        own = set(columns)
        if columns not in stays and any(own < other for other in stronger):
            continue
        found.append(columns)
        if columns not in says_nothing:
            stronger.append(own)
    return found


def is_part(columns: Subset, others: Sequence[Subset]) -> bool:
    """Whether a set is a part of one of the others."""
    return any(set(columns) < set(other) for other in others)


def stability(sets: Sequence[Subset], each: Sequence[Strengths], count: int, asked: int) -> list[float]:
    """The part of the networks that rank a set as high as it stands here, or among their first so many.

    So many were asked; of some nothing is to be had, as they have learned nothing.
    """
    ranks = []
    for strengths in each:
        named = ordered({columns: strengths[columns] for columns in sets if columns in strengths})
        ranks.append({columns: rank for rank, columns in enumerate(named, start=1)})
    return [
        sum(rank.get(columns, np.inf) <= max(place, count) for rank in ranks) / asked
        for place, columns in enumerate(sets, start=1)
    ]
