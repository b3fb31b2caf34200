"""Kernels of an embedding: their formulas, in NumPy and PyTorch, and what other engines say of the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from termwise.deep.embedded import Embedding, Free, _climb, fit_embedded, identity, negative_evidence
from termwise.deep.gram import FORMULAS, GramKernel, first_parameters, solve_exact, solve_sparse
from termwise.deep.posterior import GramPosterior
from termwise.deep.training import Descent, Lesson, parted
from termwise.inference.exact import ExactObjective
from termwise.inference.projected import ProjectedModel

rng = np.random.default_rng(0)
X = rng.standard_normal((30, 3))
NEW = rng.standard_normal((9, 3))
Y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(30)
NOISE = 0.07
every_kind = pytest.mark.parametrize("kind", list(FORMULAS))


def kernel_of(kind: str) -> GramKernel:
    found = first_parameters(kind, 3, np.random.default_rng(1))
    return GramKernel(kind, {name: value * 1.3 for name, value in found.items()})


def one_pair(kind: str, a: np.ndarray, b: np.ndarray, p: dict[str, Any]) -> float:
    """The formulas of the papers for two rows, by loops."""
    if kind == "rbf":
        return p["variance"] * np.exp(-0.5 * sum((a - b) ** 2 / p["lengthscales"] ** 2))
    if kind == "matern":
        r = np.sqrt(sum((a - b) ** 2 / p["lengthscales"] ** 2))
        return p["variance"] * (1 + np.sqrt(5) * r + 5 / 3 * r**2) * np.exp(-np.sqrt(5) * r)
    if kind == "sm":
        return sum(
            w * np.exp(-0.5 * sum((s * (a - b)) ** 2)) * np.cos(2 * np.pi * (a - b) @ m)
            for w, s, m in zip(p["weights"], p["widths"], p["frequencies"], strict=True)
        )
    xy, xx, yy = (left @ right + p["bias"] for left, right in ((a, b), (a, a), (b, b)))
    for _ in range(2):
        angle = np.arccos(np.clip(xy / np.sqrt(xx * yy), -1, 1))
        xy = np.sqrt(xx * yy) / np.pi * (np.sin(angle) + (np.pi - angle) * np.cos(angle))
    return p["variance"] * xy


@every_kind
def test_a_kernel_is_its_formula_and_its_diagonal(kind: str) -> None:
    kernel = kernel_of(kind)
    slow = [[one_pair(kind, a, b, kernel.parameters) for b in NEW] for a in X]
    np.testing.assert_allclose(kernel.matrix(X, NEW), slow, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(kernel.matrix(X, X)), rtol=1e-5)
    assert np.linalg.eigvalsh(kernel.matrix(X, X)).min() > -1e-6


@every_kind
@pytest.mark.parametrize("sparse", [False, True])
def test_training_climbs_the_evidence_that_is_solved_for(kind: str, sparse: bool) -> None:
    kernel, Z = kernel_of(kind), X[:8] if sparse else None
    free = Free(kernel, NOISE, Z)
    loss = negative_evidence(kind, torch.as_tensor(X), torch.as_tensor(Y), free.values())
    solved = solve_exact(kernel, X, Y, NOISE) if Z is None else solve_sparse(kernel, X, Y, NOISE, Z)
    assert -loss.item() == pytest.approx(solved.evidence, abs=1e-3)  # training has jitter
    loss.backward()
    assert all(np.all(np.isfinite(part.grad.numpy())) for part in free.parameters)
    kept, noise, _ = free.kept()
    assert noise == pytest.approx(NOISE)
    np.testing.assert_allclose(kept.matrix(X, NEW), kernel.matrix(X, NEW), rtol=1e-12)


@every_kind
def test_with_all_rows_inducing_sparse_is_exact(kind: str) -> None:
    kernel = kernel_of(kind)
    exact, sparse = solve_exact(kernel, X, Y, NOISE), solve_sparse(kernel, X, Y, NOISE, X)
    assert sparse.evidence == pytest.approx(exact.evidence, abs=1e-5)
    beside = kernel.matrix(NEW, X)
    np.testing.assert_allclose(beside @ sparse.alpha, beside @ exact.alpha, atol=1e-6)
    reduced = [np.sum((beside @ one.root) ** 2, axis=1) for one in (exact, sparse)]
    np.testing.assert_allclose(reduced[0], reduced[1], atol=1e-6)


def test_an_identity_network_is_the_exact_engine() -> None:
    lengthscales, variance = np.array([0.8, 1.7, 2.5]), 1.9
    model = ProjectedModel(np.eye(3), (3,), "se", True, False)
    # lengthscales, the variance of a constant (none), that of the function, the noise
    theta = np.concatenate([np.log(lengthscales), [-80.0, np.log(variance), np.log(NOISE)]])
    objective = ExactObjective(model, X, Y, 1)
    value, _ = objective.value_and_gradient(theta)
    prior, _ = model.log_prior(theta)
    posterior = objective.posterior(theta)
    kernel = GramKernel("rbf", {"variance": np.array(variance), "lengthscales": lengthscales})
    networks = identity(3)
    solved = solve_exact(kernel, networks.outputs(X)[0], Y, NOISE)
    assert solved.evidence == pytest.approx(value - prior, abs=1e-6)
    ours = GramPosterior(_Plain(), networks, kernel, solved, NOISE)  # type: ignore[arg-type]
    np.testing.assert_allclose(ours.mean(NEW), posterior.mean(NEW / lengthscales), atol=1e-6)
    np.testing.assert_allclose(ours.variance(NEW), posterior.variance(NEW / lengthscales), atol=1e-6)


class _Plain:
    """A reading of rows that are numbers already."""

    dense = property(lambda self: self)
    spread = staticmethod(lambda X: X)
    base = staticmethod(lambda X: np.zeros(len(X)))
    missed = staticmethod(lambda value, X: np.zeros(len(X)))


@every_kind
def test_it_learns_a_function(kind: str) -> None:
    stream = np.random.default_rng(2)
    X = stream.uniform(-2.0, 2.0, (200, 2))
    y = np.sin(X[:, 0]) * X[:, 1] + 0.05 * stream.standard_normal(200)
    rows = parted(X, stream)
    found = fit_embedded(Lesson(X, y, rows), Embedding(kind, (24, 16)), Descent(max_epochs=30), stream)
    new = stream.uniform(-2.0, 2.0, (300, 2))
    beside = found.kernel.matrix(found.networks.outputs(new)[0], found.solved.centres)
    errors = beside @ found.solved.alpha - np.sin(new[:, 0]) * new[:, 1]
    assert np.sqrt(np.mean(errors**2)) < 0.3
    assert len(found.solved.centres) == 200
    few = fit_embedded(Lesson(X, y, rows), Embedding(kind, (24, 16), 20), Descent(max_epochs=2), stream)
    assert len(few.solved.centres) == 20


def test_the_evidence_rises_until_lengthscales_are_those_of_the_function() -> None:
    stream = np.random.default_rng(5)
    H, true = stream.uniform(-2.0, 2.0, (220, 2)), np.array([0.3, 1.6])
    kernel = GramKernel("rbf", {"variance": np.array(1.5), "lengthscales": true})
    K = kernel.matrix(H, H) + 0.01 * np.eye(220)
    y = np.linalg.cholesky(K) @ stream.standard_normal(220)
    rows = parted(H, stream)
    free = Free(GramKernel("rbf", first_parameters("rbf", 2, stream)), 0.3, None)
    first, noise, _ = free.kept()
    before = solve_exact(first, H[rows.train], y[rows.train], noise).evidence
    _climb(None, free, Lesson(H, y, rows), Descent(learning_rate=1e-3), stream)
    last, noise, _ = free.kept()
    after = solve_exact(last, H[rows.train], y[rows.train], noise).evidence
    best = solve_exact(kernel, H[rows.train], y[rows.train], 0.01).evidence
    assert after > before + 0.8 * (best - before)
    np.testing.assert_allclose(last.parameters["lengthscales"], true, rtol=0.35)
    assert noise == pytest.approx(0.01, rel=0.5)
