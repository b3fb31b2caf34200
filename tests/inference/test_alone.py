"""Terms by themselves: the parameters they have then are those of a fit that never had others."""

from dataclasses import replace

import numpy as np
import pytest

from termwise import OAKClassifier, OAKRegressor
from termwise.inference import alone as alone_module
from termwise.inference.alone import Evidence, alone, learned_anew
from termwise.inference.columns import SHORTEST
from termwise.posterior.posterior import Posterior
from termwise.posterior.prune import Told, error, with_terms
from tests.oracle import additive as oracle
from tests.posterior.test_posterior import KERNEL, NEW, NOISE, TERMS, rows

X, X_MISSING = rows(30, 0, missing=0.0), rows(30, 5)
Y = np.random.default_rng(2).standard_normal(30)
KEPT = ((0,), (1, 2), (0, 1, 3))


@pytest.fixture(scope="module")
def posterior() -> Posterior:
    return oracle.posterior_of(KERNEL, X, Y, NOISE)


def log_evidence(evidence: Evidence, theta: np.ndarray) -> float:
    """The log density of the rows under the kept terms and the prior of the lengthscales, by its formula."""
    kernel = evidence.kernel(theta)
    noise = NOISE + np.exp(theta[-1])
    covariance = sum(oracle.term_matrix(kernel, u, X, X) for u in ((), *KEPT)) + noise * np.eye(len(X))
    value = -0.5 * float(Y @ np.linalg.solve(covariance, Y) + np.linalg.slogdet(covariance)[1])
    lengthscales = [getattr(component.kernel, "lengthscale", np.inf) for component in kernel.components]
    return value - sum(SHORTEST / length for length in lengthscales)


def moved(evidence: Evidence, seed: int) -> np.ndarray:
    start = evidence.start()
    return start + 0.3 * np.random.default_rng(seed).standard_normal(start.size)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_log_evidence_of_a_process_of_these_terms(posterior, seed):
    evidence = Evidence(Told.of(posterior, KEPT), KEPT)
    here, there = moved(evidence, seed), moved(evidence, seed + 10)
    found = evidence.value_and_gradient(here)[0] - evidence.value_and_gradient(there)[0]
    expected = log_evidence(evidence, here) - log_evidence(evidence, there)
    assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("rows_seen", [X, X_MISSING], ids=["whole", "with missing cells"])
def test_the_gradient_is_that_of_finite_differences(rows_seen):
    evidence = Evidence(Told.of(oracle.posterior_of(KERNEL, rows_seen, Y, NOISE), KEPT), KEPT)
    theta = moved(evidence, 0)
    _, gradient = evidence.value_and_gradient(theta)
    for i, slope in enumerate(gradient):
        step = 1e-5 * np.eye(theta.size)[i]
        up, down = (evidence.value_and_gradient(theta + sign * step)[0] for sign in (1.0, -1.0))
        assert slope == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-6)


def test_parameters_move_to_where_the_evidence_is_higher(posterior):
    evidence = Evidence(Told.of(posterior, KEPT), KEPT)
    found = learned_anew(Told.of(posterior, KEPT), KEPT)
    theta = np.log(
        [
            *(found.kernel.components[d].kernel.lengthscale for d in evidence._numbers),
            *(found.kernel.variances[order] for order in (1, 2, 3)),
            found.noise - NOISE,
        ]
    )
    assert log_evidence(evidence, theta) > log_evidence(evidence, evidence.start()) + 0.1
    _, gradient = evidence.value_and_gradient(theta)
    low, high = np.transpose(evidence.bounds())
    inside = (theta > low + 0.1) & (theta < high - 0.1)
    assert np.max(np.abs(gradient[inside])) < 0.05
    assert found.terms == ((), *KEPT)


