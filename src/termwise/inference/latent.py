"""A normal latent function at all rows, given a site for each: regression on pseudo-targets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from termwise.linalg.cholesky import Factor, factorise
from termwise.measures.base import Array

LEAST_PRECISION = 1e-10
# Below this tau k_nn the variance of a row by the inverse of B would have lost half of its digits.
FAINT = 1e-6


@dataclass(frozen=True, eq=False)
class Sites:
    """N(f_n; nu_n / tau_n, 1 / tau_n) in the place of the likelihood of row n, as (tau, nu)."""

    tau: Array
    nu: Array

    @classmethod
    def of(cls, tau: Array, nu: Array) -> Sites:
        """Sites with a precision above zero."""
        return cls(np.maximum(tau, LEAST_PRECISION), nu)

    def towards(self, other: Sites, step: float) -> Sites:
        """A part of the way to others."""
        return Sites.of(self.tau + step * (other.tau - self.tau), self.nu + step * (other.nu - self.nu))


@dataclass(frozen=True, eq=False)
class Conditioned:
    """The function given sites: K the kernel of all rows, S = diag(tau), B = I + S^1/2 K S^1/2.

    mean = K alpha; `inverse` is R = (K + S^-1)^-1 = S^1/2 B^-1 S^1/2.
    """

    sites: Sites
    mean: Array
    variance: Array
    alpha: Array
    inverse: Array
    log_determinant: float  # of B
    trace: float  # of B^-1

    @classmethod
    def on(cls, K: Array, sites: Sites) -> Conditioned:
        """Condition a prior with covariance K."""
        root = np.sqrt(sites.tau)
        factor = factor_of(K, root)
        log_determinant = factor.log_determinant
        below = factor.inverse_in_place()
        diagonal = np.diag(below).copy()
        inverse = np.tril(below) + np.tril(below, -1).T
        inverse *= np.outer(root, root)
        alpha = sites.nu - inverse @ (K @ sites.nu)
        variance = (1.0 - diagonal) / sites.tau
        faint = sites.tau * np.diag(K) < FAINT
        if np.any(faint):
            half = K[faint]
            variance[faint] = np.diag(K)[faint] - np.einsum("ij,ij->i", half @ inverse, half)
        mean = K @ alpha
        return cls(sites, mean, variance, alpha, inverse, log_determinant, float(np.sum(diagonal)))

    @cached_property
    def divergence(self) -> float:
        """KL of the posterior from the prior."""
        n = self.mean.size
        return 0.5 * (self.log_determinant + self.trace - n + float(self.alpha @ self.mean))


def factor_of(K: Array, root: Array) -> Factor:
    """The factor of B = I + S^1/2 K S^1/2, whose eigenvalues are at least one."""

    def fill(out: Array) -> None:
        np.multiply(K, root[:, None], out=out)
        out *= root
        out.reshape(-1)[:: len(root) + 1] += 1.0

    return factorise(np.empty(K.shape), fill)
