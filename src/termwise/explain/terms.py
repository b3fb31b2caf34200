"""Terms by name, ranked by their share of the explained variance."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from termwise.errors import TermError
from termwise.kernels.terms import Subset

SOBOL_DTYPE = [("term", object), ("order", np.int64), ("share", float), ("low", float), ("high", float)]


_FEATURE = re.compile(r"`[^`]*`|[^:]+")  # of the name of a term; in backticks it may have colons


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


def features_of(name: str) -> tuple[str, ...]:
    """The features in the name of a term; none if it is no such name."""
    parts = _FEATURE.findall(name)
    return tuple(part.strip().strip("`") for part in parts) if ":".join(parts) == name else ()


def found_term(name: str, names: Sequence[str]) -> str:
    """The one of these names of terms that is meant, whatever the order of its features."""
    if name in names:
        return name
    wanted = sorted(_FEATURE.findall(str(name)))
    for known in names:
        if sorted(_FEATURE.findall(known)) == wanted:
            return known
    by_case = {known.casefold(): known for known in names}
    close = [by_case[found] for found in get_close_matches(str(name).casefold(), list(by_case))]
    meant = f"did you mean {' or '.join(map(repr, close))}?" if close else "terms_ lists those that there are"
    raise TermError(f"there is no term {name!r}; {meant}")


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
