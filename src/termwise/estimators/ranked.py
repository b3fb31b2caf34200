"""The terms of a posterior, ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from termwise.explain.intervals import share_intervals
from termwise.explain.sobol import (
    MOST_TERMS,
    TermVariances,
    listed_order,
    sampled_variances,
    subsets,
    term_variances,
)
from termwise.explain.terms import Term, named_term, sobol_table
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior

TINY = 1e-300
ROWS = 2000  # centres over which the variance of terms that are not orthogonal is taken


@dataclass(frozen=True, eq=False)
class Ranked:
    """Terms by share, their table, the shares of the orders, and whether the list has all terms.

    `total` is the variance that all terms explain, in variances of the target.
    """

    terms: tuple[Term, ...]
    table: np.ndarray
    order_shares: Array
    complete: bool
    total: float


def ranked_terms(posterior: Posterior, names: Sequence[str], rng: np.random.Generator) -> Ranked:
    """Rank the terms of a posterior by their share of the explained variance."""
    whole = replace(posterior, terms=None)
    found, intervals = _variances(whole, rng)
    total = max(found.total, TINY)
    shares = found.variances / total
    order = np.argsort(-shares, kind="stable")
    if posterior.terms is not None:
        kept = set(posterior.terms)
        order = np.array([i for i in order if found.terms[i] in kept], dtype=np.intp)
    terms = tuple(named_term(found.terms[i], names) for i in order)
    n, max_order = len(whole.kernel.components), whole.kernel.max_order
    complete = posterior.terms is not None or listed_order(n, max_order, MOST_TERMS) == max_order
    table = sobol_table(terms, shares[order], intervals[order])
    return Ranked(terms, table, found.by_order[1:] / max(np.sum(found.by_order[1:]), TINY), complete, total)


def _variances(posterior: Posterior, rng: np.random.Generator) -> tuple[TermVariances, Array]:
    kernel = posterior.kernel
    if all(component.measure is not None for component in kernel.components):
        found = term_variances(posterior)
        return found, share_intervals(posterior, found, rng)
    # Terms that are not orthogonal have no share of their own to be sure or unsure of.
    order = listed_order(len(kernel.components), kernel.max_order, MOST_TERMS // 10)
    terms = tuple(subsets(len(kernel.components), order))
    found = sampled_variances(posterior, terms, posterior.centres[:ROWS])
    # They are not the parts of one variance either: shares are of the sum over all terms.
    return found, np.full((len(terms), 2), np.nan)
