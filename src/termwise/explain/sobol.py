"""Sobol indices: the share of the explained variance that each term has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from math import comb
from operator import mul

import numpy as np

from termwise.kernels.fused.loops import symmetric_polynomials
from termwise.kernels.fused.shares import add_terms
from termwise.kernels.terms import Subset
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior

TILE = 64  # centres on each side of a tile; its matrices stay in the second-level cache
MOST_TERMS, MOST_SAMPLED = 50_000, 5_000


@dataclass(frozen=True, eq=False)
class TermVariances:
    """Variance of the posterior mean of every listed term and of every order, and what the terms sum to.

    `complete` says whether all terms are listed.
    """

    terms: tuple[Subset, ...]
    variances: Array
    by_order: Array
    total: float
    complete: bool


def term_variances(posterior: Posterior, most_terms: int = MOST_TERMS) -> TermVariances:
    """R_u = variance_|u|^2 alpha' (prod_{d in u} L_d) alpha for all terms of the posterior. OAK eq. 14.

    L_d = int z_d(., Z) z_d(Z, .) dp. Tile by tile: memory does not grow with the centres. Orders whose
    terms would be more than `most_terms` are not listed; their totals are sum_|u|=r R_u, which needs no list.
    """
    if posterior.terms is not None:
        return _listed_variances(posterior)
    kernel = posterior.additive
    order = listed_order(len(kernel.components), kernel.max_order, most_terms)
    terms = tuple(subsets(len(kernel.components), order))
    totals, by_order = np.zeros(len(terms)), np.zeros(kernel.max_order + 1)
    moments = [c.second_moments(z) for c, z in zip(kernel.components, posterior.centres.T, strict=True)]
    for rows, columns, times in _tiles(posterior.alpha.size):
        root = times * np.outer(posterior.alpha[rows], posterior.alpha[columns]).ravel()
        L = np.array([moment(rows, columns).ravel() for moment in moments]).reshape(len(moments), root.size)
        if order:
            add_terms(L, root, order, totals)
        e = np.empty((kernel.max_order + 1, root.size))
        symmetric_polynomials(L, e)
        by_order += e @ root
    squares = np.square(kernel.variances)
    scale = np.array([squares[len(term)] for term in terms])
    by_order = np.maximum(by_order * squares, 0.0)
    variances, total = np.maximum(totals * scale, 0.0), float(np.sum(by_order[1:]))
    return TermVariances(terms, variances, by_order, total, order == kernel.max_order)


def _listed_variances(posterior: Posterior) -> TermVariances:
    """The same for a posterior that has only some of the terms."""
    kernel, terms = posterior.additive, tuple(term for term in posterior.terms or () if term)
    totals = np.zeros(len(terms))
    used = {d for term in terms for d in term}
    moments = {d: kernel.components[d].second_moments(posterior.centres[:, d]) for d in used}
    for rows, columns, times in _tiles(posterior.alpha.size):
        root = times * np.outer(posterior.alpha[rows], posterior.alpha[columns])
        L = {d: moment(rows, columns) for d, moment in moments.items()}
        for i, term in enumerate(terms):
            totals[i] += np.sum(reduce(mul, (L[d] for d in term), root))
    scale = np.array([kernel.variances[len(term)] ** 2 for term in terms])
    return _of_listed(posterior, terms, np.maximum(totals * scale, 0.0))


def _of_listed(posterior: Posterior, terms: tuple[Subset, ...], variances: Array) -> TermVariances:
    by_order = np.zeros(posterior.by_terms.max_order + 1)
    np.add.at(by_order, [len(term) for term in terms], variances)
    return TermVariances(terms, variances, by_order, float(np.sum(variances)), complete=True)


def sampled_variances(posterior: Posterior, X: Array, most_terms: int = MOST_SAMPLED) -> TermVariances:
    """The same for terms that are not orthogonal: the variance of each term's mean over the rows X.

    They are not the parts of one variance: the total is the sum over terms, or over an order not listed.
    """
    kernel = posterior.by_terms
    if posterior.terms is not None:
        listed_terms = tuple(term for term in posterior.terms if term)
        return _of_listed(posterior, listed_terms, np.var(posterior.term_means(listed_terms, X), axis=0))
    terms = kernel.listed(most_terms)
    variances = np.var(posterior.term_means(terms, X), axis=0)
    by_order = np.zeros(kernel.max_order + 1)
    for r in kernel.orders:
        by_order[r] = np.var(replace(posterior, kernel=kernel.of_order(r)).mean(X))
    listed = {len(term) for term in terms}
    left = [r for r in kernel.orders if r not in listed]
    total = float(np.sum(variances) + sum(by_order[r] for r in left))
    return TermVariances(terms, variances, by_order, total, not left)


def subsets(n_columns: int, max_order: int) -> Iterator[Subset]:
    """All non-empty subsets of at most max_order columns, depth first."""

    def below(prefix: Subset) -> Iterator[Subset]:
        for d in range(prefix[-1] + 1 if prefix else 0, n_columns):
            yield (*prefix, d)
            if len(prefix) + 1 < max_order:
                yield from below((*prefix, d))

    return below(()) if max_order else iter(())


def listed_order(n_columns: int, max_order: int, most_terms: int) -> int:
    """The largest order up to which there are at most `most_terms` terms."""
    count, order = 0, 0
    for r in range(1, max_order + 1):
        count += comb(n_columns, r)
        if count > most_terms:
            break
        order = r
    return order


def _tiles(n: int) -> Iterator[tuple[slice, slice, float]]:
    """Tiles on and below the diagonal; those below count twice."""
    starts = range(0, n, TILE)
    for i in starts:
        yield slice(i, i + TILE), slice(i, i + TILE), 1.0
    for j, i in combinations(starts, 2):
        yield slice(i, i + TILE), slice(j, j + TILE), 2.0
