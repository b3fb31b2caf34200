"""The terms that a user allows a model, by the names of their features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from termwise.errors import OptionError, TableError, TermError
from termwise.explain.terms import features_of
from termwise.kernels.terms import Subset
from termwise.table.names import did_you_mean


def used_columns(asked: Any, names: Sequence[str]) -> set[str] | None:
    """The columns of a table that the terms need; None if no terms are asked for."""
    return None if asked is None else {name for term in _asked(asked, names) for name in term}


def listed_terms(asked: Any, names: Sequence[str], encoded: Sequence[str]) -> tuple[Subset, ...] | None:
    """The terms as positions among the encoded columns, each once; None if no terms are asked for.

    A term with a column that has one value only is left out, as such a column is.
    """
    if asked is None:
        return None
    place = {name: position for position, name in enumerate(encoded)}
    known = [term for term in _asked(asked, names) if set(term) <= place.keys()]
    if not known:
        raise TableError(
            "every term that is asked for has a column that does not vary; ask for others, or leave terms out"
        )
    found = {tuple(sorted(place[name] for name in term)) for term in known}
    return tuple(sorted(found, key=lambda term: (len(term), term)))


def _asked(asked: Any, names: Sequence[str]) -> list[tuple[str, ...]]:
    if isinstance(asked, str) or not isinstance(asked, Iterable) or not (listed := list(asked)):
        raise OptionError(
            f"terms is {asked!r}; give a list of names as in ['age', 'age:income'], or None for all up to "
            "max_order"
        )
    return [_features(term, names) for term in listed]


def _features(term: Any, names: Sequence[str]) -> tuple[str, ...]:
    """The features of one term, which may be a name or a sequence of names."""
    if not isinstance(term, (str, list, tuple)):
        raise OptionError(f"terms has {term!r}; give names as in 'age:income', or ('age', 'income')")
    features = features_of(term) if isinstance(term, str) and term not in names else term
    features = (features,) if isinstance(features, str) else tuple(map(str, features))
    for name in features:
        if name not in names:
            raise TermError(
                f"terms has {term!r}, but there is no column {name!r}{did_you_mean(name, names)}; use names "
                "of columns, joined by colons"
            )
    if not features or len(set(features)) < len(features):
        raise OptionError(f"terms has {term!r}; a term has at least one feature, and each of them once")
    return features
