"""The softplus on a sphere as a sum of Gegenbauer polynomials, right in the coefficients that are tiny too.

All but t / 2 of log(1 + exp(s t)) / s is even and has its nearest singularities at t = +-i pi / s. So its
coefficients fall by a factor of 2.5 or more from degree to degree, and the rounding of values on [-1, 1] is
soon all that quadrature finds. On an ellipse around them, near the singularities, the function has values
whose Fourier coefficients are about of one size: those of Chebyshev polynomials follow by division. Their
sums to Gegenbauer polynomials have terms of one sign as long as these matter.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

from termwise.kernels.sphere import harmonics
from termwise.measures.base import Array

SHARPNESS = 3.0  # of the softplus, which is log(1 + exp(3 t)) / 3
NEAR = 0.97  # of the way from the centre to where the ellipse would meet the singularities, in its radius
VALUES = 4096  # on the ellipse
FURTHER = 160  # degrees of Chebyshev polynomials beyond the one that is asked for


def of_softplus(dimension: int, degree: int) -> Array:
    """c_l for l = 0 .. degree, as `sphere.coefficients` has them."""
    chebyshev = _chebyshev(degree + FURTHER)
    found = np.zeros(degree + 1)
    for n in range(0, degree + 1, 2):
        found[n] = _of_chebyshev(chebyshev[n::2], n, dimension)
    if degree:
        found[1] = 0.5 / dimension
    return found


def _chebyshev(degree: int) -> Array:
    """a_k of log(2 cosh(s t / 2)) / s = sum_k a_k T_k(t), up to a degree."""
    pole = np.pi / SHARPNESS
    radius = NEAR * (pole + np.hypot(pole, 1.0))
    w = radius * np.exp(2j * np.pi * np.arange(VALUES) / VALUES)
    values = np.log(2.0 * np.cosh(0.25 * SHARPNESS * (w + 1.0 / w))) / SHARPNESS
    k = np.arange(degree + 1)
    found: Array = 2.0 * np.fft.fft(values)[: degree + 1].real / VALUES / radius**k
    found[0] /= 2.0
    return found


def _of_chebyshev(a: Array, n: int, dimension: int) -> float:
    """c_n of sum_j a_j T_(n + 2 j): each T_k is a sum of Gegenbauer polynomials of degrees k, k - 2, .."""
    if dimension == 2:
        return float(a[0]) if n == 0 else 0.5 * float(a[0])
    order = 0.5 * (dimension - 2)
    j = np.arange(1, a.size)
    # From one j to the next; the first of degree zero has a limit of its own.
    growth = (j - 1 - order) / j * (n + j - 1) / (order + n + j) * (n + 2 * j) / np.maximum(n + 2 * j - 2, 1)
    if n == 0:
        growth[0] = -order / (order + 1.0)
    total = float(a @ np.concatenate([[1.0], np.cumprod(growth)]))
    if n == 0:
        return total
    # The leading coefficient of T_n beside that of C_n, times C_n(1) / N(d, n).
    log_leading = np.log(0.5 * n) + gammaln(n) + np.log(n + order) + gammaln(order) - gammaln(order + n + 1.0)
    log_end = gammaln(2.0 * order + n) - gammaln(2.0 * order) - gammaln(n + 1.0)
    return total * float(np.exp(log_leading + log_end - math.log(harmonics(dimension, n))))
