"""What is known after training, in the form that estimators and explanations ask for; in NumPy alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from termwise.deep.gram import GramKernel, Solved
from termwise.deep.heads import Heads
from termwise.deep.networks import BLOCK, Networks
from termwise.deep.rank_one import Amplitude
from termwise.encode.dense import DenseEncoder
from termwise.errors import NoTermsError
from termwise.kernels.terms import Subset
from termwise.measures.base import Array
from termwise.posterior.posterior import reduced

DRAWN = 64  # rows whose cells are put where others have none


def summed(trend: Sequence[Networks], X: Array) -> Array:
    """The sum of all outputs of networks, of rows as numbers."""
    total = np.zeros(len(X))
    for networks in trend:
        total += networks.outputs(X).sum(axis=(0, 2))
    return total


@dataclass(frozen=True, eq=False)
class Reading:
    """The way from encoded rows to networks, some rows drawn from those learned from, and the mean function.

    `trend` is the sum of all outputs of some networks, which is added to the process. Lemma 4.1.
    """

    dense: DenseEncoder
    rows: Array
    trend: tuple[Networks, ...] = ()

    def base(self, X: Array) -> Array:
        """The mean function, of rows as numbers."""
        return summed(self.trend, X)

    def missed(self, value: Callable[[Array], Array], X: Array, columns: Subset | None = None) -> Array:
        """How far off a function is of encoded rows with missing cells, in mean squares; zero of others.

        It takes such a cell for the mean of its column. What it would be with the cells of rows that were
        learned from says what that misses. It reads all columns, or some.
        """
        out = np.zeros(len(X))
        lacking = np.isnan(X)
        some = np.flatnonzero(lacking[:, columns or slice(None)].any(axis=1))
        if not some.size:
            return out
        at_mean = value(X[some])
        fewest = np.argsort(np.isnan(self.rows).sum(axis=1), kind="stable")[:DRAWN]
        for row in self.rows[fewest]:
            filled = np.where(lacking[some], row, X[some])
            out[some] += (value(filled) - at_mean) ** 2 / fewest.size
        return out


@dataclass(frozen=True, eq=False)
class Seen:
    """Means and covariances of what networks say, over all rows that were learned from."""

    middle: Array
    covariance: Array

    @classmethod
    def of(cls, each: Array) -> Seen:
        """Of the outputs of networks, (k, n)."""
        return cls(each.mean(axis=1), np.atleast_2d(np.cov(each, bias=True)))


@dataclass(frozen=True, eq=False)
class RankOnePosterior:
    """f(x) = trend(x) + c sum_j g_j(x), c being a normal: mean E c g(x), variance Var c g(x)^2.

    `sets` has the columns of each network; each is a term, about its mean over the rows that were learned
    from. Of the process all that is unknown is one number. Of a term that would be a band of no width where
    its curve is zero: the band is by what the last layers might have been as well, `heads`.
    """

    reading: Reading
    networks: Networks
    sets: tuple[Subset, ...]
    amplitude: Amplitude
    noise: float
    seen: Seen
    heads: Heads | None  # of a process about zero, which has terms
    orthogonal: ClassVar[bool] = False

    @property
    def rows(self) -> Array:
        """Rows as they were learned from, encoded."""
        return self.reading.rows

    def _numbers(self, X: Array) -> Array:
        return self.reading.dense.spread(X)

    def _each(self, X: Array) -> Array:
        """What each network says of encoded rows, (n, k)."""
        each: Array = self.networks.outputs(self._numbers(X)).sum(axis=2).T
        return each

    @property
    def n_parameters(self) -> int:
        """Weights and biases that are left."""
        return self.networks.n_kept

    def mean(self, X: Array) -> Array:
        """E f(x)."""
        return self.reading.base(self._numbers(X)) + self.amplitude.mean * self._each(X).sum(axis=1)

    def variance(self, X: Array) -> Array:
        """Var f(x), without the noise; with what cells could be that are missing."""
        known = self.amplitude.variance * self._each(X).sum(axis=1) ** 2
        return known + self.reading.missed(self.mean, X)

    def _term(self, term: Subset, X: Array) -> Array:
        self._require_terms()
        if not term:
            return np.full(len(X), float(self.seen.middle.sum()))
        place = self.sets.index(term)
        own = self.networks.only([place]).outputs(self._numbers(X))
        said: Array = own.sum(axis=(0, 2)) - self.seen.middle[place]
        return said

    def _require_terms(self) -> Heads:
        if self.heads is None:
            raise NoTermsError(
                "the mean function is a network of all columns and has no terms; use mean='zero'"
            )
        return self.heads

    def term_covariance(self) -> Array:
        """That of the means of all terms over the rows that were learned from."""
        self._require_terms()
        return self.amplitude.mean**2 * self.seen.covariance

    def term_mean(self, term: Subset, X: Array) -> Array:
        """E of one term, or of the constant."""
        return self.amplitude.mean * self._term(term, X)

    def term_variance(self, term: Subset, X: Array) -> Array:
        """Var of one term, or of the constant."""
        heads = self._require_terms()
        if not term:
            return np.full(len(X), heads.constant)
        place = self.sets.index(term)
        blocks = self.networks.only([place]).hidden_blocks(self._numbers(X))
        known = np.concatenate([heads.variance(place, hidden) for (hidden,) in blocks])
        return known + self.reading.missed(partial(self.term_mean, term), X, term)

    def term_means(self, terms: Sequence[Subset], X: Array) -> Array:
        """E of many terms, (n, terms)."""
        self._require_terms()
        places = [self.sets.index(term) for term in terms]
        return self.amplitude.mean * (self._each(X) - self.seen.middle)[:, places]


@dataclass(frozen=True, eq=False)
class GramPosterior:
    """A process with a kernel of the embedding of a row; it has no terms."""

    reading: Reading
    networks: Networks
    kernel: GramKernel
    solved: Solved
    noise: float
    orthogonal: ClassVar[bool] = False

    @property
    def rows(self) -> Array:
        """Rows as they were learned from, encoded."""
        return self.reading.rows

    @property
    def n_parameters(self) -> int:
        """Weights and biases, if there are networks, and parameters of the kernel."""
        own = sum(value.size for value in self.kernel.parameters.values())
        return own + (0 if self.kernel.kind == "arccos" else self.networks.n_kept)

    def mean(self, X: Array) -> Array:
        """E f(x)."""
        return self._moments(X)[:, 0]

    def variance(self, X: Array) -> Array:
        """Var f(x), without the noise; with what cells could be that are missing."""
        return self._moments(X)[:, 1] + self.reading.missed(self.mean, X)

    def _moments(self, X: Array) -> Array:
        starts = range(0, max(len(X), 1), BLOCK)
        return np.concatenate([self._block(X[start : start + BLOCK]) for start in starts])

    def _block(self, X: Array) -> Array:
        numbers = self.reading.dense.spread(X)
        H = self.networks.outputs(numbers)[0]
        beside = self.kernel.matrix(H, self.solved.centres)
        mean = self.reading.base(numbers) + beside @ self.solved.alpha
        return np.column_stack([mean, reduced(self.kernel.diagonal(H), beside @ self.solved.root)])
