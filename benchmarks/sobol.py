"""Sobol indices of all 8191 terms of a model of 13 columns."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

from benchmarks import child
from benchmarks.data import load
from benchmarks.figures import Figure
from benchmarks.timing import seconds
from termwise import OAKRegressor
from termwise.explain.sobol import term_variances

TERMS = 8191
MOST_SECONDS, MOST_MEGABYTES = 5.0, 500.0


def run(quick: bool = False) -> Iterator[Figure]:
    """Measured in a process of its own, so that nothing else counts as memory; quick with 60 rows."""
    found = child.call("benchmarks.sobol:measure", 60 if quick else None)
    assert found["terms"] == TERMS
    yield Figure(f"housing, {found['rows']} rows, order 13: seconds of the fit", found["fit"], "s")
    yield Figure(f"the variances of {TERMS} terms", found["variances"], "s")
    yield Figure("ranked table with intervals", found["table"], "s", at_most=MOST_SECONDS)
    yield Figure("  growth of the process's peak memory", found["growth"], "MB", at_most=MOST_MEGABYTES)
    yield Figure("  most that Python and NumPy held at once", found["traced"], "MB", at_most=MOST_MEGABYTES)


def measure(rows: int | None) -> dict[str, float]:
    """Fit housing at order 13, then time and weigh the Sobol indices.

    The peak of the process is that of the fit before; it says what the indices need beyond it, and the
    traced memory says all that they need.
    """
    split = load("housing")
    X = {name: column[:rows] for name, column in split.X.items()}
    model = OAKRegressor(max_order=None, n_restarts=1, categorical=split.categorical)
    fit = seconds(lambda: model.fit(X, split.y[:rows]))
    before = child.peak_megabytes()
    variances = seconds(lambda: term_variances(model.posterior_))
    table = seconds(lambda: model.sobol_)
    growth = child.peak_megabytes() - before
    model.__dict__.pop("_ranked_cache")
    tracemalloc.start()
    terms = len(model.sobol_)
    traced = tracemalloc.get_traced_memory()[1] / child.MEGABYTE
    return {
        "rows": len(model.posterior_.alpha),
        "terms": terms,
        "fit": fit,
        "variances": variances,
        "table": table,
        "growth": growth,
        "traced": traced,
    }
