"""A normal latent function at all rows, given a site for each: regression on pseudo-targets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from termwise.inference.mixing import Mixing
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

    def towards(self, other: Sites, step: float, mixing: Mixing) -> Sites:
        """A part of the way to others, and on to where steps before it point."""
        here, there = (np.concatenate([sites.nu, sites.tau]) for sites in (self, other))
        nu, tau = np.split(mixing.next(here, there - here, step), 2)
        return Sites.of(tau, nu)


@dataclass(frozen=True, eq=False)
class Conditioned:
    """The function given sites: K the kernel of all rows, S = diag(tau), B = I + S^1/2 K S^1/2 = U'U."""

    K: Array
    sites: Sites
    log_determinant: float  # of B
    half: Array  # S^1/2 U^-1
    alpha: Array
    mean: Array
    strong: NDArray[np.bool_]  # rows whose site says more of them than the prior: tau k_nn is above one
    fit: float  # alpha_s' z_s over strong rows, z = nu / tau being what regression would see
    jitter: float  # added to the diagonal of B

    @classmethod
    def on(cls, K: Array, sites: Sites) -> Conditioned:
        """Condition a prior with covariance K."""
        scale = np.sqrt(sites.tau)
        factor = factor_of(K, scale)
        half = scale[:, None] * factor.inverse_root()
        # alpha = R z, and K alpha = z - alpha / tau. Of a large count nu, tau and K nu are so large that
        # nu - R K nu has no digit left; of a faint site z = nu / tau is as large, and nu - R K nu is stable.
        # Both are linear in nu, so each row has its own.
        strong = sites.tau * np.diag(K) > 1.0
        z, faint = np.where(strong, sites.nu / sites.tau, 0.0), np.where(strong, 0.0, sites.nu)
        told = half.T @ z
        both = told - half.T @ (K @ faint)
        alpha = half @ both + faint
        mean = np.where(strong, z - alpha / sites.tau, K @ alpha)
        fit = float(told @ both)
        return cls(K, sites, factor.log_determinant, half, alpha, mean, strong, fit, factor.jitter)

    @property
    def rounding(self) -> float:
        """About what part of the evidence is rounding: pivots of B near one are left of 1 + tau k_nn."""
        return float(np.finfo(float).eps * np.mean(1.0 + self.sites.tau * np.diag(self.K)))

    @property
    def inverse(self) -> Array:
        """R = (K + S^-1)^-1 = S^1/2 B^-1 S^1/2."""
        value: Array = self.half @ self.half.T
        return value

    def times_inverse(self, b: Array) -> Array:
        """R b."""
        value: Array = self.half @ (self.half.T @ b)
        return value

    @cached_property
    def shares(self) -> Array:
        """The diagonal of B^-1: how much of each row's variance its own site leaves."""
        value: Array = np.einsum("ij,ij->i", self.half, self.half) / self.sites.tau
        return value

    @cached_property
    def variance(self) -> Array:
        """That of f at every row."""
        variance = (1.0 - self.shares) / self.sites.tau
        faint = self.sites.tau * np.diag(self.K) < FAINT
        if np.any(faint):
            taken = self.K[faint] @ self.half
            variance[faint] = np.diag(self.K)[faint] - np.einsum("ij,ij->i", taken, taken)
        return variance

    @cached_property
    def quadratic(self) -> float:
        """alpha' K alpha. Of strong rows alpha' z is a sum of squares, where products would cancel."""
        own = np.where(self.strong, -self.alpha / self.sites.tau, self.mean)
        return self.fit + float(self.alpha @ own)

    @cached_property
    def divergence(self) -> float:
        """KL of the posterior from the prior."""
        trace = float(np.sum(self.shares))
        return 0.5 * (self.log_determinant + trace - self.mean.size + self.quadratic)


def factor_of(K: Array, root: Array) -> Factor:
    """The factor of B = I + S^1/2 K S^1/2, whose eigenvalues are at least one."""

    def fill(out: Array) -> None:
        np.multiply(K, root[:, None], out=out)
        out *= root
        out.reshape(-1)[:: len(root) + 1] += 1.0

    return factorise(np.empty(K.shape), fill)
