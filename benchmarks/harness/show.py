"""A table that was measured: to the terminal, and as files for the documentation."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, machine, summary
from benchmarks.harness.cells import Cell
from benchmarks.harness.compare import (
    TooFewError,
    compare,
    costs,
    means,
    models_of,
    paired,
)
from benchmarks.harness.glance import as_lines, glance
from benchmarks.harness.grid import Grid, grid
from benchmarks.harness.limits import limits
from benchmarks.harness.markdown import as_markdown
from benchmarks.harness.orders import order_lines
from benchmarks.harness.ours import ALL_ORDERS, OURS
from benchmarks.harness.tables import Table
from benchmarks.harness.terminal import as_text
from benchmarks.published import Printed, published

OWN = ("terms", "ten_terms", "first_order")  # scores that only ours have
ALWAYS = ("coverage", "terms", "ten_terms", "first_order", "fit_seconds", "predict_seconds", "peak_megabytes")
DPI = 120
ABOUT = "about.json"  # beside the cells: the command, the machine and the limits


@dataclass(frozen=True)
class Measured:
    """Cells of a table, and how they came about."""

    table: Table
    models: tuple[str, ...]  # in the order in which they are shown
    cells: tuple[Cell, ...]
    notes: tuple[str, ...]
    command: str
    row_number: bool
    now: bool = True  # whether cells were measured by this run; else they may be of another machine


def show(measured: Measured) -> None:
    """Print every score, then what it should be."""
    if not measured.cells:
        print("nothing was measured yet", file=sys.stderr)
        return
    figures = _limits(measured)
    texts = [as_text(laid) for _, laid in _grids(measured)]
    print("\n".join([*texts, *(figure.line() for figure in figures)]))
    print(summary(figures) if figures else "limits are for whole tables")
    failed = sum(bool(cell.error) for cell in measured.cells)
    if failed:
        print(f"{failed} cells failed; --retry measures them again", file=sys.stderr)


def keep(measured: Measured, place: Path) -> None:
    """Write the same as Markdown, with figures and the machine."""
    if not measured.cells:
        return
    table, cells = measured.table, _in_order(measured)
    where = _where(measured, place)
    parts = [f"# {table.name}: {table.about}", _origin(measured, where)]
    parts += [f"- {note}" for note in measured.notes]
    parts += [_glance(cells, table)]
    parts += [f"## {score}\n\n{as_markdown(laid)}" for score, laid in _grids(measured)]
    parts += [_orders(cells, table)]
    place.mkdir(parents=True, exist_ok=True)
    for score in table.scores[:2]:
        parts += [_against(cells, score, table.reference), *_draw(cells, score, place)]
    (place / "table.md").write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
    about = _about(measured, where, _limits(measured))
    (place / ABOUT).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def _in_order(measured: Measured) -> list[Cell]:
    """The cells, in the order of the sets."""
    return sorted(measured.cells, key=lambda cell: measured.table.sets.index(cell.dataset))


def _grids(measured: Measured) -> Iterator[tuple[str, Grid]]:
    """Every score that some cell has, laid out."""
    table = measured.table
    for score in (*table.scores, *(name for name in ALWAYS if name not in table.scores)):
        asked = [cell for cell in _in_order(measured) if score not in OWN or cell.model in OURS]
        found = means(asked, score)
        if found:
            models = [model for model in measured.models if any(model in row for row in found.values())]
            yield score, grid(found, score, models=models, paper=_paper(table, score))


def _limits(measured: Measured) -> list[Figure]:
    return list(limits(measured.table, _in_order(measured), row_number=measured.row_number))


def _paper(table: Table, score: str) -> dict[str, dict[str, Printed]] | None:
    """What the paper prints of a score, if it does."""
    printed = dict(table.printed).get(score)
    return None if printed is None else published(printed, score)


def _where(measured: Measured, place: Path) -> dict[str, Any]:
    """The date and the machine of the last measurement: who only shows cells has not measured them."""
    if measured.now:
        return {"date": str(date.today()), "machine": machine()}
    path = place / ABOUT
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {"date": kept.get("date"), "machine": kept.get("machine")}


def _origin(measured: Measured, where: Mapping[str, Any]) -> str:
    """How the table came about, in a few lines."""
    known = where["machine"]
    at = (
        f"{where['date']}, {known['processor']}, {known['cores']} cores, Python {known['python']}"
        if known
        else "Measured on a machine that nothing is known of"
    )
    versions = {cell.version for cell in measured.cells if cell.version}
    threads = sorted({cell.threads for cell in measured.cells if cell.threads})
    return (
        f"`{measured.command}`\n\n{at}; threads of a cell: {', '.join(map(str, threads))}. "
        f"{'; '.join(sorted(versions))}.\n\nRanks compare two models on the splits that both have run."
    )


def _about(measured: Measured, where: Mapping[str, Any], figures: Sequence[Figure]) -> dict[str, Any]:
    return {
        "command": measured.command,
        **where,
        "versions": sorted({cell.version for cell in measured.cells if cell.version}),
        "notes": list(measured.notes),
        "figures": [figure.plain() for figure in figures],
    }


def _glance(cells: Sequence[Cell], table: Table) -> str:
    """All models in a few lines."""
    scores, reference = table.scores[:2], table.reference
    if reference not in {cell.model for cell in cells}:
        return ""
    head = (
        "## At a glance\n\nAverages are over the splits that each has run; ranks and won–lost, the sets on "
        f"which {reference} is better and worse than that model, are by those that both have run\n"
    )
    return "\n".join([head, *as_lines(glance(cells, scores, reference), scores, reference)])


def _orders(cells: Sequence[Cell], table: Table) -> str:
    """How much of the prior variance each order has, beside the paper's."""
    lines = order_lines(cells, published(table.orders, "order_share")) if table.orders else []
    head = (
        f"## Orders of {ALL_ORDERS}\n\nPer cent of the prior variance that each order has, mean over splits\n"
    )
    return "\n".join([head, *lines]) if lines else ""


