"""A table that was measured: to the terminal, and as files for the documentation."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.figures import machine, summary
from benchmarks.harness.cells import Cell
from benchmarks.harness.compare import means
from benchmarks.harness.limits import limits
from benchmarks.harness.markdown import Paper, as_markdown, as_text, grid
from benchmarks.harness.tables import Table
from benchmarks.published import NotPrintedError, published

ALWAYS = ("coverage", "ten_terms", "fit_seconds", "peak_megabytes")


def show(
    table: Table, cells: Sequence[Cell], notes: Sequence[str], place: Path, *, row_number: bool, jobs: int
) -> None:
    """Print every score, then what it should be; keep the same as Markdown, with figures and the machine."""
    if not cells:
        print("nothing was measured yet", file=sys.stderr)
        return
    cells = sorted(cells, key=lambda cell: table.sets.index(cell.dataset))
    parts = [f"# {table.name}: {table.about}", _origin(table, cells, row_number, jobs)]
    parts += [f"- {note}" for note in notes]
    for score in (*table.scores, *ALWAYS):
        found = means(cells, score)
        if not found:
            continue
        laid = grid(found, score, paper=_paper(table, score))
        print(as_text(laid), flush=True)
        parts.append(f"## {score}\n\n{as_markdown(laid)}")
    figures = list(limits(table, cells, row_number=row_number, jobs=jobs))
    for figure in figures:
        print(figure.line())
    print(summary(figures))
    (place / "table.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    about = _about(table, cells, jobs)
    about["figures"] = [figure.plain() for figure in figures]
    (place / "about.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
