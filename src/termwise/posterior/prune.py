"""A posterior with fewer terms: what the rows told, told again to the terms that stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.linalg import solve_triangular

from termwise.kernels.additive import Subset
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior
from termwise.posterior.removal import Removal, most_likely

ROUNDING = 1e-12
COMPARED = 1000  # rows on which what is missed is measured


def with_terms(posterior: Posterior, terms: Sequence[Subset]) -> Posterior:
    """The posterior of the constant and these terms, as if there had never been others.

    The noise that makes up for the others is where the evidence of the centres is highest. A prediction has
    it on top; if rows are kept beside the centres, what these miss.
    """
    Z, kept = posterior.centres, replace(posterior, terms=((), *terms))
    whole = posterior.prior(Z, Z)
    D = whole - kept.prior(Z, Z)
    if np.max(np.abs(D), initial=0.0) <= ROUNDING * np.max(np.abs(whole), initial=0.0):
        return kept  # these are all
    alpha, root = posterior.alpha, posterior.root
    removal = Removal.of(D, alpha, root)
    noise = Removal.of(np.eye(len(Z)), alpha, root)
    variance = most_likely(removal, noise, float(np.mean(np.diag(whole))))
    removal += noise.times(-variance)
    upper = removal.factor()
    taken: Array = solve_triangular(upper, root.T, trans="T").T
    alpha = alpha + taken @ solve_triangular(upper, removal.linear, trans="T")
    pruned = replace(kept, alpha=alpha, root=taken)
    # Centres that were chosen lie farther out than rows do; where rows are known, these say what is missed.
    missed = variance if posterior.seen is None else _missed(posterior, pruned)
    return replace(pruned, noise=posterior.noise + missed)


def _missed(whole: Posterior, pruned: Posterior) -> float:
    """The mean over rows of (f - f_pruned)^2, as far as it is known."""
    X = whole.rows[:: -(-len(whole.rows) // COMPARED)]
    of_mean = float(np.mean((whole.mean(X) - pruned.mean(X)) ** 2))
    return of_mean + max(float(np.mean(whole.variance(X) - pruned.variance(X))), 0.0)
