"""Kernels of an embedding by networks: squared exponential, Matern, spectral mixture; and arc-cosine.

Each formula is written once for NumPy and PyTorch: `xp` is the one or the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from termwise.inference.bound import Bound, Sums, shrinkage_root
from termwise.linalg.cholesky import factorise
from termwise.measures.base import Array

Parameters = Mapping[str, Any]  # all positive, but for frequencies
MIXTURES = 4  # components of the spectral mixture
LAYERS = 2  # times that the arc-cosine kernel is applied to itself. Section 5.2
TINY = 1e-24


def _squares(A: Any, B: Any) -> Any:
    """|a - b|^2 for all pairs, by differences: the shorter formula loses what Matern's root needs."""
    return sum((A[:, d, None] - B[None, :, d]) ** 2 for d in range(A.shape[1]))


def _rbf(xp: Any, A: Any, B: Any, p: Parameters) -> Any:
    """variance exp(-|a - b|^2 / 2), in lengthscales. Eq. 9, with one of each coordinate."""
    return p["variance"] * xp.exp(-0.5 * _squares(A / p["lengthscales"], B / p["lengthscales"]))


def _matern(xp: Any, A: Any, B: Any, p: Parameters) -> Any:
    """variance (1 + s + s^2 / 3) exp(-s), s = sqrt(5) |a - b| in lengthscales."""
    # The root has no derivative at zero, where that of the kernel is zero.
    s = xp.sqrt(5.0 * _squares(A / p["lengthscales"], B / p["lengthscales"]) + TINY)
    return p["variance"] * (1.0 + s + s**2 / 3.0) * xp.exp(-s)


def _spectral(xp: Any, A: Any, B: Any, p: Parameters) -> Any:
    """sum_q weight_q exp(-|S_q (a - b)|^2 / 2) cos(2 pi <a - b, mu_q>). Eq. 10."""
    total = 0.0
    for weight, width, frequency in zip(p["weights"], p["widths"], p["frequencies"], strict=True):
        turns = 2.0 * np.pi * ((A @ frequency)[:, None] - (B @ frequency)[None, :])
        total = total + weight * xp.exp(-0.5 * _squares(A * width, B * width)) * xp.cos(turns)
    return total


def _arccos(xp: Any, A: Any, B: Any, p: Parameters) -> Any:
    """That of infinite networks of two layers with max(t, 0), of rows with a bias. Cho and Saul (2009)."""
    K, own, others = A @ B.T + p["bias"], (A**2).sum(1) + p["bias"], (B**2).sum(1) + p["bias"]
    norms = xp.sqrt(own)[:, None] * xp.sqrt(others)[None, :]  # which a layer does not change
    for _ in range(LAYERS):
        cosine = xp.clip(K / norms, -1.0 + 1e-12, 1.0 - 1e-12)
        angle = xp.arccos(cosine)
        K = norms / np.pi * (xp.sin(angle) + (np.pi - angle) * cosine)
    return p["variance"] * K


FORMULAS: dict[str, Callable[[Any, Any, Any, Parameters], Any]] = {
    "rbf": _rbf,
    "matern": _matern,
    "sm": _spectral,
    "arccos": _arccos,
}


def first_parameters(kind: str, features: int, rng: np.random.Generator) -> dict[str, Array]:
    """Where training begins, for coordinates of about unit variance."""
    if kind == "sm":
        return {
            "weights": np.full(MIXTURES, 1.0 / MIXTURES),
            "widths": np.geomspace(0.3, 3.0, MIXTURES)[:, None] * np.ones(features),
            "frequencies": 0.1 * rng.standard_normal((MIXTURES, features)),
        }
    if kind == "arccos":
        return {"variance": np.array(1.0), "bias": np.array(1.0)}
    return {"variance": np.array(1.0), "lengthscales": np.ones(features)}


@dataclass(frozen=True, eq=False)
class GramKernel:
    """One of the formulas at its parameters."""

    kind: str
    parameters: dict[str, Array]

    def matrix(self, A: Array, B: Array) -> Array:
        """The kernel of all pairs."""
        return np.asarray(FORMULAS[self.kind](np, A, B, self.parameters))

    def diagonal(self, A: Array) -> Array:
        """The kernel of each row with itself."""
        if self.kind == "arccos":
            return np.asarray(self.parameters["variance"] * ((A**2).sum(1) + self.parameters["bias"]))
        own = self.parameters["weights"] if self.kind == "sm" else self.parameters["variance"]
        return np.full(len(A), float(np.sum(own)))


@dataclass(frozen=True, eq=False)
class Solved:
    """mean(x) = k(x, Z) alpha, var(x) = k(x, x) - |k(x, Z) root|^2; and the evidence, or the bound on it."""

    centres: Array
    alpha: Array
    root: Array
    evidence: float
    jitter: float


def solve_exact(kernel: GramKernel, H: Array, y: Array, noise: float) -> Solved:
    """With all rows as centres."""
    n = y.size
    K = kernel.matrix(H, H)
    K[np.diag_indices(n)] += noise
    factor = _factor(K)
    alpha = factor.solve(y)
    evidence = -0.5 * (y @ alpha + factor.log_determinant + n * np.log(2.0 * np.pi))
    return Solved(H, alpha, factor.inverse_root(), float(evidence), factor.jitter)


def solve_sparse(kernel: GramKernel, H: Array, y: Array, noise: float, Z: Array) -> Solved:
    """With inducing rows as centres: the collapsed bound. Titsias (2009)."""
    factor = _factor(kernel.matrix(Z, Z))
    root = factor.inverse_root()  # U^-1, with Kzz^-1 = U^-1 U^-T
    A = kernel.matrix(H, Z) @ root
    own = (np.sum(A**2) - np.sum(kernel.diagonal(H)) - y @ y) / noise - y.size * np.log(noise)
    bound = Bound.of(Sums(y.size, float(own), A.T @ A / noise, A.T @ y / noise))
    return Solved(Z, root @ bound.mean, root @ shrinkage_root(bound.outer), bound.value, factor.jitter)


def _factor(K: Array) -> Any:
    def fill(out: Array) -> None:
        out[...] = K

    return factorise(np.empty_like(K), fill)
