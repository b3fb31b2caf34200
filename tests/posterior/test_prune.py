"""Fewer terms: what is known of them is what a process of these terms alone would know of the same rows."""

from itertools import combinations

import numpy as np
import pytest

from termwise.errors import NumericalError
from termwise.posterior.posterior import Posterior
from termwise.posterior.prune import _Removal, _removals, least_missed, with_terms
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
    prior = sum(oracle.term_matrix(KERNEL, u, X, X) for u in ((), *terms))
    return prior + noise * np.eye(len(X))


def evidence(terms: tuple[tuple[int, ...], ...], noise: float = NOISE) -> float:
    covariance = seen(terms, noise)
    return -0.5 * float(Y @ np.linalg.solve(covariance, Y) + np.linalg.slogdet(covariance)[1])


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


def test_the_gain_is_that_of_the_evidence(posterior):
    first = with_terms(posterior, KEPT)
    removals, before = _removals(first, KEPT), evidence(KEPT, first.noise)
    for gone in KEPT:
        left = tuple(term for term in KEPT if term != gone)
        assert removals[gone].gain() == pytest.approx(evidence(left, first.noise) - before, abs=1e-8)
    both = (removals[KEPT[0]] + removals[KEPT[2]]).gain()
    assert both == pytest.approx(evidence(KEPT[1:2], first.noise) - before, abs=1e-8)


def test_the_terms_go_one_by_one_by_their_evidence(posterior):
    every = left = tuple(term for term in TERMS if term and term != (2, 3))
    assert least_missed(posterior, left, 99) == left
    noise = with_terms(posterior, left).noise
    for count in range(len(left) - 1, -1, -1):
        left = max(combinations(left, count), key=lambda terms: evidence(terms, noise))
        assert set(least_missed(posterior, every, count)) == set(left)


def test_nothing_seen_is_pruned_too(posterior):
    nothing = Posterior(KERNEL, X[:0], Y[:0], np.zeros((0, 0)), NOISE)
    np.testing.assert_array_equal(with_terms(nothing, KEPT).mean(NEW), np.zeros(len(NEW)))
    assert len(least_missed(nothing, KEPT, 2)) == 2


def test_what_rounding_hides_is_said():
    with pytest.raises(NumericalError, match="keep more of them"):
        _Removal(0.0, np.zeros(2), np.diag([0.5, 1.0 + 1e-15])).factor()
