"""How a fit went."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """Why the optimiser stopped."""

    CONVERGED = "converged"
    MAX_STEPS = "max_steps"
    STUCK = "stuck"
    PLANNED = "planned"  # all steps that were planned are made, as minibatches have it


@dataclass(frozen=True)
class FitResult:
    """The outcome of a fit of so many rows.

    `objective` is the log marginal likelihood of the standardised target, or the sparse engine's lower bound
    on it, plus the log prior; `starts` has it for every start, on a few rows if the engine is sparse.
    `scale` is by what all variances were multiplied after it, as rows that were left out have shown.
    """

    status: Status
    objective: float
    evaluations: int
    seconds: float
    jitter: float
    starts: tuple[float, ...]
    rows: int = 0
    inducing: int | None = None
    scale: float = 1.0
