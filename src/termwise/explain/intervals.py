"""How sure we are of a share: intervals from draws of the posterior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from termwise.explain.sobol import TermVariances
from termwise.kernels.terms import Subset
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior

MOST_COEFFICIENTS, MOST_OF_A_TERM = 1200, 150
MOST_OF_A_COLUMN = 40
NEGLIGIBLE = 1e-4  # part of a term's prior variance that the coefficients left out may hold
DRAWS = 400
BASIS_PANELS = 16
LEVELS = (0.05, 0.95)
TINY = 1e-300
ROWS = 400  # drawn from the measures; the mean variance over them is good to a few percent


@dataclass(frozen=True, eq=False)
class _Part:
    """The coefficients of a term that are drawn: cov(c_m, f(Z)), (centres, m), and their prior variance.

    `left` is the prior variance of all others.
    """

    cross: Array
    prior: Array
    left: float


def share_intervals(posterior: Posterior, found: TermVariances, rng: np.random.Generator) -> Array:
    """5 % and 95 % points of the share of each listed term, (terms, 2); NaN for terms too small to be drawn.

    Under the measure a term is a sum of products of eigenfunctions, f_u = sum_m c_m phi_m, R_u = sum c_m^2.
    Given the data the c_m are jointly normal. The coefficients with the largest prior variance are drawn, for
    the leading terms together; the others count with what is expected of their squares, mean^2 + variance.
    As draws vary more than their mean, a small term may lie below all of them: the interval is widened to
    hold the share of the mean.
    """
    intervals = np.full((len(found.terms), 2), np.nan)
    bases = [_basis(posterior, d) for d in range(len(posterior.additive.components))]
    leading, parts = _leading(posterior, found, bases)
    if not leading:
        return intervals
    cross = np.concatenate([part.cross for part in parts], axis=1)
    prior = np.concatenate([part.prior for part in parts])
    half = posterior.root.T @ cross
    covariance = np.diag(prior) - half.T @ half
    eigenvalues, vectors = np.linalg.eigh(covariance)
    noise = rng.standard_normal((DRAWS, prior.size)) * np.sqrt(np.maximum(eigenvalues, 0.0))
    mean, own = posterior.alpha @ cross, np.diag(covariance)
    draws = mean + noise @ vectors.T
    ends = np.cumsum([0, *(part.prior.size for part in parts)])
    variances, unsure = np.empty((len(leading), DRAWS)), 0.0
    for row, i, part, a, b in zip(variances, leading, parts, ends[:-1], ends[1:], strict=True):
        not_drawn = max(found.variances[i] - float(np.sum(mean[a:b] ** 2)), 0.0)
        unsure_here = part.left * _not_learned(own[a:b], part.prior)
        row[:] = np.sum(draws[:, a:b] ** 2, axis=1) + not_drawn + unsure_here
        unsure += float(np.sum(own[a:b])) + unsure_here
    rest = max(found.total - float(np.sum(found.variances[leading])), 0.0)
    if len(leading) < len(found.terms) or not found.complete:
        rest += max(_mean_variance(posterior, rng) - unsure, 0.0)
    shares = variances / (np.sum(variances, axis=0) + rest)
    low, high = np.quantile(shares, LEVELS, axis=1)
    of_mean = found.variances[leading] / found.total
    intervals[leading] = np.transpose([np.minimum(low, of_mean), np.maximum(high, of_mean)])
    return intervals


def _not_learned(posterior: Array, prior: Array) -> float:
    """The part of their variance that coefficients beyond those drawn still have.

    As of the last that are drawn: the smaller the prior variance, the less the rows tell.
    """
    last = max(prior.size // 10, 1)
    return float(np.clip(np.sum(posterior[-last:]) / max(np.sum(prior[-last:]), TINY), 0.0, 1.0))


def _mean_variance(posterior: Posterior, rng: np.random.Generator) -> float:
    """sum_u int Var f_u dp: what is not known of all terms, over rows drawn from the measures.

    Terms are orthogonal, so that it is the mean variance of their sum; the constant is no term.
    """
    measures = [component.measure for component in posterior.additive.components]
    columns = [m.sample(rng, ROWS) for m in measures if m is not None]
    assert len(columns) == len(measures), "shares need orthogonal terms"
    X = np.transpose(columns)
    constant = float(posterior.term_variance((), X[:1])[0])
    return float(np.mean(posterior.variance(X))) - constant


def _basis(posterior: Posterior, d: int) -> tuple[Array, Array]:
    """Column d's cov(c_m, f_d(Z)) = int z(Z, s) phi_m(s) dp, (centres, m), and prior var(c_m), by Nystrom."""
    component = posterior.additive.components[d]
    points, weights = component.coarse_nodes(BASIS_PANELS)
    root = np.sqrt(weights)
    eigenvalues, vectors = np.linalg.eigh(root[:, None] * component.matrix(points, points) * root)
    count = min(MOST_OF_A_COLUMN, eigenvalues.size)
    eigenvalues, vectors = np.maximum(eigenvalues[::-1][:count], 0.0), vectors[:, ::-1][:, :count]
    return (component.matrix(posterior.centres[:, d], points) * root) @ vectors, eigenvalues


def _leading(
    posterior: Posterior, found: TermVariances, bases: list[tuple[Array, Array]]
) -> tuple[list[int], list[_Part]]:
    """Terms by variance with their coefficients, as many as fit."""
    count, leading, parts = 0, [], []
    for i in np.argsort(-found.variances, kind="stable"):
        if found.variances[i] <= 0.0 or count >= MOST_COEFFICIENTS:
            break
        part = _coefficients(posterior, found.terms[i], bases)
        count += part.prior.size
        leading.append(int(i))
        parts.append(part)
    return leading, parts


def _coefficients(posterior: Posterior, term: Subset, bases: list[tuple[Array, Array]]) -> _Part:
    """The coefficients of one term that are drawn.

    They are the largest products of eigenvalues. Only the largest products of the first columns can be part
    of them, so that no more than these are ever held.
    """
    variance = posterior.by_terms.term_variance(term)
    cross, prior, total = np.full((posterior.alpha.size, 1), variance), np.array([variance]), variance
    for d in term:
        here, eigenvalues = bases[d]
        total *= posterior.additive.components[d].mean_variance
        products = np.outer(prior, eigenvalues)
        kept = np.argsort(-products, axis=None, kind="stable")[:MOST_OF_A_TERM]
        first, second = np.unravel_index(kept, products.shape)
        cross, prior = cross[:, first] * here[:, second], products[first, second]
    count = 1 + int(np.searchsorted(np.cumsum(prior), (1.0 - NEGLIGIBLE) * total))
    return _Part(cross[:, :count], prior[:count], max(total - float(np.sum(prior[:count])), 0.0))
