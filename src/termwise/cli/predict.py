"""`termwise predict`: from a model file and a table to predictions."""

from __future__ import annotations

from itertools import chain
from typing import Any

import click

FIXED = ("prediction", "std", "constant")


@click.command(short_help="Predict the rows of a table.")
@click.argument("model", metavar="MODEL")
@click.argument("tables", metavar="TABLE...", nargs=-1, required=True)
@click.option("--terms", is_flag=True, help="Add what every term contributes: prediction = constant + terms.")
@click.option("--output", "-o", "path", metavar="FILE", help="Write there instead of to stdout.")
def predict(model: str, tables: tuple[str, ...], terms: bool, path: str | None) -> None:
    """Print a prediction and its standard deviation, as CSV, for every row of TABLE.

    Columns are matched by name; others, such as the target, are ignored. TABLE is a CSV file with a header
    line (may be gzipped; - is stdin), or Parquet: files, a folder or a pattern, read in pieces.

    \b
    Example:
      termwise predict houses.termwise new.csv --terms > predictions.csv
    """
    from termwise.cli.files import is_dataset, output, read_one, refuse_to_replace, write_header, write_rows
    from termwise.io import load

    if path is not None:
        refuse_to_replace(path, tables)
    fitted = load(model)
    pieces = fitted.pieces(list(tables)) if is_dataset(tables) else [read_one(tables)]
    results = (_columns(fitted, rows, terms) for rows in pieces)
    first = next(results)  # nothing is written if the table cannot be read
    with output(path) as file:
        write_header(file, _names(fitted, terms))
        for columns in chain([first], results):
            write_rows(file, columns)


def _names(fitted: Any, terms: bool) -> list[str]:
    from termwise.explain.terms import column_names

    if not terms:
        return ["prediction", "std"]
    return [*FIXED, *column_names([term.name for term in fitted.terms_], FIXED)]


def _columns(fitted: Any, rows: Any, terms: bool) -> list[Any]:
    import numpy as np

    columns = list(fitted.predict(rows, return_std=True))
    if terms:
        columns += [np.full(rows.n_rows, fitted.constant_), *fitted.predict_terms(rows).T]
    return columns
