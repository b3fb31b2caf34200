"""Fewer terms: what is known of them is what a process of these terms alone would know of the same rows."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest

from termwise import OAKRegressor
from termwise.errors import NumericalError
from termwise.kernels.additive import AdditiveKernel
from termwise.kernels.component import Component
from termwise.kernels.squared_exponential import SquaredExponential
from termwise.measures import Normal
from termwise.posterior import select
from termwise.posterior.posterior import Posterior
from termwise.posterior.prune import with_terms
from termwise.posterior.removal import Removal, most_likely
from termwise.posterior.select import Search, dropped, most_telling, taken
from tests.oracle import additive as oracle
from tests.posterior.test_posterior import KERNEL, NEW, NOISE, TERMS, rows

X = rows(30, 0, missing=0.0)
Y = np.random.default_rng(2).standard_normal(30)
KEPT = ((0,), (1, 2), (0, 1, 3))


@pytest.fixture(scope="module")
def posterior() -> Posterior:
    return oracle.posterior_of(KERNEL, X, Y, NOISE)


def seen(terms: tuple[tuple[int, ...], ...], noise: float = NOISE) -> np.ndarray:
    """The covariance of the observations, of a process with the constant and these terms."""
    return sum(term_kernel(u) for u in ((), *terms)) + noise * np.eye(len(X))


@cache
def term_kernel(term: tuple[int, ...]) -> np.ndarray:
    return oracle.term_matrix(KERNEL, term, X, X)


def evidence(terms: tuple[tuple[int, ...], ...], noise: float = NOISE) -> float:
    covariance = seen(terms, noise)
    return -0.5 * float(Y @ np.linalg.solve(covariance, Y) + np.linalg.slogdet(covariance)[1])


def smooth(table: np.ndarray, y: np.ndarray, noise: float | np.ndarray) -> Posterior:
    """The posterior of single columns that are all alike."""
    alike = tuple(Component(SquaredExponential(2.0), Normal(), 1.0) for _ in table.T)
    return oracle.posterior_of(AdditiveKernel(alike, (0.1, 1.0)), table, y, noise)


def test_kept_terms_know_what_they_would_alone(posterior):
    pruned = with_terms(posterior, KEPT)
    inverse = np.linalg.inv(seen(KEPT, pruned.noise))
    complete = NEW[~np.isnan(NEW).any(axis=1)]
    cross = sum(oracle.term_matrix(KERNEL, u, complete, X) for u in ((), *KEPT))
    prior = sum(oracle.term_matrix(KERNEL, u, complete, complete) for u in ((), *KEPT))
    np.testing.assert_allclose(pruned.mean(complete), cross @ inverse @ Y, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        pruned.covariance(complete), prior - cross @ inverse @ cross.T, rtol=0, atol=1e-9
    )
    for term in KEPT:
        own = oracle.term_matrix(KERNEL, term, complete, X)
        np.testing.assert_allclose(pruned.term_mean(term, complete), own @ inverse @ Y, rtol=0, atol=1e-9)


def test_what_others_explained_is_noise_as_much_as_is_likely(posterior):
    noise = with_terms(posterior, KEPT).noise
    assert noise > 2.0 * NOISE
    best = max(np.geomspace(NOISE, 5.0, 2000), key=lambda variance: evidence(KEPT, variance))
    assert noise == pytest.approx(best, rel=0.03)


def test_what_is_lost_in_missing_cells_stays_noise():
    X_missing = rows(30, 5)
    pruned = with_terms(oracle.posterior_of(KERNEL, X_missing, Y, NOISE), KEPT)
    kernels = {u: oracle.term_matrix(KERNEL, u, X_missing, X_missing) for u in TERMS}
    whole = oracle.gram(KERNEL, X_missing) + pruned.noise * np.eye(30)
    gone = sum(kernel for u, kernel in kernels.items() if u and u not in KEPT)
    cross = sum(oracle.term_matrix(KERNEL, u, NEW, X_missing) for u in ((), *KEPT))
    np.testing.assert_allclose(pruned.mean(NEW), cross @ np.linalg.solve(whole - gone, Y), rtol=0, atol=1e-9)


def test_pruning_twice_is_pruning_once(posterior):
    once = with_terms(posterior, KEPT[:1])
    twice = with_terms(with_terms(posterior, KEPT), KEPT[:1])
    np.testing.assert_allclose(twice.mean(NEW), once.mean(NEW), rtol=0, atol=0.01)
    assert twice.noise == pytest.approx(once.noise, rel=0.03)


def test_all_terms_are_the_whole(posterior):
    pruned = with_terms(posterior, [term for term in TERMS if term])
    np.testing.assert_allclose(pruned.mean(NEW), posterior.mean(NEW), rtol=0, atol=1e-9)
    np.testing.assert_allclose(pruned.variance(NEW), posterior.variance(NEW), rtol=0, atol=1e-9)


def likely_noise(terms: tuple[tuple[int, ...], ...]) -> float:
    """The variance of the noise with the highest evidence, in small steps."""
    return max(np.geomspace(NOISE, 5.0, 2000), key=lambda variance: evidence(terms, variance))


def test_the_gain_is_that_of_the_evidence(posterior):
    search = Search.of(posterior).moved([(0,)])
    whole = evidence(tuple(term for term in TERMS if term))
    for term in ((1,), (1, 2), (0, 1, 3)):
        gain = search.gain([term])
        # abs: directions in which the rows tell nothing are left out
        assert gain == pytest.approx(evidence(((0,), term), NOISE + search.variance) - whole, abs=1e-6)


@pytest.mark.parametrize("guess", [1e-20, 1e-6, 0.05, 30.0, 1e9])
def test_the_noise_is_found_near_a_guess_and_far_from_it(posterior, guess):
    search = Search.of(posterior).moved(KEPT)
    best = likely_noise(KEPT) - NOISE
    found = most_likely(search.gone, search.noise, search.scale, search.silent, near=guess)
    assert found == pytest.approx(best, rel=0.05)


@pytest.mark.parametrize("kept", [0.0, select.KEPT_BYTES])
def test_the_slope_is_that_of_the_evidence(posterior, kept, monkeypatch):
    monkeypatch.setattr(select, "BLOCK", 7)
    monkeypatch.setattr(select, "KEPT_BYTES", kept)
    search = Search.of(posterior).moved([(0,)])
    noise, step = NOISE + search.variance, 1e-5
    before = seen(((0,),), noise)
    for term, slope in search.slopes([(1,), (1, 2), (2,), (0, 1, 3), (1, 3)]).items():
        own = term_kernel(term)
        ends = [before + sign * step * own for sign in (1.0, -1.0)]
        up, down = (-0.5 * float(Y @ np.linalg.solve(K, Y) + np.linalg.slogdet(K)[1]) for K in ends)
        assert slope == pytest.approx((up - down) / (2.0 * step), rel=1e-5, abs=1e-6)


def test_terms_come_one_by_one_by_their_evidence(posterior, monkeypatch):
    monkeypatch.setattr(select, "TRIED", 99)
    every = tuple(term for term in TERMS if term)
    so_far = ()
    for count in range(1, 5):
        noise = likely_noise(so_far)
        left = [term for term in every if term not in so_far]
        so_far = (*so_far, max(left, key=lambda term: evidence((*so_far, term), noise)))
        assert taken(Search.of(posterior), every, count).terms == so_far


def test_terms_go_one_by_one_by_their_evidence(posterior, monkeypatch):
    monkeypatch.setattr(select, "TRIED", 99)
    every = tuple(term for term in TERMS if term)
    left = every
    for count in range(len(left) - 1, len(left) // 2, -1):
        noise = likely_noise(left)
        left = max(combinations(left, count), key=lambda terms: evidence(terms, noise))
        assert set(dropped(Search.of(posterior).moved(every), count).terms) == set(left)


def test_terms_are_swapped_as_long_as_the_evidence_rises(posterior):
    every = tuple(term for term in TERMS if term)
    plain = taken(Search.of(posterior), every, 4).terms
    found = most_telling(posterior, every, 4)
    assert len(set(found)) == 4
    assert evidence(found, likely_noise(found)) >= evidence(plain, likely_noise(plain)) - 0.01
    assert most_telling(posterior, every, 99) == every


def test_a_swap_undoes_what_was_taken_too_early():
    """x0 + x1 is the column that tells most alone; with x0 and x1 it tells nothing."""
    rng = np.random.default_rng(3)
    table = rng.standard_normal((150, 3))
    table[:, 2] = table[:, 0] + table[:, 1] + 0.3 * rng.standard_normal(150)
    y = table[:, 0] + table[:, 1] + 0.05 * rng.standard_normal(150)
    posterior = smooth(table, y, 0.05**2)
    terms = ((2,), (0,), (1,))
    assert (2,) in taken(Search.of(posterior), terms, 2).terms
    assert set(most_telling(posterior, terms, 2)) == {(0,), (1,)}


def test_a_swap_is_found_after_all_was_explained():
    """With all four columns the noise is the least that is looked for; with two of them it is not."""
    rng = np.random.default_rng(3)
    table = rng.standard_normal((150, 4))
    table[:, 2] = table[:, 0] + table[:, 1] + 0.3 * rng.standard_normal(150)
    y = table[:, 0] + table[:, 1] + 0.2 * table[:, 3] + 0.05 * rng.standard_normal(150)
    found = most_telling(smooth(table, y, 0.05**2), ((2,), (0,), (1,), (3,)), 2)
    assert set(found) == {(0,), (1,)}


@pytest.mark.parametrize("even", [True, False])
def test_rows_tell_of_noise_where_no_term_tells_anything(even):
    """A smooth function leaves most directions of a hundred rows to noise; to it alone, if it is even."""
    rng = np.random.default_rng(1)
    table = rng.standard_normal((100, 2))
    y = np.sin(table[:, 0]) + 0.3 * table[:, 1] + 0.1 * rng.standard_normal(100)
    noise = 0.1**2 * (np.ones(100) if even else rng.lognormal(0.0, 1.0, 100))
    posterior = smooth(table, y, noise)
    search = Search.of(posterior).moved([(0,)])
    assert (search.silent.precisions.size > 50) == even

    def log_evidence(kernel: np.ndarray, more: float) -> float:
        covariance = kernel + np.diag(noise + more)
        return -0.5 * float(y @ np.linalg.solve(covariance, y) + np.linalg.slogdet(covariance)[1])

    whole = oracle.gram(posterior.kernel, table)
    kept = sum(oracle.term_matrix(posterior.kernel, u, table, table) for u in ((), (0,)))
    gain = log_evidence(kept, search.variance) - log_evidence(whole, 0.0)
    assert search.gain() == pytest.approx(gain, abs=1e-4)
    best = max(np.geomspace(1e-4, 1.0, 300), key=lambda more: log_evidence(kept, more))
    assert search.variance == pytest.approx(best, rel=0.05)


def test_of_terms_that_tell_the_same_one_is_enough():
    """Three columns that are nearly the same: one of them, and then the column that tells something else."""
    rng = np.random.default_rng(0)
    x, z = rng.standard_normal((2, 200))
    table = np.column_stack([x, x + 0.01 * rng.standard_normal(200), z])
    y = np.sin(2.0 * x) + 0.3 * z + 0.1 * rng.standard_normal(200)
    pruned = OAKRegressor(max_order=1, n_restarts=1).fit(table, y).prune(n_terms=2)
    assert "x2" in {term.name for term in pruned.terms_}
    assert pruned.score(table, y) > 0.95


def test_nothing_seen_is_pruned_too(posterior):
    nothing = Posterior(KERNEL, X[:0], Y[:0], np.zeros((0, 0)), NOISE)
    np.testing.assert_array_equal(with_terms(nothing, KEPT).mean(NEW), np.zeros(len(NEW)))
    assert len(most_telling(nothing, KEPT, 2)) == 2


def test_what_rounding_hides_is_said():
    with pytest.raises(NumericalError, match="keep more of them"):
        Removal(0.0, np.zeros(2), np.diag([0.5, 1.0 + 1e-15])).factor()


def test_noise_is_not_sought_where_rounding_hides_the_evidence():
    """C = (v - 1/2) I is not positive definite with less noise than a half; beyond, more is worse."""
    gone = Removal(0.0, np.zeros(2), 1.5 * np.eye(2))
    noise = Removal(0.0, np.zeros(2), np.eye(2))
    assert 0.5 < most_likely(gone, noise, 1.0) < 0.6
    assert 0.5 < most_likely(gone, noise, 1.0, near=0.1) < 0.9
    with pytest.raises(NumericalError, match="rounding hides"):
        gone.gain()
