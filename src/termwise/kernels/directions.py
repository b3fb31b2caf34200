"""Directions along which features are projected: drawn at random, or spread out as far as they go."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from termwise.measures.base import Array

MOST_STEPS, TOLERANCE = 500, 1e-10  # of spreading directions out


def random_directions(count: int, features: int, rng: np.random.Generator, *, degree: int = 1) -> Array:
    """Rows drawn from N(0, I / degree), (count * degree, features). Projected eq. 4.

    A row has the length sqrt(features / degree) on average; `degree` of them in turn are one projection.
    """
    return rng.standard_normal((count * degree, features)) / np.sqrt(degree)


def diverse_directions(count: int, features: int, rng: np.random.Generator) -> Array:
    """Rows that are as little alike as can be, (count, features), scaled like random ones.

    Up to as many as there are features they are orthogonal; more of them minimise the sum of the fourth
    powers of their cosines (projected eq. 7). All have the length sqrt(features), the root mean square of a
    random one, so that a lengthscale means the same for both.
    """
    start = rng.standard_normal((count, features))
    if count <= features:
        # The signs of R make the frame uniform among all frames; those of a QR are a convention.
        Q, R = np.linalg.qr(start.T)
        return np.sqrt(features) * (Q * np.sign(np.diag(R))).T
    found = minimize(
        _redundancy,
        start.ravel(),
        args=(count, features),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": MOST_STEPS, "ftol": TOLERANCE, "gtol": 1e-9, "maxcor": 20},
    )
    return np.sqrt(features) * _unit(found.x.reshape(count, features))


def _redundancy(flat: Array, count: int, features: int) -> tuple[float, Array]:
    """The sum over pairs of cos^4, and its gradient for rows of any length."""
    rows = flat.reshape(count, features)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    units = rows / lengths
    cosines = units @ units.T
    np.fill_diagonal(cosines, 0.0)
    by_unit = 8.0 * cosines**3 @ units
    gradient = (by_unit - np.sum(by_unit * units, axis=1, keepdims=True) * units) / lengths
    return float(np.sum(cosines**4)), gradient.ravel()


def _unit(rows: Array) -> Array:
    unit: Array = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit
