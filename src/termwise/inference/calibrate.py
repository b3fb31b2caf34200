"""How far rows that were left out lie from what is predicted of them, and what follows for all variances.

The evidence takes the parameters it has found for true. Where few rows tell of many parameters, new rows lie
farther out than it says. So a fifth of the rows is left out at a time, parameters are learned again from the
others, and under the errors of the rows left out two things are made most likely: a factor of all variances
(as Bachoc 2013 does, there with parameters as they are), and the shape of the scatter about the function. A
factor of the kernel and of the noise leaves the mean as it is. Encodings and measures, which see no target,
stay those of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from termwise.inference.climb import Effort, Watch, ascend, free_parameters
from termwise.inference.exact import ExactObjective
from termwise.measures.base import Array
from termwise.posterior.noise import Noise

FOLDS = 5
LEAST_ROWS = 25  # with fewer the errors of rows left out say little
TOLERANCE, STEPS = 1e-4, 60  # of learning again, which begins where all rows have led
FACTORS = 2.0 ** np.arange(0.0, 4.25, 0.25)  # never below one: the evidence is seldom too careful
WIDTH = 1.0  # sd of the logarithm of the factor, a priori


@dataclass(frozen=True)
class Scatter:
    """By what factor all variances are to be multiplied, and how observations scatter then."""

    factor: float
    noise: Noise


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Errors of rows that were left out, and the variance that the function was said to have there.

    `spread` is the part of it that comes of missing cells, of which a factor of all variances knows nothing.
    """

    errors: Array
    known: Array
    evaluations: int
    spread: Array | float = 0.0

    def scatter(self, variance: float) -> Scatter:
        """The factor and the noise under which the errors are most likely; `variance` is that of now."""
        tried = [Scatter(factor, self._noise(factor, variance)) for factor in FACTORS.tolist()]
        return max(tried, key=self._log_posterior)

    def _noise(self, factor: float, variance: float) -> Noise:
        return Noise.fit(self.errors, self._variance(factor), factor * variance, least_rows=LEAST_ROWS)

    def _variance(self, factor: float) -> Array:
        return factor * self.known + self.spread

    def _log_posterior(self, scatter: Scatter) -> float:
        likelihood = np.sum(scatter.noise.log_density(self.errors, self._variance(scatter.factor)))
        # A mixture must be worth as much beside a normal of another factor as beside one of its own.
        factor = 0.5 * (np.log(scatter.factor) / WIDTH) ** 2
        return float(likelihood) - factor - scatter.noise.least_gain


def together(parts: Sequence[LeftOut]) -> LeftOut:
    """The errors of all folds."""
    errors, known, spread = (
        np.concatenate([np.broadcast_to(getattr(part, name), part.errors.shape) for part in parts])
        for name in ("errors", "known", "spread")
    )
    return LeftOut(errors, known, sum(part.evaluations for part in parts), spread)


def leave_out(objective: ExactObjective, tested: Array, theta: Array, watch: Watch) -> LeftOut:
    """Learn from all rows but the tested ones, from where all rows have led, and predict these."""
    model, X, y = objective.model, objective.X, objective.y
    others = ExactObjective(model, np.delete(X, tested, axis=0), np.delete(y, tested), objective.threads)
    effort = Effort(tolerance=TOLERANCE, max_steps=STEPS)
    theta = ascend(others, theta, free_parameters(model), effort, watch).theta
    posterior = others.posterior(theta)
    rows = model.encoded(theta, X[tested])
    errors: Array = y[tested] - posterior.mean(rows)
    unknown, spread = posterior.variance_parts(rows)
    return LeftOut(errors, unknown, others.evaluations, spread)
