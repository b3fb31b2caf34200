"""Terms by name, ranked by their share of the explained variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
        """The features joined by colons: "age", "age:income"; in backticks if they have one themselves."""
        return ":".join(f"`{feature}`" if ":" in feature else feature for feature in self.features)


def named_term(columns: Subset, names: Sequence[str]) -> Term:
    """The term of some columns."""
    return Term(tuple(names[d] for d in columns), columns)


def column_names(terms: Sequence[str], fixed: Sequence[str]) -> list[str]:
    """A column name for each term in a table that has the `fixed` columns too: no two are the same.

    A term that is called like one of those becomes "prediction (term)".
    """
    taken = {*fixed, *terms}
    names = []
    for name in terms:
        if name in fixed:
            while name in taken:
                name += " (term)"
            taken.add(name)
        names.append(name)
    return names


def sobol_table(terms: Sequence[Term], shares: np.ndarray, intervals: np.ndarray) -> np.ndarray:
    """The structured table term, order, share, low, high."""
    table = np.empty(len(terms), dtype=SOBOL_DTYPE)
    for i, (term, share, (low, high)) in enumerate(zip(terms, shares, intervals, strict=True)):
        table[i] = (term.name, term.order, share, low, high)
    return table
