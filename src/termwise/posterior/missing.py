"""What a row with missing cells might have been.

Orthogonal terms of a missing cell have mean zero over what it might have been, so that they are left out of
the mean m of a prediction. By the law of total variance, what they add to its variance is how little is known
of them, v(x) - v, and how far they spread, (m(x) - m)^2, in the mean over values x of the missing cells. What
one cell adds by itself is summed over its values with their weights. What several add together is what is
left of m(x) - m and v(x) - v without that, in rows where all of them are filled in. Where a row lacks more
cells than that is worth, these rows say all of it: of many cells it does not matter how two of them vary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from termwise.kernels.additive import AdditiveKernel
from termwise.measures.base import Array, Measure
from termwise.measures.standing import Standing, standing_for

TOGETHER = 32  # rows in which all missing cells are filled in
BLOCK = 4096  # rows at a time
FEW = 4  # missing cells of a row, each of which is looked at by itself

Moments = Callable[[Array], tuple[Array, Array]]


@dataclass(frozen=True, eq=False)
class Possible:
    """What a cell of a column might have been, and which of it each of the filled-in rows has."""

    alone: Standing
    together: Array


Columns = Mapping[int, Possible]


@lru_cache(maxsize=1024)
def possible_values(measure: Measure, column: int) -> Possible:
    """Of every column in an order of its own, always the same: cells of one row then vary apart."""
    alone = standing_for(measure)
    middles = (np.arange(TOGETHER) + 0.5) / TOGETHER
    evenly = np.searchsorted(np.cumsum(alone.weights), middles)
    order = np.random.default_rng(column).permutation(TOGETHER)
    return Possible(alone, np.minimum(evenly, alone.values.size - 1)[order])


def missing_columns(kernel: AdditiveKernel, X: Array) -> Columns:
    """The columns of which some cell is missing."""
    found = {}
    for d in np.flatnonzero(np.any(np.isnan(X), axis=0)).tolist():
        measure = kernel.components[d].measure
        assert measure is not None, "a column without a measure has no values that it might have had"
        found[d] = possible_values(measure, d)
    return found


def averaged(kernel: AdditiveKernel, X: Array, moments: Moments) -> tuple[Array, Array]:
    """What is not known of the rows, and how far their mean spreads; moments are of the terms a row has."""
    many = np.sum(np.isnan(X), axis=1) > FEW
    found = np.empty((2, len(X)))
    for rows, average in ((~many, _of_few), (many, _of_many)):
        if np.any(rows):
            found[:, rows] = average(missing_columns(kernel, X[rows]), X[rows], moments)
    return found[0], found[1]


def _of_many(columns: Columns, X: Array, moments: Moments) -> tuple[Array, Array]:
    """By the rows that are filled in alone."""
    mean, _ = moments(X)
    m, v = _filled(X, _together(columns), moments)
    return np.mean(v, axis=0), np.mean((m - mean) ** 2, axis=0)


def _of_few(columns: Columns, X: Array, moments: Moments) -> tuple[Array, Array]:
    """Cell by cell, and what is left of rows that lack several."""
    gone = np.isnan(X)
    mean, variance = moments(X)
    unknown, spread = variance.copy(), np.zeros(len(X))
    together = np.zeros((2, TOGETHER, len(X)))  # what cells do by themselves in the rows that are filled in
    for d, possible in columns.items():
        rows = np.flatnonzero(gone[:, d])
        alone = _filled(X[rows], {d: possible.alone.values}, moments)
        alone -= np.stack([mean[rows], variance[rows]])[:, None, :]
        spread[rows] += possible.alone.weights @ alone[0] ** 2
        unknown[rows] += possible.alone.weights @ alone[1]
        together[:, :, rows] += alone[:, possible.together]
    several = np.flatnonzero(np.sum(gone, axis=1) > 1)
    if several.size:
        m, v = _filled(X[several], _together(columns), moments) - together[:, :, several]
        spread[several] += np.mean((m - mean[several]) ** 2, axis=0)
        unknown[several] += np.mean(v - variance[several], axis=0)
    return unknown, spread


def _together(columns: Columns) -> dict[int, Array]:
    """The values of all columns in the rows where all are filled in."""
    return {d: possible.alone.values[possible.together] for d, possible in columns.items()}


def _filled(X: Array, values: Mapping[int, Array], moments: Moments) -> Array:
    """Mean and variance of the rows with missing cells filled in, (2, values, rows).

    All at once, in blocks: what centres have to do with a kernel is then worked out once for many rows.
    """
    count = len(next(iter(values.values())))
    rows = np.tile(X, (count, 1))
    for d, value in values.items():
        rows[:, d] = np.where(np.isnan(rows[:, d]), np.repeat(value, len(X)), rows[:, d])
    parts = [moments(rows[start : start + BLOCK]) for start in range(0, len(rows), BLOCK)]
    return np.concatenate(parts, axis=1).reshape(2, count, len(X))
