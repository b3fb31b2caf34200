"""Kernels of single columns, interpolated between the nodes of a lattice, and how they are inverted.

K = s_0 + sum_c scale_c W_c T W_c' + noise I, where W_c interpolates between nodes along line c and T is the
kernel between nodes. T has few eigenvalues that count: with T = F F' nearly, W F are features of the rows,
and P = s_0 + sum_c scale_c W_c F F' W_c' + noise I is inverted through a matrix as small as they are many. If
what F leaves out is nothing beside the noise, P stands for K. If not, P is the preconditioner of conjugate
gradients with K, whose steps also tell by how much log det K and its slope differ from those of P. Of few
rows K is written down and factorised.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from termwise.kernels.projected import PROFILES
from termwise.linalg.conjugate_gradients import Solved, solve
from termwise.linalg.lattice import Lattice
from termwise.linalg.toeplitz import Toeplitz
from termwise.measures.base import Array

NEGLIGIBLE = 1e-6  # of the noise: what features may leave out of the variance of a row without a word
MOST_FEATURES = 1200  # of all lines together
GROWTH = 1.19  # numbers of nodes are rounded up to powers of it, so that few kernels between them are needed
BLOCK = 2048  # rows whose features are held at a time
TOLERANCE, MOST_STEPS = 1e-6, 400  # of conjugate gradients


@dataclass(frozen=True, eq=False)
class NodeKernel:
    """T between nodes, its eigenvalues from the largest on, and its vectors.

    `left[r]` is the most variance at a node that the eigenvectors from r on have.
    """

    toeplitz: Toeplitz
    eigenvalues: Array
    vectors: Array
    left: Array


def node_column(kind: str, step: float, size: int) -> Array:
    """The kernel between the first node and all of them."""
    column: Array = PROFILES[kind]((step * np.arange(size)) ** 2)
    return column


@lru_cache(maxsize=2)
def node_kernel(kind: str, step: float, size: int) -> NodeKernel:
    """The kernel between so many nodes."""
    toeplitz = Toeplitz(node_column(kind, step, size))
    eigenvalues, vectors = np.linalg.eigh(toeplitz.dense())
    values, vectors = np.maximum(eigenvalues[::-1], 0.0), np.ascontiguousarray(vectors[:, ::-1])
    tails = np.cumsum((values * np.max(vectors**2, axis=0))[::-1])[::-1]
    return NodeKernel(toeplitz, values, vectors, np.append(tails, 0.0))


def covering(u: Array, step: float, most: int) -> Lattice:
    """A lattice for all points, of a rounded number of nodes."""
    found = Lattice.covering(u, step, most)
    rounded = math.ceil(GROWTH ** math.ceil(math.log(found.size) / math.log(GROWTH)))
    return Lattice(step, found.first, max(rounded, found.size))


@dataclass(frozen=True, eq=False)
class Interpolated:
    """K at one vector of parameters: coordinates u of the rows, (C, n), and the variance of each line."""

    kind: str
    lattice: Lattice
    u: Array
    scale: Array
    constant: float
    noise: float

    @cached_property
    def _nodes(self) -> NodeKernel:
        return node_kernel(self.kind, self.lattice.step, self.lattice.size)

    def dense(self) -> Array:
        """K itself, for few rows."""
        K = self.lattice.gram(self.u, self.scale, self._column) + self.constant
        K[np.diag_indices_from(K)] += self.noise
        return K

    def dense_slopes(self, G: Array) -> tuple[Array, Array]:
        """Gradients of sum_ij G_ij K_ij for the coordinates and the variances of the lines."""
        return self.lattice.gram_slopes(self.u, self.scale, self._column, G)

    @cached_property
    def _column(self) -> Array:
        return node_column(self.kind, self.lattice.step, self.lattice.size)

    @cached_property
    def _negligible(self) -> float:
        """What may be left out of the kernel between nodes."""
        return NEGLIGIBLE * self.noise / float(np.sum(self.scale))

    @cached_property
    def rank(self) -> int:
        """The features of a line: as many as it takes, or as many as all lines may have."""
        needed = int(np.sum(self._nodes.left[:-1] > self._negligible))
        return max(1, min(needed, MOST_FEATURES // len(self.scale)))

    @cached_property
    def holds_all(self) -> bool:
        """Whether what features leave out is nothing beside the noise."""
        return bool(self._nodes.left[self.rank] <= self._negligible)

    @cached_property
    def factors(self) -> Array:
        """sqrt(scale_c) F, (C, m, rank)."""
        F = self._nodes.vectors[:, : self.rank] * np.sqrt(self._nodes.eigenvalues[: self.rank])
        return np.sqrt(self.scale)[:, None, None] * F

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Rows and their features, the last of which is that of the constant."""
        for start in range(0, self.u.shape[1], BLOCK):
            rows = slice(start, min(start + BLOCK, self.u.shape[1]))
            yield rows, self.features(rows)

    def features(self, rows: slice) -> Array:
        """sqrt(scale_c) W_c F of all lines beside each other, and sqrt(s_0)."""
        found = self.lattice.features(np.ascontiguousarray(self.u[:, rows]), self.factors)
        constant = np.full((len(found), 1), np.sqrt(self.constant))
        return np.hstack([found, constant])

    @cached_property
    def _inner(self) -> Array:
        """F'F of the features of all rows."""
        size = self.factors.shape[0] * self.rank + 1
        total = np.zeros((size, size))
        for _, features in self.blocks():
            total += features.T @ features
        return total

    @cached_property
    def _factor(self) -> tuple[Array, bool]:
        inner = self._inner.copy()
        inner[np.diag_indices_from(inner)] += self.noise
        return cho_factor(inner, lower=True, overwrite_a=True)

    @cached_property
    def inverse(self) -> Array:
        """(noise I + F'F)^-1."""
        found: Array = cho_solve(self._factor, np.eye(len(self._inner)))
        return found

    @cached_property
    def log_determinant(self) -> float:
        """log det P."""
        n, size = self.u.shape[1], len(self._inner)
        return (n - size) * np.log(self.noise) + 2.0 * float(np.sum(np.log(np.diag(self._factor[0]))))

    def solved_by_features(self, V: Array) -> Array:
        """P^-1 V."""
        inside = np.zeros((len(self._inner), V.shape[1]))
        for rows, features in self.blocks():
            inside += features.T @ V[rows]
        weights = cho_solve(self._factor, inside)
        out = np.empty(V.shape)
        for rows, features in self.blocks():
            out[rows] = V[rows] - features @ weights
        return out / self.noise

    def times(self, V: Array) -> Array:
        """K V, by Toeplitz products."""
        through = self._nodes.toeplitz.times(self.lattice.scatter(self.u, V))
        product = self.lattice.gather(self.u, self.scale, through)
        return product + self.constant * np.sum(V, axis=0) + self.noise * V

    def solve(self, V: Array) -> Solved:
        """K^-1 V by conjugate gradients."""
        return solve(self.times, V, self.solved_by_features, tolerance=TOLERANCE, most_steps=MOST_STEPS)

    def drawn(self, normal: tuple[Array, Array]) -> Array:
        """Draws with the covariance P, of standard normal numbers for features and for rows."""
        by_feature, by_row = normal
        out = np.sqrt(self.noise) * by_row
        for rows, features in self.blocks():
            out[rows] += features @ by_feature[: features.shape[1]]
        return out

    def by_nodes(self, V: Array, *, exactly: bool = True) -> tuple[Array, Array]:
        """W_c' V and T W_c' V for each line, or F F' W_c' V in the place of the latter."""
        scattered = self.lattice.scatter(self.u, V)
        if exactly:
            return scattered, self._nodes.toeplitz.times(scattered)
        F = self.factors[0] / np.sqrt(self.scale[0])
        return scattered, np.einsum("mr,lr,clk->cmk", F, F, scattered, optimize=True)
