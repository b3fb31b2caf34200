"""How far rows that were left out lie from what is predicted of them, and what follows for all variances.

The evidence takes the parameters it has found for true. Where few rows tell of many, new rows lie farther
out. So a fifth of the rows is left out at a time, the parameters are learned again from the others, and the
squared standardised errors say by what factor all variances should be wider (Bachoc 2013, section 2.3, with
parameters learned again). A factor of the kernel and of the noise leaves the mean as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from termwise.inference.climb import Effort, Watch, ascend, free_parameters
from termwise.inference.exact import ExactObjective
from termwise.measures.base import Array
from termwise.posterior.noise import Noise

FOLDS = 5
LEAST_ROWS = 25  # with fewer the errors of rows left out say little
TOLERANCE, STEPS = 1e-4, 60  # of learning again, which begins where all rows have led
FARTHEST = 6.0  # squared errors beyond are left to the tails of the noise; E min(z², 6) = EXPECTED
EXPECTED = 0.9741
WIDEST = 1e3


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Errors of rows that were left out, and the variance of the function and of the noise there."""

    errors: Array
    known: Array
    noise: Array
    evaluations: int

    @property
    def scale(self) -> float:
        """The factor c >= 1 with mean min(z² / c, 6) as of a normal: Huber's second proposal."""
        squares = self.errors**2 / (self.known + self.noise)

        def excess(logarithm: float) -> float:
            return float(np.mean(np.minimum(squares * np.exp(-logarithm), FARTHEST))) - EXPECTED

        if excess(0.0) <= 0.0:
            return 1.0
        widest = float(np.log(WIDEST))
        return WIDEST if excess(widest) > 0.0 else float(np.exp(brentq(excess, 0.0, widest, xtol=1e-6)))

    def scatter(self, variance: float) -> Noise:
        """How observations scatter about a function whose variances are so scaled; `variance` is scaled."""
        return Noise.fit(self.errors, self.scale * self.known, variance, least_rows=LEAST_ROWS)


def together(parts: Sequence[LeftOut]) -> LeftOut:
    """The errors of all folds."""
    errors, known, noise = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("errors", "known", "noise")
    )
    return LeftOut(errors, known, noise, sum(part.evaluations for part in parts))


def leave_out(objective: ExactObjective, tested: Array, theta: Array, watch: Watch) -> LeftOut:
    """Learn from all rows but the tested ones, from where all rows have led, and predict these."""
    model, X, y = objective.model, objective.X, objective.y
    others = ExactObjective(model, np.delete(X, tested, axis=0), np.delete(y, tested), objective.threads)
    effort = Effort(tolerance=TOLERANCE, max_steps=STEPS)
    theta = ascend(others, theta, free_parameters(model), effort, watch).theta
    posterior = others.posterior(theta)
    rows = model.encoded(theta, X[tested])
    errors: Array = y[tested] - posterior.mean(rows)
    noise = np.full(errors.size, posterior.noise)
    return LeftOut(errors, posterior.variance(rows), noise, others.evaluations)
