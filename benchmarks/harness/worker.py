"""A process that measures one cell after the other, as it is told on its standard input.

A line of JSON in is a cell to measure, a line of JSON out is the cell measured. Whatever libraries print goes
to standard error.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
import warnings
from dataclasses import asdict, replace
from typing import IO, Any

import numpy as np

from benchmarks.harness.cells import Cell
from benchmarks.harness.models import maker, own_splits, version
from benchmarks.harness.scoring import scored
from benchmarks.harness.sets import Problem, problem
from benchmarks.harness.tables import TABLES

WARMING_ROWS = 40


def main() -> None:
    """Serve until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    warnings.filterwarnings("ignore")
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    warmed: set[tuple[str, str]] = set()
    for line in sys.stdin:
        asked = json.loads(line)
        _answer(answers, asdict(measured(asked, warmed)))


def measured(asked: dict[str, Any], warmed: set[tuple[str, str]]) -> Cell:
    """The cell that is asked for; with the error in its place if it fails."""
    known = {name: asked[name] for name in ("dataset", "split", "model")}
    try:
        table = TABLES[asked["table"]]
        wanted = replace(table.asked, row_number=asked["row_number"])
        rows = problem(wanted, asked["dataset"], asked["split"])
        make = maker(asked["model"], wanted.task, seed=asked["split"])
        if (asked["model"], wanted.task) not in warmed:
            scored(_small(wanted.task), make, **known)  # compiles and imports what it needs, untimed
            warmed.add((asked["model"], wanted.task))
        threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        slow = own_splits(asked["model"]) is not None
        return scored(rows, make, slow=slow, **known, threads=threads, version=version(asked["model"]))
    except Exception as error:  # a failed cell is a cell; the rest goes on
        traceback.print_exc()
        said = str(error).strip().splitlines() or [""]
        return Cell(**known, error=f"{type(error).__name__}: {said[0]}")


def _end_with(parent: int) -> None:
    """End when the run that asks is gone: nobody would keep what is measured, and it would disturb others."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _small(task: str) -> Problem:
    rng = np.random.default_rng(0)
    X = {
        "number": rng.standard_normal(WARMING_ROWS),
        "level": rng.choice(np.array(["a", "b"], object), WARMING_ROWS),
    }
    y = X["number"] + rng.standard_normal(WARMING_ROWS)
    if task == "classification":
        y = (y > 0.0).astype(float)
    return Problem(task, X, y, X, y, ("level",))


def _answer(to: IO[str], value: dict[str, Any]) -> None:
    to.write(json.dumps(value) + "\n")
    to.flush()


if __name__ == "__main__":
    main()
