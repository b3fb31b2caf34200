"""The log marginal likelihood by grid interpolation (SKI), in time that grows with the rows. Projected 4.4.

For kernels that are a sum over single columns: projections to one coordinate each, or the additive kernel of
order one, which is an interpolated kernel minus a rank-one term for each column, K = K_0 - A A'. Gradients go
through the interpolation weights alone: the lattice has no parameters, and as many nodes as rows need.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from termwise.errors import NumericalError
from termwise.inference.interpolated import MOST_FEATURES, Interpolated, covering
from termwise.inference.learnable import Layout, Learnable
from termwise.inference.summed import Summed
from termwise.kernels.fused import run
from termwise.linalg.cholesky import Factor
from termwise.linalg.in_place import in_place
from termwise.linalg.lanczos import log_quadratics
from termwise.measures.base import Array

PROBES = 16  # draws by which log determinants are told where features do not hold all
STEP = 1.0 / 16.0  # of the lattice, in lengthscales
FEW_ROWS = 1500  # whose kernel matrix is written down: then any grid will do
MOST_OF_FEW = 100_000  # nodes of a line then
MOST_NODES = 4096  # the kernel between them is decomposed whenever their number grows

TOO_COARSE = "the interpolated kernel is not positive definite; use a finer grid, or inference='sparse'"


@dataclass(frozen=True)
class Grid:
    """How fine the lattice is, and how many nodes of it a line may need; of few rows, more."""

    step: float = STEP
    most: int = MOST_NODES
    most_of_few: int = MOST_OF_FEW


@dataclass(frozen=True, eq=False)
class Pairs:
    """sum_k l_k' dK r_k: the part of the slope that goes through pairs of vectors, (n, k) each."""

    left: Array
    right: Array

    @classmethod
    def none(cls, n: int) -> Pairs:
        """No pairs."""
        return cls(np.zeros((n, 0)), np.zeros((n, 0)))

    def __add__(self, other: Pairs) -> Pairs:
        return Pairs(np.hstack([self.left, other.left]), np.hstack([self.right, other.right]))


@dataclass(frozen=True, eq=False)
class Evidence(Summed):
    """The log likelihood; pairs for dK and for dP, and the gradient for A that is not among them.

    What is missing of its slope is -tr(P^-1 dP) / 2.
    """

    value: float
    through_K: Pairs
    through_P: Pairs
    by_A: Array


