"""A posterior with fewer terms: what the rows told, told again to the terms that stay.

Whatever the engine, B = root root' is (K + N)^-1 and alpha = B t: as if the centres had been seen with noise
N and targets t. Without the terms whose kernel is D, and with what the others cannot take up as noise of a
variance s, the same is seen through K - D + s I. With R the root and E = D - s I,

    B' = R C^-1 R',  alpha' = alpha + R C^-1 R' E alpha,  C = I - R' E R,

and no row is needed. The log evidence changes by -(alpha' E alpha + v' C^-1 v + log det C) / 2 with
v = R' E alpha. What a term has lost in missing cells was noise, and stays it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize_scalar

from termwise.errors import NumericalError
from termwise.kernels.additive import Subset
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior

ROUNDING = 1e-12
NEGLIGIBLE = 1e-9  # of a direction's prior variance: less than this the rows do not tell of it
MIXED = 1e-6  # of what is seen of noise alone: as much may be seen in the other directions too
LEAST_NOISE, MOST_NOISE = 1e-8, 10.0  # where more noise is looked for, in prior variances
PRECISION, ROUGH = 0.02, 0.3  # of its logarithm, and while terms are looked for
COMPARED = 1000  # rows on which what is missed is measured
LOOKED_AT, TRIED = 50, 3  # terms that are looked at, beyond those wanted; and those tried in full
KEPT_BYTES = 5e8  # of kernels of columns, and as many of terms, while terms are looked for
SWAPPED, ROUNDS = 3, 3  # terms that are taken and dropped again, and how often at most


def with_terms(posterior: Posterior, terms: Sequence[Subset]) -> Posterior:
    """The posterior of the constant and these terms, as if there had never been others.

    The noise that makes up for the others is where the evidence of the centres is highest. A prediction has
    it on top; if rows are kept beside the centres, what these miss.
    """
    Z, kept = posterior.centres, replace(posterior, terms=((), *terms))
    whole = posterior.prior(Z, Z)
    D = whole - kept.prior(Z, Z)
    if np.max(np.abs(D), initial=0.0) <= ROUNDING * np.max(np.abs(whole), initial=0.0):
        return kept  # these are all
    alpha, root = posterior.alpha, posterior.root
    removal = _Removal.of(D, alpha, root)
    noise = _Removal.of(np.eye(len(Z)), alpha, root)
    variance = _most_likely(removal, noise, float(np.mean(np.diag(whole))))
    removal += noise.times(-variance)
    upper = removal.factor()
    taken: Array = solve_triangular(upper, root.T, trans="T").T
    alpha = alpha + taken @ solve_triangular(upper, removal.linear, trans="T")
    pruned = replace(kept, alpha=alpha, root=taken)
    # Centres that were chosen lie farther out than rows do; where rows are known, these say what is missed.
    missed = variance if posterior.seen is None else _missed(posterior, pruned)
    return replace(pruned, noise=posterior.noise + missed)


def most_telling(posterior: Posterior, terms: Sequence[Subset], count: int) -> tuple[Subset, ...]:
    """As many of the terms as asked for, with an evidence as high as can be found term by term.

    What is not taken counts as noise. Then some more are taken and as many dropped, as long as that is
    better: with others there, one that was taken first may no longer be needed. Only so many of the terms are
    looked at, the first.
    """
    looked_at = list(terms[: count + LOOKED_AT])
    if len(terms) <= count:
        return tuple(looked_at)
    search = _taken(_Search.of(posterior), looked_at, count)
    for _ in range(ROUNDS):
        swapped = _dropped(_taken(search, looked_at, min(count + SWAPPED, len(looked_at))), count)
        if swapped.gain() <= search.gain():
            break
        search = swapped
    return search.terms


def _taken(search: _Search, terms: Sequence[Subset], count: int) -> _Search:
    """First the term with which the evidence is highest, then the one that adds most to it, and so on."""
    while len(search.terms) < count:
        left = [term for term in terms if term not in search.terms]
        slopes = search.slopes(left)
        steepest = sorted(left, key=lambda term: -slopes[term])[:TRIED]
        search = search.moved([max(steepest, key=lambda term: search.gain([term]))])
    return search


def _dropped(search: _Search, count: int) -> _Search:
    """Without the term that the evidence misses least, then the next, and so on."""
    while len(search.terms) > count:
        energies = search.energies()
        least = sorted(search.terms, key=lambda term: energies[term])[:TRIED]
        search = search.moved([max(least, key=lambda term: search.gain([term]))])
    return search


@dataclass(frozen=True, eq=False)
class _Search:
    """A selection of terms under way: `gone` is what they leave out, `variance` the noise in its place."""

    posterior: Posterior
    parts: _Parts
    R: Array
    noise: _Removal
    silent: _Silent
    gone: _Removal
    scale: float
    variance: float = 0.0
    terms: tuple[Subset, ...] = ()

    @classmethod
    def of(cls, posterior: Posterior) -> _Search:
        """The constant alone."""
        R, silent = _directions(posterior)
        parts = _Parts(posterior, R)
        prior = posterior.prior(posterior.centres, posterior.centres)
        noise = _Removal.of(np.eye(len(prior)), posterior.alpha, R)
        gone = _Removal.of(prior - parts.kernel(()), posterior.alpha, R)
        scale = float(np.mean(np.diag(prior))) if len(prior) else 1.0
        return cls(posterior, parts, R, noise, silent, gone, scale)._with_noise()

    def gain(self, moved: Sequence[Subset] = ()) -> float:
        """What the log evidence gains beside that of all terms, if these are taken or dropped."""
        gone = self._moved(moved) if moved else self.gone
        return (gone + self.noise.times(-self.variance)).gain() + self.silent.gain(self.variance)

    def moved(self, terms: Sequence[Subset]) -> _Search:
        """The selection with these terms, or without them where it had them; with the noise it then has."""
        kept = tuple(term for term in self.terms if term not in terms)
        added = tuple(term for term in terms if term not in self.terms)
        return replace(self, gone=self._moved(terms), terms=kept + added)._with_noise()

    def slopes(self, terms: Sequence[Subset]) -> dict[Subset, float]:
        """How the log evidence rises with the variance of each term, where it is zero."""
        alpha, root = self._solution()
        G = 0.5 * (np.outer(alpha, alpha) - root @ root.T)
        return {term: float(np.vdot(G, self.parts.kernel(term))) for term in terms}

    def energies(self) -> dict[Subset, float]:
        """alpha' K alpha of each term: small if the selection hardly uses it."""
        alpha, _ = self._solution()
        return {term: float(alpha @ self.parts.kernel(term) @ alpha) for term in self.terms}

    def _solution(self) -> tuple[Array, Array]:
        """alpha and the root of B of the selection."""
        removal = self.gone + self.noise.times(-self.variance)
        upper = removal.factor()
        root: Array = solve_triangular(upper, self.R.T, trans="T").T
        return self.posterior.alpha + root @ solve_triangular(upper, removal.linear, trans="T"), root

    def _moved(self, terms: Sequence[Subset]) -> _Removal:
        gone = self.gone
        for term in terms:
            gone += self.parts.removal(term).times(1.0 if term in self.terms else -1.0)
        return gone

    def _with_noise(self) -> _Search:
        variance = _most_likely(self.gone, self.noise, self.scale, self.silent, ROUGH)
        return replace(self, variance=variance)


