"""`termwise report`: a model as one page that explains it and in which it runs."""

from __future__ import annotations

from typing import Any

import click


@click.command(short_help="Write a model as a page to read and to try.")
@click.argument("model", metavar="MODEL")
@click.option("--output", "-o", required=True, metavar="FILE", help="The page to write, such as page.html.")
@click.option("--title", metavar="TEXT", help="The title of the page.")
@click.option(
    "--test", "test", metavar="TABLE", help="Rows that were not learned from: the model is checked on them."
)
@click.option("--target", "-t", metavar="COLUMN", help="The column of --test that was to be predicted.")
@click.option("--exposure", metavar="COLUMN", help="The column of --test with the exposure of counts.")
@click.option("--quiet", "-q", is_flag=True, help="Nothing on stderr.")
def report(
    model: str,
    output: str,
    title: str | None,
    test: str | None,
    target: str | None,
    exposure: str | None,
    quiet: bool,
) -> None:
    """Write MODEL as one HTML file: its terms in words and figures, and the model itself to try.

    The page needs no network and nothing installed: send it to anybody. With --test the first rows of that
    table are taken apart into terms, and with --target too it is said how well the model did.

    \b
    Example:
      termwise report houses.termwise -o houses.html
      termwise report houses.termwise -o houses.html --test new.csv --target price
    """
    import os

    from termwise.cli.files import check_writable, read_whole, refuse_to_replace
    from termwise.cli.task import refuse_missing
    from termwise.errors import OptionError
    from termwise.io import load
    from termwise.report import Report
    from termwise.table import split_target

    if target is not None and test is None:
        raise OptionError("--target names a column of --test, and there is no --test; give both")
    check_writable(output)
    for path in (model,) if test is None else (model, test):
        refuse_to_replace(output, [path])
    fitted = load(model)
    rows = None if test is None else read_whole(test)
    rows, y = (rows, None) if target is None or rows is None else split_target(rows, target)
    more: dict[str, Any] = {"title": title}
    if exposure is not None:
        refuse_missing(exposure, () if rows is None else rows.names)
        assert rows is not None, "a column that is there is of a table"
        rows, more["exposure"] = split_target(rows, exposure)
    Report.from_estimator(fitted, rows, y, **more).write_html(output)
    if not quiet:
        click.echo(f"wrote {output}, {os.path.getsize(output) / 1e6:.1f} MB", err=True)
