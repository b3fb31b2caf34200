"""The command of the tables: plan, measure what is missing, show."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.data import NoDataError, SetError, folder, read
from benchmarks.harness.cells import BusyError, Cell, CellsError, Key, held, read_cells, write_cells
from benchmarks.harness.models import maker_error, most_rows, names, own_splits
from benchmarks.harness.run import Plan, order, run
from benchmarks.harness.sets import encoded
from benchmarks.harness.show import Measured, keep, show
from benchmarks.harness.tables import TABLES, Table
from termwise.errors import TermwiseError
from termwise.inference.progress import duration

OUT = Path("bench-results")
OTHER_RUNS = "some cells are of runs that asked for other models or splits than this command"
TRAINED = 0.9
MANY_ROWS = 2_000  # of a set: its test rows are many, and a slow model has one split of it


class OptionError(ValueError):
    """What was asked for does not exist."""


@dataclass(frozen=True)
class Wanted:
    """The part of a table that is asked for, and what of it cannot be had."""

    table: Table
    models: tuple[str, ...]
    cells: tuple[Key, ...]
    notes: tuple[str, ...]


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the tables."""
    parser.add_argument("--datasets", type=_listed, metavar="A,B", help="only these sets")
    parser.add_argument("--models", type=_listed, metavar="A,B", help="only these models")
    parser.add_argument(
        "--splits", type=int, metavar="K", help="only the first K splits; with --models also of slow ones"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="cells side by side, default: as many as cores"
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=3600.0,
        metavar="S",
        help="seconds for one cell and all it needs, default: 3600",
    )
    parser.add_argument("--retry", action="store_true", help="measure cells again that failed")
    parser.add_argument("--show", action="store_true", help="measure nothing, show what there is")
    parser.add_argument("--out", type=Path, default=OUT, metavar="FOLDER", help=f"default: {OUT}")