class _Parts:
    """The kernel of each term between the centres, and its removal; kept as far as there is room."""

    def __init__(self, posterior: Posterior, R: Array) -> None:
        self.posterior, self.R = posterior, R
        self.room = int(KEPT_BYTES // max(8 * len(R) ** 2, 1))
        self.columns: dict[int, Array] = {}
        self.removals: dict[Subset, _Removal] = {}

    def removal(self, term: Subset) -> _Removal:
        """What goes with a term: it is looked at again and again."""
        found = self.removals.get(term) or _Removal.of(self.kernel(term), self.posterior.alpha, self.R)
        if len(self.removals) < self.room:
            self.removals[term] = found
        return found

    def kernel(self, term: Subset) -> Array:
        """variance_|u| prod_{d in u} z_d."""
        size = len(self.posterior.centres)
        product = np.full((size, size), self.posterior.kernel.variances[len(term)])
        for d in term:
            product *= self._column(d)
        return product

    def _column(self, d: int) -> Array:
        if d in self.columns:
            return self.columns[d]
        x = self.posterior.centres[:, d]
        found: Array = self.posterior.kernel.components[d].matrix(x, x)
        if len(self.columns) < self.room:
            self.columns[d] = found
        return found


@dataclass(frozen=True, eq=False)
class _Removal:
    """alpha' E alpha, R' E alpha and R' E R of a part E of the kernel that goes."""

    own: float
    linear: Array
    outer: Array

    @classmethod
    def of(cls, E: Array, alpha: Array, R: Array) -> _Removal:
        of_alpha = E @ alpha
        return cls(float(alpha @ of_alpha), R.T @ of_alpha, R.T @ E @ R)

    def __add__(self, other: _Removal) -> _Removal:
        return _Removal(self.own + other.own, self.linear + other.linear, self.outer + other.outer)

    def times(self, by: float) -> _Removal:
        return _Removal(by * self.own, by * self.linear, by * self.outer)

    def factor(self) -> Array:
        """The upper triangular U with U'U = C."""
        try:
            upper: Array = cholesky(np.eye(self.linear.size) - self.outer, lower=False)
        except (np.linalg.LinAlgError, ValueError) as error:
            raise NumericalError(
                f"rounding hides what the terms are without the others: {error}; keep more of them, or fit "
                "again with fewer columns"
            ) from None
        return upper

    def gain(self) -> float:
        """What the log evidence gains by it; mostly below zero."""
        upper = self.factor()
        moved = solve_triangular(upper, self.linear, trans="T")
        return -0.5 * (self.own + float(moved @ moved)) - float(np.sum(np.log(np.diag(upper))))


@dataclass(frozen=True, eq=False)
class _Silent:
    """Directions S in which no term says anything: the eigenvalues of S'S, and S'alpha along its vectors.

    Rows scatter there by the noise alone, which is how they tell how little of it there is.
    """

    precisions: Array
    seen: Array

    def gain(self, variance: float) -> float:
        """What the log evidence gains by more noise, as far as it is seen in these directions."""
        factors = 1.0 + variance * self.precisions
        return -0.5 * float(np.sum((variance * self.seen) ** 2 / factors + np.log(factors)))


NOWHERE = _Silent(np.zeros(0), np.zeros(0))


def _most_likely(
    removal: _Removal,
    noise: _Removal,
    scale: float,
    silent: _Silent = NOWHERE,
    precision: float = PRECISION,
) -> float:
    """The variance of the noise that makes up for what goes."""

    def loss(logarithm: float) -> float:
        variance = float(np.exp(logarithm))
        return -(removal + noise.times(-variance)).gain() - silent.gain(variance)

    bounds = np.log([LEAST_NOISE * scale, MOST_NOISE * scale])
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": precision})
    return float(np.exp(found.x))


def _missed(whole: Posterior, pruned: Posterior) -> float:
    """The mean over rows of (f - f_pruned)^2, as far as it is known."""
    X = whole.rows[:: -(-len(whole.rows) // COMPARED)]
    of_mean = float(np.mean((whole.mean(X) - pruned.mean(X)) ** 2))
    return of_mean + max(float(np.mean(whole.variance(X) - pruned.variance(X))), 0.0)


def _directions(posterior: Posterior) -> tuple[Array, _Silent]:
    """The root in the directions that the terms tell of, and the others, if noise does not mix the two.

    Terms are parts of the whole kernel: where that has no variance they have none. Noise that is the same for
    all rows leaves the others to themselves; noise that is not, as with missing cells, does not.
    """
    Z, root = posterior.centres, posterior.root
    eigenvalues, vectors = np.linalg.eigh(root.T @ posterior.prior(Z, Z) @ root)
    told = eigenvalues > NEGLIGIBLE
    found: Array = root @ vectors[:, told]
    others: Array = root @ vectors[:, ~told]
    if np.max(np.abs(found.T @ others), initial=0.0) > MIXED * np.max(np.abs(others.T @ others), initial=0.0):
        return root, NOWHERE
    precisions, axes = np.linalg.eigh(others.T @ others)
    return found, _Silent(precisions, axes.T @ (others.T @ posterior.alpha))
