"""The short table of the README, from the cells that the repository keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.harness.cells import Cell, read_cells
from benchmarks.harness.glance import Line, glance
from benchmarks.harness.grid import GAP, shown
from benchmarks.harness.tables import TABLES

REPOSITORY = Path(__file__).resolve().parents[2]
README, RESULTS = REPOSITORY / "README.md", REPOSITORY / "benchmarks" / "results"
BEGIN, END = "<!-- python -m benchmarks readme -->", "<!-- end of python -m benchmarks readme -->"
# What a reader is shown of each table: its scores by their plain names.
SHOWN = {
    "oak-regression": {"rmse": "error of numbers", "log_density": "log density"},
    "oak-classification": {"accuracy": "labels right", "log_density": "log likelihood"},
}


class NoPlaceError(ValueError):
    """A README without the two lines that the table stands between."""


def write_short_table(readme: Path = README, results: Path = RESULTS) -> None:
    """Put the table of today's cells in the place of the one that is there."""
    text = readme.read_text(encoding="utf-8")
    readme.write_text(with_table(text, kept_cells(results)), encoding="utf-8")


def kept_cells(results: Path = RESULTS) -> dict[str, list[Cell]]:
    """The cells of each table that the README shows, of those that were measured."""
    found = {name: read_cells(results / name / "cells.csv") for name in SHOWN}
    return {name: cells for name, cells in found.items() if cells}


def with_table(text: str, cells: Mapping[str, Sequence[Cell]]) -> str:
    """A text with the short table between its two marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise NoPlaceError(f"the table stands between the lines {BEGIN} and {END}; put them into the text")
    return f"{before}{BEGIN}\n{chr(10).join(short_table(cells))}\n{END}{after}"


def short_table(cells: Mapping[str, Sequence[Cell]]) -> list[str]:
    """A line a model in Markdown: average and median of each score, and the sets won and lost against it."""
    found = {
        name: {line.model: line for line in glance(some, tuple(SHOWN[name]), TABLES[name].reference)}
        for name, some in cells.items()
    }
    heads = ["model"]
    for name in found:
        sets = len({cell.dataset for cell in cells[name]})
        for title in SHOWN[name].values():
            heads += [f"{title}, {sets} sets", f"{TABLES[name].reference} won–lost"]
        heads += ["seconds of a fit"]
    models = dict.fromkeys(model for lines in found.values() for model in lines)
    rows = [f"| {' | '.join(heads)} |", "| :-- |" + " --: |" * (len(heads) - 1)]
    for model in models:
        entries = [part for name, lines in found.items() for part in _entries(name, lines.get(model))]
        rows.append(f"| {' | '.join([model, *entries])} |")
    return rows


def _entries(name: str, line: Line | None) -> list[str]:
    """What one table says of a model; a dash where it says nothing, or not of every set."""
    scores = tuple(SHOWN[name])
    if line is None:
        return [GAP] * (2 * len(scores) + 1)
    entries = []
    for score, average, median, versus in zip(scores, line.average, line.median, line.paired, strict=True):
        whole = average is not None and median is not None
        entries.append(f"{shown(score, average)} ({shown(score, median)})" if whole else GAP)
        entries.append(GAP if versus is None else f"{versus.wins}–{versus.losses}")
    return [*entries, GAP if line.seconds is None else shown("fit_seconds", line.seconds)]
