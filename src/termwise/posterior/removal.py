"""What a posterior loses and gains if part of its kernel goes.

Whatever the engine, B = root root' is (K + N)^-1 and alpha = B t: as if the centres had been seen with noise
N and targets t. Without the terms whose kernel is D, and with what the others cannot take up as noise of a
variance s, the same is seen through K - D + s I. With R the root, E = D - s I, C = I - R' E R and
v = R' E alpha, they are

    B_new = R C^-1 R',  alpha_new = alpha + R C^-1 v,

' being the transpose, and no row is needed. The log evidence changes by
-(alpha' E alpha + v' C^-1 v + log det C) / 2. What a term has lost in missing cells was noise, and stays it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize_scalar

from termwise.errors import NumericalError
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior

NEGLIGIBLE = 1e-9  # of a direction's prior variance: less than this the rows do not tell of it
MIXED = 1e-6  # of what is seen of noise alone: as much may be seen in the other directions too
LEAST_NOISE, MOST_NOISE = 1e-8, 10.0  # where more noise is looked for, in prior variances
HIDDEN = 1e100  # loss where rounding hides the evidence
PRECISION, STEP = 0.02, 0.5  # of its logarithm; and how far apart it is looked at near a guess


@dataclass(frozen=True, eq=False)
class Removal:
    """alpha' E alpha, R' E alpha and R' E R of a part E of the kernel that goes."""

    own: float
    linear: Array
    outer: Array

    @classmethod
    def of(cls, E: Array, alpha: Array, R: Array) -> Removal:
        of_alpha = E @ alpha
        return cls(float(alpha @ of_alpha), R.T @ of_alpha, R.T @ E @ R)

    def __add__(self, other: Removal) -> Removal:
        return Removal(self.own + other.own, self.linear + other.linear, self.outer + other.outer)

    def times(self, by: float) -> Removal:
        return Removal(by * self.own, by * self.linear, by * self.outer)

    def factor(self) -> Array:
        """The upper triangular U with U'U = C."""
        try:
            C = -self.outer
            C[np.diag_indices_from(C)] += 1.0
            upper: Array = cholesky(C, lower=False, overwrite_a=True)
        except (np.linalg.LinAlgError, ValueError) as error:
            raise NumericalError(
                f"rounding hides what the terms are without the others: {error}; keep more of them, or fit "
                "again with fewer columns"
            ) from None
        return upper

    def gain(self) -> float:
        """What the log evidence gains by it; mostly below zero."""
        return self._gain(*self._solved())

    def applied(self, alpha: Array, R: Array) -> tuple[float, Array, Array]:
        """The gain, and alpha and the root of B after it, these being what they were."""
        upper, moved = self._solved()
        root: Array = solve_triangular(upper, R.T, trans="T", check_finite=False).T
        return self._gain(upper, moved), alpha + root @ moved, root

    def _solved(self) -> tuple[Array, Array]:
        """The factor U, and U'^-1 v."""
        upper = self.factor()
        return upper, solve_triangular(upper, self.linear, trans="T", check_finite=False)

    def _gain(self, upper: Array, moved: Array) -> float:
        return -0.5 * (self.own + float(moved @ moved)) - float(np.sum(np.log(np.diag(upper))))


@dataclass(frozen=True, eq=False)
class Silent:
    """Directions S in which no term says anything: the eigenvalues of S'S, and S'alpha along its vectors.

    Rows scatter there by the noise alone, which is how they tell how little of it there is.
    """

    precisions: Array
    seen: Array

    def gain(self, variance: float) -> float:
        """What the log evidence gains by more noise, as far as it is seen in these directions."""
        factors = 1.0 + variance * self.precisions
        return -0.5 * float(np.sum((variance * self.seen) ** 2 / factors + np.log(factors)))


NOWHERE = Silent(np.zeros(0), np.zeros(0))


def most_likely(
    removal: Removal,
    noise: Removal,
    scale: float,
    silent: Silent = NOWHERE,
    near: float | None = None,
) -> float:
    """The variance of the noise that makes up for what goes; sought near a guess if there is one.

    With very little noise rounding may hide what is left; there it is not sought.
    """

    def loss(logarithm: float) -> float:
        variance = float(np.exp(logarithm))
        try:
            return -(removal + noise.times(-variance)).gain() - silent.gain(variance)
        except NumericalError:
            return HIDDEN

    bounds = np.log([LEAST_NOISE * scale, MOST_NOISE * scale])
    # A guess at a bound, as from a selection that explained all, does not say how far away the noise now is.
    inside = near is not None and bounds[0] + STEP < np.log(near) < bounds[1] - STEP
    if near is not None and inside and loss(float(np.log(near))) < HIDDEN:
        return float(np.exp(_near(loss, float(np.log(near)), bounds)))
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": PRECISION})
    return float(np.exp(found.x))


def _near(loss: Callable[[float], float], start: float, bounds: Array) -> float:
    """Downhill in equal steps, until a parabola shows how far the lowest point is: a few looks will do."""
    low, middle, high = start - STEP, start, start + STEP
    values = [loss(low), loss(middle), loss(high)]
    while values[1] > min(values) and bounds[0] < middle < bounds[1]:
        if values[0] < values[2]:
            low, middle, high = low - STEP, low, middle
            values = [loss(low), *values[:2]]
        else:
            low, middle, high = middle, high, high + STEP
            values = [*values[1:], loss(high)]
    bend = values[0] - 2.0 * values[1] + values[2]
    shift = 0.5 * (values[0] - values[2]) / bend if bend > 0.0 and max(values) < HIDDEN else 0.0
    return float(np.clip(middle + STEP * np.clip(shift, -1.0, 1.0), *bounds))


def directions(posterior: Posterior) -> tuple[Array, Silent]:
    """The root in the directions that the terms tell of, and the others, if noise does not mix the two.

    Terms are parts of the whole kernel: where that has no variance they have none. Noise that is the same for
    all rows leaves the others to themselves; noise that is not, as with missing cells, does not.
    """
    Z, root = posterior.centres, posterior.root
    eigenvalues, vectors = np.linalg.eigh(root.T @ posterior.prior(Z, Z) @ root)
    told = eigenvalues > NEGLIGIBLE
    found: Array = root @ vectors[:, told]
    others: Array = root @ vectors[:, ~told]
    if np.max(np.abs(found.T @ others), initial=0.0) > MIXED * np.max(np.abs(others.T @ others), initial=0.0):
        return root, NOWHERE
    precisions, axes = np.linalg.eigh(others.T @ others)
    return found, Silent(precisions, axes.T @ (others.T @ posterior.alpha))