def _listed(text: str) -> tuple[str, ...]:
    """Names with commas between them, each once."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def run_table(name: str, options: argparse.Namespace) -> int:
    """Measure what is missing of a table and show it; 1 if it cannot be begun."""
    place = options.out / (f"{name}-row-number" if options.row_number else name)
    path = place / "cells.csv"
    try:
        there = read_cells(path)
        wanted = as_kept(TABLES[name], there, options) if options.show else plan(TABLES[name], options)
        for note in wanted.notes:
            print(note, file=sys.stderr)
        now = not options.show and _measure(name, wanted, there, path, options)
        _shown(name, wanted, path, options, now=now)
    except (NoDataError, OptionError, CellsError, BusyError) as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{name}: {place} cannot be used ({error}); use --out for another folder", file=sys.stderr)
        return 1
    return 0


def _measure(
    name: str, wanted: Wanted, there: Sequence[Cell], path: Path, options: argparse.Namespace
) -> bool:
    """Measure what is asked for and not there yet; False if nothing is missing."""
    kept = {cell.key for cell in there if not (options.retry and cell.error)}
    left = tuple(key for key in wanted.cells if key not in kept)
    if not left:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    with held(path.parent):
        print(f"{name}: {len(left)} cells to measure, {len(wanted.cells) - len(left)} there", file=sys.stderr)
        run(Plan(name, left, path, options.jobs, options.timeout, options.row_number), _said)
        write_cells(path, read_cells(path))
    return True


def _shown(name: str, wanted: Wanted, path: Path, options: argparse.Namespace, *, now: bool) -> None:
    """Show what there is now of what is asked for; write down all that there is, also of earlier runs."""
    there, planned = read_cells(path), set(wanted.cells)
    measured = Measured(
        table=wanted.table,
        models=wanted.models,
        cells=tuple(cell for cell in there if cell.key in planned),
        notes=wanted.notes,
        command=_command(name, options),
        row_number=options.row_number,
        now=now,
    )
    whole = measured if len(measured.cells) == len(there) else _whole(measured, there, options)
    show(measured if _narrowed(options) else whole)
    keep(whole, path.parent)


def _narrowed(options: argparse.Namespace) -> bool:
    """Whether a part of a table is asked for."""
    return bool(options.datasets or options.models or options.splits)


def _whole(part: Measured, there: Sequence[Cell], options: argparse.Namespace) -> Measured:
    """All cells of a table, of which others were asked for by this run than by those before."""
    found = {cell.model for cell in there}
    models = tuple(model for model in names(part.table.asked.task) if model in found)
    cells = tuple(cell for cell in there if cell.model in models and cell.dataset in part.table.sets)
    every = argparse.Namespace(**{**vars(options), "datasets": None, "models": None, "splits": None})
    notes = (*(() if _narrowed(options) else part.notes), OTHER_RUNS)
    return replace(part, models=models, cells=cells, notes=notes, command=_command(part.table.name, every))


def as_kept(table: Table, there: Sequence[Cell], options: argparse.Namespace) -> Wanted:
    """Of what is asked for, what was measured before."""
    datasets, models, splits = _asked(table, options)
    found = {cell.model for cell in there}
    cells = [cell.key for cell in there if cell.dataset in datasets and cell.split < splits]
    shown = tuple(model for model in models if model in found)
    return Wanted(table, shown, tuple(key for key in cells if key.model in shown), ())


def plan(table: Table, options: argparse.Namespace) -> Wanted:
    """What can be measured of what is asked for, and one line for each thing that cannot."""
    folder()
    datasets, models, splits = _asked(table, options)
    notes: list[str] = []
    sizes = dict(_sizes(datasets, options.row_number, notes))
    models = tuple(model for model in models if not _unusable(model, notes))
    cells = order(tuple(sizes), models, splits)
    own = {model: None if options.models and options.splits else own_splits(model) for model in models}
    ends = {
        (model, name): end
        for model in models
        for name, end in _ends(model, sizes, splits, notes, own=own[model])
    }
    cells = [key for key in cells if key.split < ends[key.model, key.dataset]]
    return Wanted(table, models, tuple(cells), tuple(notes))


def _ends(
    model: str, sizes: Mapping[str, int], splits: int, notes: list[str], *, own: int | None
) -> Iterator[tuple[str, int]]:
    """How many splits of each set a model is run on: all, fewer if slow, none of too many rows.

    `own` are those that a slow model has unless both model and splits are asked for.
    """
    most = most_rows(model)
    large = {name for name, rows in sizes.items() if most is not None and TRAINED * rows > most}
    if large:
        notes.append(f"{model}: not run on {len(large)} sets of more than {most} rows")
    if own is not None and splits > 1:
        many = f", and on the first of sets of more than {MANY_ROWS} rows" if own != 1 else ""
        notes.append(f"{model}: slow, run on the first {min(own, splits)} of {splits} splits{many}")
    for name, rows in sizes.items():
        few = 1 if own is not None and rows > MANY_ROWS else own
        yield name, 0 if name in large else min(splits, few or splits)


def _asked(table: Table, options: argparse.Namespace) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """The sets, the models and the number of splits that are asked for, if all that exists."""
    known = tuple(names(table.asked.task))
    datasets = _chosen(f"{table.name}: no set", options.datasets or table.sets, table.sets)
    models = _chosen(f"{table.name}: no model", options.models or table.models or known, known)
    if options.row_number and table.name != "oak-classification":
        raise OptionError(f"{table.name}: --row-number is for oak-classification only")
    splits = table.splits if options.splits is None else options.splits
    if not 1 <= splits <= table.splits:
        raise OptionError(f"--splits {splits}: {table.name} has {table.splits}; use 1 to {table.splits}")
    if options.jobs < 1 or options.timeout <= 0.0:
        raise OptionError(f"--jobs {options.jobs} --timeout {options.timeout:g}: both must be above zero")
    return datasets, models, splits


def _chosen(what: str, asked: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise OptionError(f"{what} {unknown[0]!r}; choose from {', '.join(known)}")
    return tuple(asked)


def _sizes(datasets: Sequence[str], row_number: bool, notes: list[str]) -> Iterator[tuple[str, int]]:
    """The rows of each set that is what it should be."""
    for name in datasets:
        try:
            yield name, (encoded(name) if row_number else read(name)).y.size
        except (NoDataError, SetError, TermwiseError, OSError, EOFError, zlib.error) as error:
            notes.append(f"{name}: left out, {' '.join(str(error).split()) or type(error).__name__}")


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
    return f"python -m benchmarks {shlex.join([*table, *chosen, *splits, *row_number])}"


def _said(cell: Cell, left: int, remaining: float | None) -> None:
    what = f"{cell.dataset}, split {cell.split}, {cell.model}"
    if cell.error:
        found = f"failed: {cell.error}"
    else:
        score = f"RMSE {cell.rmse:.3f}" if cell.rmse is not None else f"accuracy {cell.accuracy:.3f}"
        found = f"{score}, log density {cell.log_density:.3f}, {cell.fit_seconds:.1f} s"
    ahead = f"{left} left, about {duration(remaining)}" if left and remaining is not None else f"{left} left"
    print(f"{what}: {found} ({ahead})", file=sys.stderr, flush=True)
