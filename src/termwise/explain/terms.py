"""Terms by name, ranked by their share of the explained variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from termwise.errors import TermError
from termwise.kernels.additive import Subset

SOBOL_DTYPE = [("term", object), ("order", np.int64), ("share", float), ("low", float), ("high", float)]


@dataclass(frozen=True)
class Term:
    """A function of some features: their names, and how many there are."""

    features: tuple[str, ...]
    columns: Subset

    @property
    def order(self) -> int:
        """The number of features."""
        return len(self.features)

    @property
    def name(self) -> str:
        """The features joined by colons: "age", "age:income"; one that has a colon itself stands in backticks."""
        return ":".join(f"`{feature}`" if ":" in feature else feature for feature in self.features)


def named_term(columns: Subset, names: Sequence[str]) -> Term:
    """The term of some columns."""
    return Term(tuple(names[d] for d in columns), columns)


def find_term(term: str | Sequence[str] | Term, names: Sequence[str]) -> Term:
    """The term that a name, or the names of its features, means."""
    if isinstance(term, Term):
        return term
    if isinstance(term, str):
        features = (term,) if term in names else tuple(term.split(":"))
    else:
        features = tuple(term)
    unknown = [feature for feature in features if feature not in names]
    if unknown or len(set(features)) != len(features):
        raise TermError(
            f"there is no term {term!r}; a term is one or more of the features {', '.join(names)} joined by ':'"
        )
    return named_term(tuple(sorted(names.index(feature) for feature in features)), names)


def sobol_table(terms: Sequence[Term], shares: np.ndarray, intervals: np.ndarray) -> np.ndarray:
    """The structured table term, order, share, low, high."""
    table = np.empty(len(terms), dtype=SOBOL_DTYPE)
    for row, term, share, (low, high) in zip(table, terms, shares, intervals, strict=True):
        row["term"], row["order"], row["share"], row["low"], row["high"] = term.name, term.order, share, low, high
    return table
