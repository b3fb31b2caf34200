"""Steps that learn from those before them: a linear fixed point in as many as it has dimensions."""

import numpy as np
import pytest

from termwise.inference.mixing import DEPTH, Mixing

RATES = np.linspace(0.5, 0.95, DEPTH)


def linear(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A and b of g(x) = A x + b, which contracts slowly."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((DEPTH, DEPTH)))[0]
    return Q @ np.diag(RATES) @ Q.T, rng.standard_normal(DEPTH)


@pytest.mark.parametrize("step", [1.0, 0.8])
def test_a_linear_fixed_point_is_found_in_as_many_steps_as_dimensions(step):
    A, b = linear()
    rest = np.linalg.solve(np.eye(DEPTH) - A, b)
    x, mixing = np.zeros(DEPTH), Mixing(DEPTH)
    for _ in range(DEPTH + 2):
        x = mixing.next(x, A @ x + b - x, step)
    np.testing.assert_allclose(x, rest, atol=1e-4)
    plain = np.zeros(DEPTH)
    for _ in range(DEPTH + 2):
        plain = plain + step * (A @ plain + b - plain)
    assert np.linalg.norm(plain - rest) > 1.0


def test_it_weighs_steps_as_least_squares_of_the_compared_part_do():
    rng = np.random.default_rng(1)
    points, residuals = rng.standard_normal((2, 4, 7))
    mixing = Mixing(3)
    for point, residual in zip(points, residuals, strict=True):
        found = mixing.next(point, residual, 0.5)
    moved, changed = np.diff(points, axis=0), np.diff(residuals, axis=0)
    weights = np.linalg.lstsq(changed[:, :3].T, residuals[-1, :3], rcond=None)[0]
    expected = points[-1] + 0.5 * residuals[-1] - weights @ (moved + 0.5 * changed)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("depth", [DEPTH, 0])
def test_without_memory_it_goes_along_the_residual(depth):
    A, b = linear()
    x, mixing = np.ones(DEPTH), Mixing(DEPTH, depth)
    mixing.next(np.zeros(DEPTH), b, 1.0)
    assert mixing.astray(1.0) == 0.5
    residual = A @ x + b - x
    np.testing.assert_array_equal(mixing.next(x, residual, 0.7), x + 0.7 * residual)
    assert not mixing.remembers


def test_steps_that_say_nothing_do_no_harm():
    mixing = Mixing(2)
    for _ in range(4):
        there = mixing.next(np.ones(2), np.zeros(2), 1.0)
    np.testing.assert_array_equal(there, np.ones(2))
