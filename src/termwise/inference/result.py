"""How a fit went."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """Why the optimiser stopped."""

    CONVERGED = "converged"
    MAX_STEPS = "max_steps"
    STUCK = "stuck"  # no step led on, or the sites at the end have not come to rest
    PLANNED = "planned"  # all steps that were planned are made, as minibatches have it

    def if_rested(self, rested: bool) -> Status:
        """The same if the posterior at the end is what it should be, else stuck."""
        return self if rested else Status.STUCK


@dataclass(frozen=True)
class FitResult:
    """The outcome of a fit of so many rows.

    `objective` is the log marginal likelihood of the standardised target, or the sparse engine's lower bound
    on it, plus the log prior; `starts` has it for every start, on a few rows if the engine is sparse, before
    orders of interactions were added.
    `jitter` is what was added to the diagonal of the matrix that the posterior is a factor of. `scale` is by
    what all variances were multiplied after it, as rows that were left out have shown. `residual` is that of
    the linear systems at the end, |b - K x| / |b| of the worst, if they were solved step by step. Of the
    inducing variables so many are `orthogonal` to the others.
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
    residual: float | None = None
    orthogonal: int = 0
