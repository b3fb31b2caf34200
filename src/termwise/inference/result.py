"""How a fit went."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """Why the optimiser stopped."""

    CONVERGED = "converged"
    MAX_STEPS = "max_steps"
    STUCK = "stuck"


@dataclass(frozen=True)
class FitResult:
    """The outcome of a fit; `objective` is log marginal likelihood + log prior of the standardised target."""

    status: Status
    objective: float
    evaluations: int
    seconds: float
    jitter: float
    starts: tuple[float, ...]
