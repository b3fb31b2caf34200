"""Kernel means under a normal, or a mixture of them."""

from __future__ import annotations

import numpy as np

from termwise.kernels.column import ColumnKernel, Stationary
from termwise.kernels.smoothed import DEFICITS, SMOOTHED
from termwise.measures.base import Array, Measure
from termwise.measures.mixture import Mixture
from termwise.measures.normal import Normal


def components(measure: Measure) -> tuple[Array, Array, Array]:
    """Weights, means and sds of a normal or a mixture."""
    assert isinstance(measure, Normal | Mixture)
    return measure.components()


def mean(kernel: ColumnKernel, measure: Measure, x: Array) -> Array:
    """c(x) = sum_i w_i h(x - mu_i, s_i). OAK eq. 25 and 31."""
    assert isinstance(kernel, Stationary)
    weights, means, sds = components(measure)
    value: Array = SMOOTHED[type(kernel)](kernel, x[..., None] - means, sds) @ weights
    return value


def variance(kernel: ColumnKernel, measure: Measure) -> float:
    """v = sum_ij w_i w_j h(mu_i - mu_j, sqrt(s_i^2 + s_j^2)). OAK eq. 28 and 30."""
    assert isinstance(kernel, Stationary)
    weights, gaps, spreads = _differences(measure)
    value: float = np.sum(weights * SMOOTHED[type(kernel)](kernel, gaps, spreads)).item()
    return value


def square_by_nodes(kernel: ColumnKernel, measure: Measure) -> float:
    """E c(X)^2 by the nodes of the measure: c varies no faster than the density does."""
    points, weights = measure.nodes()
    value: float = (weights @ mean(kernel, measure, points) ** 2).item()
    return value


def square_se(kernel: ColumnKernel, measure: Measure) -> float:
    """E c(X)^2 = sum_ijk w_i w_j w_k E_i[h(X - mu_j, s_j) h(X - mu_k, s_k)], a product of three Gaussians."""
    assert isinstance(kernel, Stationary)
    weights, means, sds = components(measure)
    wide = kernel.lengthscale**2 + sds**2
    height = weights * kernel.lengthscale / np.sqrt(wide)
    first, second = (means[:, None], wide[:, None]), (means[None, :], wide[None, :])
    each = product_mean((means[:, None, None], sds[:, None, None] ** 2), first, second)
    value: float = np.einsum("i,j,k,ijk->", weights, height, height, each).item()
    return value


def product_mean(
    normal: tuple[Array, Array], first: tuple[Array, Array], second: tuple[Array, Array]
) -> Array:
    """E exp(-(X - a)^2 / 2A - (X - b)^2 / 2B) for X ~ N(mu, V), given (mu, V), (a, A), (b, B).

    The two bumps are merged first, which leaves sums of positive numbers only. OAK appendix G.1.
    """
    (mu, V), (a, A), (b, B) = normal, first, second
    merged = A * B / (A + B)
    centre = (a * B + b * A) / (A + B)
    exponent = (a - b) ** 2 / (A + B) + (centre - mu) ** 2 / (merged + V)
    value: Array = np.sqrt(merged / (merged + V)) * np.exp(-0.5 * exponent)
    return value


def residual(kernel: ColumnKernel, measure: Measure) -> float:
    """1 - E c^2 / v = (G - E g^2) / v, g = 1 - c, G = E g = 1 - v; where G is small, g^2 is smaller."""
    assert isinstance(kernel, Stationary)
    weights, gaps, spreads = _differences(measure)
    lost = np.sum(weights * DEFICITS[type(kernel)](kernel, gaps, spreads))
    points, density = measure.nodes()
    kept: float = (lost - density @ (1.0 - mean(kernel, measure, points)) ** 2).item()
    return kept / variance(kernel, measure)


def residual_se_normal(kernel: ColumnKernel, measure: Measure) -> float:
    """1 - sqrt(1 - q) = q / (1 + sqrt(1 - q)), q = s^2 (2 l^2 + 3 s^2) / (l^2 + s^2) (l^2 + 3 s^2).

    That is 1 - l sqrt(l^2 + 2 s^2) / sqrt((l^2 + s^2)(l^2 + 3 s^2)), with the subtraction done on paper.
    """
    assert isinstance(kernel, Stationary)
    long, wide = kernel.lengthscale**2, measure.sd**2
    below = (long + wide) * (long + 3.0 * wide)
    kept = np.sqrt(long * (long + 2.0 * wide) / below)
    value: float = (wide * (2.0 * long + 3.0 * wide) / below / (1.0 + kept)).item()
    return value


def _differences(measure: Measure) -> tuple[Array, Array, Array]:
    """Weights, means and sds of X - X' for independent X and X', as K x K matrices."""
    weights, means, sds = components(measure)
    return (
        np.outer(weights, weights),
        means[:, None] - means,
        np.sqrt(sds[:, None] ** 2 + sds**2),
    )
