"""Which columns of a table act together on a target (extra `deep`)."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from termwise.deep.backend import require_torch
from termwise.encode.dense import DenseEncoder
from termwise.errors import TableError, TermwiseWarning
from termwise.estimators.base import seed_of
from termwise.estimators.numbers import as_numbers
from termwise.estimators.options import search_options, whole_number
from termwise.estimators.targets import NORMAL, prepared_target
from termwise.explain.interactions import Interaction, Interactions
from termwise.table import read_table

if TYPE_CHECKING:
    from termwise.deep.detector import Detection

OWNER = "detect_interactions"
UNKNOWN_LEVEL = "mean"  # no other rows are ever read


def detect_interactions(
    X: Any,
    y: Any,
    *,
    max_size: int = 4,
    n_seeds: int = 5,
    max_epochs: int = 300,
    categorical: Any = "auto",
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Interactions:
    """Rank the sets of columns that act together on a target, and say which of them help to predict it.

    `n_seeds` networks of all columns learn the target beside networks of single columns, with weights kept
    few; columns whose weights meet in a unit act together (neural interaction detection, 2017). Then sets are
    added to a model of single columns in the order of their strength, as long as rows that were left out are
    predicted better.

    Parameters
    ----------
    X, y
        A table of any kind, and a number for each row; two labels as 0 and 1. Of fewer than ten rows no set
        is tried, and none is kept.
    max_size : int
        The most columns of a set.
    n_seeds : int
        How many networks are asked; `stability` is the part of them that found a set. Those that have learned
        nothing have found none.
    max_epochs : int
        The most times that networks of all columns look at all rows; the small networks that say whether a
        set helps look at them 100 times at most, and those of the sets that are kept 300 times.
    categorical, random_state
        As for `DeepKernelRegressor`.
    n_jobs : int or None
        Threads of PyTorch; None is one.

    Returns
    -------
    Interactions
        A list of `Interaction`, the strongest first, each with `columns`, `strength`, `stability` and `kept`;
        `frame()` is a table of them, and `kept` has those that help, by themselves or together with other
        pairs. `untold` is what one network of all columns tells besides, with a warning if it does. All of
        it, or a part as in `found[:2]`, can be the `terms` of `OAKRegressor` or the `sets` of
        `DeepKernelRegressor`. All of it means the sets that help and single columns; as terms also the parts
        of sets, as sets none that is a part of another. A part means these sets alone.
    """
    require_torch(OWNER)
    from termwise.deep.detector import Sample, Search, detect
    from termwise.deep.training import parted, threads

    search = Search(
        whole_number("n_seeds", n_seeds, at_least=1),
        whole_number("max_size", max_size, at_least=2),
        whole_number("max_epochs", max_epochs, at_least=1),
    )
    search_options(1, n_jobs, False)
    table = read_table(X)
    target, _ = prepared_target(NORMAL, y, None, table.n_rows)
    # Which columns act together does not change when each is bent for itself, and long tails hide it.
    dense, spread = as_numbers(table, categorical, UNKNOWN_LEVEL, owner=OWNER, flow=True)
    if len(dense.encoder.names) < 2:
        raise TableError(
            f"only the column {dense.encoder.names[0]!r} has more than one value, and it takes two to act "
            "together; pass more columns"
        )
    with threads(n_jobs):
        # As `DeepKernelRegressor` does, so that with the same seed it has the sets that are found here.
        asking, splitting = np.random.default_rng(seed_of(random_state)).spawn(2)
        sample = Sample(spread, target.y, dense.sources, parted(spread, splitting))
        found = interactions_of(detect(sample, search, asking), dense)
    warn_of_untold(found)
    return found


def interactions_of(found: Detection, dense: DenseEncoder) -> Interactions:
    """The same by the names of the columns."""
    names = dense.encoder.names
    rows = zip(found.sets, found.strengths, found.found, found.kept, strict=True)
    ranked = tuple(
        Interaction(tuple(names[column] for column in columns), strength, stability, kept)
        for columns, strength, stability, kept in rows
    )
    return Interactions(ranked, names, found.untold)


def warn_of_untold(found: Interactions) -> None:
    """Say that the columns act together in more ways than the kept sets say."""
    if found.untold:
        warnings.warn(
            "the sets that are kept do not tell all: one network of all columns would take "
            f"{found.untold:.0%} off the mean absolute error of rows left out; OAKRegressor with all its "
            "terms, or DeepKernelRegressor with kernel='ok' or mean='detector', may predict better",
            TermwiseWarning,
            stacklevel=3,
        )
