"""What a posterior asks of a kernel, and what of one that is a sum of terms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, Self, runtime_checkable

from termwise.measures.base import Array

Subset = tuple[int, ...]  # the columns of a term; none are those of the constant


class Kernel(Protocol):
    """A prior covariance between rows; NaN is a cell that is not known."""

    @property
    def orthogonal(self) -> bool:
        """Whether every term is orthogonal to all simpler ones."""

    def scaled(self, factor: float) -> Self:
        """The kernel times a factor."""

    def matrix(self, X: Array, Z: Array, *, threads: int | None = None) -> Array:
        """K between two sets of rows."""

    def gram(self, X: Array, *, threads: int | None = None) -> Array:
        """K between rows of one set; the variance lost in missing cells stands on the diagonal."""

    def diagonal(self, X: Array) -> Array:
        """K(x, x): the prior variance of each row, with that of terms whose cells are missing."""


@runtime_checkable
class TermKernel(Kernel, Protocol):
    """One that is a sum of terms, whole and term by term."""

    @property
    def max_order(self) -> int:
        """The largest number of columns in one term."""

    @property
    def orders(self) -> tuple[int, ...]:
        """The orders of which there are terms."""

    def listed(self, most: int) -> tuple[Subset, ...]:
        """The terms of those orders, from the first on, that have no more than so many together."""

    def of_order(self, order: int) -> Self:
        """The part of it that the terms of one order have."""

    def matrix_of(self, terms: Sequence[Subset], X: Array, Z: Array) -> Array:
        """The part of K that some terms have."""

    def products(
        self, terms: Sequence[Subset], X: Array, Z: Array, root: Array
    ) -> Iterator[tuple[Subset, Array]]:
        """Each term, and its kernel before its variance, multiplied by root."""

    def term_variance(self, term: Subset) -> float:
        """The variance that goes with it."""

    def term_matrix(self, term: Subset, X: Array, Z: Array) -> Array:
        """The part of K that one term has."""

    def term_diagonal(self, term: Subset, X: Array) -> Array:
        """The prior variance of one term at each row."""
