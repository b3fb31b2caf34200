"""How sure we are of a share: intervals from draws of the posterior."""

from __future__ import annotations

import numpy as np

from termwise.explain.sobol import TermVariances
from termwise.kernels.additive import Subset
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior

MOST_COEFFICIENTS = 1200
NEGLIGIBLE = 1e-3  # part of a column's prior variance that its dropped eigenfunctions may hold
DRAWS = 400
BASIS_PANELS = 16
LEVELS = (0.05, 0.95)


def share_intervals(posterior: Posterior, found: TermVariances, rng: np.random.Generator) -> Array:
    """5 % and 95 % points of the share of each listed term, (terms, 2); NaN for terms too small to be drawn.

    Under the measure a term is a sum of products of eigenfunctions, f_u = sum_m c_m phi_m, and R_u = sum c_m^2.
    Given the data the c_m are jointly normal, and are drawn for the leading terms together; the terms left
    out count with the variance of their mean.
    """
    intervals = np.full((len(found.terms), 2), np.nan)
    bases = [_basis(posterior, d) for d in range(len(posterior.kernel.components))]
    leading = _leading(found, bases)
    if not leading:
        return intervals
    parts = [_coefficients(posterior, found.terms[i], bases) for i in leading]
    cross = np.concatenate([part[0] for part in parts], axis=1)
    prior = np.concatenate([part[1] for part in parts])
    half = posterior.root.T @ cross
    covariance = np.diag(prior) - half.T @ half
    eigenvalues, vectors = np.linalg.eigh(covariance)
    noise = rng.standard_normal((DRAWS, prior.size)) * np.sqrt(np.maximum(eigenvalues, 0.0))
    draws = posterior.alpha @ cross + noise @ vectors.T
    ends = np.cumsum([0, *(part[1].size for part in parts)])
    variances = np.array(
        [np.sum(draws[:, a:b] ** 2, axis=1) for a, b in zip(ends[:-1], ends[1:], strict=True)]
    )
    rest = found.total - float(np.sum(found.variances[leading]))
    shares = variances / (np.sum(variances, axis=0) + max(rest, 0.0))
    intervals[leading] = np.quantile(shares, LEVELS, axis=1).T
    return intervals


def _basis(posterior: Posterior, d: int) -> tuple[Array, Array]:
    """Column d's cov(c_m, f_d(Z)) = int z(Z, s) phi_m(s) dp, (centres, m), and prior var(c_m), by Nystrom."""
    component = posterior.kernel.components[d]
    points, weights = component.nodes(panels=BASIS_PANELS)
    root = np.sqrt(weights)
    eigenvalues, vectors = np.linalg.eigh(root[:, None] * component.matrix(points, points) * root)
    eigenvalues, vectors = np.maximum(eigenvalues[::-1], 0.0), vectors[:, ::-1]
    cumulative = np.cumsum(eigenvalues)
    count = 1 + int(np.searchsorted(cumulative, (1.0 - NEGLIGIBLE) * cumulative[-1]))
    cross = (component.matrix(posterior.centres[:, d], points) * root) @ vectors[:, :count]
    return cross, eigenvalues[:count]


def _leading(found: TermVariances, bases: list[tuple[Array, Array]]) -> list[int]:
    """Terms by variance, as many as their coefficients fit."""
    count, leading = 0, []
    for i in np.argsort(-found.variances, kind="stable"):
        size = int(np.prod([bases[d][1].size for d in found.terms[i]]))
        if count + size <= MOST_COEFFICIENTS and found.variances[i] > 0.0:
            count += size
            leading.append(int(i))
    return leading


def _coefficients(posterior: Posterior, term: Subset, bases: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """cov(c_m, f(Z)), (centres, m), and prior variance of the coefficients of one term."""
    variance = posterior.kernel.variances[len(term)]
    cross, prior = np.full((posterior.alpha.size, 1), variance), np.array([variance])
    for d in term:
        here, eigenvalues = bases[d]
        cross = (cross[:, :, None] * here[:, None, :]).reshape(cross.shape[0], -1)
        prior = np.outer(prior, eigenvalues).ravel()
    return cross, prior
