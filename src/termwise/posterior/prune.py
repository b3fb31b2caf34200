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
LEAST_NOISE, MOST_NOISE = 1e-8, 10.0  # where more noise is looked for, in prior variances
PRECISION = 0.02  # of its logarithm
COMPARED = 1000  # rows on which what is missed is measured
LOOKED_AT, TRIED = 60, 4  # terms whose slope is looked at, beyond those wanted; and those tried in full


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
    """As many of the terms as asked for: the one with which the evidence is highest comes first, and so on.

    Each time the terms with the steepest evidence are tried in full; what those not taken yet explain is
    noise. Only so many of the terms are looked at, the first.
    """
    left = list(terms[: count + LOOKED_AT])
    if len(terms) <= count:
        return tuple(left)
    taken: list[Subset] = []
    search = _Search.of(posterior)
    for _ in range(count):
        slopes = search.slopes(left)
        steepest = sorted(left, key=lambda term: -slopes[term])[:TRIED]
        best = max(steepest, key=lambda term: search.with_term(term).gain())
        search = search.next(best)
        taken.append(best)
        left.remove(best)
    return tuple(taken)


@dataclass(frozen=True, eq=False)
class _Search:
    """A selection of terms under way: `gone` is what they leave out, `variance` the noise in its place."""

    posterior: Posterior
    R: Array
    noise: _Removal
    gone: _Removal
    variance: float

    @classmethod
    def of(cls, posterior: Posterior) -> _Search:
        """The constant alone."""
        Z, R = posterior.centres, _directions(posterior)
        noise = _Removal.of(np.eye(len(Z)), posterior.alpha, R)
        constant = posterior.kernel.term_matrix((), Z, Z)
        gone = _Removal.of(posterior.prior(Z, Z) - constant, posterior.alpha, R)
        return cls(posterior, R, noise, gone, 0.0)._with_noise()

    def with_term(self, term: Subset) -> _Removal:
        """What is left out if a term is taken, with noise as much as before."""
        return self._without(term) + self.noise.times(-self.variance)

    def next(self, term: Subset) -> _Search:
        """The selection with one more term, and the noise that goes with it."""
        return replace(self, gone=self._without(term))._with_noise()

    def slopes(self, terms: Sequence[Subset]) -> dict[Subset, float]:
        """How the log evidence rises with the variance of each term, where it is zero."""
        removal = self.gone + self.noise.times(-self.variance)
        upper = removal.factor()
        root: Array = solve_triangular(upper, self.R.T, trans="T").T
        alpha = self.posterior.alpha + root @ solve_triangular(upper, removal.linear, trans="T")
        G = 0.5 * (np.outer(alpha, alpha) - root @ root.T)
        Z, kernel = self.posterior.centres, self.posterior.kernel
        return {term: float(np.vdot(G, kernel.term_matrix(term, Z, Z))) for term in terms}

    def _without(self, term: Subset) -> _Removal:
        Z, posterior = self.posterior.centres, self.posterior
        own = posterior.kernel.term_matrix(term, Z, Z)
        return self.gone + _Removal.of(own, posterior.alpha, self.R).times(-1.0)

    def _with_noise(self) -> _Search:
        prior = self.posterior.prior(self.posterior.centres, self.posterior.centres)
        scale = float(np.mean(np.diag(prior))) if len(prior) else 1.0
        return replace(self, variance=_most_likely(self.gone, self.noise, scale))


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


def _most_likely(removal: _Removal, noise: _Removal, scale: float) -> float:
    """The variance of the noise that makes up for what goes."""

    def loss(logarithm: float) -> float:
        return -(removal + noise.times(-np.exp(logarithm))).gain()

    bounds = np.log([LEAST_NOISE * scale, MOST_NOISE * scale])
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": PRECISION})
    return float(np.exp(found.x))


def _missed(whole: Posterior, pruned: Posterior) -> float:
    """The mean over rows of (f - f_pruned)^2, as far as it is known."""
    X = whole.rows[:: -(-len(whole.rows) // COMPARED)]
    of_mean = float(np.mean((whole.mean(X) - pruned.mean(X)) ** 2))
    return of_mean + max(float(np.mean(whole.variance(X) - pruned.variance(X))), 0.0)


def _directions(posterior: Posterior) -> Array:
    """The root, in the directions that the rows tell of.

    Terms are parts of the whole kernel: where that has no variance they have none.
    """
    Z, root = posterior.centres, posterior.root
    eigenvalues, vectors = np.linalg.eigh(root.T @ posterior.prior(Z, Z) @ root)
    found: Array = root @ vectors[:, eigenvalues > NEGLIGIBLE]
    return found
