"""Cubic interpolation between values at the nodes h k of a lattice, k any whole number. Keys (1981).

The lattice has no ends of its own: as many nodes are taken as it needs to have two on either side of every
point, so that no point lies at an edge. Functions work on C lines of n points at once, u being (C, n), with
`first` the number k of the first node that is held. A point that is not known has no weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit

from termwise.errors import GridError
from termwise.measures.base import Array

OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
MARGIN = 2  # nodes beside the farthest points
FARTHEST = 1e15  # steps: what lies beyond, or is no number, is not known and has no weights


@dataclass(frozen=True)
class Lattice:
    """The nodes step * (first .. first + size - 1)."""

    step: float
    first: int
    size: int

    @classmethod
    def covering(cls, u: Array, step: float, most: int) -> Lattice:
        """Enough nodes for all points; an error if these are more than `most`."""
        known = u[np.abs(u) < FARTHEST * step]
        low, high = (float(np.min(known)), float(np.max(known))) if known.size else (0.0, 0.0)
        first = math.floor(low / step) - MARGIN
        size = math.floor(high / step) + MARGIN + 2 - first
        if size > most:
            raise GridError(
                f"points from {low:.3g} to {high:.3g} lengthscales need {size} nodes that are {step:.3g} "
                f"apart, more than the {most} allowed; leave out rows that lie far away, or use another "
                "inference"
            )
        return cls(step, first, size)

    @property
    def nodes(self) -> Array:
        """Where they are."""
        return self.step * np.arange(self.first, self.first + self.size)

    def gather(self, u: Array, scale: Array, values: Array) -> Array:
        """sum_c scale_c W_c values_c: values at the points, (n, k), of those at nodes, (C, m, k)."""
        out = np.zeros((u.shape[1], values.shape[2]))
        _gather(u, self.step, self.first, scale, values, out)
        return out

    def scatter(self, u: Array, V: Array) -> Array:
        """W_c' V for each line, (C, m, k), of values at the points, (n, k)."""
        out = np.zeros((u.shape[0], self.size, V.shape[1]))
        _scatter(u, self.step, self.first, np.ascontiguousarray(V), out)
        return out

    def slopes(self, u: Array, A: Array, values: Array) -> Array:
        """sum_k A_ik (dW_c/du values_c)_ik, (C, n): how what is gathered moves with each point."""
        out = np.zeros(u.shape)
        _slopes(u, self.step, self.first, np.ascontiguousarray(A), values, out)
        return out

    def features(self, u: Array, factors: Array) -> Array:
        """W_c factors_c beside each other, (n, C r), of factors (C, m, r)."""
        lines, _, rank = factors.shape
        out = np.zeros((u.shape[1], lines, rank))
        _features(u, self.step, self.first, factors, out)
        return out.reshape(u.shape[1], lines * rank)

    def feature_slopes(self, u: Array, factors: Array, given: Array) -> Array:
        """The gradient for the points, (C, n), of one for their features, (n, C r)."""
        lines, _, rank = factors.shape
        out = np.zeros(u.shape)
        _feature_slopes(u, self.step, self.first, factors, given.reshape(-1, lines, rank), out)
        return out

    def gram(self, u: Array, scale: Array, column: Array) -> Array:
        """sum_c scale_c W_c T W_c' between all points, (n, n), T_ij = column[|i - j|] between nodes."""
        out = np.zeros((u.shape[1], u.shape[1]))
        _gram(u, self.step, self.first, scale, column, out)
        return out

    def gram_slopes(self, u: Array, scale: Array, column: Array, G: Array) -> tuple[Array, Array]:
        """Gradients of sum_ij G_ij K_ij, G symmetric, for the points and for the scales."""
        by_u, by_scale = np.zeros(u.shape), np.zeros(scale.size)
        _gram_slopes(u, self.step, self.first, scale, column, G, by_u, by_scale)
        return by_u, by_scale


@njit(inline="always")
def _weights(x, step, first, weights):
    """The four weights at x, and the position of the first of their nodes; -1 if x is not finite."""
    if not abs(x) < FARTHEST * step:
        return -1
    place = math.floor(x / step)
    t = x / step - place
    weights[0] = t * (-0.5 + t * (1.0 - 0.5 * t))
    weights[1] = 1.0 + t * t * (-2.5 + 1.5 * t)
    weights[2] = t * (0.5 + t * (2.0 - 1.5 * t))
    weights[3] = t * t * (-0.5 + 0.5 * t)
    return int(place) - 1 - first


@njit(inline="always")
def _weight_slopes(x, step, first, slopes):
    """The derivatives of the four weights for x, and the position of the first of their nodes."""
    if not abs(x) < FARTHEST * step:
        return -1
    place = math.floor(x / step)
    t = x / step - place
    slopes[0] = (-0.5 + t * (2.0 - 1.5 * t)) / step
    slopes[1] = t * (-5.0 + 4.5 * t) / step
    slopes[2] = (0.5 + t * (4.0 - 4.5 * t)) / step
    slopes[3] = t * (-1.0 + 1.5 * t) / step
    return int(place) - 1 - first


