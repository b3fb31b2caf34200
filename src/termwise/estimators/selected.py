"""The terms that a user allows a model, by the names of their features."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from termwise.encode.encoder import Encoder
from termwise.errors import OptionError, TableError, TermError, TermwiseWarning
from termwise.explain.interactions import Interaction, Interactions
from termwise.explain.terms import Term, features_of
from termwise.kernels.terms import Subset
from termwise.table.names import did_you_mean, quoted

Features = tuple[str, ...]
NOT_LISTED = {"terms": "all that there may be", "sets": "those that are found"}


def asked_terms(asked: Any, names: Sequence[str], option: str = "terms") -> list[Features] | None:
    """The features of each term that is asked for, if all are columns of the table; None for no list."""
    if asked is None:
        return None
    listed = plain_terms(asked, option)
    if not isinstance(listed, (list, tuple)) or not listed:
        raise OptionError(
            f"{option} is {asked!r}; give a list of names as in ['age', 'age:income'], or None for "
            f"{NOT_LISTED[option]}"
        )
    return [_features(term, names, option) for term in listed]


def plain_terms(asked: Any, option: str = "terms") -> Any:
    """A list of what is asked for, if it is an array, or has interactions that were found."""
    if isinstance(asked, Interactions):
        return asked.terms() if option == "terms" else asked.sets()
    if isinstance(asked, (list, tuple)):
        return [term.columns if isinstance(term, Interaction) else term for term in asked]
    return asked.tolist() if hasattr(asked, "tolist") else asked


def used_columns(asked: Any, names: Sequence[str]) -> set[str] | None:
    """The columns that the terms need; None for all."""
    terms = asked_terms(asked, names)
    return None if terms is None else {name for term in terms for name in term}


def with_terms(asked: Any, encoder: Encoder) -> Encoder:
    """The encoder with the columns of those terms only that can be learned; others are left out and told.

    A term cannot be learned if one of its columns has no effect, as it has one value or names single rows.
    """
    terms = asked_terms(asked, encoder.schema.names)
    if terms is None:
        return encoder
    lost = [term for term in terms if not set(term) <= {*encoder.names}]
    if len(lost) == len(terms):
        raise TableError(
            f"no term of {quoted(':'.join(term) for term in terms)} can be learned, as each has a column "
            "with one value only, or with a new level in every row; ask for others, or leave terms out"
        )
    for term in lost:
        warnings.warn(
            f"the term {':'.join(term)!r} is left out, as a column of it has one value only, or a new level "
            "in every row",
            TermwiseWarning,
            stacklevel=2,
        )
    kept = {name for term in terms if term not in lost for name in term}
    places = [place for place, name in enumerate(encoder.names) if name in kept]
    return replace(
        encoder,
        active=tuple(encoder.active[place] for place in places),
        columns=tuple(encoder.columns[place] for place in places),
    )


def listed_terms(asked: Any, encoder: Encoder) -> tuple[Subset, ...] | None:
    """The terms as sorted positions among the encoded columns, each once; None for no list."""
    terms = asked_terms(asked, encoder.schema.names)
    if terms is None:
        return None
    place = {name: position for position, name in enumerate(encoder.names)}
    found = {tuple(sorted(place[name] for name in term)) for term in terms if set(term) <= place.keys()}
    return tuple(sorted(found, key=lambda term: (len(term), term)))


def _features(term: Any, names: Sequence[str], option: str) -> Features:
    """The features of one term, which may be a name, a sequence of names, or a `Term` of another model."""
    given = term.features if isinstance(term, Term) else term
    if isinstance(given, str):
        given = (given,) if given in names else features_of(given)
    if not isinstance(given, (list, tuple)) or not given or len({*map(str, given)}) < len(given):
        raise OptionError(f"{option} has {term!r}; give each of its features once, as in 'age:income'")
    for name in given:
        if name not in names:
            close = did_you_mean(str(name), names) or f"; the columns are {quoted(names)}"
            raise TermError(
                f"{option} has {term!r}, and there is no column {name!r}{close}{_in_backticks(names)}"
            )
    return tuple(given)


def _in_backticks(names: Sequence[str]) -> str:
    """How to write a name that has a colon itself, if there is one."""
    colons = [name for name in names if ":" in name]
    return f" (in a term, {colons[0]!r} is written in backticks)" if colons else ""
