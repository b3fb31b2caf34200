"""`termwise predict`: from a model file and a table to predictions."""

from __future__ import annotations

from typing import Any

import click

FIXED = ("prediction", "std", "constant")


@click.command(short_help="Predict the rows of a table.")
@click.argument("model", metavar="MODEL")
@click.argument("table", metavar="TABLE")
@click.option("--terms", is_flag=True, help="Add what every term contributes: prediction = constant + terms.")
@click.option("--output", "-o", "path", metavar="FILE", help="Write there instead of to stdout.")
def predict(model: str, table: str, terms: bool, path: str | None) -> None:
    """Print a prediction and its standard deviation, as CSV, for every row of TABLE.

    Columns are matched by name; others, such as the target, are ignored. TABLE is a CSV file with a header
    line (may be gzipped; - is stdin), or a Parquet file.

    \b
    Example:
      termwise predict houses.termwise new.csv --terms > predictions.csv
    """
    from termwise.cli.files import output, read_any, write_csv
    from termwise.io import load

    fitted = load(model)
    rows = read_any(table)
    mean, std = fitted.predict(rows, return_std=True)
    names, columns = ["prediction", "std"], [mean, std]
    if terms:
        more_names, more_columns = _terms(fitted, rows)
        names, columns = names + more_names, columns + more_columns
    with output(path) as file:
        write_csv(file, names, columns)


def _terms(fitted: Any, rows: Any) -> tuple[list[str], list[Any]]:
    import numpy as np

    from termwise.explain.terms import column_names

    values = fitted.predict_terms(rows)
    names = column_names([term.name for term in fitted.terms_], FIXED)
    return ["constant", *names], [np.full(rows.n_rows, fitted.constant_), *values.T]
