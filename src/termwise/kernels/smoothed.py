"""Kernels smoothed by a normal, h(m, s) = E k(m + s eps) with eps ~ N(0, 1), and what follows from them.

Under a mixture of normals the kernel mean is a sum of such functions, and so is its variance, as the
difference of two independent normals is normal. All is analytic in the lengthscale, in m and in s.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import erfc, erfcx, expm1, log1p

from termwise.kernels.column import Stationary
from termwise.kernels.matern import Matern, Matern12, Matern32, Matern52
from termwise.kernels.squared_exponential import SquaredExponential
from termwise.measures.base import Array
from termwise.measures.quadrature import composite

Smoothed = Callable[[Stationary, Array, Array], Array]

FRACTION_TERMS = 64  # enough for 2e-14 at z = 2, and for the last digit beyond 3
FRACTION_FROM = 2.0
DEFICIT_PANELS = 64
DEFICIT_REACH = 9.0


def smoothed_se(kernel: Stationary, m: Array, s: Array) -> Array:
    """l / sqrt(l^2 + s^2) exp(-m^2 / 2 (l^2 + s^2)). OAK eq. 25."""
    total = kernel.lengthscale**2 + s**2
    value: Array = kernel.lengthscale / np.sqrt(total) * np.exp(-0.5 * m**2 / total)
    return value


def smoothed_matern(kernel: Stationary, m: Array, s: Array) -> Array:
    """sum_n p_n E[t^n exp(-t)], t = rate |m + s eps|, as two half lines."""
    assert isinstance(kernel, Matern)
    t = _positive(m / s)
    a = kernel.rate * s
    return _half_line(kernel.polynomial, t, a) + _half_line(kernel.polynomial, -t, a)


def _half_line(polynomial: tuple[float, ...], t: Array, a: Array) -> Array:
    """sum_n p_n a^n int_0^inf r^n exp(-a r) phi(r - t) dr.

    Completing the square gives exp(a^2 / 2 - a t) J_n(b), b = t - a, J_n(b) = int_0^inf r^n phi(r - b) dr.
    For negative b the exponential overflows while J_n underflows; exp(-t^2 / 2) times J_n(b) exp(b^2 / 2)
    does neither.
    """
    t, a = np.broadcast_arrays(t, a)
    direct = (t - a).real >= -FRACTION_FROM
    value = np.empty(t.shape, dtype=np.result_type(t, a))
    for where, front, moments in (
        (direct, lambda t, a: np.exp(a * (0.5 * a - t)), _moments),
        (~direct, lambda t, a: np.exp(-0.5 * t**2), _tail_moments),
    ):
        t_here, a_here = t[where], a[where]
        powers = moments(t_here - a_here, len(polynomial))
        total = sum(p * a_here**n * J for n, (p, J) in enumerate(zip(polynomial, powers, strict=True)))
        value[where] = front(t_here, a_here) * total
    return value


def _moments(b: Array, count: int) -> list[Array]:
    """J_0 .. J_{count-1} by J_n = b J_{n-1} + (n-1) J_{n-2}; stable for b >= -2."""
    moments = [0.5 * erfc(-b / np.sqrt(2.0))]
    density = np.exp(-0.5 * b**2) / np.sqrt(2.0 * np.pi)
    for n in range(1, count):
        moments.append(b * moments[-1] + (density if n == 1 else (n - 1) * moments[-2]))
    return moments


def _tail_moments(b: Array, count: int) -> list[Array]:
    """J_n(b) exp(b^2 / 2) for b < -2.

    There the recursion of `_moments` cancels (seven digits are left at lengthscale 0.01). Run backwards it is
    a continued fraction of positive numbers, J_{n-1} / J_{n-2} = (n - 1) / (z + J_n / J_{n-1}), z = -b.
    """
    z = -b
    ratio = 0.5 * (np.sqrt(z**2 + 4.0 * FRACTION_TERMS) - z)
    ratios = []
    for n in range(FRACTION_TERMS, 1, -1):
        ratio = (n - 1) / (z + ratio)
        if n <= count:
            ratios.append(ratio)
    moments = [0.5 * erfcx(z / np.sqrt(2.0))]
    for ratio in reversed(ratios):
        moments.append(ratio * moments[-1])
    return moments


def deficit_se(kernel: Stationary, m: Array, s: Array) -> Array:
    """1 - h(m, s) without cancellation."""
    total = kernel.lengthscale**2 + s**2
    value: Array = -expm1(-0.5 * log1p((s / kernel.lengthscale) ** 2) - 0.5 * m**2 / total)
    return value


def deficit_matern(kernel: Stationary, m: Array, s: Array) -> Array:
    """1 - h(m, s) = E[1 - k(|m + s eps|)], by quadrature where h is near one and 1 - h would cancel."""
    m, s = np.broadcast_arrays(m, s)
    direct = 1.0 - smoothed_matern(kernel, m, s)
    pairs = [
        d if d.real > 0.5 else _folded_mean(kernel, mean, sd)
        for d, mean, sd in zip(direct.ravel(), m.ravel(), s.ravel(), strict=True)
    ]
    return np.array(pairs).reshape(m.shape)


def _folded_mean(kernel: Stationary, m: Array, s: Array) -> Array:
    """E[1 - k(|m + s eps|)] over the folded normal, smooth in r > 0."""
    m = _positive(m)
    low = m - DEFICIT_REACH * s
    low = low if low.real > 0.0 else 0.0 * low
    edges = low + (m + DEFICIT_REACH * s - low) * np.linspace(0.0, 1.0, DEFICIT_PANELS + 1)
    r, weights = composite(edges)
    density = np.exp(-0.5 * ((r - m) / s) ** 2) + np.exp(-0.5 * ((r + m) / s) ** 2)
    value: Array = kernel.deficit(r / kernel.lengthscale) @ (weights * density) / (s * np.sqrt(2.0 * np.pi))
    return value


def _positive(value: Array) -> Array:
    """|value| by the sign of the real part, so that it stays analytic."""
    return np.where(value.real < 0.0, -value, value)


SMOOTHED: dict[type[Stationary], Smoothed] = {
    SquaredExponential: smoothed_se,
    Matern12: smoothed_matern,
    Matern32: smoothed_matern,
    Matern52: smoothed_matern,
}

DEFICITS: dict[type[Stationary], Smoothed] = {
    SquaredExponential: deficit_se,
    Matern12: deficit_matern,
    Matern32: deficit_matern,
    Matern52: deficit_matern,
}
