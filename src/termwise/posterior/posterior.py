"""What is known after fitting, by whatever engine: means, variances and samples, whole and term by term."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from termwise.errors import NumericalError
from termwise.kernels.additive import AdditiveKernel
from termwise.kernels.terms import Kernel, Subset, TermKernel
from termwise.measures.base import Array
from termwise.posterior.missing import averaged

ROUNDING = 1e-8  # a variance may fall below zero by this part of the prior variance, and no more
MOST_CENTRED = 500  # rows over which a term has mean zero
BLOCK = 4096  # rows evaluated together, so that memory does not grow with the table


@dataclass(frozen=True, eq=False)
class Posterior:
    """mean(x) = k(x, Z) alpha, cov(x, x') = k(x, x') - k(x, Z) B k(Z, x') with B = root root'.

    Z are the centres. For a term u replace k by variance_|u| prod_{d in u} z_d (OAK eq. 13). With `terms` the
    function is the sum of these terms only (the constant among them), as if the others were not there. `seen`
    are some of the rows it was learned from, where the centres were not chosen to look like them.
    """

    kernel: Kernel
    centres: Array
    alpha: Array
    root: Array
    noise: float
    terms: tuple[Subset, ...] | None = None
    seen: Array | None = None

    @property
    def rows(self) -> Array:
        """Rows as they were learned from."""
        return self.centres if self.seen is None else self.seen

    @cached_property
    def by_terms(self) -> TermKernel:
        """The kernel, where it must be a sum of terms."""
        assert isinstance(self.kernel, TermKernel), "the function is not a sum of terms"
        return self.kernel

    @property
    def orthogonal(self) -> bool:
        """Whether each term is orthogonal to all others, so that shares are parts of one variance."""
        return self.kernel.orthogonal

    @property
    def additive(self) -> AdditiveKernel:
        """The kernel, where it must be a sum over subsets of columns."""
        assert isinstance(self.kernel, AdditiveKernel), "terms are not those of subsets of columns"
        return self.kernel

    def scaled(self, factor: float) -> Posterior:
        """All variances times a factor, prior and noise alike: the mean stays."""
        alpha, root = self.alpha / factor, self.root / np.sqrt(factor)
        kernel = self.kernel.scaled(factor)
        return replace(self, kernel=kernel, alpha=alpha, root=root, noise=factor * self.noise)

    def prior(self, X: Array, Z: Array) -> Array:
        """The prior covariance between two sets of rows."""
        if self.terms is None:
            return self.kernel.matrix(X, Z)
        return self.by_terms.matrix_of(self.terms, X, Z)

    def _diagonal(self, X: Array, *, lost: bool) -> Array:
        """The prior variance, with or without that of terms which are lost in missing cells."""
        if self.terms is None:
            whole = self.kernel.diagonal(X)
            return whole if lost else whole - self.additive.lost_variance(X)
        return sum((self._term_diagonal(u, X, lost=lost) for u in self.terms), np.zeros(X.shape[0]))

    def _term_diagonal(self, term: Subset, X: Array, *, lost: bool) -> Array:
        whole = self.by_terms.term_diagonal(term, X)
        return whole if lost else np.where(np.any(np.isnan(X[:, list(term)]), axis=1), 0.0, whole)

    def mean(self, X: Array) -> Array:
        """E f(x)."""
        return _in_blocks(X, lambda rows: self.prior(rows, self.centres) @ self.alpha)

    def variance(self, X: Array) -> Array:
        """Var f(x), over what missing cells might have been too; without the noise."""
        unknown, spread = self.variance_parts(X)
        return unknown + spread

    def variance_parts(self, X: Array) -> tuple[Array, Array]:
        """What is not known of f, and how far its mean spreads over what missing cells might have been."""
        used = None if self.terms is None else sorted({d for term in self.terms for d in term})
        both = _in_blocks(X, lambda rows: self._parts(_only(rows, used), self.prior, self._diagonal))
        return both[:, 0], both[:, 1]

    def _parts(self, X: Array, prior: Callable[..., Array], diagonal: Callable[..., Array]) -> Array:
        """The two parts of the variance of a function with this prior, (n, 2).

        Without measures nothing is known of what cells might have been, and their terms have their prior
        variance.
        """

        def moments(rows: Array, *, lost: bool) -> tuple[Array, Array]:
            beside = prior(rows, self.centres)
            return beside @ self.alpha, reduced(diagonal(rows, lost=lost), beside @ self.root)

        gone = np.any(np.isnan(X), axis=1) & self.kernel.orthogonal
        parts = np.zeros((len(X), 2))
        parts[~gone, 0] = moments(X[~gone], lost=True)[1]
        if np.any(gone):
            found = averaged(self.additive, X[gone], lambda rows: moments(rows, lost=False))
            parts[gone] = np.stack(found, axis=1)
        return parts

    def covariance(self, X: Array) -> Array:
        """Cov f(x_i), f(x_j) for all pairs of rows; what is lost in missing cells is on the diagonal."""
        half = self.prior(X, self.centres) @ self.root
        covariance = self.prior(X, X) - half @ half.T
        np.fill_diagonal(covariance, self.variance(X))
        return covariance

    def sample(self, X: Array, count: int, rng: np.random.Generator) -> Array:
        """Draws of f at the rows, (count, n)."""
        return _draws(self.mean(X), self.covariance(X), count, rng)

    def term_mean(self, term: Subset, X: Array) -> Array:
        """E f_u(x), zero where a cell of the term is missing. OAK eq. 13."""
        return _in_blocks(X, lambda rows: self.by_terms.term_matrix(term, rows, self.centres) @ self.alpha)

    def term_variance(self, term: Subset, X: Array) -> Array:
        """Var f_u(x); where a cell of the term is missing, over what that might have been too."""

        def prior(rows: Array, others: Array) -> Array:
            return self.by_terms.term_matrix(term, rows, others)

        def diagonal(rows: Array, *, lost: bool) -> Array:
            return self._term_diagonal(term, rows, lost=lost)

        both = _in_blocks(X, lambda rows: self._parts(_only(rows, term), prior, diagonal))
        found: Array = both.sum(axis=1)
        return found

    @property
    def centring_rows(self) -> Array:
        """Some rows as they were learned from, over which terms that are not orthogonal have mean zero."""
        return self.rows[:: -(-len(self.rows) // MOST_CENTRED)]

    def centred_term(self, term: Subset, X: Array) -> tuple[Array, Array]:
        """Mean and variance of f_u(x) less the mean of f_u over rows: its level can be traded with others."""
        kernel, seen = self.by_terms, self.centring_rows
        middle = np.mean(kernel.term_matrix(term, seen, self.centres), axis=0)
        of_mean = float(np.mean(kernel.term_matrix(term, seen, seen)))

        def both(rows: Array) -> Array:
            beside = kernel.term_matrix(term, rows, self.centres) - middle
            with_mean = np.mean(kernel.term_matrix(term, rows, seen), axis=1)
            prior = kernel.term_diagonal(term, rows) + of_mean - 2.0 * with_mean
            return np.column_stack([beside @ self.alpha, reduced(prior, beside @ self.root)])

        mean, variance = _in_blocks(X, both).T
        return mean, variance

    def term_covariance(self, term: Subset, X: Array) -> Array:
        """Cov f_u(x_i), f_u(x_j) for all pairs of rows."""
        half = self.by_terms.term_matrix(term, X, self.centres) @ self.root
        covariance = self.by_terms.term_matrix(term, X, X) - half @ half.T
        np.fill_diagonal(covariance, self.term_variance(term, X))
        return covariance

    def term_sample(self, term: Subset, X: Array, count: int, rng: np.random.Generator) -> Array:
        """Draws of f_u at the rows, (count, n)."""
        return _draws(self.term_mean(term, X), self.term_covariance(term, X), count, rng)

    def term_means(self, terms: Sequence[Subset], X: Array) -> Array:
        """E f_u(x) for many terms, (n, terms)."""
        kernel, out = self.by_terms, np.empty((X.shape[0], len(terms)))
        position = {term: i for i, term in enumerate(terms)}
        for start in range(0, X.shape[0], BLOCK // 8):
            rows = X[start : start + BLOCK // 8]
            for term, product in kernel.products(terms, rows, self.centres, self.alpha[None, :]):
                total = np.broadcast_to(product, (rows.shape[0], self.alpha.size)).sum(axis=1)
                out[start : start + rows.shape[0], position[term]] = kernel.term_variance(term) * total
        return out


def _in_blocks(X: Array, function: Callable[[Array], Array]) -> Array:
    starts = range(0, max(X.shape[0], 1), BLOCK)
    return np.concatenate([function(X[start : start + BLOCK]) for start in starts])


def _only(X: Array, columns: Sequence[int] | None) -> Array:
    """The rows with nothing missing in other columns than these, whose cells do not matter."""
    if columns is None or not np.any(np.isnan(X)):
        return X
    others = np.ones(X.shape[1], dtype=bool)
    others[list(columns)] = False
    return np.where(others, 0.0, X)


def reduced(prior: Array, half: Array) -> Array:
    """prior - |half|^2; below zero only by rounding, or something is wrong."""
    value = prior - np.einsum("ij,ij->i", half, half)
    lowest = float(np.min(value / np.maximum(prior, 1e-300), initial=0.0))
    if lowest < -ROUNDING:
        raise NumericalError(
            f"a posterior variance is {lowest:.1e} times its prior variance; please report it with the data"
        )
    return np.maximum(value, 0.0)


def _draws(mean: Array, covariance: Array, count: int, rng: np.random.Generator) -> Array:
    # An eigendecomposition also takes covariances of low rank, which a Cholesky factor does not.
    eigenvalues, vectors = np.linalg.eigh(covariance)
    scale = np.sqrt(np.maximum(eigenvalues, 0.0))
    return mean + (rng.standard_normal((count, mean.size)) * scale) @ vectors.T
