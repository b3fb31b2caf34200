"""What the last layers of networks might have been as well, given the hidden ones: the bands of terms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from termwise.deep.networks import BLOCK, Networks
from termwise.measures.base import Array

MOST_ROWS = 10_000  # whose hidden layers are looked at; more would say the same, and count as if they had
MOST_WEIGHTS = 4_000  # that are learned beside each other; of more, each network by itself


@dataclass(frozen=True, eq=False)
class Heads:
    """Last layers, each weight normal about what training found.

    Before the rows are seen, a weight has the law that it was drawn from. The kernel of a term is then a
    product of hidden layers about their means over the rows, `middle` (k, units). `roots` R (k, units, units)
    have the covariances R'R of weights given the rows. `constant` is the variance of the constant.
    """

    middle: Array
    roots: Array
    constant: float

    def variance(self, place: int, hidden: Array) -> Array:
        """Var of one network about its mean over the rows, by what its last hidden layer says, (n, units)."""
        found: Array = np.sum(((hidden - self.middle[place]) @ self.roots[place].T) ** 2, axis=1)
        return found


def heads_of(networks: Networks, X: Array, noise: float) -> Heads:
    """The last layers given rows as numbers, whose target has so much noise."""
    n, k = len(X), len(networks.inputs)
    chosen = np.unique(np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(np.intp))
    units = networks.weights[-1].shape[1]
    groups = [list(range(k))] if k * units <= MOST_WEIGHTS else [[place] for place in range(k)]
    middle, roots = np.empty((k, units)), np.empty((k, units, units))
    for places in groups:
        middle[places], roots[places] = _given(networks.only(places), X, chosen, noise)
    return Heads(middle, roots, noise / n)


def _given(networks: Networks, X: Array, chosen: NDArray[np.intp], noise: float) -> tuple[Array, Array]:
    """The mean hidden layers, and roots of the covariances of weights, of networks beside each other."""
    k, units, _ = networks.weights[-1].shape
    middle = _mean_hidden(networks, X)
    # As `drawn_networks` draws them, but none where a weight was pruned away.
    spread = np.sqrt(2.0 / units) * (networks.weights[-1] != 0.0).any(axis=2).ravel()
    gram = np.zeros((k * units, k * units))
    for start in range(0, chosen.size, BLOCK):
        rows = networks.hidden(X[chosen[start : start + BLOCK]]) - middle[:, None]
        beside = spread * rows.swapaxes(0, 1).reshape(-1, k * units)
        gram += beside.T @ beside
    known = np.eye(k * units) + gram * (len(X) / chosen.size / noise)
    inverse = solve_triangular(cholesky(known, lower=True), np.eye(k * units), lower=True)
    roots = [np.linalg.qr(part, mode="r") for part in np.split(inverse, k, axis=1)]
    return middle, np.array(roots) * spread.reshape(k, 1, units)


def _mean_hidden(networks: Networks, X: Array) -> Array:
    total = np.zeros(networks.weights[-1].shape[:2])
    for start in range(0, len(X), BLOCK):
        total += networks.hidden(X[start : start + BLOCK]).sum(axis=1)
    return total / len(X)
