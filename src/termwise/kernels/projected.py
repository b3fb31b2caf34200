"""A sum of radial kernels, each on a few coordinates of its own: features seen along some directions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from termwise.kernels.fused import run
from termwise.kernels.fused.block import MISSING
from termwise.kernels.fused.radial import RADIAL, radial_adjoint_rows, radial_rows
from termwise.kernels.terms import Subset
from termwise.measures.base import Array

PROFILES: dict[str, Callable[[Array], Array]] = {
    "se": lambda s: np.exp(-0.5 * s),
    "matern12": lambda s: np.exp(-np.sqrt(s)),
    "matern32": lambda s: (1.0 + np.sqrt(3.0 * s)) * np.exp(-np.sqrt(3.0 * s)),
    "matern52": lambda s: (1.0 + np.sqrt(5.0 * s) + 5.0 / 3.0 * s) * np.exp(-np.sqrt(5.0 * s)),
    "imq": lambda s: 1.0 / np.sqrt(1.0 + s),
    "cosine": lambda s: np.cos(np.sqrt(s)),
}  # of the squared distance
ONE_COLUMN = ("cosine",)  # no kernels of several columns at once


@dataclass(frozen=True)
class RadialWeights:
    """A sum of radial kernels as its loops read it: s_0 + s_1 sum_j weight_j phi(|u_j - v_j|^2).

    Group j has the coordinates from ends[j - 1] to ends[j].
    """

    kind: int
    ends: Array
    weight: Array
    variances: Array
    loop: ClassVar[Callable[..., Any]] = staticmethod(radial_rows)
    adjoint_loop: ClassVar[Callable[..., Any]] = staticmethod(radial_adjoint_rows)

    def inputs(self, left: run.Rows, right: run.Rows) -> tuple[Any, ...]:
        """Groups, their variances, and rows, those on the right in blocks."""
        constant, scale = self.variances
        return self.kind, self.ends, scale * self.weight, constant, left.u, right.coordinate_blocks

    def cotangents(self, gradients: Sequence[Array]) -> run.Cotangents:
        """Gradients for both variances, for the weights, and for the coordinates; there are no amplitudes."""
        constant, scaled, x, blocks = gradients
        z = blocks.reshape(x.shape[0], -1)
        variances = np.array([constant[0], scaled @ self.weight])
        rows, others = run.Rows(x, np.zeros(x.shape)), run.Rows(z, np.zeros(z.shape))
        return run.Cotangents(variances, self.variances[1] * scaled, np.zeros((1, 1, 1)), rows, others)


@dataclass(frozen=True)
class ProjectedKernel:
    """s_0 + s_1 sum_j weight_j k(u_j, v_j). Projected eq. 2.

    Rows are projected: an (n, C) matrix of coordinates. Group j of `groups` has that many of them, in their
    order, and k is a function of their distance. NaN is a coordinate that is not known: the kernel of its
    group with any other row is zero, as if its mean had been taken away.
    """

    kind: str
    groups: tuple[int, ...]
    weights: tuple[float, ...]
    variances: tuple[float, float]

    orthogonal: ClassVar[bool] = False

    @property
    def orders(self) -> tuple[int, ...]:
        """The sizes of the groups."""
        return tuple(sorted(set(self.groups)))

    @property
    def max_order(self) -> int:
        """The most coordinates of one term."""
        return max(self.groups)

    @cached_property
    def terms(self) -> tuple[Subset, ...]:
        """The coordinates of each group."""
        ends = np.cumsum(self.groups).tolist()
        return tuple(tuple(range(end - size, end)) for end, size in zip(ends, self.groups, strict=True))

    @cached_property
    def _place(self) -> dict[Subset, int]:
        return {term: place for place, term in enumerate(self.terms)}

    @cached_property
    def _loops(self) -> RadialWeights:
        return radial_weights(self.kind, self.groups, np.array(self.weights), np.array(self.variances))

    def scaled(self, factor: float) -> ProjectedKernel:
        """The kernel times a factor."""
        constant, scale = self.variances
        return replace(self, variances=(factor * constant, factor * scale))

    def listed(self, most: int) -> tuple[Subset, ...]:
        """All terms, if there are no more than so many."""
        return self.terms if len(self.terms) <= most else ()

    def of_order(self, order: int) -> ProjectedKernel:
        """The part of it that groups of one size have."""
        kept = [w if size == order else 0.0 for w, size in zip(self.weights, self.groups, strict=True)]
        return replace(self, weights=tuple(kept), variances=(0.0, self.variances[1]))

    def matrix(self, X: Array, Z: Array, *, threads: int | None = None) -> Array:
        """K between two sets of rows."""
        return run.cross(self._loops, _rows(X), _rows(Z), threads or run.cores())

    def matrix_of(self, terms: Sequence[Subset], X: Array, Z: Array) -> Array:
        """The part of K that some terms have."""
        return sum((self.term_matrix(term, X, Z) for term in terms), np.zeros((X.shape[0], Z.shape[0])))

    def gram(self, X: Array, *, threads: int | None = None) -> Array:
        """K between rows of one set; the variance lost in missing coordinates stands on the diagonal."""
        out = np.zeros((X.shape[0], X.shape[0]))
        run.gram_below(self._loops, _rows(X), out, threads or run.cores())
        out += out.T
        np.fill_diagonal(out, self.diagonal(X))
        return out

    def diagonal(self, X: Array) -> Array:
        """K(x, x), the same for all rows."""
        return np.full(X.shape[0], self.variances[0] + self.variances[1] * sum(self.weights))

    def term_variance(self, term: Subset) -> float:
        """The prior variance of a term, or of the constant."""
        return self.variances[1] * self.weights[self._place[term]] if term else self.variances[0]

    def products(
        self, terms: Sequence[Subset], X: Array, Z: Array, root: Array
    ) -> Iterator[tuple[Subset, Array]]:
        """root phi(X, Z) for each term."""
        for term in terms:
            yield term, root * self._values(term, X, Z)

    def term_matrix(self, term: Subset, X: Array, Z: Array) -> Array:
        """The part of K that one term has."""
        return self.term_variance(term) * self._values(term, X, Z)

    def term_diagonal(self, term: Subset, X: Array) -> Array:
        """The prior variance of one term at each row."""
        return np.full(X.shape[0], self.term_variance(term))

    def _values(self, term: Subset, X: Array, Z: Array) -> Array:
        if not term:
            return np.ones((X.shape[0], Z.shape[0]))
        columns = list(term)
        squared = cdist(X[:, columns], Z[:, columns], "sqeuclidean")
        return np.where(np.isnan(squared), 0.0, PROFILES[self.kind](np.nan_to_num(squared)))


def radial_weights(kind: str, groups: Sequence[int], weight: Array, variances: Array) -> RadialWeights:
    """What the loops read of groups of these sizes."""
    return RadialWeights(RADIAL[kind], np.cumsum(groups), weight, variances)


def _rows(X: Array) -> run.Rows:
    u = np.ascontiguousarray(np.where(np.isnan(X), MISSING, X).T)
    return run.Rows(u, np.zeros(u.shape))
