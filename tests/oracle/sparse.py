"""Sparse inference the slow and obvious way: dense matrices of all rows, explicit inverses.

Titsias (2009) with a noise of its own for every row: terms lost in missing cells are noise to all other rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.stats import multivariate_normal

from termwise.kernels.additive import AdditiveKernel
from tests.oracle.additive import additive_diagonal, additive_matrix, column_matrix, product_sum


def known_variance(kernel: AdditiveKernel, X: np.ndarray) -> np.ndarray:
    """The prior variance of the terms whose cells are all known."""
    z = [np.diag(column_matrix(c, X[:, d], X[:, d])) for d, c in enumerate(kernel.components)]
    return product_sum(z, kernel.variances)


@dataclass(frozen=True, eq=False)
class SparseOracle:
    """A kernel, rows X with targets y, inducing rows Z, and what is added to the diagonal of Kuu."""

    kernel: AdditiveKernel
    X: np.ndarray
    y: np.ndarray
    Z: np.ndarray
    noise: float
    jitter: float = 0.0  # of the mean of the diagonal

    @cached_property
    def Kuu(self) -> np.ndarray:
        """Between the inducing rows: two missing cells have nothing in common, nor has one with itself."""
        K = additive_matrix(self.kernel, self.Z, self.Z)
        return K + self.jitter * np.mean(np.diag(K)) * np.eye(len(K))

    @cached_property
    def Kuf(self) -> np.ndarray:
        """Between the inducing rows and all rows."""
        return additive_matrix(self.kernel, self.Z, self.X)

    @cached_property
    def row_noise(self) -> np.ndarray:
        """The noise, and the variance of terms lost in missing cells."""
        lost = additive_diagonal(self.kernel, self.X) - known_variance(self.kernel, self.X)
        return self.noise + lost

    @cached_property
    def Sigma(self) -> np.ndarray:
        """Kuu + Kuf W Kfu."""
        return self.Kuu + self.Kuf @ np.diag(1.0 / self.row_noise) @ self.Kuf.T

    def bound(self) -> float:
        """log N(y; 0, Qff + diag noise_n) - sum_n (k_nn - q_nn) / 2 noise_n."""
        Qff = self.Kuf.T @ np.linalg.inv(self.Kuu) @ self.Kuf
        density = multivariate_normal(np.zeros(self.y.size), Qff + np.diag(self.row_noise))
        left = known_variance(self.kernel, self.X) - np.diag(Qff)
        return float(density.logpdf(self.y) - 0.5 * np.sum(left / self.row_noise))

    def condition(self, prior: np.ndarray, cross: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of what has this prior covariance, and this cross covariance with u."""
        inverse = np.linalg.inv(self.Sigma)
        mean = cross @ inverse @ self.Kuf @ (self.y / self.row_noise)
        return mean, prior - cross @ (np.linalg.inv(self.Kuu) - inverse) @ cross.T

    def inducing_posterior(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of u: Kuu Sigma^-1 Kuf W y and Kuu Sigma^-1 Kuu."""
        S = np.linalg.inv(self.Sigma)
        return self.Kuu @ S @ self.Kuf @ (self.y / self.row_noise), self.Kuu @ S @ self.Kuu


def conditional_variance(kernel: AdditiveKernel, X: np.ndarray, given: list[int]) -> np.ndarray:
    """The variance of every row when f is known at some of them, lost terms left out."""
    K = additive_matrix(kernel, X, X)
    if not given:
        return np.diag(K).copy()
    cross = K[:, given]
    return np.diag(K - cross @ np.linalg.solve(K[np.ix_(given, given)], cross.T)).copy()
