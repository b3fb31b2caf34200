"""Progress of a long fit, as plain data to whoever listens."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TextIO

BAR = 20  # letters
CLEAR = "\r\033[K"  # back to the beginning of the line, and nothing on it


@dataclass(frozen=True)
class Progress:
    """One step of a fit: which start, how many evaluations were made, and the objective there.

    Evaluations are those of the start, or of the whole fit if the engine is sparse, where the best start
    goes on as the first. `rows` are those it looks at; `remaining` the seconds that are left, as far as they
    can be foreseen.
    """

    start: int
    evaluations: int
    objective: float
    seconds: float
    rows: int
    remaining: float | None = None


Monitor = Callable[[Progress], None]


@dataclass
class TextMonitor:
    """Write a line at most once a second, and none for fits that take less than two.

    On a terminal the lines are one, with a bar, and it is gone when the fit is done.
    """

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    _last: float = 1.0

    def __call__(self, progress: Progress) -> None:
        """Write the line if it is time."""
        if progress.seconds - self._last < 1.0:
            return
        self._last = progress.seconds
        left = "" if progress.remaining is None else f", about {duration(progress.remaining)} left"
        text = (
            f"fitting {progress.rows} rows: start {progress.start + 1}, {progress.evaluations} evaluations, "
            f"objective {progress.objective:.2f}, {duration(progress.seconds)}{left}"
        )
        self.stream.write(f"{CLEAR}{_bar(progress)}{text}" if self.stream.isatty() else f"{text}\n")
        self.stream.flush()

    def close(self) -> None:
        """Take the line away."""
        if self._last > 1.0 and self.stream.isatty():
            self.stream.write(CLEAR)
            self.stream.flush()


def _bar(progress: Progress) -> str:
    """How much of the time has passed, as far as it can be foreseen."""
    if progress.remaining is None:
        return ""
    part = progress.seconds / max(progress.seconds + progress.remaining, 1e-9)
    done = round(BAR * part)
    return f"[{'#' * done}{'.' * (BAR - done)}] {100.0 * part:.0f} % "


def duration(seconds: float) -> str:
    """Seconds as a person would say them."""
    return f"{seconds:.0f} s" if seconds < 100.0 else f"{seconds / 60.0:.0f} min"


@contextmanager
def monitored(progress: bool | Monitor) -> Iterator[Monitor | None]:
    """The monitor that the argument `progress` of an estimator asks for, as long as the fit takes."""
    if callable(progress) or not progress:
        yield progress if callable(progress) else None
        return
    monitor = TextMonitor()
    try:
        yield monitor
    finally:
        monitor.close()


class Clock:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def __call__(self) -> float:
        """Read it."""
        return time.perf_counter() - self._start


@dataclass
class Forecast:
    """The seconds that are left of planned stages, each (work of one evaluation, expected evaluations)."""

    stages: Sequence[tuple[float, int]]
    clock: Clock
    stage: int = -1
    _done: float = 0.0
    _evaluations: int = 0

    def next_stage(self) -> None:
        """Another stage begins, whatever was expected of the one before."""
        self.stage += 1
        self._evaluations = 0

    def last_stage(self, done: int) -> None:
        """The last stage begins, or goes on after so many evaluations in another process."""
        self.stage = len(self.stages) - 1
        self._evaluations = done

    def remaining(self) -> float:
        """Count one more evaluation and say how long the rest will take at the pace so far."""
        work, expected = self.stages[self.stage]
        self._evaluations += 1
        self._done += work
        # A climb that goes on past what was expected is taken to be near its end.
        left = work * max(expected - self._evaluations, 1)
        left += sum(work * count for work, count in self.stages[self.stage + 1 :])
        return self.clock() * left / self._done
