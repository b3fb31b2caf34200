"""Additive Gaussian processes the slow and obvious way: sums over subsets, quadrature, dense inverses.

Nothing here calls what it is an oracle for. Kernels, measures and components are read as data only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import chain, combinations

import numpy as np
from scipy.integrate import quad_vec

from termwise.kernels.additive import AdditiveKernel
from termwise.kernels.categorical import Categorical
from termwise.kernels.column import ColumnKernel
from termwise.kernels.component import Component
from termwise.measures import Continuous, Measure, Uniform
from termwise.posterior.posterior import Posterior

Subset = tuple[int, ...]

PROFILES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "se": lambda r: np.exp(-(r**2) / 2),
    "matern12": lambda r: np.exp(-r),
    "matern32": lambda r: (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r),
    "matern52": lambda r: (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r),
}


def base_matrix(kernel: ColumnKernel, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """k(x_i, y_j) from the formulas."""
    if isinstance(kernel, Categorical):
        table = np.outer(kernel.loadings, kernel.loadings) + np.diag(kernel.kappa)
        return table[x.astype(int)][:, y.astype(int)]
    return PROFILES[kernel.name](np.abs(x[:, None] - y[None, :]) / kernel.lengthscale)


def kernel_mean(kernel: ColumnKernel, measure: Measure, x: np.ndarray) -> np.ndarray:
    """c(x) = E k(x, X): a sum if the measure is discrete, else adaptive quadrature over the distance.

    Over the distance r the integrand k(r) (p(x - r) + p(x + r)) has no kink.
    """
    if not isinstance(measure, Continuous):
        points, weights = measure.nodes()
        return base_matrix(kernel, x, points) @ weights
    profile, length = PROFILES[kernel.name], kernel.lengthscale
    if isinstance(measure, Uniform):
        # Signed areas of k from x to each end; k is even.
        def area(t: np.ndarray) -> np.ndarray:
            value, _ = quad_vec(lambda u: t * profile(np.abs(t) * u / length), 0, 1, epsrel=1e-13, norm="max")
            return value

        return (area(measure.high - x) + area(x - measure.low)) / (measure.high - measure.low)
    far = np.max(np.abs(x)) + 40 * measure.sd + np.abs(measure.mean)
    marks = np.geomspace(1e-3, 1, 25)[:-1] * far
    value, error = quad_vec(
        lambda r: profile(np.array(r / length)) * (measure.density(x - r) + measure.density(x + r)),
        0,
        far,
        points=marks,
        epsabs=1e-14,
        epsrel=1e-13,
        norm="max",
    )
    assert error < 1e-10
    return value


@cache
def moments(kernel: ColumnKernel, measure: Measure) -> tuple[float, float]:
    """v = E c(X) and E c(X)^2; c is smooth, so a fine rule of its own panels is enough."""
    if isinstance(measure, Continuous):
        marks = _landmarks(measure)
        nodes, unit = np.polynomial.legendre.leggauss(15)
        half = np.diff(marks) / 2
        points = ((marks[1:] + marks[:-1]) / 2)[:, None] + half[:, None] * nodes
        weights = (half[:, None] * unit * measure.density(points)).ravel()
        points = points.ravel()
    else:
        points, weights = measure.nodes()
    c = kernel_mean(kernel, measure, points)
    return float(weights @ c), float(weights @ c**2)


def _landmarks(measure: Continuous) -> np.ndarray:
    if isinstance(measure, Uniform):
        return np.linspace(measure.low, measure.high, 41)
    _, means, sds = measure.components()
    return np.unique(means + sds * np.linspace(-9, 9, 31)[:, None])


def column_matrix(component: Component, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """weight (k(x, y) - c(x) c(y) / v), zero where a cell is missing."""
    kernel, measure = component.kernel, component.measure
    filled_x, filled_y = np.nan_to_num(x), np.nan_to_num(y)
    value = base_matrix(kernel, filled_x, filled_y)
    if measure is not None:
        both = kernel_mean(kernel, measure, np.concatenate([filled_x, filled_y]))
        value = value - np.outer(both[: x.size], both[x.size :]) / moments(kernel, measure)[0]
    value = component.weight * value
    value[np.isnan(x), :] = 0
    value[:, np.isnan(y)] = 0
    return value


def column_variance(component: Component) -> float:
    """E z(X, X) under the measure; without one that of a kernel of constant diagonal."""
    kernel, measure = component.kernel, component.measure
    if measure is None:
        assert not isinstance(kernel, Categorical), "say under which frequencies"
        return component.weight
    diagonal = 1.0
    if isinstance(kernel, Categorical):
        diagonal = float(measure.nodes()[1] @ (np.square(kernel.loadings) + kernel.kappa))
    v, square = moments(kernel, measure)
    return component.weight * (diagonal - square / v)


def subsets(n_columns: int, max_order: int) -> list[Subset]:
    """All subsets of at most max_order columns, the empty one too."""
    return list(chain.from_iterable(combinations(range(n_columns), r) for r in range(max_order + 1)))


def product_sum(z: list[np.ndarray], variances: tuple[float, ...]) -> np.ndarray:
    """sum_u variance_|u| prod_{d in u} z_d over all subsets."""
    total = np.zeros(np.shape(z[0]))
    for u in subsets(len(z), len(variances) - 1):
        total += variances[len(u)] * np.prod([z[d] for d in u], axis=0)
    return total


def additive_matrix(kernel: AdditiveKernel, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """K between two sets of rows, subset by subset."""
    z = [column_matrix(c, X[:, d], Z[:, d]) for d, c in enumerate(kernel.components)]
    return product_sum(z, kernel.variances)


def additive_diagonal(kernel: AdditiveKernel, X: np.ndarray) -> np.ndarray:
    """The prior variance of each row, a missing cell counting with its mean variance."""
    z = []
    for d, component in enumerate(kernel.components):
        own = np.diag(column_matrix(component, X[:, d], X[:, d])).copy()
        if np.isnan(X[:, d]).any():
            own[np.isnan(X[:, d])] = column_variance(component)
        z.append(own)
    return product_sum(z, kernel.variances)


def gram(kernel: AdditiveKernel, X: np.ndarray) -> np.ndarray:
    """K between the rows of one set, with the variance of what is missing on the diagonal."""
    K = additive_matrix(kernel, X, X)
    np.fill_diagonal(K, additive_diagonal(kernel, X))
    return K


def term_matrix(kernel: AdditiveKernel, term: Subset, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """variance_|u| prod_{d in u} z_d."""
    z = [column_matrix(kernel.components[d], X[:, d], Z[:, d]) for d in term]
    return kernel.variances[len(term)] * np.prod([np.ones((len(X), len(Z))), *z], axis=0)


def log_marginal_likelihood(K: np.ndarray, y: np.ndarray, noise: float) -> float:
    """log N(y; 0, K + noise I)."""
    A = K + noise * np.eye(y.size)
    sign, log_determinant = np.linalg.slogdet(A)
    assert sign > 0
    return float(-0.5 * (y @ np.linalg.solve(A, y) + log_determinant + y.size * np.log(2 * np.pi)))


def condition(
    prior: np.ndarray, cross: np.ndarray, K: np.ndarray, y: np.ndarray, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of what has this prior covariance and this cross covariance with f at the rows."""
    inverse = np.linalg.inv(K + noise * np.eye(y.size))
    return cross @ inverse @ y, prior - cross @ inverse @ cross.T


def posterior_of(kernel: AdditiveKernel, X: np.ndarray, y: np.ndarray, noise: float) -> Posterior:
    """The posterior at given hyperparameters: A = L L', A^-1 = L^-T L^-1."""
    A = kernel.gram(X) + noise * np.eye(y.size)
    root = np.linalg.inv(np.linalg.cholesky(A)).T
    return Posterior(kernel, X, np.linalg.solve(A, y), root, noise)


def newton_girard(z: np.ndarray, max_order: int) -> np.ndarray:
    """e_0 .. e_R of each column of z by power sums: r e_r = sum_k (-1)^(k-1) e_(r-k) p_k."""
    e = [np.ones(z.shape[1:])]
    for r in range(1, max_order + 1):
        e.append(sum((-1) ** (k - 1) * e[r - k] * np.sum(z**k, axis=0) for k in range(1, r + 1)) / r)
    return np.array(e)
