"""What the last layers of networks might have been as well, given the hidden ones: the bands of terms.

Neural linear models: Snoek et al., Scalable Bayesian Optimization Using Deep Neural Networks (ICML 2015).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from termwise.deep.networks import Networks
from termwise.measures.base import Array

MOST_ROWS = 10_000  # whose hidden layers are looked at; more would say the same, and count as if they had
MOST_WEIGHTS = 1_500  # that are learned beside each other; of more, each network by itself


@dataclass(frozen=True, eq=False)
class Heads:
    """Last layers, each weight normal about what was found, with the covariance (1 / s^2 + H'H / noise)^-1.

    H has the last hidden layers of all networks beside each other, less their means over the rows, `middle`
    (k, units). Before the rows are seen, weights are independent, with the standard deviation s that they are
    drawn with. `roots` R (k, units, units) have the covariances R'R of the weights of each network, whatever
    those of the others are; of very many networks, as if those were known. `constant` is the variance of the
    constant.
    """

    middle: Array
    roots: Array
    constant: float

    def variance(self, place: int, hidden: Array) -> Array:
        """Var of one network about its mean over the rows, by what its last hidden layer says, (n, units)."""
        found: Array = np.sum(((hidden - self.middle[place]) @ self.roots[place].T) ** 2, axis=1)
        return found


def heads_of(networks: Networks, X: Array, noise: float, *, pruned: bool = False) -> Heads:
    """The last layers given rows as numbers, whose target has so much noise; zeros stay if `pruned`."""
    n, k = len(X), len(networks.inputs)
    chosen = np.unique(np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(np.intp))
    units = networks.weights[-1].shape[1]
    groups = [list(range(k))] if k * units <= MOST_WEIGHTS else [[place] for place in range(k)]
    middle = sum(block.sum(axis=1) for block in networks.hidden_blocks(X)) / n
    spread = np.full((k, units), np.sqrt(2.0 / units))  # as `drawn_networks` draws them
    if pruned:
        spread *= (networks.weights[-1] != 0.0).any(axis=2)
    roots = np.empty((k, units, units))
    for places in groups:
        own = networks.only(places)
        roots[places] = _roots(own, X[chosen], middle[places], spread[places], noise * chosen.size / n)
    return Heads(middle, roots, noise / n)


def _roots(networks: Networks, X: Array, middle: Array, spread: Array, noise: float) -> Array:
    """Those of the covariances of the weights of each network, learned beside each other."""
    k, units = middle.shape
    gram = np.zeros((k * units, k * units))
    for block in networks.hidden_blocks(X):
        rows = (block - middle[:, None]) * spread[:, None]
        beside = rows.swapaxes(0, 1).reshape(-1, k * units)
        gram += beside.T @ beside
    known = np.eye(k * units) + gram / noise
    inverse = solve_triangular(cholesky(known, lower=True), np.eye(k * units), lower=True)
    parts = np.split(inverse, k, axis=1)
    roots = [np.linalg.qr(part, mode="r") for part in parts] if k > 1 else parts
    return np.array(roots) * spread[:, None]
