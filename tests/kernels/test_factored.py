"""Matern kernels by factors, exp(-r |u - v|) = min(e^(-ru) e^(rv), e^(ru) e^(-rv)), against exponentials."""

from dataclasses import replace

import numpy as np
import pytest

from termwise.kernels.fused import run
from termwise.kernels.fused.block import KINDS, MISSING, TABLE
from termwise.kernels.fused.factors import LIMIT, by_factors
from termwise.kernels.fused.nodes import node_means, warped_column
from tests.oracle.additive import PROFILES, product_sum

RATES = {"matern12": 1.0, "matern32": np.sqrt(3.0), "matern52": np.sqrt(5.0)}
every_matern = pytest.mark.parametrize("name", RATES)
VARIANCES = np.array([0.4, 1.0, 0.7, 0.2])
FAR = 1e4  # one more left-hand row, so far away that its columns keep their exponentials


def weights(kinds: list[int], rng: np.random.Generator) -> run.Weights:
    table = rng.standard_normal((1, 4, 4))
    return run.Weights(np.array(kinds), rng.uniform(0.5, 1.5, len(kinds)), table, VARIANCES)


def some_rows(n: int, widths: list[float], rng: np.random.Generator, *, missing: float = 0.0) -> run.Rows:
    """Columns of coordinates that reach just to +-width, and amplitudes."""
    u = rng.uniform(-1.0, 1.0, (len(widths), n))
    u[:, 0], u[:, -1] = -1.0, 1.0
    u *= np.array(widths)[:, None]
    a = 0.5 * rng.standard_normal(u.shape)
    gone = rng.uniform(size=u.shape) < missing
    gone[:, [0, -1]] = False
    return run.Rows(np.where(gone, MISSING, u), np.where(gone, 0.0, a))


def with_a_far_row(rows: run.Rows) -> run.Rows:
    return run.Rows(np.hstack([rows.u, np.full((len(rows.u), 1), FAR)]), np.pad(rows.a, ((0, 0), (0, 1))))


def factored(w: run.Weights, left: run.Rows, right: run.Rows) -> list[bool]:
    return [bool(kind < 0) for kind in by_factors(w.kinds, left.u, right.blocks(w.kinds)[0])]


def slow(w: run.Weights, names: list[str], left: run.Rows, right: run.Rows) -> np.ndarray:
    """The oracle's sum over subsets, of its kernels."""
    z = []
    for d, name in enumerate(names):
        gone = (left.u[d][:, None] == MISSING) | (right.u[d] == MISSING)
        k = np.where(gone, 0.0, PROFILES[name](np.abs(left.u[d][:, None] - right.u[d])))
        z.append(w.weight[d] * k - np.outer(left.a[d], right.a[d]))
    return product_sum(z, tuple(w.variances))


def parts(found: run.Cotangents) -> list[np.ndarray]:
    return [found.variances, found.weight, found.x.u, found.x.a, found.z.u, found.z.a]


def assert_equal_paths(w, left, right):
    """A far row of weight zero turns the factors off and changes nothing else."""
    n, m = left.u.shape[1], right.u.shape[1]
    G = np.random.default_rng(9).standard_normal((n, m))
    far = with_a_far_row(left)
    assert any(factored(w, left, right))
    assert not any(factored(w, far, right))
    scale = np.abs(run.cross(w, left, right, 1)).max()
    np.testing.assert_allclose(
        run.cross(w, left, right, 1), run.cross(w, far, right, 1)[:n], rtol=0, atol=2e-14 * scale
    )
    quick = run.adjoint_cross(w, left, right, G, 1)
    plain = run.adjoint_cross(w, far, right, np.vstack([G, np.zeros((1, m))]), 1)
    plain = replace(plain, x=run.Rows(plain.x.u[:, :n], plain.x.a[:, :n]))
    for one, other in zip(parts(quick), parts(plain), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-13 * max(np.abs(other).max(), 1.0))


@every_matern
@pytest.mark.parametrize("missing", [(0.0, 0.0), (0.3, 0.0), (0.0, 0.3), (0.3, 0.3)])
@pytest.mark.parametrize("part", [0.05, 1.0])
def test_factors_equal_exponentials(name, missing, part):
    rng = np.random.default_rng(0)
    reach = part * LIMIT / RATES[name] * (1 - 1e-12)  # with part = 1 at the limit of the range
    w = weights([KINDS[name]] * 3, rng)
    left = some_rows(70, [reach] * 3, rng, missing=missing[0])
    right = some_rows(130, [reach] * 3, rng, missing=missing[1])
    assert factored(w, left, right) == [True] * 3
    assert_equal_paths(w, left, right)
    expected = slow(w, [name] * 3, left, right)
    np.testing.assert_allclose(
        run.cross(w, left, right, 1), expected, rtol=0, atol=1e-13 * np.abs(expected).max()
    )


