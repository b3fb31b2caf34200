"""Inducing variables that are no values of the function: their covariances with it and with each other.

In the space of functions that belongs to a kernel, u = <f, phi> has covariance phi(x) with f(x) and
<phi, phi'> with another. All phi here are functions of the angle with a direction, so both are sums of
Gegenbauer polynomials: with z_l the coefficients of phi and e_l the eigenvalues of the kernel

    cov(u, f) = sum_l z_l N(d, l) P_l        cov(u, u') = sum_l z_l z'_l / e_l  N(d, l) P_l.

Both are cut off at the same degree: of max(t, 0) the second sum has no end. Then features are divided by
their standard deviation. Spherical (2023), section 3.2.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from termwise.errors import NumericalError
from termwise.kernels.softplus import of_softplus
from termwise.kernels.sphere import harmonics, of_power
from termwise.kernels.zonal import Zonal
from termwise.measures.base import Array

# What things between which there is a covariance are: the function at a row, the same with the row made one
# long, and a feature. Harmonics have a tag for each degree, from that of a feature on.
ROW, POINT, FEATURE = 0, -1, 1
MOST_DEGREES = 100  # what is kept of harmonics grows with its cube
SMALLEST = 1e-250  # eigenvalue that is divided by; a degree with less is none that the kernel has


ACTIVATIONS: dict[str, Callable[[int, int], Array]] = {"relu": partial(of_power, 1), "softplus": of_softplus}
FEATURES = ("points", "harmonics", *ACTIVATIONS)


@dataclass(frozen=True, eq=False)
class Covariances:
    """The c_l of every pair of things, (tags, tags, degrees), and their slopes for the log lengthscale.

    `degrees` are those that features have; of harmonics each has one, that of its tag less one.
    """

    series: Array
    slopes: Array
    degrees: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Spectra:
    """Of degrees 0, 1, ..: eigenvalues of a kernel, their slopes, coefficients of features, and N(d, l)."""

    kernel: Array
    slopes: Array
    features: Array
    counts: Array

    @classmethod
    def of(cls, kernel: Zonal, features: str, dimension: int, n_degrees: int) -> Spectra:
        """Those up to which there are so many degrees: of most kernels every second at least."""
        highest = 2 * n_degrees + 2
        return cls(
            kernel.eigenvalues(dimension, highest),
            kernel.eigenvalues_by_lengthscale(dimension, highest),
            ACTIVATIONS[features](dimension, highest) if features in ACTIVATIONS else np.ones(highest + 1),
            np.array([_as_float(harmonics(dimension, degree)) for degree in range(highest + 1)]),
        )

    def common(self, n_degrees: int) -> Array:
        """The first degrees that both have; by the exact zeros of either, as small is not none."""
        both = (self.kernel > SMALLEST) & (self.features != 0.0) & np.isfinite(self.counts)
        return np.flatnonzero(both)[:n_degrees]


def common_degrees(kernel: Zonal, features: str, dimension: int, n_degrees: int) -> tuple[int, ...]:
    """The first degrees that features and the kernel have in common; values of the function have all."""
    if features == "points":
        return tuple(range(n_degrees))
    found = Spectra.of(kernel, features, dimension, n_degrees).common(n_degrees)
    return tuple(found.tolist())


def covariances(kernel: Zonal, features: str, dimension: int, n_degrees: int) -> Covariances:
    """Of rows and of features with so many degrees."""
    if features == "points":
        return Covariances(np.zeros((1, 1, 1)), np.zeros((1, 1, 1)))
    spectra = Spectra.of(kernel, features, dimension, n_degrees)
    e, slope, z, N = spectra.kernel, spectra.slopes, spectra.features, spectra.counts
    used = spectra.common(n_degrees)
    if used.size == 0:
        raise NumericalError(
            f"features of {dimension} numbers have no degree in common with the kernel; use features='points'"
        )
    size = int(used[-1]) + 1
    if features in ACTIVATIONS:
        series, slopes = np.zeros((2, 2, size)), np.zeros((2, 2, size))
        series[ROW, FEATURE, used] = series[FEATURE, ROW, used] = z[used] * N[used]
        series[FEATURE, FEATURE, used] = z[used] ** 2 / e[used] * N[used]
        slopes[FEATURE, FEATURE, used] = -series[FEATURE, FEATURE, used] * slope[used] / e[used]
        return _of_variance_one(series, slopes, tuple(used.tolist()))
    # A harmonic here is P_n(z . x), of norm 1 / (e_n N_n); those of different degrees have nothing in common.
    tags = used.size + 1
    series, slopes = np.zeros((tags, tags, size)), np.zeros((tags, tags, size))
    for tag, n in enumerate(used, start=1):
        series[ROW, tag, n] = series[tag, ROW, n] = 1.0
        series[tag, tag, n] = 1.0 / (e[n] * N[n])
        slopes[tag, tag, n] = -series[tag, tag, n] * slope[n] / e[n]
    return _of_variance_one(series, slopes, tuple(used.tolist()))


def _as_float(count: int) -> float:
    """A whole number, which may be out of range."""
    try:
        return float(count)
    except OverflowError:
        return float("inf")


def _of_variance_one(series: Array, slopes: Array, degrees: tuple[int, ...]) -> Covariances:
    """Features divided by their standard deviation: beside rows they would be large, and jitter with them."""
    tags = np.arange(1, len(series))
    variance, growth = np.ones(len(series)), np.zeros(len(series))
    variance[1:] = series[tags, tags].sum(axis=1)
    growth[1:] = 0.5 * slopes[tags, tags].sum(axis=1) / variance[1:]  # of the logarithm of the sd
    sd = np.sqrt(variance)  # the product of two variances may be out of range
    scale = 1.0 / (sd[:, None] * sd)[:, :, None]
    divided = scale * series
    return Covariances(divided, scale * slopes - divided * (growth[:, None] + growth)[:, :, None], degrees)
