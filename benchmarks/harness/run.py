"""All cells of a table: what is not measured yet goes to processes side by side, each row kept when done."""

from __future__ import annotations

import json
import os
import queue
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from benchmarks.harness.cells import Cell, Key, append_cell
from termwise.estimators.engine import available_bytes

REPOSITORY = Path(__file__).resolve().parents[2]
ROOM = 4e9  # bytes that must be free before one more cell starts beside others
LOG = "log.txt"  # beside the cells: what libraries print, and where errors come from
PATIENCE = 2.0  # seconds between looks at the memory
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Plan:
    """What is to be measured, where it is kept, and with how much of the machine."""

    table: str
    cells: tuple[Key, ...]
    path: Path
    jobs: int
    timeout: float = 3600.0
    row_number: bool = False


@dataclass(eq=False)
class Run:
    """The state that the jobs of a run share."""

    plan: Plan
    said: Callable[[Cell, int, float | None], None]
    left: queue.SimpleQueue[Key] = field(default_factory=queue.SimpleQueue)
    lock: threading.Lock = field(default_factory=threading.Lock)
    done: list[tuple[Cell, float]] = field(default_factory=list)
    busy: int = 0  # cells that are being measured
    failures: list[BaseException] = field(default_factory=list)


def order(datasets: Sequence[str], models: Sequence[str], splits: int) -> list[Key]:
    """Split by split, so that a run cut short has a whole table of fewer splits."""
    return [Key(name, split, model) for split in range(splits) for name in datasets for model in models]


def run(plan: Plan, said: Callable[[Cell, int, float | None], None]) -> None:
    """Measure every cell of the plan; `said` gets each with the count that is left and the seconds."""
    state = Run(plan, said)
    for key in plan.cells:
        state.left.put(key)
    jobs = [threading.Thread(target=_job, args=(state, slot), daemon=True) for slot in range(plan.jobs)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    if state.failures:
        raise state.failures[0]


def _job(state: Run, slot: int) -> None:
    """Take one cell after the other, with a process that is started again if it dies."""
    worker: Worker | None = None
    try:
        while True:
            try:
                key = state.left.get_nowait()
            except queue.Empty:
                return
            _wait_for_room(state)
            started = time.perf_counter()
            try:
                worker = worker or Worker(slot, state.plan)
                cell = worker.measured(state.plan, key)
            finally:
                with state.lock:
                    state.busy -= 1
            if not worker.alive:
                worker.close()
                worker = None
            _keep(state, cell, time.perf_counter() - started)
    except BaseException as error:  # to be raised by the thread that waits
        state.failures.append(error)
    finally:
        if worker is not None:
            worker.close()


def _wait_for_room(state: Run) -> None:
    while True:
        with state.lock:
            free = available_bytes()
            if state.busy == 0 or free is None or free >= ROOM:
                state.busy += 1
                return
        time.sleep(PATIENCE)


def _keep(state: Run, cell: Cell, seconds: float) -> None:
    with state.lock:
        append_cell(state.plan.path, cell)
        state.done.append((cell, seconds))
        left = len(state.plan.cells) - len(state.done)
        remaining = remaining_seconds(state.done, state.plan.cells) / state.plan.jobs if left else 0.0
        state.said(cell, left, remaining)


def remaining_seconds(done: Iterable[tuple[Cell, float]], cells: Iterable[Key]) -> float:
    """What the cells that are left will take: as others of their set and model, or of their model, did."""
    by: dict[Any, list[float]] = {}
    finished = set()
    for cell, seconds in done:
        finished.add(cell.key)
        for group in ((cell.dataset, cell.model), cell.model, None):
            by.setdefault(group, []).append(seconds)
    total = 0.0
    for key in cells:
        if key not in finished:
            known = by.get((key.dataset, key.model)) or by.get(key.model) or by[None]
            total += sum(known) / len(known)
    return total


class Worker:
    """A process that measures cells, on cores of its own where the system can hold it to them."""

    def __init__(self, slot: int, plan: Plan) -> None:
        cores = _cores(slot, plan.jobs)
        path = os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "src"), os.environ.get("PYTHONPATH", "")])
        plan.path.parent.mkdir(parents=True, exist_ok=True)
        with open(plan.path.with_name(LOG), "a", encoding="utf-8") as log:
            self.process = self._started(path, cores, log)
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(self.process.pid, cores)

    @staticmethod
    def _started(path: str, cores: Sequence[int], log: IO[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "benchmarks.harness.worker"],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": path, **dict.fromkeys(THREADS, str(len(cores)))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )

    @property
    def alive(self) -> bool:
        """Whether it can take one more cell."""
        return self.process.poll() is None

    def measured(self, plan: Plan, key: Key) -> Cell:
        """One cell; if the process dies or takes too long, a cell that says so."""
        asked = {"table": plan.table, "row_number": plan.row_number, **key._asdict()}
        missing = Cell(*key)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(asked) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return replace(missing, error=f"the process ended with {self.process.wait()}")
        if not select.select([self.process.stdout], [], [], plan.timeout)[0]:
            self.close()
            return replace(missing, error=f"took longer than {plan.timeout:g} s")
        line = self.process.stdout.readline()
        if not line:
            return replace(missing, error=f"the process ended with {self.process.wait()}")
        return Cell(**json.loads(line))

    def close(self) -> None:
        """End it, whatever it does."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()


def _cores(slot: int, jobs: int) -> list[int]:
    """The cores of one job: they are shared out evenly."""
    known = (
        sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    )
    return list(known)[slot % len(known) :: jobs] or [slot % len(known)]
