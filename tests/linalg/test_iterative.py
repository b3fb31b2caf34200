"""Toeplitz products, conjugate gradients and log determinants, against dense matrices."""

import numpy as np
import pytest
from scipy.linalg import toeplitz

from termwise.linalg.conjugate_gradients import solve
from termwise.linalg.lanczos import log_quadratics
from termwise.linalg.toeplitz import Toeplitz


@pytest.mark.parametrize("size", [1, 2, 7, 64, 101])
def test_toeplitz_products_are_those_of_the_matrix(size):
    rng = np.random.default_rng(0)
    column, V = rng.standard_normal(size), rng.standard_normal((3, size, 2))
    T = Toeplitz(column)
    np.testing.assert_allclose(T.dense(), toeplitz(column), atol=0)
    np.testing.assert_allclose(T.times(V), toeplitz(column) @ V, atol=1e-12)


def matrices(n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """A kernel matrix with noise, and one of low rank that is near to it."""
    x = np.sort(np.random.default_rng(1).uniform(0.0, 10.0, n))
    K = np.exp(-np.abs(np.subtract.outer(x, x)))
    eigenvalues, vectors = np.linalg.eigh(K)
    near = (vectors[:, -15:] * eigenvalues[-15:]) @ vectors[:, -15:].T
    return K + 0.05 * np.eye(n), near + 0.05 * np.eye(n)


@pytest.mark.parametrize("preconditioned", [False, True])
def test_conjugate_gradients_solve_as_well_as_they_say(preconditioned):
    K, P = matrices()
    b = np.random.default_rng(2).standard_normal((120, 4))
    b[:, 2] = 0.0
    inverse = np.linalg.inv(P) if preconditioned else np.eye(120)
    found = solve(lambda v: K @ v, b, lambda v: inverse @ v, tolerance=1e-8, most_steps=300)
    assert found.converged
    np.testing.assert_allclose(found.x, np.linalg.solve(K, b), atol=1e-6)
    real = np.linalg.norm(b - K @ found.x, axis=0) / np.maximum(np.linalg.norm(b, axis=0), 1e-300)
    np.testing.assert_allclose(real[[0, 1, 3]], found.residual[[0, 1, 3]], rtol=1e-3, atol=1e-12)


def test_a_preconditioner_saves_steps():
    K, P = matrices()
    b, inverse = np.random.default_rng(2).standard_normal((120, 2)), np.linalg.inv(P)
    plain = solve(lambda v: K @ v, b, lambda v: v, tolerance=1e-8, most_steps=300)
    better = solve(lambda v: K @ v, b, lambda v: inverse @ v, tolerance=1e-8, most_steps=300)
    assert better.steps < 0.7 * plain.steps


def test_too_few_steps_are_said():
    K, _ = matrices()
    b = np.random.default_rng(2).standard_normal((120, 2))
    found = solve(lambda v: K @ v, b, lambda v: v, tolerance=1e-8, most_steps=3)
    assert not found.converged
    assert found.steps == 3
    assert np.max(found.residual) > 1e-8


def test_quadrature_is_that_of_the_matrix_logarithm():
    """For every z: z' P^-1/2 log(P^-1/2 K P^-1/2) P^-1/2 z, once all steps are made."""
    K, P = matrices(40)
    z = np.random.default_rng(3).standard_normal((40, 3))
    inverse = np.linalg.inv(P)
    found = solve(lambda v: K @ v, z, lambda v: inverse @ v, tolerance=1e-13, most_steps=60)
    squares = np.einsum("nk,nk->k", z, inverse @ z)
    values, vectors = np.linalg.eigh(P)
    root = (vectors / np.sqrt(values)) @ vectors.T
    eigenvalues, directions = np.linalg.eigh(root @ K @ root)
    logarithm = (directions * np.log(eigenvalues)) @ directions.T
    expected = np.einsum("nk,nm,mk->k", root @ z, logarithm, root @ z)
    np.testing.assert_allclose(log_quadratics(found, squares), expected, rtol=1e-6)


def test_the_mean_over_draws_is_the_log_determinant():
    K, P = matrices()
    rng = np.random.default_rng(4)
    z = np.linalg.cholesky(P) @ rng.standard_normal((120, 400))
    inverse = np.linalg.inv(P)
    found = solve(lambda v: K @ v, z, lambda v: inverse @ v, tolerance=1e-8, most_steps=200)
    each = log_quadratics(found, np.einsum("nk,nk->k", z, inverse @ z))
    expected = np.linalg.slogdet(K)[1] - np.linalg.slogdet(P)[1]
    error = np.std(each) / np.sqrt(each.size)
    assert np.mean(each) == pytest.approx(expected, abs=4.0 * error)
    assert error < 0.02 * abs(expected)
