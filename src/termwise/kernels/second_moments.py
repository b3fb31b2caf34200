"""Second moments of the constrained kernel, from which Sobol indices are made."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from termwise.kernels.column import ColumnKernel, Stationary
from termwise.kernels.means import kernel_mean, kernel_mean_variance, mean_square
from termwise.kernels.means_normal import components, product_mean
from termwise.kernels.resolved import resolved_nodes
from termwise.kernels.squared_exponential import SquaredExponential
from termwise.measures.base import Array, Measure
from termwise.measures.mixture import Mixture
from termwise.measures.normal import Normal

SecondMoment = Callable[[ColumnKernel, Measure, Array, Array], Array]

# The four terms of the closed form are near one and their sum is near (sd / l)^4: beyond ten sd quadrature of
# k~ itself, which is near (sd / l)^2, keeps twice the digits.
LONGEST = 10.0
BLOCK = 4096


def second_moment(kernel: ColumnKernel, measure: Measure, x: Array, y: Array) -> Array:
    """The matrix of int k~(s, x_i) k~(s, y_j) dp(s). OAK eq. 40."""
    return SECOND_MOMENTS.get((type(kernel), type(measure)), by_nodes)(kernel, measure, x, y)


def by_nodes(kernel: ColumnKernel, measure: Measure, x: Array, y: Array) -> Array:
    """sum_q w_q k~(x_i, s_q) k~(s_q, y_j), exact for a discrete measure. OAK eq. 48."""
    points, weights = resolved_nodes(kernel, measure, breaks=np.union1d(x, y))
    total: Array = np.zeros((x.size, y.size))
    for start in range(0, points.size, BLOCK):
        here = slice(start, start + BLOCK)
        left = _constrained(kernel, measure, x, points[here])
        right = left if y is x else _constrained(kernel, measure, y, points[here])
        total = total + (left * weights[here]) @ right.T
    return total


def by_products(kernel: ColumnKernel, measure: Measure, x: Array, y: Array) -> Array:
    """Products of Gaussians, for the squared exponential under a normal or a mixture. OAK eq. 44 to 47.

    E k~k~ = E k(X,x) k(X,y) - t(x) c(y) / v - c(x) t(y) / v + c(x) c(y) E c^2 / v^2, t(x) = E k(X,x) c(X).
    """
    assert isinstance(kernel, Stationary)
    if kernel.lengthscale.real > LONGEST * measure.sd.real:
        return by_nodes(kernel, measure, x, y)
    weights, means, sds = components(measure)
    square = np.asarray(kernel.lengthscale**2)
    both = sum(
        w * product_mean((mean, sd**2), (x[:, None], square), (y[None, :], square))
        for w, mean, sd in zip(weights, means, sds, strict=True)
    )
    v = kernel_mean_variance(kernel, measure)
    cx, cy = kernel_mean(kernel, measure, x), kernel_mean(kernel, measure, y)
    cross = np.outer(_with_mean(kernel, measure, x), cy) + np.outer(cx, _with_mean(kernel, measure, y))
    value: Array = both - cross / v + np.outer(cx, cy) * (mean_square(kernel, measure) / v**2)
    return value


def _with_mean(kernel: Stationary, measure: Measure, x: Array) -> Array:
    """t(x) = E k(X, x) c(X), c a sum of Gaussians. OAK eq. 45."""
    weights, means, sds = components(measure)
    wide = kernel.lengthscale**2 + sds**2
    height = weights * kernel.lengthscale / np.sqrt(wide)
    normal = (means[:, None], sds[:, None] ** 2)
    square = np.asarray(kernel.lengthscale**2)
    each = product_mean(normal, (x[:, None, None], square), (means, wide))
    value: Array = np.einsum("i,j,nij->n", weights, height, each)
    return value


def _constrained(kernel: ColumnKernel, measure: Measure, x: Array, y: Array) -> Array:
    """k~(x_i, y_j) = k(x_i, y_j) - c(x_i) c(y_j) / v. OAK eq. 8."""
    cx, cy = kernel_mean(kernel, measure, x), kernel_mean(kernel, measure, y)
    return kernel.matrix(x, y) - np.outer(cx, cy) / kernel_mean_variance(kernel, measure)


SECOND_MOMENTS: dict[tuple[type[ColumnKernel], type[Measure]], SecondMoment] = {
    (SquaredExponential, Normal): by_products,
    (SquaredExponential, Mixture): by_products,
}
