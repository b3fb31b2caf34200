"""`termwise explain`: what a model has learned."""

from __future__ import annotations

import click


@click.command(short_help="Print the ranked terms of a model.")
@click.argument("model", metavar="MODEL")
@click.option("--top", type=click.IntRange(min=1), help="How many terms to print.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def explain(model: str, top: int | None, as_json: bool) -> None:
    """Print the terms of MODEL with their share of the explained variance and its 90 % interval.

    Then the share of each order of interaction, and what was chosen for each column. A model of more than
    two labels has terms for each of them against the others.

    \b
    Example:
      termwise explain houses.termwise --top 10
      termwise explain houses.termwise --json > terms.json
    """
    from termwise.cli.summary import chosen_text, json_text, summary, summary_text
    from termwise.io import load

    found = summary(load(model))
    parts = filter(None, (summary_text(found, top), chosen_text(found)))
    click.echo(json_text(found, top) if as_json else "\n\n".join(parts))
