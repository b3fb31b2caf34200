"""The terms of a posterior, ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from termwise.errors import OptionError, TermError
from termwise.explain.intervals import share_intervals
from termwise.explain.sobol import TermVariances, sampled_variances, term_variances
from termwise.explain.terms import Term, found_term, named_term, sobol_table
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior

TINY = 1e-300
ROWS = 2000  # rows over which the variance of terms that are not orthogonal is taken


@dataclass(frozen=True, eq=False)
class Ranked:
    """Terms by share, their table, the shares of the orders, and whether the list has all terms.

    `explained` is the variance that these terms explain, in variances of the target.
    """

    terms: tuple[Term, ...]
    table: np.ndarray
    order_shares: Array
    complete: bool
    explained: float

    def named(self, names: Sequence[str]) -> list[Term]:
        """The terms of these names, each once, in the order of the names."""
        if isinstance(names, str):
            raise OptionError(f"terms is {names!r}; give a list of names, such as terms=[{names!r}]")
        by_name = {term.name: term for term in self.terms}
        try:
            found = dict.fromkeys(found_term(name, list(by_name)) for name in names)
        except TermError as error:
            if self.complete:
                raise
            more = "terms of high order are too many to list; use a smaller max_order, or prune() the model"
            raise TermError(f"{error}. Besides, {more}") from None
        return [by_name[name] for name in found]


def ranked_terms(posterior: Posterior, names: Sequence[str], rng: np.random.Generator) -> Ranked:
    """Rank the terms of a posterior by their share of the explained variance."""
    orthogonal = posterior.kernel.orthogonal
    X = posterior.rows[:: -(-len(posterior.rows) // ROWS)]
    found, intervals = _variances(posterior, X, orthogonal, rng)
    shares = found.variances / max(found.total, TINY)
    order, by_order = np.argsort(-shares, kind="stable"), found.by_order[1:]
    explained = float(np.sum(by_order)) if orthogonal else float(np.var(posterior.mean(X)))
    terms = tuple(named_term(found.terms[i], names) for i in order)
    table = sobol_table(terms, shares[order], intervals[order])
    order_shares = by_order / max(float(np.sum(by_order)), TINY)
    for kept_array in (table, order_shares):
        kept_array.setflags(write=False)  # it is kept, and goes with `terms` row by row
    return Ranked(terms, table, order_shares, found.complete, explained)


def _variances(
    posterior: Posterior, X: Array, orthogonal: bool, rng: np.random.Generator
) -> tuple[TermVariances, Array]:
    if orthogonal:
        found = term_variances(posterior)
        return found, share_intervals(posterior, found, rng)
    # Terms that are not orthogonal have no share of their own to be sure or unsure of.
    found = sampled_variances(posterior, X)
    return found, np.full((len(found.terms), 2), np.nan)