@dataclass(eq=False)
class SkiObjective:
    """log p(y | theta) + log p(theta) for a Gaussian likelihood, with the interpolated kernel.

    `residual` is the largest of the linear systems of the last evaluation, zero if they were solved in closed
    form; `rested` whether all were solved as well as asked for.
    """

    model: Learnable
    X: Array
    y: Array
    kind: str
    grid: Grid = field(default_factory=Grid)
    seed: int = 0
    jitter: ClassVar[float] = 0.0
    evaluations: int = 0
    residual: float = 0.0
    rested: bool = True

    @cached_property
    def _cells(self) -> Array:
        return np.ascontiguousarray(self.X.T)

    @cached_property
    def _normal(self) -> tuple[Array, Array]:
        """The draws behind all probes: always the same, so that the objective is a function."""
        rng = np.random.default_rng(self.seed)
        return rng.standard_normal((MOST_FEATURES + 1, PROBES)), rng.standard_normal((self.y.size, PROBES))

    def value_and_gradient(self, theta: Array, *, late: bool = True) -> tuple[float, Array]:
        """The objective and its gradient, for late parameters only if wanted; sets `residual`."""
        self.evaluations += 1
        layout = self.model.layout(theta, self._cells, late=late)
        variances, dvariances = self.model.orders.variances(self.model.order_parameters(theta))
        noise = float(np.exp(theta[-1]))
        few = self.y.size <= FEW_ROWS
        # Where the matrix is written down, nodes that no row lies between cost nothing.
        most = self.grid.most_of_few if few else self.grid.most
        at = _At.of(layout, variances, noise, self.kind, replace(self.grid, most=most))
        if few:
            value, by, by_A = at.written_down(self.y)
        else:
            evidence = self._solved(at)
            value, by, by_A = evidence.value, at.gradient(evidence), evidence.by_A
        total = at.cotangents(by, by_A)
        columns = layout.gradient(total, np.zeros(layout.own_kernel.shape))
        prior, gradient = self.model.log_prior(theta)
        slope = np.concatenate([columns, dvariances @ total.variances, [noise * by.noise]])
        return value + prior, gradient + slope

    def _solved(self, at: _At) -> Evidence:
        """Solve for the target, for A, and for the probes if features do not hold all."""
        K, A, n = at.kernel, at.A, self.y.size
        known = np.column_stack([self.y, A])
        first = K.solved_by_features(known)
        log_determinant, self.residual, self.rested = K.log_determinant, 0.0, True
        through_K, through_P = Pairs.none(n), Pairs.none(n)
        if not K.holds_all:
            z = K.drawn(self._normal)
            by_features = K.solved_by_features(z)
            solved = K.solve(np.hstack([known, z]))
            self.residual, self.rested = float(np.max(solved.residual)), solved.converged
            of_known, of_probes = solved.of(slice(known.shape[1])), solved.of(slice(known.shape[1], None))
            first = of_known.x
            squares = np.einsum("nk,nk->k", z, by_features)
            log_determinant += float(np.mean(log_quadratics(of_probes, squares)))
            # tr(K^-1 dK) - tr(P^-1 dP), as draws z of the covariance P tell it
            through_K = Pairs(-0.5 / PROBES * of_probes.x, by_features)
            through_P = Pairs(0.5 / PROBES * by_features, by_features)
        return self._without(A, first, log_determinant) + Evidence(0.0, through_K, through_P, 0.0 * A)

    def _without(self, A: Array, solved: Array, log_determinant: float) -> Evidence:
        """The evidence of K_0 - A A', of the solutions for y and A and the log determinant of K_0."""
        alpha, H, n = solved[:, 0], solved[:, 1:], self.y.size
        left = np.eye(A.shape[1]) - A.T @ H  # det K = det K_0 det (I - A' K_0^-1 A)
        sign, log_left = np.linalg.slogdet(left)
        if sign <= 0.0:
            raise NumericalError(TOO_COARSE)
        B = np.linalg.inv(left)
        alpha = alpha + H @ (B @ (A.T @ alpha))
        value = -0.5 * (float(self.y @ alpha) + log_determinant + log_left + n * np.log(2.0 * np.pi))
        pairs = Pairs(0.5 * alpha[:, None], alpha[:, None]) + Pairs(-0.5 * H @ B, H)
        by_A = H - pairs.left @ (pairs.right.T @ A) - pairs.right @ (pairs.left.T @ A)
        return Evidence(float(value), pairs, Pairs.none(n), by_A)


@dataclass(frozen=True, eq=False)
class _Slopes(Summed):
    """Gradients for the coordinates, the variance of each line, that of the constant, and the noise."""

    u: Array
    scale: Array
    constant: float
    noise: float


