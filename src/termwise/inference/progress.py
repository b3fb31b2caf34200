"""Progress of a long fit, as plain data to whoever listens."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TextIO


@dataclass(frozen=True)
class Progress:
    """One step of a fit: which start, how many evaluations it has made, and the objective there."""

    start: int
    evaluations: int
    objective: float
    seconds: float


Monitor = Callable[[Progress], None]


@dataclass
class TextMonitor:
    """Write a line at most once a second, and none for fits that take less than two."""

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    _last: float = 1.0

    def __call__(self, progress: Progress) -> None:
        """Write the line if it is time."""
        if progress.seconds - self._last < 1.0:
            return
        self._last = progress.seconds
        self.stream.write(
            f"fitting: start {progress.start + 1}, {progress.evaluations} evaluations, "
            f"objective {progress.objective:.2f}, {progress.seconds:.0f} s\n"
        )
        self.stream.flush()


def monitor_for(progress: bool | Monitor) -> Monitor | None:
    """The monitor that the argument `progress` of an estimator asks for."""
    if callable(progress):
        return progress
    return TextMonitor() if progress else None


class Clock:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def __call__(self) -> float:
        """Read it."""
        return time.perf_counter() - self._start
