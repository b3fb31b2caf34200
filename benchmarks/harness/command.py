"""The command of the tables: plan, measure what is missing, show."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.data import NoDataError, SetError, folder, read
from benchmarks.harness.cells import Cell, Key, read_cells, write_cells
from benchmarks.harness.models import maker_error, most_rows, names, own_splits
from benchmarks.harness.run import Plan, order, run
from benchmarks.harness.sets import encoded
from benchmarks.harness.show import Measured, show
from benchmarks.harness.tables import TABLES, Table
from termwise.inference.progress import duration

OUT = Path("bench-results")
TRAINED = 0.9


class OptionError(ValueError):
    """What was asked for does not exist."""


@dataclass(frozen=True)
class Wanted:
    """The part of a table that is asked for, and what of it cannot be had."""

    table: Table
    datasets: tuple[str, ...]
    models: tuple[str, ...]
    cells: tuple[Key, ...]
    notes: tuple[str, ...]


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the tables."""
    listed = lambda text: tuple(part for part in text.split(",") if part)  # noqa: E731
    parser.add_argument("--datasets", type=listed, metavar="A,B", help="only these sets")
    parser.add_argument("--models", type=listed, metavar="A,B", help="only these models")
    parser.add_argument("--splits", type=int, metavar="K", help="only the first K splits")
    parser.add_argument("--row-number", action="store_true", help="of oak-classification: as in the paper")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="cells side by side")
    parser.add_argument("--timeout", type=float, default=3600.0, metavar="S", help="seconds for one cell")
    parser.add_argument("--retry", action="store_true", help="measure cells again that failed")
    parser.add_argument("--show", action="store_true", help="measure nothing, show what there is")
    parser.add_argument("--out", type=Path, default=OUT, metavar="FOLDER", help=f"default: {OUT}")


def run_table(name: str, options: argparse.Namespace) -> int:
    """Measure what is missing of a table and show it; 1 if it cannot be begun."""
    try:
        folder()
        wanted = plan(TABLES[name], options)
    except (NoDataError, OptionError) as error:
        print(error, file=sys.stderr)
        return 1
    place = options.out / (f"{name}-row-number" if options.row_number else name)
    path = place / "cells.csv"
    for note in wanted.notes:
        print(note, file=sys.stderr)
    there = read_cells(path)
    kept = {cell.key for cell in there if not (options.retry and cell.error)}
    left = tuple(key for key in wanted.cells if key not in kept)
    if left and not options.show:
        print(f"{name}: {len(left)} cells to measure, {len(wanted.cells) - len(left)} there", file=sys.stderr)
        asked = Plan(name, left, path, options.jobs, options.timeout, options.row_number)
        run(asked, _said)
        write_cells(path, read_cells(path))
    planned = set(wanted.cells)
    measured = Measured(
        table=wanted.table,
        models=wanted.models,
        cells=tuple(cell for cell in read_cells(path) if cell.key in planned),
        notes=wanted.notes,
        command=_command(name, options),
        row_number=options.row_number,
        jobs=options.jobs,
    )
    show(measured, place)
    return 0


def plan(table: Table, options: argparse.Namespace) -> Wanted:
    """What can be measured of what is asked for, and one line for each thing that cannot."""
    known = names(table.asked.task)
    datasets = _chosen("set", options.datasets or table.sets, table.sets)
    models = _chosen("model", options.models or table.models or tuple(known), tuple(known))
    if options.row_number and table.name != "oak-classification":
        raise OptionError("--row-number is for oak-classification only")
    notes: list[str] = []
    sizes = dict(_sizes(datasets, options.row_number, notes))
    models = tuple(model for model in models if not _unusable(model, notes))
    splits = options.splits or table.splits
    cells = order(tuple(sizes), models, splits)
    for model in models:
        most, own = most_rows(model), own_splits(model)
        large = [name for name, rows in sizes.items() if most is not None and TRAINED * rows > most]
        if large:
            notes.append(f"{model}: not run on {len(large)} sets of more than {most} rows")
        if own is not None and own < splits:
            notes.append(f"{model}: slow, run on the first {own} of {splits} splits")
        cells = [
            key
            for key in cells
            if key.model != model or (key.dataset not in large and key.split < (own or splits))
        ]
    return Wanted(table, tuple(sizes), models, tuple(cells), tuple(notes))


def _chosen(what: str, asked: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise OptionError(f"no {what} {unknown[0]!r} in this table; choose from {', '.join(known)}")
    return tuple(asked)


def _sizes(datasets: Sequence[str], row_number: bool, notes: list[str]) -> Iterator[tuple[str, int]]:
    """The rows of each set that is what it should be."""
    for name in datasets:
        try:
            yield name, (encoded(name) if row_number else read(name)).y.size
        except (NoDataError, SetError) as error:
            notes.append(f"{name}: left out, {error}")


def _unusable(model: str, notes: list[str]) -> bool:
    error = maker_error(model)
    if error:
        notes.append(f"{model}: left out, {error}")
    return bool(error)


def _command(name: str, options: argparse.Namespace) -> str:
    """The command that gives this table again."""
    table = [name] if name == "peers" else ["papers", "--table", name]
    lists = {"--datasets": options.datasets, "--models": options.models}
    chosen = [part for key, value in lists.items() if value for part in (key, ",".join(value))]
    splits = ["--splits", str(options.splits)] if options.splits else []
    row_number = ["--row-number"] if options.row_number else []
    return " ".join(["python -m benchmarks", *table, *chosen, *splits, *row_number])


def _said(cell: Cell, left: int, remaining: float | None) -> None:
    what = f"{cell.dataset}, split {cell.split}, {cell.model}"
    if cell.error:
        found = f"failed: {cell.error}"
    else:
        score = f"RMSE {cell.rmse:.3f}" if cell.rmse is not None else f"accuracy {cell.accuracy:.3f}"
        found = f"{score}, log density {cell.log_density:.3f}, {cell.fit_seconds:.1f} s"
    ahead = f"{left} left, about {duration(remaining)}" if left and remaining is not None else f"{left} left"
    print(f"{what}: {found} ({ahead})", file=sys.stderr, flush=True)