def _against(cells: Sequence[Cell], score: str, reference: str) -> str:
    """Sets that the first of ours wins and loses against each other, and whether that may be chance."""
    found = means(cells, score)
    if reference not in models_of(found) or len(models_of(found)) < 2:
        return ""
    lines = [
        f"## {reference} against each other: {score}",
        "",
        "Sets won, tied and lost, and p-values of the sign test and of Wilcoxon's signed ranks, "
        "not corrected for the number of models",
        "",
        "| model | won | tied | lost | sign | signed ranks |",
        "| :-- | --: | --: | --: | --: | --: |",
    ]
    lines += [
        f"| {model} | {one.wins} | {one.ties} | {one.losses} | {one.sign:.2g} | {one.wilcoxon:.2g} |"
        for model, one in paired(found, score, reference).items()
    ]
    return "\n".join(lines)


def _draw(cells: Sequence[Cell], score: str, place: Path) -> list[str]:
    """Ranks, and ranks against seconds, if there are models enough and Matplotlib is installed.

    What a page shows of them: the pictures, and the test behind the first.
    """
    for figure in place.glob(f"{score}-*.png"):
        figure.unlink()  # it was of other cells
    try:
        from benchmarks.harness.drawings import draw_costs, draw_ranks

        comparison = compare(means(cells, score), score)
    except (ImportError, TooFewError):
        return []
    title = score.replace("_", " ")
    draw_ranks(comparison, ours=OURS, title=f"average rank by {title}, 1 is best").savefig(
        place / f"{score}-ranks.png", dpi=DPI
    )
    draw_costs(costs(cells, score), ours=OURS, title=title).savefig(place / f"{score}-costs.png", dpi=DPI)
    test = (
        f"Average ranks of the models that ran all of {comparison.ranks.sets} sets, 1 is best. Friedman: p = "
        f"{comparison.p_value:.2g}; Nemenyi: ranks differ from {comparison.difference:.2f} on."
    )
    return [test, f"![average ranks]({score}-ranks.png)", f"![ranks and seconds]({score}-costs.png)"]
