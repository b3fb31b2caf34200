"""The additive kernel: a sum over all subsets of columns up to an order, at polynomial cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np

from termwise.kernels.component import Component
from termwise.kernels.fused import run
from termwise.kernels.fused.block import TABLE
from termwise.kernels.selection import EVERY, ListedTerms
from termwise.kernels.terms import Subset
from termwise.measures.base import Array


@dataclass(frozen=True)
class AdditiveKernel:
    """K = sum_r variance_r e_r(z_1 .. z_D), e_r the elementary symmetric polynomials. OAK eq. 2, 9.

    Rows are encoded: an (n, D) matrix with NaN for a missing cell.
    """

    components: tuple[Component, ...]
    variances: tuple[float, ...]

    @property
    def max_order(self) -> int:
        """The largest number of columns in one term."""
        return len(self.variances) - 1

    @cached_property
    def _weights(self) -> run.Weights:
        return pack_weights(
            [c.code for c in self.components],
            [c.weight for c in self.components],
            [c.table for c in self.components],
            np.asarray(self.variances),
        )

    def _rows(self, X: Array) -> run.Rows:
        columns = list(zip(self.components, X.T, strict=True))
        return run.Rows(
            np.array([c.coordinates(x) for c, x in columns]).reshape(len(columns), X.shape[0]),
            np.array([c.amplitude(x) for c, x in columns]).reshape(len(columns), X.shape[0]),
        )

    def matrix(self, X: Array, Z: Array, *, threads: int | None = None) -> Array:
        """K between two sets of rows."""
        return run.cross(self._weights, self._rows(X), self._rows(Z), threads or run.cores())

    def matrix_of(self, terms: Sequence[Subset], X: Array, Z: Array) -> Array:
        """The part of K that some terms have, the constant being the one without columns."""
        listed = [term for term in terms if term]
        variances = (self.variances[0] if () in terms else 0.0, *self.variances[1:])
        if not listed:
            return np.full((X.shape[0], Z.shape[0]), variances[0])
        used = sorted({d for term in listed for d in term})
        place = {d: position for position, d in enumerate(used)}
        part = AdditiveKernel(tuple(self.components[d] for d in used), variances)
        selection = ListedTerms(tuple(tuple(place[d] for d in term) for term in listed))
        weights = selection.loops(part._weights)
        return run.cross(weights, part._rows(X[:, used]), part._rows(Z[:, used]), run.cores())

    def gram(self, X: Array, *, threads: int | None = None) -> Array:
        """K between rows of one set; the variance lost in missing cells stands on the diagonal."""
        out = np.zeros((X.shape[0], X.shape[0]))
        run.gram_below(self._weights, self._rows(X), out, threads or run.cores())
        out += out.T
        np.fill_diagonal(out, self.diagonal(X))
        return out

    def diagonal(self, X: Array) -> Array:
        """K(x, x): the prior variance of each row, with that of terms whose cells are missing."""
        z = np.array([c.diagonal(x) for c, x in zip(self.components, X.T, strict=True)])
        return self._sum_orders(z.reshape(len(self.components), X.shape[0]))

    def lost_variance(self, X: Array) -> Array:
        """The prior variance of the terms that a row cannot have because their cells are missing."""
        z = np.array([c.diagonal(x) for c, x in zip(self.components, X.T, strict=True)])
        z = z.reshape(len(self.components), X.shape[0])
        return self._sum_orders(z) - self._sum_orders(np.where(np.isnan(X.T), 0.0, z))

    def _sum_orders(self, z: Array) -> Array:
        value: Array = np.asarray(self.variances) @ EVERY.by_order(z, self.max_order)
        return value

    @property
    def orders(self) -> tuple[int, ...]:
        """Those that have a variance."""
        return tuple(r for r in range(1, self.max_order + 1) if self.variances[r] > 0.0)

    @property
    def orthogonal(self) -> bool:
        """Whether every term is orthogonal to all simpler ones."""
        return all(component.measure is not None for component in self.components)

    def scaled(self, factor: float) -> AdditiveKernel:
        """The kernel times a factor."""
        return replace(self, variances=tuple(factor * variance for variance in self.variances))

    def listed(self, most: int) -> tuple[Subset, ...]:
        """The terms of those orders, from the first on, that have no more than so many together."""
        counts = np.cumsum([comb(len(self.components), r) for r in self.orders])
        orders = [r for r, count in zip(self.orders, counts, strict=True) if count <= most]
        return tuple(term for r in orders for term in combinations(range(len(self.components)), r))

    def of_order(self, order: int) -> AdditiveKernel:
        """The part of it that the terms of one order have."""
        return replace(self, variances=tuple(v if r == order else 0.0 for r, v in enumerate(self.variances)))

    def term_variance(self, term: Subset) -> float:
        """What multiplies the product of a term's column kernels."""
        return self.variances[len(term)]

    def products(
        self, terms: Sequence[Subset], X: Array, Z: Array, root: Array
    ) -> Iterator[tuple[Subset, Array]]:
        """root prod_{d in u} z_d(X, Z) for each term, reusing the product of a term it begins with."""
        used = {d for term in terms for d in term}
        columns = {d: self.components[d].matrix(X[:, d], Z[:, d]) for d in used}
        stack: list[tuple[Subset, Array]] = [((), root)]
        for term in sorted(terms):
            while stack[-1][0] != term[: len(stack[-1][0])]:
                stack.pop()
            for d in term[len(stack[-1][0]) :]:
                prefix, product = stack[-1]
                stack.append(((*prefix, d), product * columns[d]))
            yield term, stack[-1][1]

    def term_matrix(self, term: Subset, X: Array, Z: Array) -> Array:
        """The part of K that one term has: variance_|u| prod_{d in u} z_d."""
        value = np.full((X.shape[0], Z.shape[0]), self.variances[len(term)])
        for d in term:
            value *= self.components[d].matrix(X[:, d], Z[:, d])
        return value

    def term_diagonal(self, term: Subset, X: Array) -> Array:
        """The prior variance of one term at each row, its mean where cells are missing."""
        value = np.full(X.shape[0], self.variances[len(term)])
        for d in term:
            value *= self.components[d].diagonal(X[:, d])
        return value


def pack_weights(
    kinds: Sequence[int], weight: Sequence[float], tables: Sequence[Array], variances: Array
) -> run.Weights:
    """Lay the tables of the columns that have one into one array, and number them in their kinds."""
    which = [d for d, kind in enumerate(kinds) if kind == TABLE]
    size = max((tables[d].shape[0] for d in which), default=1)
    stacked = np.zeros((max(len(which), 1), size, size))
    numbered = np.asarray(kinds, dtype=np.int64)
    for t, d in enumerate(which):
        stacked[t, : tables[d].shape[0], : tables[d].shape[0]] = tables[d]
        numbered[d] = TABLE + t
    return run.Weights(numbered, np.asarray(weight, dtype=float), stacked, variances)