def test_its_error_is_that_of_rows_that_were_left_out(posterior):
    """Each row predicted by a process of the kept terms that has not seen it, with the same parameters."""
    pruned = with_terms(posterior, KEPT)
    K = sum(oracle.term_matrix(pruned.kernel, u, X, X) for u in ((), *KEPT))
    errors = []
    for i in range(len(X)):
        others = np.delete(np.arange(len(X)), i)
        seen = K[np.ix_(others, others)] + pruned.noise * np.eye(len(others))
        errors.append(Y[i] - K[i, others] @ np.linalg.solve(seen, Y[others]))
    assert error(posterior, pruned) == pytest.approx(np.mean(np.square(errors)), rel=1e-8)


def test_the_error_of_a_sparse_posterior_is_how_far_rows_are_from_the_whole_mean(posterior):
    sparse = replace(posterior, seen=X)
    pruned = with_terms(sparse, KEPT)
    expected = np.mean((posterior.mean(X) - pruned.mean(X)) ** 2)
    assert error(sparse, pruned) == pytest.approx(expected, rel=1e-10)


def test_parameters_move_only_if_the_mean_comes_nearer(posterior):
    told = Told.of(posterior, KEPT)
    both = {error(posterior, one): one for one in (learned_anew(told, KEPT), with_terms(posterior, KEPT))}
    assert len(both) == 2
    np.testing.assert_array_equal(alone(posterior, KEPT).mean(NEW), both[min(both)].mean(NEW))


def test_without_others_nothing_moves(posterior):
    every = [term for term in TERMS if term]
    found = alone(posterior, every)
    assert found.kernel == posterior.kernel
    np.testing.assert_allclose(found.mean(NEW), posterior.mean(NEW), rtol=0, atol=1e-9)


def test_no_terms_and_no_rows_are_no_trouble(posterior):
    assert np.ptp(alone(posterior, ()).mean(NEW)) == pytest.approx(0.0, abs=1e-12)
    nothing = replace(posterior, centres=X[:0], alpha=Y[:0], root=np.zeros((0, 0)))
    np.testing.assert_array_equal(alone(nothing, KEPT).mean(NEW), np.zeros(len(NEW)))


def test_single_features_are_those_of_a_fit_that_had_no_others():
    """Pairs explained what is rough, so that single features had little noise: alone they find their own."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (150, 3))
    rough = np.sign(np.sin(9.0 * X[:, 0]) * np.sin(9.0 * X[:, 1]))
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] ** 2 + 0.5 * X[:, 2] + 0.3 * rough
    whole = OAKRegressor(max_order=2, n_restarts=1, flow=None).fit(X, y)
    fresh = OAKRegressor(max_order=1, n_restarts=1, flow=None).fit(X, y)
    new = rng.uniform(-1.0, 1.0, (200, 3))
    singles = [(0,), (1,), (2,)]
    gone = {
        name: with_or_without(whole.posterior_, singles).mean(whole._encode(new))
        for name, with_or_without in (("as they were", with_terms), ("learned anew", alone))
    }
    expected = fresh.posterior_.mean(fresh._encode(new))
    errors = {name: np.sqrt(np.mean((mean - expected) ** 2)) for name, mean in gone.items()}
    assert errors["learned anew"] < 0.03 * np.std(expected)
    assert errors["learned anew"] <= errors["as they were"] + 1e-6


def test_labels_that_were_pruned_before_still_learn_anew(monkeypatch):
    """What rows left out would say of sites is not asked, though there is noise after the first time."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 3))
    whole = OAKClassifier(n_restarts=1, max_order=2).fit(X, X[:, 0] + 0.5 * X[:, 1] > 0)
    few = whole.prune(n_terms=3)
    assert few.posterior_.noise > 0.0
    monkeypatch.setattr(alone_module, "error", None)
    assert len(few.prune(n_terms=1).terms_) == 1


def test_labels_too():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 3))
    y = rng.random(200) < 1.0 / (1.0 + np.exp(-3.0 * np.sin(2.0 * X[:, 0])))
    whole = OAKClassifier(n_restarts=1).fit(X, y)
    one = whole.prune(n_terms=1)
    assert [term.name for term in one.terms_] == ["x0"]
    gain = np.mean(one.log_predictive_density(X, y)) - np.mean(whole.log_predictive_density(X, y))
    assert gain > -0.05
