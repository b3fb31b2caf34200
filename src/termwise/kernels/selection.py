"""Which subsets of columns an additive kernel has: every one up to an order, or those on a list."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Protocol

import numpy as np

from termwise.kernels.fused import run
from termwise.kernels.fused.loops import symmetric_polynomials, symmetric_polynomials_adjoint
from termwise.kernels.terms import Subset
from termwise.measures.base import Array


class Selection(Protocol):
    """The terms of a kernel, and their sums over the column kernels z (D, n) of a row with itself."""

    @property
    def terms(self) -> tuple[Subset, ...] | None:
        """The terms on the list; None if every subset is one."""

    def by_order(self, z: Array, max_order: int) -> Array:
        """sum_{|u| = r} prod_{d in u} z_d for r = 0 .. max_order, (max_order + 1, n)."""

    def adjoint(self, z: Array, variances: Array, g: Array) -> tuple[Array, Array]:
        """Gradients of sum_i g_i sum_r variance_r e_ri for the variances and for z."""

    def loops(self, weights: run.Weights) -> run.Kernel:
        """The kernel between rows, as its loops read it."""


@dataclass(frozen=True)
class EveryTerm:
    """All subsets: their sums are the elementary symmetric polynomials."""

    terms: None = None

    def by_order(self, z: Array, max_order: int) -> Array:
        """e_r(z), by the recursion over columns."""
        e = np.empty((max_order + 1, z.shape[1]))
        symmetric_polynomials(np.ascontiguousarray(z), e)
        return e

    def adjoint(self, z: Array, variances: Array, g: Array) -> tuple[Array, Array]:
        """The recursion backwards."""
        by_variance, by_z = symmetric_polynomials_adjoint(z, variances, g)
        return by_variance, by_z

    def loops(self, weights: run.Weights) -> run.Kernel:
        """As they are."""
        return weights


@dataclass(frozen=True)
class ListedTerms:
    """The terms on a list, each a sorted subset of columns."""

    terms: tuple[Subset, ...]

    def by_order(self, z: Array, max_order: int) -> Array:
        """Term by term."""
        e = np.zeros((max_order + 1, z.shape[1]))
        e[0] = 1.0
        for term in self.terms:
            e[len(term)] += np.prod(z[list(term)], axis=0)
        return e

    def adjoint(self, z: Array, variances: Array, g: Array) -> tuple[Array, Array]:
        """Term by term; without a column the product is that of the others, not a quotient."""
        by_z = np.zeros(z.shape)
        for term in self.terms:
            for d in term:
                others = [e for e in term if e != d]
                by_z[d] += variances[len(term)] * g * np.prod(z[others], axis=0)
        by_variance: Array = self.by_order(z, variances.size - 1) @ g
        return by_variance, by_z

    def loops(self, weights: run.Weights) -> run.Kernel:
        """Products in the place of polynomials."""
        return run.ListedWeights(weights, self._table)

    @cached_property
    def _table(self) -> Array:
        """The columns of a term from the left, -1 behind them."""
        table = np.full((len(self.terms), max(map(len, self.terms))), -1, dtype=np.int64)
        for row, term in zip(table, self.terms, strict=True):
            row[: len(term)] = term
        return table


EVERY = EveryTerm()


def selection_of(terms: tuple[Subset, ...] | None, n_columns: int) -> Selection:
    """The terms on a list, or every one if it has all that are as large as its largest."""
    if terms is None:
        return EVERY
    every = sum(comb(n_columns, order) for order in range(1, max(map(len, terms)) + 1))
    return EVERY if len(set(terms)) == every else ListedTerms(terms)
