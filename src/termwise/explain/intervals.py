"""How sure we are of a share: intervals from draws of the posterior."""

from __future__ import annotations

import numpy as np

from termwise.explain.sobol import TermVariances
from termwise.kernels.additive import Subset
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior

MOST_COEFFICIENTS, MOST_OF_A_TERM = 1200, 150
MOST_OF_A_COLUMN = 40
NEGLIGIBLE = 1e-4  # part of a term's prior variance that the coefficients left out may hold
DRAWS = 400
BASIS_PANELS = 16
LEVELS = (0.05, 0.95)


def share_intervals(posterior: Posterior, found: TermVariances, rng: np.random.Generator) -> Array:
    """5 % and 95 % points of the share of each listed term, (terms, 2); NaN for terms too small to be drawn.

    Under the measure a term is a sum of products of eigenfunctions, f_u = sum_m c_m phi_m, R_u = sum c_m^2.
    Given the data the c_m are jointly normal. The coefficients with the largest prior variance are drawn, for
    the leading terms together; the others count with their mean. As draws vary more than their mean, a small
    term may lie below all of them: the interval is widened to hold the share of the mean.
    """
    intervals = np.full((len(found.terms), 2), np.nan)
    bases = [_basis(posterior, d) for d in range(len(posterior.kernel.components))]
    leading, parts = _leading(posterior, found, bases)
    if not leading:
        return intervals
    cross = np.concatenate([part[0] for part in parts], axis=1)
    prior = np.concatenate([part[1] for part in parts])
    half = posterior.root.T @ cross
    eigenvalues, vectors = np.linalg.eigh(np.diag(prior) - half.T @ half)
    noise = rng.standard_normal((DRAWS, prior.size)) * np.sqrt(np.maximum(eigenvalues, 0.0))
    mean = posterior.alpha @ cross
    draws = mean + noise @ vectors.T
    ends = np.cumsum([0, *(part[1].size for part in parts)])
    variances = np.empty((len(leading), DRAWS))
    for row, i, a, b in zip(variances, leading, ends[:-1], ends[1:], strict=True):
        not_drawn = max(found.variances[i] - float(np.sum(mean[a:b] ** 2)), 0.0)
        row[:] = np.sum(draws[:, a:b] ** 2, axis=1) + not_drawn
    rest = max(found.total - float(np.sum(found.variances[leading])), 0.0)
    shares = variances / (np.sum(variances, axis=0) + rest)
    low, high = np.quantile(shares, LEVELS, axis=1)
    of_mean = found.variances[leading] / found.total
    intervals[leading] = np.transpose([np.minimum(low, of_mean), np.maximum(high, of_mean)])
    return intervals


def _basis(posterior: Posterior, d: int) -> tuple[Array, Array]:
    """Column d's cov(c_m, f_d(Z)) = int z(Z, s) phi_m(s) dp, (centres, m), and prior var(c_m), by Nystrom."""
    component = posterior.kernel.components[d]
    points, weights = component.coarse_nodes(BASIS_PANELS)
    root = np.sqrt(weights)
    eigenvalues, vectors = np.linalg.eigh(root[:, None] * component.matrix(points, points) * root)
    count = min(MOST_OF_A_COLUMN, eigenvalues.size)
    eigenvalues, vectors = np.maximum(eigenvalues[::-1][:count], 0.0), vectors[:, ::-1][:, :count]
    return (component.matrix(posterior.centres[:, d], points) * root) @ vectors, eigenvalues


def _leading(
    posterior: Posterior, found: TermVariances, bases: list[tuple[Array, Array]]
) -> tuple[list[int], list[tuple[Array, Array]]]:
    """Terms by variance with their coefficients, as many as fit."""
    count, leading, parts = 0, [], []
    for i in np.argsort(-found.variances, kind="stable"):
        if found.variances[i] <= 0.0 or count >= MOST_COEFFICIENTS:
            break
        part = _coefficients(posterior, found.terms[i], bases)
        count += part[1].size
        leading.append(int(i))
        parts.append(part)
    return leading, parts


def _coefficients(
    posterior: Posterior, term: Subset, bases: list[tuple[Array, Array]]
) -> tuple[Array, Array]:
    """cov(c_m, f(Z)), (centres, m), and prior variance of the coefficients of one term that are drawn.

    They are the largest products of eigenvalues. Only the largest products of the first columns can be part
    of them, so that no more than these are ever held.
    """
    variance = posterior.kernel.variances[len(term)]
    cross, prior, total = np.full((posterior.alpha.size, 1), variance), np.array([variance]), variance
    for d in term:
        here, eigenvalues = bases[d]
        total *= float(np.sum(eigenvalues))
        products = np.outer(prior, eigenvalues)
        kept = np.argsort(-products, axis=None, kind="stable")[:MOST_OF_A_TERM]
        first, second = np.unravel_index(kept, products.shape)
        cross, prior = cross[:, first] * here[:, second], products[first, second]
    count = 1 + int(np.searchsorted(np.cumsum(prior), (1.0 - NEGLIGIBLE) * total))
    return cross[:, :count], prior[:count]
