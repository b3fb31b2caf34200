"""The command `termwise`. What it needs is imported by the commands that need it, so that --help is quick."""

from __future__ import annotations

import click

from termwise.__about__ import __version__
from termwise.cli.explain import explain
from termwise.cli.failure import Commands
from termwise.cli.fit import fit
from termwise.cli.predict import predict
from termwise.cli.report import report


@click.group(
    cls=Commands,
    commands={"fit": fit, "predict": predict, "explain": explain, "report": report},
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="termwise", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Fit Gaussian processes that can be read term by term.

    Data goes to stdout, progress to stderr. The exit code is 0 if all went well, 2 if the input or the
    options cannot be used or the command was interrupted, 1 if Termwise itself failed.

    \b
    Example:
      termwise fit houses.csv --target price -o houses.termwise
      termwise explain houses.termwise
      termwise report houses.termwise -o houses.html
      termwise predict houses.termwise new.csv > predictions.csv
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main() -> None:
    """Run the command."""
    cli()
