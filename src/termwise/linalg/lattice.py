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
POINTS = 64  # columns of a matrix at a time, so that what belongs to them stays near the processor
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
        _gram(u, self.step, self.first, scale, _around(column), out)
        return out

    def gram_slopes(self, u: Array, scale: Array, column: Array, G: Array) -> tuple[Array, Array]:
        """Gradients of sum_ij G_ij K_ij, G symmetric, for the points and for the scales."""
        by_u, by_scale = np.zeros(u.shape), np.zeros(scale.size)
        _gram_slopes(u, self.step, self.first, scale, _around(column), G, by_u, by_scale)
        return by_u, by_scale


def _around(column: Array) -> Array:
    """T between a node and those on either side of it, from the farthest on."""
    return np.concatenate([column[:0:-1], column])


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
    """The nodes that some point lies between, and where among them those of each point begin; -1 if nowhere.

    Of many nodes and few points these are not all. The four of a point stay beside each other.
    """
    marks = np.zeros(size, dtype=np.bool_)
    for place in places:
        if place >= 0:
            marks[place : place + 4] = True
    before = np.cumsum(marks) - marks
    begins = np.full(places.size, -1)
    for i, place in enumerate(places):
        if place >= 0:
            begins[i] = before[place]
    return np.flatnonzero(marks), begins


@njit(**OPTIONS)
def _laid_out(u, step, first, size):
    """Where the nodes of each point begin, their weights and the slopes of these; -1 and zeros if nowhere."""
    places = np.full(u.shape, -1)
    weights, slopes = np.zeros((*u.shape, 4)), np.zeros((*u.shape, 4))
    for c in range(u.shape[0]):
        for i in range(u.shape[1]):
            place = _weights(u[c, i], step, first, weights[c, i])
            if 0 <= place <= size - 4:
                places[c, i] = place
                _weight_slopes(u[c, i], step, first, slopes[c, i])
            else:
                weights[c, i] = 0.0
    return places, weights, slopes


@njit(inline="always")
def _seen_by(weights, around, at):
    """sum_q weights_q T[place + q, m], the kernel between a point and the node m, where at = place - m."""
    w0, w1, w2, w3 = weights
    return w0 * around[at] + w1 * around[at + 1] + w2 * around[at + 2] + w3 * around[at + 3]


@njit(inline="always")
def _four(of, c, i):
    """The weights of one point, in registers."""
    return of[c, i, 0], of[c, i, 1], of[c, i, 2], of[c, i, 3]


@njit(inline="always")
def _add(w, row, out):
    for k in range(row.size):
        out[k] += w * row[k]


@njit(**OPTIONS)
def _gram(u, step, first, scale, around, out):
    """`around` is T[m, m + k] for k from -(size - 1) on; the innermost loop goes along a row of memory."""
    size, n = (around.size + 1) // 2, u.shape[1]
    places, weights, _ = _laid_out(u, step, first, size)
    for c in range(u.shape[0]):
        nodes, begins = _touched(places[c], size)
        seen = np.empty((nodes.size, POINTS))
        for start in range(0, n, POINTS):
            end = min(start + POINTS, n)
            for j in range(start, end):
                own, middle = _four(weights, c, j), max(places[c, j], 0) + size - 1
                for m in range(nodes.size):
                    seen[m, j - start] = _seen_by(own, around, middle - nodes[m])
            for i in range(start, n):
                b = begins[i]
                if b >= 0:
                    w0, w1, w2, w3 = _four(weights, c, i)
                    row = out[i, start : min(end, i + 1)]
                    for k in range(row.size):
                        low = w0 * seen[b, k] + w1 * seen[b + 1, k]
                        row[k] += scale[c] * (low + w2 * seen[b + 2, k] + w3 * seen[b + 3, k])
    for i in range(n):
        for j in range(i):
            out[j, i] = out[i, j]


@njit(**OPTIONS)
def _gram_slopes(u, step, first, scale, around, G, by_u, by_scale):
    """With H = W' G the slope for a point is twice that of its weights, times T H."""
    size, n = (around.size + 1) // 2, u.shape[1]
    places, weights, slopes = _laid_out(u, step, first, size)
    for c in range(u.shape[0]):
        nodes, begins = _touched(places[c], size)
        for start in range(0, n, POINTS):
            end = min(start + POINTS, n)
            H = np.zeros((nodes.size, end - start))
            for j in range(n):
                if begins[j] >= 0:
                    for q in range(4):
                        _add(weights[c, j, q], G[j, start:end], H[begins[j] + q])
            for i in range(start, end):
                middle, moved = max(places[c, i], 0) + size - 1, 0.0
                own, change = _four(weights, c, i), _four(slopes, c, i)
                for m in range(nodes.size):
                    h = H[m, i - start]
                    by_scale[c] += h * _seen_by(own, around, middle - nodes[m])
                    moved += h * _seen_by(change, around, middle - nodes[m])
                by_u[c, i] = 2.0 * scale[c] * moved