@njit(**OPTIONS)
def _gather(u, step, first, scale, values, out):
    weights = np.empty(4)
    for c in range(u.shape[0]):
        for i in range(u.shape[1]):
            place = _weights(u[c, i], step, first, weights)
            if 0 <= place <= values.shape[1] - 4:
                for q in range(4):
                    w = scale[c] * weights[q]
                    for k in range(out.shape[1]):
                        out[i, k] += w * values[c, place + q, k]


@njit(**OPTIONS)
def _scatter(u, step, first, V, out):
    weights = np.empty(4)
    for c in range(u.shape[0]):
        for i in range(u.shape[1]):
            place = _weights(u[c, i], step, first, weights)
            if 0 <= place <= out.shape[1] - 4:
                for q in range(4):
                    for k in range(V.shape[1]):
                        out[c, place + q, k] += weights[q] * V[i, k]


@njit(**OPTIONS)
def _slopes(u, step, first, A, values, out):
    slopes = np.empty(4)
    for c in range(u.shape[0]):
        for i in range(u.shape[1]):
            place = _weight_slopes(u[c, i], step, first, slopes)
            if 0 <= place <= values.shape[1] - 4:
                total = 0.0
                for q in range(4):
                    for k in range(A.shape[1]):
                        total += slopes[q] * A[i, k] * values[c, place + q, k]
                out[c, i] = total


@njit(**OPTIONS)
def _features(u, step, first, factors, out):
    weights = np.empty(4)
    for i in range(u.shape[1]):
        for c in range(u.shape[0]):
            place = _weights(u[c, i], step, first, weights)
            if 0 <= place <= factors.shape[1] - 4:
                for q in range(4):
                    w = weights[q]
                    for k in range(factors.shape[2]):
                        out[i, c, k] += w * factors[c, place + q, k]


@njit(**OPTIONS)
def _feature_slopes(u, step, first, factors, given, out):
    slopes = np.empty(4)
    for i in range(u.shape[1]):
        for c in range(u.shape[0]):
            place = _weight_slopes(u[c, i], step, first, slopes)
            if 0 <= place <= factors.shape[1] - 4:
                total = 0.0
                for q in range(4):
                    for k in range(factors.shape[2]):
                        total += slopes[q] * factors[c, place + q, k] * given[i, c, k]
                out[c, i] = total


@njit(**OPTIONS)
def _touched(places, size):
    """The nodes that some point lies between: of many nodes and few points, not all of them."""
    marks = np.zeros(size, dtype=np.bool_)
    for place in places:
        if place >= 0:
            marks[place : place + 4] = True
    return np.flatnonzero(marks)


@njit(inline="always")
def _seen_from(place, weights, column, nodes, out):
    """out[m] = sum_q weights_q T[place + q, m]: the kernel between a point and these nodes."""
    for m in nodes:
        total = 0.0
        for q in range(4):
            total += weights[q] * column[abs(place + q - m)]
        out[m] = total


@njit(inline="always")
def _there(seen, place, weights):
    """The same between that point and another."""
    return (
        weights[0] * seen[place]
        + weights[1] * seen[place + 1]
        + weights[2] * seen[place + 2]
        + weights[3] * seen[place + 3]
    )


@njit(**OPTIONS)
def _laid_out(u, step, first):
    """Where the nodes of each point begin, their weights and the slopes of these."""
    places = np.empty(u.shape, dtype=np.int64)
    weights, slopes = np.empty((*u.shape, 4)), np.empty((*u.shape, 4))
    for c in range(u.shape[0]):
        for i in range(u.shape[1]):
            places[c, i] = _weights(u[c, i], step, first, weights[c, i])
            _weight_slopes(u[c, i], step, first, slopes[c, i])
    return places, weights, slopes


@njit(**OPTIONS)
def _gram(u, step, first, scale, column, out):
    places, weights, _ = _laid_out(u, step, first)
    seen = np.empty(column.size)
    for c in range(u.shape[0]):
        nodes = _touched(places[c], column.size)
        for i in range(u.shape[1]):
            if places[c, i] < 0:
                continue
            _seen_from(places[c, i], weights[c, i], column, nodes, seen)
            for j in range(i + 1):
                if places[c, j] >= 0:
                    out[i, j] += scale[c] * _there(seen, places[c, j], weights[c, j])
    for i in range(u.shape[1]):
        for j in range(i):
            out[j, i] = out[i, j]


@njit(**OPTIONS)
def _gram_slopes(u, step, first, scale, column, G, by_u, by_scale):
    places, weights, slopes = _laid_out(u, step, first)
    seen, moved = np.empty(column.size), np.empty(column.size)
    for c in range(u.shape[0]):
        nodes = _touched(places[c], column.size)
        for i in range(u.shape[1]):
            if places[c, i] < 0:
                continue
            _seen_from(places[c, i], weights[c, i], column, nodes, seen)
            _seen_from(places[c, i], slopes[c, i], column, nodes, moved)
            total, own = 0.0, 0.0
            for j in range(i + 1):
                place = places[c, j]
                if place >= 0:
                    g = G[i, j] if i == j else 2.0 * G[i, j]
                    total += g * _there(seen, place, weights[c, j])
                    own += g * _there(moved, place, weights[c, j])
                    by_u[c, j] += g * scale[c] * _there(seen, place, slopes[c, j])
            by_scale[c] += total
            by_u[c, i] += scale[c] * own