@dataclass(frozen=True, eq=False)
class _At:
    """The kernel of rows at one vector, and the way back to what the layout has."""

    kernel: Interpolated
    A: Array
    a: Array
    weight: Array
    variances: Array

    @classmethod
    def of(cls, layout: Layout, variances: Array, noise: float, kind: str, grid: Grid) -> _At:
        rows, weights = layout.rows, layout.weights(variances)
        constant, scale = variances
        weight = weights.weight
        kernel = Interpolated(
            kind, covering(rows.u, grid.step, grid.most), rows.u, scale * weight, constant, noise
        )
        a = rows.a if np.any(rows.a) else np.zeros((0, rows.u.shape[1]))
        return cls(kernel, np.sqrt(scale) * a.T, a, weight, variances)

    def written_down(self, y: Array) -> tuple[float, _Slopes, Array]:
        """The log likelihood of few rows and its slopes, for A too, by the matrix itself."""
        K = self.kernel.dense()
        if self.a.size:
            K -= self.A @ self.A.T
        if in_place("dpotrf", K.T):
            raise NumericalError(TOO_COARSE)
        factor = Factor(K.T, 0.0)
        alpha = factor.solve(y)
        value = -0.5 * (float(y @ alpha) + factor.log_determinant + y.size * np.log(2.0 * np.pi))
        G = np.tril(factor.inverse_in_place())
        G += np.tril(G, -1).T
        G -= np.outer(alpha, alpha)
        G *= -0.5  # d likelihood / dK
        by_u, by_scale = self.kernel.dense_slopes(G)
        return value, _Slopes(by_u, by_scale, float(np.sum(G)), float(np.trace(G))), -2.0 * G @ self.A

    def gradient(self, evidence: Evidence) -> _Slopes:
        """All of the slope of the log likelihood for what the kernel is made of."""
        # Where P stands for K, its slope is that of P too.
        total = self._through(evidence.through_K, exactly=not self.kernel.holds_all) + self._by_trace()
        if evidence.through_P.left.shape[1]:
            total += self._through(evidence.through_P, exactly=False)
        return total

    def _by_trace(self) -> _Slopes:
        """-tr(P^-1 dP) / 2: the gradient for the features B is -B (noise I + B'B)^-1."""
        K, n = self.kernel, self.kernel.u.shape[1]
        by_u, both = np.empty(K.u.shape), np.zeros(len(K.inverse))
        for rows, features in K.blocks():
            given = -features @ K.inverse
            u = np.ascontiguousarray(K.u[:, rows])
            by_u[:, rows] = K.lattice.feature_slopes(u, K.factors, given[:, :-1])
            both += np.einsum("ij,ij->j", given, features)
        lines, _, rank = K.factors.shape
        by_scale = 0.5 * both[:-1].reshape(lines, rank).sum(axis=1) / K.scale
        by_noise = -0.5 * (n - both.size + K.noise * float(np.trace(K.inverse))) / K.noise
        return _Slopes(by_u, by_scale, 0.5 * float(both[-1]) / K.constant, by_noise)

    def _through(self, pairs: Pairs, *, exactly: bool) -> _Slopes:
        K = self.kernel
        both = np.hstack([pairs.left, pairs.right])
        scattered, through = K.by_nodes(both, exactly=exactly)
        k = pairs.left.shape[1]
        swapped = np.concatenate([through[:, :, k:], through[:, :, :k]], axis=2)
        by_u = K.scale[:, None] * K.lattice.slopes(K.u, both, np.ascontiguousarray(swapped))
        by_scale = np.einsum("cmk,cmk->c", scattered[:, :, :k], through[:, :, k:])
        by_constant = float(np.sum(pairs.left, axis=0) @ np.sum(pairs.right, axis=0))
        return _Slopes(by_u, by_scale, by_constant, float(np.vdot(pairs.left, pairs.right)))

    def cotangents(self, by: _Slopes, by_A: Array) -> run.Cotangents:
        """The same for what the loops would read: variances, weights, coordinates and amplitudes."""
        scale = float(self.variances[1])
        by_scale, by_a = float(by.scale @ self.weight), np.broadcast_to(0.0, by.u.shape)
        if self.a.size:
            by_scale += 0.5 * float(np.vdot(by_A, self.A)) / scale
            by_a = np.sqrt(scale) * by_A.T
        rows = run.Rows(by.u, by_a)
        return run.Cotangents(
            np.array([by.constant, by_scale]), scale * by.scale, np.zeros((1, 1, 1)), rows, rows
        )
