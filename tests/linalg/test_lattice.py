"""Interpolation on a lattice, against weights written down one by one."""

import numpy as np
import pytest

from termwise.errors import GridError
from termwise.linalg.lattice import POINTS, Lattice, _touched

STEP = 0.25


def keys(s: float) -> float:
    """The cubic convolution kernel, by its definition. Keys (1981), eq. 15."""
    s = abs(s)
    if s < 1.0:
        return 1.5 * s**3 - 2.5 * s**2 + 1.0
    return -0.5 * s**3 + 2.5 * s**2 - 4.0 * s + 2.0 if s < 2.0 else 0.0


def dense(lattice: Lattice, u: np.ndarray) -> np.ndarray:
    """W of one line."""
    return np.array([[keys(x / STEP - node / STEP) for node in lattice.nodes] for x in u])


@pytest.fixture
def points() -> np.ndarray:
    u = np.random.default_rng(0).uniform(-2.0, 3.0, (3, 40))
    u[0, :5] = [-2.0, 3.0, 0.0, 0.25, -1.75]  # on nodes, and at both ends
    return u


def test_it_covers_all_points_with_room_on_both_sides(points):
    lattice = Lattice.covering(points, STEP, 100)
    assert lattice.nodes[0] <= points.min() - STEP
    assert lattice.nodes[-1] >= points.max() + STEP
    for line in points:
        np.testing.assert_allclose(dense(lattice, line).sum(axis=1), 1.0, atol=1e-13)


def test_gather_and_scatter_are_the_matrix_and_its_transpose(points):
    rng = np.random.default_rng(1)
    lattice = Lattice.covering(points, STEP, 100)
    values, V, scale = rng.standard_normal((3, lattice.size, 2)), rng.standard_normal((40, 2)), rng.random(3)
    W = [dense(lattice, line) for line in points]
    expected = sum(s * w @ v for s, w, v in zip(scale, W, values, strict=True))
    np.testing.assert_allclose(lattice.gather(points, scale, values), expected, atol=1e-12)
    np.testing.assert_allclose(lattice.scatter(points, V), [w.T @ V for w in W], atol=1e-12)


def test_features_are_those_of_each_line_beside_each_other(points):
    rng = np.random.default_rng(2)
    lattice = Lattice.covering(points, STEP, 100)
    factors = rng.standard_normal((3, lattice.size, 4))
    expected = np.hstack([dense(lattice, line) @ f for line, f in zip(points, factors, strict=True)])
    np.testing.assert_allclose(lattice.features(points, factors), expected, atol=1e-12)


def test_slopes_are_those_of_finite_differences(points):
    rng = np.random.default_rng(3)
    points = points + 0.01  # Keys' weights have a kink in their second derivative at nodes
    lattice = Lattice.covering(points, STEP, 100)
    values, A = rng.standard_normal((3, lattice.size, 2)), rng.standard_normal((40, 2))
    factors, given = rng.standard_normal((3, lattice.size, 4)), rng.standard_normal((40, 12))
    found, by_features = lattice.slopes(points, A, values), lattice.feature_slopes(points, factors, given)
    for c, i in ((0, 3), (1, 7), (2, 39)):
        step = np.zeros(points.shape)
        step[c, i] = 1e-6
        up, down = (lattice.gather(points + sign * step, np.ones(3), values) for sign in (1, -1))
        assert found[c, i] == pytest.approx(np.sum(A * (up - down)) / 2e-6, rel=1e-5)
        up, down = (lattice.features(points + sign * step, factors) for sign in (1, -1))
        assert by_features[c, i] == pytest.approx(np.sum(given * (up - down)) / 2e-6, rel=1e-5)


