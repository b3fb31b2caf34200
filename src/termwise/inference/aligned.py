"""A posterior with centres along single columns: what is known of a sum of functions of one column each.

A centre is a row of which one cell alone is known. Its kernel with a row is that of this column, so that some
dozens of them for each column say what functions of it can be told apart; as many as rows can ever fix. The
posterior is that of sparse inference with these centres, in time that grows with the rows, and its variances
are never below zero, nor do its terms end at the edge of a grid. Where rows are fewer than such centres would
be, they are the centres themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from termwise.errors import NumericalError
from termwise.inference.bound import Bound, Sums, shrinkage_root
from termwise.inference.sparse import Solution
from termwise.kernels.terms import TermKernel
from termwise.linalg.cholesky import factorise
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior

CANDIDATES = 512  # quantiles of a column among which centres are chosen
LEAST_VARIANCE = 1e-9  # of a column's, or
LEAST_OF_NOISE = 1e-6  # of the noise: what is known to this from the centres before adds nothing
MOST_CENTRES = 1500  # of all columns together
BLOCK = 2048  # rows at a time
JITTER = 1e-10  # of the mean variance of the centres


@dataclass(frozen=True, eq=False)
class Aligned:
    """What is known, what was added to the diagonal of the centres, and whether these were enough."""

    solution: Solution
    jitter: float
    enough: bool


def aligned_solution(kernel: TermKernel, rows: Array, y: Array, noise: float) -> Aligned:
    """What is known at these parameters."""
    centres, enough = aligned_centres(kernel, rows, noise)
    if len(centres) >= len(rows):
        return _by_rows(kernel, rows, y, noise)
    Kuu = kernel.matrix(centres, centres)
    jitter = JITTER * float(np.mean(np.diag(Kuu)))

    def fill(out: Array) -> None:
        out[:] = Kuu
        out.reshape(-1)[:: len(Kuu) + 1] += jitter

    factor = factorise(np.empty(Kuu.shape), fill)
    root = np.ascontiguousarray(factor.inverse_root())
    outer, linear = np.zeros(Kuu.shape), np.zeros(len(Kuu))
    for start in range(0, len(rows), BLOCK):
        part = slice(start, start + BLOCK)
        A = _beside(kernel, rows[part], centres) @ root / np.sqrt(noise)
        outer += A.T @ A
        linear += (y[part] / np.sqrt(noise)) @ A
    bound = Bound.of(Sums(len(rows), 0.0, outer, linear))
    taken = shrinkage_root(bound.outer)
    posterior = Posterior(kernel, centres, root @ bound.mean, root @ taken, noise)
    return Aligned(Solution(posterior, np.nan, float(np.sum(taken**2))), jitter + factor.jitter, enough)


def _by_rows(kernel: TermKernel, rows: Array, y: Array, noise: float) -> Aligned:
    """All that rows tell, with themselves as centres."""

    def fill(out: Array) -> None:
        out[:] = kernel.matrix(rows, rows)
        out.reshape(-1)[:: len(rows) + 1] += noise

    factor = factorise(np.empty((len(rows), len(rows))), fill)
    root = factor.inverse_root()
    posterior = Posterior(kernel, rows, factor.solve(y), root, noise)
    # tr K (K + noise I)^-1
    effective = len(rows) - noise * float(np.sum(root**2))
    return Aligned(Solution(posterior, np.nan, effective), factor.jitter, enough=True)


def aligned_centres(kernel: TermKernel, rows: Array, noise: float) -> tuple[Array, bool]:
    """Rows with one known cell each, and a last one without any, which is the constant alone.

    Also whether they tell all that rows can: columns share so many of them, those that tell most.
    """
    columns = rows.shape[1]
    found = [point for c in range(columns) for point in _points(kernel, rows, c, noise)]
    kept = sorted(found, key=lambda point: -point.variance)[:MOST_CENTRES]
    centres = np.full((len(kept) + 1, columns), np.nan)
    for place, point in enumerate(sorted(kept, key=lambda point: point.column)):
        centres[place, point.column] = point.value
    return centres, len(kept) == len(found)


class Point(NamedTuple):
    """A place along a column, and the variance there that those before it leave."""

    column: int
    value: float
    variance: float


def _points(kernel: TermKernel, rows: Array, c: int, noise: float) -> list[Point]:
    """Points of one column, each where least is known by those before: a pivoted Cholesky factorisation."""
    columns = rows.shape[1]
    known = rows[np.isfinite(rows[:, c]), c]
    if not known.size:
        return []
    # Where rows are: between a few that lie far away and the others there is nothing to be told.
    candidates = np.unique(np.quantile(known, np.linspace(0.0, 1.0, CANDIDATES)))
    lone = np.full((candidates.size, columns), np.nan)
    lone[:, c] = candidates
    K = kernel.term_matrix((c,), lone, lone)
    left = np.diag(K).copy()
    least = max(LEAST_VARIANCE * float(np.max(left, initial=0.0)), LEAST_OF_NOISE * noise / columns)
    factor = np.empty((candidates.size, candidates.size))
    points: list[Point] = []
    for m in range(len(factor)):
        pivot = int(np.argmax(left))
        if left[pivot] <= least:
            break
        points.append(Point(c, float(candidates[pivot]), float(left[pivot])))
        factor[m] = (K[pivot] - factor[:m, pivot] @ factor[:m]) / np.sqrt(left[pivot])
        left = left - factor[m] ** 2
        left[pivot] = 0.0
    return points


def _beside(kernel: TermKernel, rows: Array, centres: Array) -> Array:
    """The kernel between rows and aligned centres, one column at a time."""
    out = np.full((len(rows), len(centres)), kernel.term_variance(()))
    known = ~np.isnan(centres)
    for c in range(rows.shape[1]):
        own = np.flatnonzero(known[:, c])
        if own.size:
            out[:, own] += kernel.term_matrix((c,), rows, centres[own])
    if not np.all(np.isfinite(out)):
        raise NumericalError("the kernel of some rows is no number; look for values that are not finite")
    return out
