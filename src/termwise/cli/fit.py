"""`termwise fit`: from a table to a model file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from termwise.cli.task import (
    REGRESSION,
    TASKS,
    choose_task,
    refuse_checkpoints,
    refuse_missing,
    refuse_other_options,
    targets,
)

if TYPE_CHECKING:
    from termwise.table import Table, Values


@click.command(short_help="Fit a table and save the model.")
@click.argument("tables", metavar="TABLE...", nargs=-1, required=True)
@click.option("--target", "-t", required=True, metavar="COLUMN", help="The column to predict.")
@click.option("--output", "-o", required=True, metavar="FILE", help="The model file to write.")
@click.option(
    "--task",
    type=click.Choice(TASKS),
    default="auto",
    show_default=True,
    help="What to predict: numbers or labels. auto takes texts, truth values and up to 5 different whole "
    "numbers for labels.",
)
@click.option("--model", "kind", type=click.Choice(["oak", "additive"]), default="oak", show_default=True)
@click.option(
    "--max-order",
    type=click.IntRange(min=1),
    help="The most columns in one term.  [oak: 3, for labels 2, and more if the data ask for it]",
)
@click.option(
    "--terms",
    multiple=True,
    metavar="A,A:B",
    help="The only terms that the model may have, by their columns.",
)
@click.option("--categorical", multiple=True, metavar="A,B", help="Columns whose numbers are labels.")
@click.option(
    "--inference",
    type=click.Choice(["auto", "exact", "sparse", "stochastic", "ski"]),
    help="exact for thousands of rows, sparse for millions, stochastic for many millions or labels of many "
    "rows, ski for many rows of numbers with --max-order 1.  [auto: by the number of rows]",
)
@click.option(
    "--n-inducing", type=click.IntRange(min=1), help="Rows that sparse inference makes its picture of."
)
@click.option(
    "--link", type=click.Choice(["logit", "probit"]), help="How probabilities follow the terms.  [logit]"
)
@click.option(
    "--likelihood",
    type=click.Choice(["normal", "poisson", "student"]),
    help="How numbers scatter: poisson for counts, student for numbers with outliers.  [normal]",
)
@click.option(
    "--exposure", metavar="COLUMN", help="The time, area or number of cases behind each count of poisson."
)
@click.option(
    "--checkpoint",
    metavar="FOLDER",
    help="Write there now and then what a long fit has come to. It goes by minibatches then, however few "
    "rows there are.",
)
@click.option("--resume", metavar="FOLDER", help="Go on with a fit that was killed, from its checkpoints.")
@click.option("--report", metavar="FILE", help="Also write the model as a page to read and to try.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of all that is random.")
@click.option("--top", type=click.IntRange(min=1), help="How many terms to print.")
@click.option("--json", "as_json", is_flag=True, help="Print the terms as JSON.")
@click.option("--quiet", "-q", is_flag=True, help="No progress on stderr.")
def fit(
    tables: tuple[str, ...],
    target: str,
    output: str,
    task: str,
    exposure: str | None,
    checkpoint: str | None,
    resume: str | None,
    report: str | None,
    top: int | None,
    as_json: bool,
    quiet: bool,
    **asked: Any,
) -> None:
    """Fit TABLE, save the model and print its terms, ranked by their share of the explained variance.

    Each of several labels has a model of its own against the rest, and terms of its own.

    TABLE is a CSV file with a header line (may be gzipped; - is stdin), or Parquet: files, a folder or a
    pattern. Parquet is read in pieces and may be larger than memory.

    \b
    Example:
      termwise fit houses.csv --target price -o houses.termwise --categorical zip,grade
      termwise fit houses.csv --target price -o houses.termwise --report houses.html
      termwise fit patients.csv --target outcome -o patients.termwise --task classification
      termwise fit claims.csv --target claims -o claims.termwise --likelihood poisson --exposure years
      termwise fit 'flights/*.parquet' --target delay -o flights.termwise
    """
    from termwise.cli.files import is_dataset, read_one
    from termwise.table import split_target

    ways = {"link": asked["link"], "likelihood": asked["likelihood"], "exposure": exposure}
    refuse_other_options(task, target, **ways)
    _check_files(tables, output, report)
    rows = None if is_dataset(tables) else split_target(read_one(tables), target)
    pieces = targets(tables, target) if rows is None else [rows[1]]
    chosen = _chosen_task(task, target, pieces, ways, quiet)
    model = _estimator(**asked, task=chosen, progress=not quiet)
    if rows is None:
        more = {} if exposure is None else {"exposure": exposure}
        model.fit_dataset(list(tables), target=target, checkpoint=checkpoint, resume=resume, **more)
    else:
        refuse_checkpoints(checkpoint, resume)
        _fit_in_memory(model, *rows, exposure)
    _write(model, output, report)
    _tell(model, output, top, as_json, quiet)


def _check_files(tables: Sequence[str], output: str, report: str | None) -> None:
    """Refuse what cannot be written, before anything is read."""
    import os

    from termwise.cli.files import check_writable, refuse_to_replace
    from termwise.errors import OptionError

    if report is not None and os.path.realpath(report) == os.path.realpath(output):
        raise OptionError(f"--output and --report are both {report!r}; give each a file of its own")
    for path in (output,) if report is None else (output, report):
        check_writable(path)
        refuse_to_replace(path, tables)


def _chosen_task(
    task: str, target: str, pieces: Iterable[Values], ways: Mapping[str, str | None], quiet: bool
) -> str:
    """The task, which is told on stderr if it was a choice."""
    if ways["likelihood"] is not None:
        task = REGRESSION  # counts may look like labels
    chosen, told = choose_task(task, pieces, target)
    refuse_other_options(chosen, target, **ways)
    if told and not quiet:
        click.echo(told, err=True)
    return chosen


def _fit_in_memory(model: Any, features: Table, y: Values, exposure: str | None) -> None:
    from termwise.table import split_target

    if exposure is None:
        model.fit(features, y)
        return
    refuse_missing(exposure, features.names)
    features, exposures = split_target(features, exposure)
    model.fit(features, y, exposure=exposures)


def _write(model: Any, output: str, report: str | None) -> None:
    from termwise.io import save

    save(model, output)
    if report is not None:
        from termwise.report import Report

        Report.from_estimator(model).write_html(report)


def _tell(model: Any, output: str, top: int | None, as_json: bool, quiet: bool) -> None:
    """How the fit went, on stderr, and the ranked terms."""
    from termwise.cli.summary import json_text, summary, summary_text

    if not quiet:
        result = model.fit_result_
        click.echo(
            f"fitted {result.rows} rows in {result.seconds:.1f} s ({result.status}): {output}", err=True
        )
    found = summary(model)
    click.echo(json_text(found, top) if as_json else summary_text(found, top))


def _estimator(task: str, kind: str, seed: int | None, progress: bool, **asked: Any) -> Any:
    import termwise.estimators as made
    from termwise.errors import OptionError

    if any(not name.strip() for names in asked["terms"] for name in names.split(",")):
        raise OptionError("--terms has an empty name; give columns as in --terms age,age:income")
    if kind != "oak" and asked["terms"]:
        raise OptionError(f"--terms is for --model oak, and the model is {kind}; leave one of them out")
    lists = {name: _listed(asked.pop(name)) for name in ("categorical", "terms")}
    # What is not asked for is left to the defaults of the estimator.
    given = {**asked, **lists, "random_state": seed}
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value not in (None, [])}
    estimators = {
        ("regression", "oak"): made.OAKRegressor,
        ("regression", "additive"): made.AdditiveGPRegressor,
        ("classification", "oak"): made.OAKClassifier,
        ("classification", "additive"): made.AdditiveGPClassifier,
    }
    return estimators[task, kind](progress=progress, **chosen)


def _listed(options: tuple[str, ...]) -> list[str]:
    """Names with commas between them, of an option that may be given more than once."""
    return [name.strip() for names in options for name in names.split(",") if name.strip()]
