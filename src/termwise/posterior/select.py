"""Which terms to keep, if only so many may stay: those with which the evidence is highest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from termwise.errors import NumericalError
from termwise.kernels.terms import Subset
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior
from termwise.posterior.removal import HIDDEN, Removal, Silent, directions, most_likely

LOOKED_AT, TRIED = 50, 8  # terms that are looked at, beyond those wanted; and those tried in full
SWAPPED, ROUNDS = 5, 6  # terms that are taken and dropped again, and how often at most
BLOCK = 64  # rows multiplied together, which stay near the processor
KEPT_BYTES = 5e8  # of kernels of columns, and as many of terms


def most_telling(posterior: Posterior, terms: Sequence[Subset], count: int) -> tuple[Subset, ...]:
    """As many of the terms as asked for, with an evidence as high as can be found term by term.

    What is not taken counts as noise. Then some more are taken and as many dropped, as long as that is
    better: with others there, one that was taken first may no longer be needed. Only so many of the terms are
    looked at, the first.
    """
    looked_at = list(terms[: count + LOOKED_AT])
    if len(terms) <= count:
        return tuple(looked_at)
    search = taken(Search.of(posterior), looked_at, count)
    for _ in range(ROUNDS):
        swapped = dropped(taken(search, looked_at, min(count + SWAPPED, len(looked_at))), count)
        if swapped.gain() <= search.gain():
            break
        search = swapped
    return search.terms


def taken(search: Search, terms: Sequence[Subset], count: int) -> Search:
    """First the term with which the evidence is highest, then the one that adds most to it, and so on."""
    while len(search.terms) < count:
        left = [term for term in terms if term not in search.terms]
        slopes = search.slopes(left)
        steepest = sorted(left, key=lambda term: -slopes[term])[:TRIED]
        search = search.moved([max(steepest, key=lambda term: search.gain([term]))])
    return search


def dropped(search: Search, count: int) -> Search:
    """Without the term that the evidence misses least, then the next, and so on."""
    while len(search.terms) > count:
        energies = search.energies()
        least = sorted(search.terms, key=lambda term: energies[term])[:TRIED]
        search = search.moved([max(least, key=lambda term: search.gain([term]))])
    return search


@dataclass(frozen=True, eq=False)
class Search:
    """A selection of terms under way: `gone` is what they leave out, `variance` the noise in its place."""

    posterior: Posterior
    parts: Parts
    R: Array
    noise: Removal
    silent: Silent
    gone: Removal
    scale: float
    variance: float = 0.0
    terms: tuple[Subset, ...] = ()

    @classmethod
    def of(cls, posterior: Posterior) -> Search:
        """The constant alone."""
        R, silent = directions(posterior)
        parts = Parts(posterior, R)
        prior = posterior.prior(posterior.centres, posterior.centres)
        noise = Removal.of(np.eye(len(prior)), posterior.alpha, R)
        gone = Removal.of(prior - parts.kernel(()), posterior.alpha, R)
        scale = float(np.mean(np.diag(prior))) if len(prior) else 1.0
        return cls(posterior, parts, R, noise, silent, gone, scale)._with_noise()

    def gain(self, moved: Sequence[Subset] = ()) -> float:
        """What the log evidence gains beside that of all terms, if these are taken or dropped."""
        gone = self._moved(moved) if moved else self.gone
        try:
            return (gone + self.noise.times(-self.variance)).gain() + self.silent.gain(self.variance)
        except NumericalError:
            return -HIDDEN

    def moved(self, terms: Sequence[Subset]) -> Search:
        """The selection with these terms, or without them where it had them; with the noise it then has."""
        kept = tuple(term for term in self.terms if term not in terms)
        added = tuple(term for term in terms if term not in self.terms)
        return replace(self, gone=self._moved(terms), terms=kept + added)._with_noise()

    def slopes(self, terms: Sequence[Subset]) -> dict[Subset, float]:
        """How the log evidence rises with the variance of each term, where it is zero."""
        alpha, root = self._solution()
        return self.parts.inner(0.5 * (np.outer(alpha, alpha) - root @ root.T), terms)

    def energies(self) -> dict[Subset, float]:
        """alpha' K alpha of each term: small if the selection hardly uses it."""
        alpha, _ = self._solution()
        return self.parts.inner(np.outer(alpha, alpha), self.terms)

    def _solution(self) -> tuple[Array, Array]:
        """alpha and the root of B of the selection."""
        removal = self.gone + self.noise.times(-self.variance)
        return removal.applied(self.posterior.alpha, self.R)[1:]

    def _moved(self, terms: Sequence[Subset]) -> Removal:
        gone = self.gone
        for term in terms:
            gone += self.parts.removal(term).times(1.0 if term in self.terms else -1.0)
        return gone

    def _with_noise(self) -> Search:
        near = self.variance or None
        return replace(self, variance=most_likely(self.gone, self.noise, self.scale, self.silent, near))


class Parts:
    """The kernel of each term between the centres, and its removal; kept as far as there is room."""

    def __init__(self, posterior: Posterior, R: Array) -> None:
        self.posterior, self.R = posterior, R
        self.room = int(KEPT_BYTES // max(8 * len(R) ** 2, 1))
        self.columns: dict[int, Array] = {}
        self.removals: dict[Subset, Removal] = {}

    def removal(self, term: Subset) -> Removal:
        """What goes with a term: it is looked at again and again."""
        found = self.removals.get(term) or Removal.of(self.kernel(term), self.posterior.alpha, self.R)
        if len(self.removals) < self.room:
            self.removals[term] = found
        return found

    def kernel(self, term: Subset) -> Array:
        """variance_|u| prod_{d in u} z_d."""
        size = len(self.posterior.centres)
        product = np.full((size, size), self.posterior.by_terms.term_variance(term))
        for d in term:
            product *= self._column(d)
        return product

    def inner(self, G: Array, terms: Sequence[Subset]) -> dict[Subset, float]:
        """The inner product of G with the kernel of each term.

        Terms that differ in their last column alone share the product of G with the others.
        """
        found = dict.fromkeys(terms, 0.0)
        grouped = sorted(terms, key=lambda term: term[:-1])
        used = {d for term in terms for d in term}
        for start in range(0, len(G), BLOCK):
            part = slice(start, start + BLOCK)
            columns = {d: self._part(d, part) for d in used}
            begun: Subset | None = None
            for term in grouped:
                if term[:-1] != begun:
                    begun = term[:-1]
                    product = math.prod((columns[d] for d in begun), start=G[part])
                found[term] += float(np.vdot(product, columns[term[-1]]))
        return {term: self.posterior.by_terms.term_variance(term) * value for term, value in found.items()}

    def _part(self, d: int, part: slice) -> Array:
        """Some rows of the kernel of a column; if it cannot be kept, no more of it is evaluated."""
        if d in self.columns or len(self.columns) < self.room:
            return self._column(d)[part]
        return self._kernel(d, part)

    def _column(self, d: int) -> Array:
        if d in self.columns:
            return self.columns[d]
        found = self._kernel(d, slice(None))
        if len(self.columns) < self.room:
            self.columns[d] = found
        return found

    def _kernel(self, d: int, part: slice) -> Array:
        x = self.posterior.centres[:, d]
        found: Array = self.posterior.additive.components[d].matrix(x[part], x)
        return found
