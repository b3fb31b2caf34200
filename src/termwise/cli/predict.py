"""`termwise predict`: from a model file and a table to predictions."""

from __future__ import annotations

from itertools import chain
from typing import Any

import click

from termwise.errors import OptionError


@click.command(short_help="Predict the rows of a table.")
@click.argument("model", metavar="MODEL")
@click.argument("tables", metavar="TABLE...", nargs=-1, required=True)
@click.option(
    "--terms",
    is_flag=True,
    help="Add what every term contributes: prediction = constant + terms; for two labels the log odds (or "
    "the probit) of the second, for counts the logarithm of the rate.",
)
@click.option(
    "--exposure", metavar="COLUMN", help="Predict the counts of this exposure, not those of one unit of it."
)
@click.option("--output", "-o", "path", metavar="FILE", help="Write there instead of to stdout.")
def predict(model: str, tables: tuple[str, ...], terms: bool, exposure: str | None, path: str | None) -> None:
    """Print a prediction and its standard deviation, as CSV, for every row of TABLE.

    A model of labels prints the most likely label and the probability of each, in the columns p(label).

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
    names = _names(fitted, terms)
    _refuse_exposure(fitted, exposure)
    more = () if exposure is None else (exposure,)
    pieces = fitted.pieces(list(tables), more) if is_dataset(tables) else [read_one(tables)]
    results = (_columns(fitted, rows, terms, exposure) for rows in pieces)
    first = next(results)  # nothing is written if the table cannot be read
    with output(path) as file:
        write_header(file, names)
        for columns in chain([first], results):
            write_rows(file, columns)


def _names(fitted: Any, terms: bool) -> list[str]:
    from termwise.estimators.terms import TermModel
    from termwise.explain.terms import column_names

    labels = _labels(fitted)
    names = ["prediction", *[f"p({label})" for label in labels]] if labels else ["prediction", "std"]
    if not terms:
        return names
    if len(labels) > 2 and isinstance(fitted, TermModel):
        raise OptionError(
            f"--terms is for numbers and for two labels, but each of the {len(labels)} labels of this model "
            "has terms of its own; leave --terms out, or see 'termwise explain'"
        )
    names.append("constant")
    return [*names, *column_names([term.name for term in fitted.terms_], names)]


def _columns(fitted: Any, rows: Any, terms: bool, exposure: str | None) -> list[Any]:
    import numpy as np

    labels = np.array(_labels(fitted), dtype=object)
    if labels.size:
        probabilities = fitted.predict_proba(rows)
        columns = [labels[np.argmax(probabilities, axis=1)], *probabilities.T]
    else:
        more = {} if exposure is None else {"exposure": rows.column(exposure)}
        columns = list(fitted.predict(rows, return_std=True, **more))
    if terms:
        columns += [np.full(rows.n_rows, fitted.constant_), *fitted.predict_terms(rows).T]
    return columns


def _refuse_exposure(fitted: Any, exposure: str | None) -> None:
    from termwise.likelihoods import Poisson

    if exposure is not None and not isinstance(getattr(fitted, "likelihood_", None), Poisson):
        raise OptionError("--exposure is for models of counts, and this is none; leave it out")


def _labels(fitted: Any) -> list[str]:
    """The labels of a classifier as they are written; none if it is a regressor."""
    from termwise.table import level_text

    return [level_text(label) for label in fitted.classes_.tolist()] if hasattr(fitted, "classes_") else []