@every_matern
def test_at_the_limit_a_value_keeps_thirteen_digits(name):
    # Rows of one column side by side at the far end, where r |u| is 60, one lengthscale from each other.
    reach = LIMIT / RATES[name] * (1 - 1e-12)
    left = run.Rows(np.linspace(reach - 1, reach, 40)[None], np.zeros((1, 40)))
    right = run.Rows(np.append(-reach, np.linspace(reach - 1, reach, 63))[None], np.zeros((1, 64)))
    w = run.Weights(np.array([KINDS[name]]), np.ones(1), np.zeros((1, 1, 1)), np.array([0.0, 1.0]))
    assert factored(w, left, right) == [True]
    exact = PROFILES[name](np.abs(left.u[0][:, None].astype(np.longdouble) - right.u[0]))
    error = np.abs(run.cross(w, left, right, 1) / exact - 1)
    assert error[:, 1:].max() < 5e-14  # near rows
    assert error[:, 0].max() < 1e-13  # and those at the other end, exp(-120) apart


@every_matern
def test_a_column_that_reaches_too_far_on_either_side_keeps_its_exponentials(name):
    rng = np.random.default_rng(1)
    near, far = 0.9 * LIMIT / RATES[name], 1.1 * LIMIT / RATES[name]
    w = weights([KINDS[name]] * 4, rng)
    left, right = some_rows(30, [near, far, near, far], rng), some_rows(40, [near, near, far, far], rng)
    assert factored(w, left, right) == [True, False, False, False]
    expected = slow(w, [name] * 4, left, right)
    np.testing.assert_allclose(
        run.cross(w, left, right, 1), expected, rtol=0, atol=1e-13 * np.abs(expected).max()
    )


def test_the_range_counts_from_the_middle_of_the_right_rows():
    # 1e6 from zero, but all within a few lengthscales: without a shift the factors would overflow.
    rng = np.random.default_rng(2)
    w = weights([KINDS["matern52"]] * 2, rng)
    left, right = (some_rows(n, [5.0, 5.0], rng, missing=0.2) for n in (20, 70))
    left, right = (run.Rows(np.where(r.u == MISSING, MISSING, r.u + 1e6), r.a) for r in (left, right))
    assert factored(w, left, right) == [True, True]
    expected = slow(w, ["matern52"] * 2, left, right)
    np.testing.assert_allclose(run.cross(w, left, right, 1), expected, rtol=0, atol=1e-12)


def test_columns_of_every_kind_and_regime_stand_side_by_side():
    rng = np.random.default_rng(3)
    names = ["matern52", "se", "matern12", "matern32", "matern52", "matern12"]
    widths = [3.0, 2.0, 200.0, 5.0, 90.0, 8.0]
    w = weights([KINDS[name] for name in names], rng)
    left, right = some_rows(66, widths, rng, missing=0.2), some_rows(65, widths, rng, missing=0.2)
    assert factored(w, left, right) == [True, False, False, True, False, True]
    expected = slow(w, names, left, right)
    for threads in (1, 3):
        np.testing.assert_allclose(
            run.cross(w, left, right, threads), expected, rtol=0, atol=1e-13 * np.abs(expected).max()
        )
    assert_equal_paths(w, left, right)


def test_a_column_missing_in_all_rows_of_a_side_gives_its_other_columns():
    rng = np.random.default_rng(4)
    w = weights([KINDS["matern52"]] * 2, rng)
    full, empty = some_rows(20, [2.0, 2.0], rng), some_rows(20, [2.0, 2.0], rng)
    empty = run.Rows(np.stack([np.full(20, MISSING), empty.u[1]]), np.stack([np.zeros(20), empty.a[1]]))
    for left, right in ((full, empty), (empty, full), (empty, empty)):
        found = run.cross(w, left, right, 1)
        np.testing.assert_allclose(found, slow(w, ["matern52"] * 2, left, right), rtol=0, atol=1e-13)
        cotangents = run.adjoint_cross(w, left, right, np.ones((20, 20)), 1)
        assert all(np.all(np.isfinite(part)) for part in parts(cotangents))


