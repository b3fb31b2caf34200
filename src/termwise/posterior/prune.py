"""A posterior with fewer terms: what the rows told, told again to the terms that stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from termwise.kernels.additive import AdditiveKernel
from termwise.kernels.terms import Subset
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior
from termwise.posterior.removal import Removal, most_likely

ROUNDING = 1e-12
COMPARED = 1000  # rows on which what is missed is measured


@dataclass(frozen=True, eq=False)
class Told:
    """A posterior and the same with some of its terms, not told yet what the others knew."""

    posterior: Posterior
    kept: Posterior
    whole: Array  # prior of all terms between the centres

    @classmethod
    def of(cls, posterior: Posterior, terms: Sequence[Subset]) -> Told:
        """The constant and these terms."""
        Z = posterior.centres
        return cls(posterior, replace(posterior, terms=((), *terms)), posterior.prior(Z, Z))

    @property
    def is_all(self) -> bool:
        """Whether the others have no variance."""
        lost = np.max(np.abs(self.whole - self.prior), initial=0.0)
        return bool(lost <= ROUNDING * np.max(np.abs(self.whole), initial=0.0))

    @cached_property
    def prior(self) -> Array:
        """The prior of the kept terms between the centres."""
        return self.kept.prior(self.kept.centres, self.kept.centres)

    @property
    def scale(self) -> float:
        """The mean prior variance, as a unit of noise."""
        return float(np.mean(np.diag(self.whole)))

    @cached_property
    def _noise(self) -> Removal:
        return Removal.of(np.eye(len(self.whole)), self.posterior.alpha, self.posterior.root)

    def removal(self, K: Array, noise: float) -> Removal:
        """What changes if the kernel between the centres becomes K, with more noise."""
        gone = Removal.of(self.whole - K, self.posterior.alpha, self.posterior.root)
        return gone + self._noise.times(-noise)

    def most_likely(self) -> float:
        """The noise that makes up for what the kept terms cannot take up."""
        return most_likely(self.removal(self.prior, 0.0), self._noise, self.scale)

    def retold(self, K: Array, noise: float) -> tuple[float, Array, Array]:
        """The gain in log evidence, alpha and the root of B if the kernel becomes K, with more noise."""
        return self.removal(K, noise).applied(self.posterior.alpha, self.posterior.root)


def with_kernel(told: Told, kernel: AdditiveKernel) -> Posterior:
    """The posterior of the kept terms under a kernel, as if there had never been others.

    The noise that makes up for the others is where the evidence of the centres is highest. A prediction has
    it on top; if rows are kept beside the centres, what these miss.
    """
    told = replace(told, kept=replace(told.kept, kernel=kernel))
    variance = told.most_likely()
    _, alpha, root = told.retold(told.prior, variance)
    pruned = replace(told.kept, alpha=alpha, root=root)
    # Centres that were chosen lie farther out than rows do; where rows are known, these say what is missed.
    missed = variance if told.posterior.seen is None else _missed(told.posterior, pruned)
    return replace(pruned, noise=told.posterior.noise + missed)


def error(posterior: Posterior, pruned: Posterior) -> float:
    """The mean squared error of a pruned posterior, as far as can be told without new rows.

    Where the centres are the rows themselves, that of each row as if it had been left out; where rows are
    kept beside the centres, how far from the whole mean they are.
    """
    if posterior.seen is None:
        precisions = np.einsum("ij,ij->i", pruned.root, pruned.root)
        return float(np.mean((pruned.alpha / precisions) ** 2))
    return _apart(posterior, pruned, _compared(posterior))


def with_terms(posterior: Posterior, terms: Sequence[Subset]) -> Posterior:
    """The posterior of the constant and these terms, with parameters as they are."""
    told = Told.of(posterior, terms)
    return told.kept if told.is_all else with_kernel(told, posterior.additive)


def _missed(whole: Posterior, pruned: Posterior) -> float:
    """The mean over rows of (f - f_pruned)^2, as far as it is known."""
    X = _compared(whole)
    return _apart(whole, pruned, X) + max(float(np.mean(whole.variance(X) - pruned.variance(X))), 0.0)


def _apart(whole: Posterior, pruned: Posterior, X: Array) -> float:
    return float(np.mean((whole.mean(X) - pruned.mean(X)) ** 2))


def _compared(posterior: Posterior) -> Array:
    return posterior.rows[:: -(-len(posterior.rows) // COMPARED)]
