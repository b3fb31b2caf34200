"""Functions of the angle on a sphere as sums of Gegenbauer polynomials.

Between unit vectors of d coordinates with cosine t, every smooth function of the angle is

    f(t) = sum_l  c_l N(d, l) P_l(t)        c_l = E f(T) P_l(T)

with P_l(1) = 1, N(d, l) the number of spherical harmonics of degree l, and T the cosine between a fixed and a
random vector. For a kernel, c_l are its eigenvalues. Spherical (2023), section 3.2.1.
"""

from __future__ import annotations

from math import comb

import numpy as np
from scipy.special import gammaln

from termwise.measures.base import Array
from termwise.measures.quadrature import composite

NODES = 96  # of each half of the angle: what is integrated is smooth there, or has its kink between them


def harmonics(dimension: int, degree: int) -> int:
    """N(d, l), the number of spherical harmonics of a degree."""
    if degree == 0:
        return 1
    return comb(degree + dimension - 1, degree) - (
        comb(degree + dimension - 3, degree - 2) if degree > 1 else 0
    )


def polynomials(t: Array, dimension: int, degree: int) -> Array:
    """P_l(t) for l = 0 .. degree, (degree + 1, *t.shape), by their recurrence: no digits are lost."""
    P = np.empty((degree + 1, *np.shape(t)), dtype=np.result_type(t, float))
    P[0] = 1.0
    if degree:
        P[1] = t
    for n in range(1, degree):
        P[n + 1] = ((2 * n + dimension - 2) * t * P[n] - n * P[n - 1]) / (n + dimension - 2)
    return P


def cosines(dimension: int) -> tuple[Array, Array]:
    """Nodes and weights of an expectation over T, by Gauss-Legendre rules in the angle on both halves."""
    angle, weight = composite(np.array([0.0, 0.5, 1.0]) * np.pi, order=NODES)
    # On the scale of its largest value, which is one, the density does not vanish in many dimensions.
    weight = weight * np.sin(angle) ** (dimension - 2)
    return np.cos(angle), weight / weight.sum()


def coefficients(values: Array, dimension: int, degree: int) -> Array:
    """c_l for l = 0 .. degree of a function with these values at the nodes of `cosines`."""
    t, weight = cosines(dimension)
    found: Array = polynomials(t, dimension, degree) @ (weight * values)
    return found


def of_power(power: int, dimension: int, degree: int) -> Array:
    """c_l of max(t, 0)^power, with the step for power zero; exact zeros where it has none.

    By parts with Rodrigues' formula; the first degrees by the moments of T.
    """
    found = np.zeros(degree + 1)
    first = min(power, degree)
    moments = np.array([_half_moment(power + k, dimension) for k in range(first + 1)])
    for n in range(first + 1):
        found[n] = _powers_of(n, dimension) @ moments[: n + 1]
    for n in range(power + 1, degree + 1, 2):  # between them they vanish
        half = (n - power - 1) // 2
        top = n + 0.5 * (dimension - 3)
        log = (
            _log_density(dimension)
            + gammaln(0.5 * (dimension - 1))
            - gammaln(n + 0.5 * (dimension - 1))
            - n * np.log(2.0)
            + gammaln(power + 1)
            + gammaln(n - power)
            + gammaln(top + 1)
            - gammaln(half + 1)
            - gammaln(top - half + 1)
        )
        found[n] = (-1.0) ** (n + power + 1 + half) * np.exp(log)
    return found


def _log_density(dimension: int) -> float:
    """Log of what (1 - t^2)^((d - 3) / 2) is multiplied by to be a density."""
    return float(gammaln(0.5 * dimension) - gammaln(0.5 * (dimension - 1)) - 0.5 * np.log(np.pi))


def _half_moment(k: int, dimension: int) -> float:
    """E T^k over T > 0."""
    beta = gammaln(0.5 * (k + 1)) + gammaln(0.5 * (dimension - 1)) - gammaln(0.5 * (k + dimension))
    return float(0.5 * np.exp(_log_density(dimension) + beta))


def _powers_of(degree: int, dimension: int) -> Array:
    """P_degree in powers of t, for the lowest degrees only: of many its digits would be lost."""
    before, now = np.array([1.0]), np.array([0.0, 1.0])
    if degree == 0:
        return before
    for n in range(1, degree):
        grown = (2 * n + dimension - 2) * np.append(0.0, now)
        grown[: before.size] -= n * before
        before, now = now, grown / (n + dimension - 2)
    return now