@every_matern
@pytest.mark.parametrize("width", [2.0, 500.0])
def test_the_gradient_is_that_of_differences(name, width):
    rng = np.random.default_rng(5)
    w = weights([KINDS[name], TABLE, KINDS[name]], rng)
    left, right = (some_rows(n, [width, 1.0, 2.0], rng, missing=0.2) for n in (9, 7))
    for rows in (left, right):
        rows.u[1] = rng.integers(0, 4, rows.u.shape[1])
    assert factored(w, left, right) == [width == 2.0, False, True]
    G = rng.standard_normal((9, 7))
    found = run.adjoint_cross(w, left, right, G, 1)

    def total():
        return np.sum(G * run.cross(w, left, run.Rows(right.u, right.a), 1))  # afresh: rows keep blocks

    cases = [(left.u, found.x.u), (left.a, found.x.a), (right.u, found.z.u), (right.a, found.z.a)]
    for array, gradient in cases:
        for index in zip(*np.nonzero(array != MISSING), strict=True):
            if index[0] == 1:
                continue
            kept, step = array[index], 1e-6
            array[index] = kept + step
            above = total()
            array[index] = kept - step
            assert gradient[index] == pytest.approx((above - total()) / (2 * step), rel=1e-5, abs=1e-7)
            array[index] = kept


@every_matern
def test_a_row_has_no_slope_towards_itself(name):
    u = np.array([[0.3, -1.7, 2.9, 0.3]])
    rows = run.Rows(u, np.zeros((1, 4)))
    w = run.Weights(np.array([KINDS[name]]), np.ones(1), np.zeros((1, 1, 1)), np.array([0.0, 1.0]))
    assert factored(w, rows, rows) == [True]
    same = (u[0][:, None] == u[0]).astype(float)
    np.testing.assert_allclose(run.cross(w, rows, rows, 1)[same == 1], 1.0, rtol=1e-15)
    found = run.adjoint_cross(w, rows, rows, same, 1)
    np.testing.assert_array_equal(found.x.u, 0.0)
    np.testing.assert_array_equal(found.z.u, 0.0)


@every_matern
def test_right_rows_keep_their_factors_for_each_choice_of_kernels(name):
    rng = np.random.default_rng(6)
    left, right = some_rows(5, [2.0], rng), some_rows(6, [2.0], rng)
    w, other = weights([KINDS[name]], rng), weights([KINDS["se"]], rng)
    first = right.blocks(w.kinds)
    np.testing.assert_allclose(run.cross(w, left, right, 1), slow(w, [name], left, right), atol=1e-14)
    np.testing.assert_allclose(run.cross(other, left, right, 1), slow(other, ["se"], left, right), atol=1e-14)
    assert right.blocks(w.kinds) is first


@every_matern
def test_means_over_nodes_take_either_path(name):
    rng = np.random.default_rng(7)
    points, shares = np.pad(rng.standard_normal(100), (0, 28)), np.pad(np.full(100, 0.01), (0, 28))
    x = np.append(rng.standard_normal(70), np.nan)
    for log_lengthscale in (0.0, np.log(0.02)):
        u, _, a, da, _, _ = warped_column(KINDS[name], x, points, shares, log_lengthscale, 0.1, 0.05, 3)
        far = np.append(x, 1e4)
        plain = warped_column(KINDS[name], far, points, shares, log_lengthscale, 0.1, 0.05, 3)
        np.testing.assert_allclose(a, plain[2][:-1], rtol=1e-12)
        np.testing.assert_allclose(da, plain[3][:, :-1], rtol=1e-10, atol=1e-12)
        assert u[-1] == MISSING


@every_matern
def test_means_over_nodes_are_weighted_sums(name):
    rng = np.random.default_rng(8)
    kinds, nodes, shares = np.array([KINDS[name]]), rng.standard_normal((1, 128)), rng.random((1, 128))
    x = np.append(rng.standard_normal((1, 70)), [[MISSING]], axis=1)
    shift, right = run.Rows(nodes, shares).blocks(kinds)
    c, dc = node_means(kinds, x, np.ones((1, 71)), shift, right, np.zeros((1, 2, 64)))
    expected = PROFILES[name](np.abs(x[0, :-1, None] - nodes[0])) @ shares[0]
    np.testing.assert_allclose(c, np.append(expected, 0.0), rtol=1e-13)
    step = 1e-6
    above, below = (
        PROFILES[name](np.abs(x[0, :-1, None] + side - nodes[0])) @ shares[0] for side in (step, -step)
    )
    np.testing.assert_allclose(dc[0, :-1], (above - below) / (2 * step), rtol=1e-5, atol=1e-7)
