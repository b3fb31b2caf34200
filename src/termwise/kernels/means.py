"""The mean of a kernel under a measure, and what the orthogonal constraint needs of it.

The constrained kernel is k~(x, y) = k(x, y) - c(x) c(y) / v with c(x) = E k(x, X) and v = E c(X) (OAK eq. 8).
All functions are analytic: with lengthscale l + 1e-30j, complex x or a complex-scaled measure, the imaginary
part of the result divided by 1e-30 is the exact derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from termwise.kernels import means_nodes, means_normal, means_uniform
from termwise.kernels.column import ColumnKernel
from termwise.kernels.matern import Matern12, Matern32, Matern52
from termwise.kernels.squared_exponential import SquaredExponential
from termwise.measures.base import Array, Measure
from termwise.measures.discrete import Discrete
from termwise.measures.empirical import Empirical
from termwise.measures.mixture import Mixture
from termwise.measures.normal import Normal
from termwise.measures.uniform import Uniform


@dataclass(frozen=True)
class Forms:
    """How a pair of kernel and measure computes c(x), v, E c(X)^2 and E k~(X, X)."""

    mean: Callable[[ColumnKernel, Measure, Array], Array]
    variance: Callable[[ColumnKernel, Measure], float]
    square: Callable[[ColumnKernel, Measure], float]
    residual: Callable[[ColumnKernel, Measure], float]


BY_NODES = Forms(means_nodes.mean, means_nodes.variance, means_nodes.square, means_nodes.residual)
BY_NORMALS = Forms(
    means_normal.mean, means_normal.variance, means_normal.square_by_nodes, means_normal.residual
)
BY_DISTANCE = Forms(means_uniform.mean, means_uniform.variance, means_uniform.square, means_uniform.residual)

CLOSED_FORMS: dict[tuple[type[ColumnKernel], type[Measure]], Forms] = {
    (kernel, measure): forms
    for kernel in (SquaredExponential, Matern12, Matern32, Matern52)
    for measure, forms in (
        (Normal, BY_NORMALS),
        (Mixture, BY_NORMALS),
        (Uniform, BY_DISTANCE),
        (Empirical, BY_NODES),
        (Discrete, BY_NODES),
    )
}
CLOSED_FORMS[SquaredExponential, Mixture] = replace(BY_NORMALS, square=means_normal.square_se)
CLOSED_FORMS[SquaredExponential, Normal] = replace(
    BY_NORMALS, square=means_normal.square_se, residual=means_normal.residual_se_normal
)


def forms_for(kernel: ColumnKernel, measure: Measure) -> Forms:
    """The entry of CLOSED_FORMS, or sums over the nodes of the measure if the pair has none."""
    return CLOSED_FORMS.get((type(kernel), type(measure)), BY_NODES)


def kernel_mean(kernel: ColumnKernel, measure: Measure, x: Array) -> Array:
    """c(x) = E k(x, X). OAK eq. 8."""
    return forms_for(kernel, measure).mean(kernel, measure, x)


def kernel_mean_variance(kernel: ColumnKernel, measure: Measure) -> float:
    """v = E E k(X, X'), the prior variance of the mean of the function. OAK eq. 8."""
    return forms_for(kernel, measure).variance(kernel, measure)


def mean_square(kernel: ColumnKernel, measure: Measure) -> float:
    """E c(X)^2."""
    return forms_for(kernel, measure).square(kernel, measure)


def residual_variance(kernel: ColumnKernel, measure: Measure) -> float:
    """E k~(X, X) = E k(X, X) - E c(X)^2 / v, what the constraint leaves: about (sd / l)^2 at long l."""
    return forms_for(kernel, measure).residual(kernel, measure)
