"""Kernels on projections: the loops against plain loops, their adjoint, and what many directions lead to."""

import numpy as np
import pytest

from termwise.kernels.directions import diverse_directions, random_directions
from termwise.kernels.fused import run
from termwise.kernels.fused.block import MISSING
from termwise.kernels.fused.radial import RADIAL
from termwise.kernels.projected import ONE_COLUMN, PROFILES, ProjectedKernel, radial_weights
from tests.oracle import projected as oracle

every_kind = pytest.mark.parametrize("kind", sorted(RADIAL))
VARIANCES = np.array([0.3, 1.7])


def groups_of(kind: str) -> tuple[int, ...]:
    return (1, 1, 1) if kind in ONE_COLUMN else (1, 3, 2)


def weights_of(groups: tuple[int, ...]) -> np.ndarray:
    return np.linspace(0.4, 0.9, len(groups))


def some_rows(groups: tuple[int, ...], n: int, seed: int, missing: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = 1.3 * rng.standard_normal((n, sum(groups)))
    X[rng.random(X.shape) < missing] = np.nan
    return X


def as_rows(X: np.ndarray) -> run.Rows:
    u = np.ascontiguousarray(np.where(np.isnan(X), MISSING, X).T)
    return run.Rows(u, np.zeros(u.shape))


def test_every_kernel_has_a_profile_and_an_oracle():
    assert set(RADIAL) == set(PROFILES) == set(oracle.PROFILES)


@every_kind
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("sizes", [(3, 2), (70, 131)])
def test_the_loops_are_the_formula(kind, threads, sizes):
    groups = groups_of(kind)
    w = radial_weights(kind, groups, weights_of(groups), VARIANCES)
    X, Z = (some_rows(groups, n, seed, missing=0.1) for seed, n in enumerate(sizes))
    expected = oracle.matrix(kind, groups, weights_of(groups), VARIANCES, X, Z)
    np.testing.assert_allclose(run.cross(w, as_rows(X), as_rows(Z), threads), expected, atol=1e-13)
    below = np.zeros((len(X), len(X)))
    run.gram_below(w, as_rows(X), below, threads)
    full = oracle.matrix(kind, groups, weights_of(groups), VARIANCES, X, X)
    np.testing.assert_allclose(below, np.tril(full, -1), atol=1e-13)


@every_kind
@pytest.mark.parametrize("threads", [1, 3])
def test_the_way_back_is_that_of_finite_differences(kind, threads):
    groups = groups_of(kind)
    rng = np.random.default_rng(3)
    X, Z, weight = some_rows(groups, 5, 0), some_rows(groups, 66, 1), weights_of(groups)
    G, outer = rng.standard_normal((5, 66)), (rng.standard_normal(5), rng.standard_normal(66))

    def value(X=X, Z=Z, weight=weight, variances=VARIANCES):
        w = radial_weights(kind, groups, weight, variances)
        return np.sum((G + np.outer(*outer)) * run.cross(w, as_rows(X), as_rows(Z), 1))

    w = radial_weights(kind, groups, weight, VARIANCES)
    found = run.adjoint_cross(w, as_rows(X), as_rows(Z), G, threads, outer)
    for name, gradient, start in (
        ("X", found.x.u.T, X),
        ("Z", found.z.u.T, Z),
        ("weight", found.weight, weight),
        ("variances", found.variances, VARIANCES),
    ):
        for place in list(np.ndindex(start.shape))[:12]:
            step = np.zeros(start.shape)
            step[place] = 1e-6
            slope = (value(**{name: start + step}) - value(**{name: start - step})) / 2e-6
            assert gradient[place] == pytest.approx(slope, rel=1e-6, abs=1e-6), (name, place)


@every_kind
def test_the_way_back_below_the_diagonal_counts_both_halves(kind):
    groups = groups_of(kind)
    w = radial_weights(kind, groups, weights_of(groups), VARIANCES)
    X, rng = some_rows(groups, 70, 0), np.random.default_rng(1)
    G, left, right = rng.standard_normal((70, 70)), rng.standard_normal(70), rng.standard_normal(70)
    below = np.tril(G + np.outer(left, right), -1)
    half = run.adjoint_below(w, as_rows(X), G, left, right, 1)
    both = run.adjoint_cross(w, as_rows(X), as_rows(X), below + below.T, 1)
    np.testing.assert_allclose(half.x.u, both.x.u + both.z.u, atol=1e-10)
    np.testing.assert_allclose(half.weight, both.weight, atol=1e-10)
    np.testing.assert_allclose(half.variances, both.variances, atol=1e-10)


@every_kind
def test_terms_and_constant_add_up_to_the_kernel(kind):
    groups = groups_of(kind)
    kernel = ProjectedKernel(kind, groups, tuple(weights_of(groups)), (0.3, 1.7))
    X, Z = some_rows(groups, 9, 0), some_rows(groups, 7, 1)
    parts = sum(kernel.term_matrix(term, X, Z) for term in ((), *kernel.terms))
    np.testing.assert_allclose(parts, kernel.matrix(X, Z), atol=1e-13)
    np.testing.assert_allclose(np.diag(kernel.gram(X)), kernel.diagonal(X), atol=1e-13)
    np.testing.assert_allclose(
        kernel.diagonal(X), sum(kernel.term_diagonal(term, X) for term in ((), *kernel.terms)), atol=1e-13
    )
    orders = sum(kernel.of_order(order).matrix(X, Z) for order in set(groups)) + 0.3
    np.testing.assert_allclose(orders, kernel.matrix(X, Z), atol=1e-13)
    np.testing.assert_allclose(kernel.scaled(2.0).matrix(X, Z), 2.0 * kernel.matrix(X, Z), atol=1e-13)


@every_kind
def test_it_is_positive_semi_definite(kind):
    groups = groups_of(kind)
    kernel = ProjectedKernel(kind, groups, tuple(weights_of(groups)), (0.3, 1.7))
    eigenvalues = np.linalg.eigvalsh(kernel.gram(some_rows(groups, 60, 2, missing=0.2)))
    assert eigenvalues[0] > -1e-12 * eigenvalues[-1]


def distance_to(limit, directions: np.ndarray, kind: str, X: np.ndarray) -> float:
    """Root mean squared distance of the kernel of these directions to its limit, over pairs of rows."""
    count = len(directions)
    kernel = ProjectedKernel(kind, (1,) * count, (1.0 / count,) * count, (0.0, 1.0))
    found = kernel.matrix(X @ directions.T, X @ directions.T)
    squared = np.sum((X[:, None] - X[None]) ** 2, axis=2)
    return float(np.sqrt(np.mean((found - limit(squared)) ** 2)))


LIMITS = {"se": lambda s: (1.0 + s) ** -0.5, "cosine": lambda s: np.exp(-0.5 * s)}


@pytest.mark.parametrize("kind", sorted(LIMITS))
def test_random_directions_lead_to_the_limit_at_the_rate_of_monte_carlo(kind):
    """Proposition 2, corollaries 1 and 2: the distance falls like the root of the number of directions."""
    X = np.random.default_rng(0).standard_normal((40, 4)) * 0.7
    counts, distances = 2 ** np.arange(3, 11), []
    for count in counts:
        draws = [random_directions(count, 4, np.random.default_rng(seed)) for seed in range(12)]
        distances.append(np.sqrt(np.mean([distance_to(LIMITS[kind], d, kind, X) ** 2 for d in draws])))
    slope = np.polyfit(np.log(counts), np.log(distances), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.06)


def test_diverse_directions_are_nearer_to_where_many_random_ones_lead():
    """To the mean over directions of one length, as theirs; that of random lengths is another."""
    X = np.random.default_rng(0).standard_normal((40, 4)) * 0.7
    many = random_directions(200_000, 4, np.random.default_rng(1))
    many *= 2.0 / np.linalg.norm(many, axis=1, keepdims=True)
    squared = np.sum((X[:, None] - X[None]) ** 2, axis=2)
    grid = np.linspace(0.0, np.sqrt(squared.max()), 200)
    mean = np.array([np.mean(np.exp(-0.5 * (r * many[:, 0]) ** 2)) for r in grid])

    def limit(s):
        return np.interp(np.sqrt(s), grid, mean)

    for count, nearer in ((6, 0.7), (12, 0.5), (24, 0.5)):
        spread, drawn = [], []
        for seed in range(6):
            rng = np.random.default_rng(seed)
            one = random_directions(count, 4, rng)
            drawn.append(distance_to(limit, 2.0 * one / np.linalg.norm(one, axis=1, keepdims=True), "se", X))
            spread.append(distance_to(limit, diverse_directions(count, 4, rng), "se", X))
        assert np.mean(spread) < nearer * np.mean(drawn)


def redundancy(directions: np.ndarray) -> float:
    units = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    cosines = units @ units.T - np.eye(len(units))
    return float(np.sum(cosines**4))


def test_few_diverse_directions_are_orthogonal():
    found = diverse_directions(3, 5, np.random.default_rng(0))
    np.testing.assert_allclose(found @ found.T, 5.0 * np.eye(3), atol=1e-12)


def test_more_of_them_reach_the_least_redundancy_there_is():
    """In the plane, evenly spaced lines; three lines in it have cosines of one half."""
    for seed in range(3):
        found = diverse_directions(3, 2, np.random.default_rng(seed))
        assert redundancy(found) == pytest.approx(6 * 0.5**4, rel=1e-5)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), np.sqrt(2.0), rtol=1e-12)
    for count, features in ((20, 8), (30, 4)):
        found = diverse_directions(count, features, np.random.default_rng(0))
        drawn = random_directions(count, features, np.random.default_rng(0))
        assert redundancy(found) < redundancy(drawn)
        # No projection can have less: Welch (1974).
        least = count**2 * 3.0 / (features * (features + 2.0)) - count
        assert redundancy(found) >= least - 1e-9
    assert redundancy(found) == pytest.approx(least, rel=1e-3)  # many directions reach it


def test_a_seed_gives_the_same_directions():
    for make in (random_directions, diverse_directions):
        first, again, other = (make(12, 5, np.random.default_rng(seed)) for seed in (0, 0, 1))
        np.testing.assert_array_equal(first, again)
        assert not np.allclose(first, other)


def test_projections_to_several_coordinates_keep_lengths_on_average():
    """Projected eq. 4: entries have the variance 1 / degree."""
    drawn = random_directions(2000, 6, np.random.default_rng(0), degree=3)
    assert drawn.shape == (6000, 6)
    x = np.ones(6)
    lengths = np.sum((drawn @ x).reshape(2000, 3) ** 2, axis=1)
    assert np.mean(lengths) == pytest.approx(6.0, rel=0.05)