def test_kernels_between_points_go_through_the_nodes(points):
    rng = np.random.default_rng(5)
    points = points + 0.01
    points[1, 3] = np.nan
    lattice = Lattice.covering(points, STEP, 100)
    column, scale = np.exp(-0.3 * np.arange(lattice.size)), rng.random(3)
    T = column[np.abs(np.subtract.outer(np.arange(lattice.size), np.arange(lattice.size)))]
    W = [np.where(np.isnan(line)[:, None], 0.0, dense(lattice, line)) for line in points]
    K = lattice.gram(points, scale, column)
    np.testing.assert_allclose(K, sum(s * w @ T @ w.T for s, w in zip(scale, W, strict=True)), atol=1e-12)
    G = rng.standard_normal((40, 40))
    G += G.T
    by_u, by_scale = lattice.gram_slopes(points, scale, column, G)
    np.testing.assert_allclose(by_scale, [np.sum(G * (w @ T @ w.T)) for w in W], atol=1e-10)
    for c, i in ((0, 3), (1, 7), (2, 39)):
        step = np.zeros(points.shape)
        step[c, i] = 1e-6
        up, down = (lattice.gram(points + sign * step, scale, column) for sign in (1, -1))
        assert by_u[c, i] == pytest.approx(np.sum(G * (up - down)) / 2e-6, rel=1e-5)


def test_nodes_are_touched_that_some_point_lies_between():
    nodes, begins = _touched(np.array([7, -1, 2, 8, 2]), 16)
    np.testing.assert_array_equal(nodes, [2, 3, 4, 5, 7, 8, 9, 10, 11])
    np.testing.assert_array_equal(begins, [4, -1, 0, 5, 0])
    nodes, begins = _touched(np.array([-1, -1]), 16)
    assert nodes.size == 0
    np.testing.assert_array_equal(begins, [-1, -1])


def test_between_points_far_apart_no_node_counts_and_what_is_outside_has_no_kernel():
    """More points than are done at a time, in two heaps; one is not known, and one not on the lattice."""
    rng = np.random.default_rng(6)
    u = rng.uniform(0.0, 1.0, (2, POINTS + 20)) + 500.0 * rng.integers(0, 2, (2, POINTS + 20))
    lattice = Lattice.covering(u, STEP, 10_000)
    T = np.exp(-0.5 * np.subtract.outer(lattice.nodes, lattice.nodes) ** 2)
    u[0, 3], u[1, 5], u[0, POINTS + 1], u[1, 0] = np.nan, 1e4, -1e4, np.inf
    W = [lattice.features(line[None], np.eye(lattice.size)[None]) for line in u]
    for c, i in ((0, 3), (1, 5), (0, POINTS + 1), (1, 0)):
        assert not np.any(W[c][i])
    scale, G = np.array([0.3, 2.0]), rng.standard_normal((u.shape[1], u.shape[1]))
    G += G.T
    expected = [w @ T @ w.T for w in W]
    found = lattice.gram(u, scale, T[0])
    np.testing.assert_allclose(found, sum(s * K for s, K in zip(scale, expected, strict=True)), atol=1e-12)
    by_u, by_scale = lattice.gram_slopes(u, scale, T[0], G)
    np.testing.assert_allclose(by_scale, [np.sum(G * K) for K in expected], atol=1e-9)
    # The slope of f = sum_ij G_ij K_ij for u_i is that of what is gathered of 2 scale T W' G at point i.
    for c, w in enumerate(W):
        values = 2.0 * scale[c] * T @ w.T @ G
        for i in (0, 3, 5, POINTS + 1, POINTS + 7):
            own = lattice.slopes(u[c : c + 1, i : i + 1], np.ones((1, 1)), values[None, :, i : i + 1])
            assert by_u[c, i] == pytest.approx(own[0, 0], abs=1e-9)


def test_a_smooth_function_is_hit_to_the_third_power_of_the_step():
    u = np.random.default_rng(4).uniform(-2.0, 2.0, (1, 200))
    errors = []
    for step in (0.2, 0.1, 0.05):
        lattice = Lattice.covering(u, step, 1000)
        values = np.exp(-0.5 * lattice.nodes**2)[None, :, None]
        errors.append(np.max(np.abs(lattice.gather(u, np.ones(1), values)[:, 0] - np.exp(-0.5 * u[0] ** 2))))
    assert errors[0] / errors[1] > 6.5
    assert errors[1] / errors[2] > 6.5


def test_what_is_missing_has_no_weights(points):
    points[1, 3] = np.nan
    lattice = Lattice.covering(points, STEP, 100)
    ones = np.ones((3, lattice.size, 1))
    totals = lattice.gather(points, np.ones(3), ones)[:, 0]
    assert totals[3] == pytest.approx(2.0)
    assert totals[4] == pytest.approx(3.0)


def test_too_many_nodes_are_refused_by_name(points):
    with pytest.raises(GridError, match="more than the 10 allowed"):
        Lattice.covering(points, STEP, 10)
