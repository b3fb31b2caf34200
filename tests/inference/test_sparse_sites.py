"""The sparse bound of likelihoods that are not normal: with all rows inducing, that of the kernel matrix."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from termwise.encode.rows import ArrayChunk
from termwise.errors import NumericalError
from termwise.inference import blocks, kept, mixing, sites, sparse_sites
from termwise.inference.approximate import SiteObjective
from termwise.inference.blocks import Setting
from termwise.inference.columns import FixedColumn
from termwise.inference.model import Model
from termwise.inference.orders import EachOrder
from termwise.inference.site_blocks import View, site_statistics
from termwise.inference.sites import RULES
from termwise.inference.sparse import SparseObjective, push_of
from termwise.inference.sparse_sites import Inducing, Rest, SparseSiteObjective
from termwise.inference.workers import ExecutorWorkers, LocalWorkers
from termwise.kernels.squared_exponential import SquaredExponential
from termwise.likelihoods import Gaussian, Logit, Poisson, Probit, Student
from termwise.measures import Normal
from tests.inference.mixed import check_gradient
from tests.inference.test_approximate import problem

every = pytest.mark.parametrize(
    "likelihood", [Logit(), Probit(), Poisson(), Student(0.5, 4.0), Gaussian(0.3)]
)


def sparse_of(model, X, observed, inducing, workers=None):
    chunk = ArrayChunk(X, observed.y, observed.weight, observed.offset)
    return SparseSiteObjective(model, [chunk], inducing, workers or LocalWorkers(1), tolerance=1e-14)


def without_missing(X):
    return X[~np.isnan(X).any(axis=1)]


@every
def test_with_all_rows_inducing_it_is_the_bound_of_the_kernel_matrix(likelihood, monkeypatch):
    monkeypatch.setattr(sites, "TOLERANCE", 1e-13)
    model, X, observed, theta = problem(likelihood, n=40)
    known = ~np.isnan(X).any(axis=1)
    X, observed = X[known], observed.rows(known)
    dense = SiteObjective(model, X, observed, RULES["variational"])
    sparse = sparse_of(model, X, observed, X)
    expected, slope = dense.value_and_gradient(theta)
    value, gradient = sparse.value_and_gradient(theta)
    assert value == pytest.approx(expected, abs=1e-6)
    np.testing.assert_allclose(gradient, slope, rtol=1e-4, atol=1e-4)
    one, other = sparse.posterior(theta).posterior, dense.posterior(theta)
    np.testing.assert_allclose(one.mean(other.centres), other.mean(other.centres), atol=1e-5)
    np.testing.assert_allclose(one.variance(other.centres), other.variance(other.centres), atol=1e-5)


@every
def test_the_gradient_is_that_of_the_value(likelihood, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 7)
    model, X, observed, theta = problem(likelihood, n=30)
    objective = sparse_of(model, X, observed, without_missing(X)[:6])
    _, exact = objective.value_and_gradient(theta)
    check_gradient(objective, theta, exact, step=1e-4, within=1e-3)


def test_with_normal_noise_it_is_the_collapsed_bound():
    model, X, observed, theta = problem(Gaussian(0.3), n=40)
    known = ~np.isnan(X).any(axis=1)  # a missing cell is noise there, and variance of f here
    X, y = X[known], observed.y[known]
    collapsed = SparseObjective(
        Model(model.columns, model.orders), [ArrayChunk(X, y)], X[:8], LocalWorkers(1)
    )
    sparse = SparseSiteObjective(model, [ArrayChunk(X, y)], X[:8], LocalWorkers(1))
    expected, slope = collapsed.value_and_gradient(theta)
    value, gradient = sparse.value_and_gradient(theta)
    assert value == pytest.approx(expected, abs=1e-8)
    np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-6)


def test_more_inducing_rows_never_lower_the_bound():
    model, X, observed, theta = problem(Logit(), n=60)
    Z = without_missing(X)
    values = [sparse_of(model, X, observed, Z[:m]).value_and_gradient(theta)[0] for m in (2, 6, 18)]
    assert values[0] <= values[1] + 1e-6 <= values[2] + 2e-6


def test_threads_and_workers_change_no_bit(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 7)
    model, X, observed, theta = problem(Probit(), n=50)
    Z = without_missing(X)[:5]
    value, gradient = sparse_of(model, X, observed, Z).value_and_gradient(theta)
    with ThreadPoolExecutor(2) as pool:
        for workers in (LocalWorkers(3), ExecutorWorkers(pool)):
            other, slope = sparse_of(model, X, observed, Z, workers).value_and_gradient(theta)
            assert other == value
            np.testing.assert_array_equal(slope, gradient)


@pytest.mark.parametrize("room", [2**27, 3000, 0])
def test_what_is_kept_between_looks_changes_no_bit(room, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 7)
    model, X, observed, theta = problem(Logit(), n=30)
    inducing = without_missing(X)[:6]
    alone = sparse_of(model, X, observed, inducing, ExecutorWorkers(ThreadPoolExecutor(2)))  # keep nothing
    monkeypatch.setattr(kept, "KEPT_BYTES", room)
    keeping = sparse_of(model, X, observed, inducing)
    for at in (theta, theta + 0.1):
        (value, gradient), (expected, slope) = (one.value_and_gradient(at) for one in (keeping, alone))
        assert value == expected
        np.testing.assert_array_equal(gradient, slope)


@pytest.mark.parametrize("likelihood", [Logit(), Probit(), Student(0.5, 4.0), Gaussian(0.3)])
@pytest.mark.parametrize("step", [0.1, -0.1])
def test_what_is_known_is_carried_to_other_parameters(likelihood, step):
    """There the bound is closer to its best than by the whitened values as they were."""
    model, X, observed, theta = problem(likelihood, n=60)
    objective = sparse_of(model, X, observed, without_missing(X)[:12])
    there = theta + step * np.random.default_rng(0).standard_normal(theta.size)
    known = objective.settled(theta)
    push, _ = push_of(Setting(model, there, objective.inducing))
    begins = known, objective._known_through(push.root), objective.settled(there)
    before, carried, best = (objective._look(push.setting, push.root, each)[2] for each in begins)
    assert best - carried < 0.8 * (best - before)
    assert carried < best


@pytest.mark.parametrize("failing", [{1}, {2}, {4, 5}, {3, 6}])
def test_looks_that_rounding_spoils_cost_a_step(failing, monkeypatch):
    model, X, observed, theta = problem(Logit(), n=40)
    inducing = without_missing(X)[:8]
    expected, slope = sparse_of(model, X, observed, inducing).value_and_gradient(theta)
    looks, whole = [], SparseSiteObjective._look

    def look(self, *args):
        looks.append(1)
        if len(looks) in failing:
            raise NumericalError("spoiled")
        return whole(self, *args)

    monkeypatch.setattr(SparseSiteObjective, "_look", look)
    value, gradient = sparse_of(model, X, observed, inducing).value_and_gradient(theta)
    assert value == pytest.approx(expected, abs=1e-8)
    np.testing.assert_allclose(gradient, slope, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("likelihood", [Logit(), Probit(), Poisson(), Student(0.5, 4.0)])
def test_wide_priors_come_to_rest_where_the_kernel_matrix_does(likelihood):
    model, X, observed, theta = problem(likelihood, n=40)
    known = ~np.isnan(X).any(axis=1)
    X, observed = X[known], observed.rows(known)
    theta[model._order_slice] += 3.0
    expected, _ = SiteObjective(model, X, observed, RULES["variational"]).value_and_gradient(theta)
    value, _ = sparse_of(model, X, observed, X).value_and_gradient(theta)
    assert value == pytest.approx(expected, rel=1e-6)


def test_a_search_that_was_lost_does_not_spoil_the_next(monkeypatch):
    """Where few inducing rows leave a Poisson a variance of hundreds, the bound is below any number."""
    model, X, observed, theta = problem(Poisson(), n=200)
    far = theta.copy()
    far[model._order_slice] += 4.0
    objective = sparse_of(model, X, observed, without_missing(X)[:30])
    before, slope = objective.value_and_gradient(theta)
    known, root = objective.known, objective._root
    ends, moved = [], SparseSiteObjective._moved

    def remember(self, *args):
        ends.append(moved(self, *args))
        return ends[-1]

    with monkeypatch.context() as patched:
        patched.setattr(SparseSiteObjective, "_moved", remember)
        assert objective.value_and_gradient(far)[0] < -1e12
    assert len(ends) == 3
    assert all(end is None or end.lost for end in ends)
    assert any(end is not None and end.lost for end in ends)
    assert objective.known is known
    assert objective._root is root
    after, again = objective.value_and_gradient(theta)
    assert after == pytest.approx(before, abs=1e-6)
    np.testing.assert_allclose(again, slope, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ([(5.0, True), (3.0, False), (9.0, False)], 3.0),
        ([(1.0, True), (5.0, True), (3.0, True)], 5.0),
        ([None, (-np.inf, True), (3.0, True)], 3.0),
    ],
)
def test_a_search_that_rests_is_better_than_any_that_was_lost(ends, expected, monkeypatch):
    model, X, observed, theta = problem(Logit(), n=40)
    objective = sparse_of(model, X, observed, without_missing(X)[:8])
    objective.settled(theta)
    known, given = objective.known, iter(ends)

    def moved(self, push, begin):
        end = next(given)
        return None if end is None else Rest(begin, None, None, *end)

    monkeypatch.setattr(SparseSiteObjective, "_moved", moved)
    found = objective._settle(objective._setting(theta, late=False))
    assert found.value == expected
    assert objective.known is (known if found.lost else found.inducing)


def test_a_search_that_begins_with_no_number_is_given_up(looks, monkeypatch):
    model, X, observed, theta = problem(Logit(), n=40)
    inducing = without_missing(X)[:8]
    expected, _ = sparse_of(model, X, observed, inducing).value_and_gradient(theta)
    whole, alone = SparseSiteObjective._look, len(looks)

    def look(self, *args):
        view, sums, value = whole(self, *args)
        return view, sums, np.nan if len(looks) == alone + 1 else value

    monkeypatch.setattr(SparseSiteObjective, "_look", look)
    value, _ = sparse_of(model, X, observed, inducing).value_and_gradient(theta)
    assert value == pytest.approx(expected, abs=1e-8)
    assert len(looks) < 3 * alone


@pytest.fixture
def looks(monkeypatch):
    """One entry for every look at the rows."""
    found, whole = [], SparseSiteObjective._look

    def look(self, *args):
        found.append(1)
        return whole(self, *args)

    monkeypatch.setattr(SparseSiteObjective, "_look", look)
    return found


def test_steps_that_learn_from_those_before_are_fewer(looks, monkeypatch):
    model, X, observed, theta = problem(Logit(), n=100)
    theta[model._order_slice] += 3.0
    sparse_of(model, X, observed, without_missing(X)[:20]).value_and_gradient(theta)
    with_mixing = len(looks)
    monkeypatch.setattr(sparse_sites, "Mixing", lambda size: mixing.Mixing(size, depth=0))
    sparse_of(model, X, observed, without_missing(X)[:20]).value_and_gradient(theta)
    assert with_mixing < 0.7 * (len(looks) - with_mixing)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_refused(bad):
    known = Inducing.prior(4)
    known.outer[1, 2] = known.outer[2, 1] = bad
    with pytest.raises(NumericalError, match="no numbers"):
        known.moments()
    linear = Inducing(np.zeros((4, 4)), np.array([0.0, bad, 0.0, 0.0]))
    with pytest.raises(NumericalError, match="no numbers"):
        linear.moments()


def test_a_search_that_runs_out_of_steps_goes_on_at_the_next(monkeypatch):
    model, X, observed, theta = problem(Logit(), n=40)
    objective = sparse_of(model, X, observed, without_missing(X)[:8])
    with monkeypatch.context() as patched:
        patched.setattr(sparse_sites, "MOST_STEPS", 2)
        first = objective.posterior(theta).objective
        assert not objective.rested
        assert objective.known is not None
        assert objective.posterior(theta).objective > first
    objective.posterior(theta)
    assert objective.rested


def test_a_row_of_which_more_than_all_is_taken_is_refused():
    """By a root that is not that of Kuu, more is known of a row than there is."""
    model, X, observed, theta = problem(Logit(), n=40)
    chunk = ArrayChunk(X, observed.y, observed.weight, observed.offset)
    push, _ = push_of(Setting(model, theta, without_missing(X)[:8]))
    mean, spread, _ = Inducing.prior(8).moments()
    view = View(push.setting, push.root, mean, 0.1 * spread)
    site_statistics(chunk, view)
    with pytest.raises(NumericalError, match=r"variance of a row is -.* times that of the prior"):
        site_statistics(chunk, replace(view, root=1.1 * push.root))


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("orders", [(0, 1), (1,)])
@pytest.mark.parametrize("lengthscale", [0.3, 30.0, 1000.0])
def test_rounding_with_inducing_rows_that_say_the_same_is_no_error(lengthscale, orders, repeated):
    """With long lengthscales and no constant, nearly nothing is left of the prior in the middle."""
    model = Model((FixedColumn(Normal(), SquaredExponential),), EachOrder(orders), Logit())
    X = np.random.default_rng(0).standard_normal((1000, 1))
    X[:200] *= 1e-6
    Z = np.concatenate([X[-150:]] * 2) if repeated else X[-300:]
    theta = np.clip(model.start(np.array([lengthscale]), 0.1), *np.transpose(model.bounds()))
    push, _ = push_of(Setting(model, theta, Z))
    sure = Inducing(1e12 * np.eye(len(Z)), np.zeros(len(Z)))
    mean, spread, _ = sure.moments()
    sums = site_statistics(ArrayChunk(X, np.zeros(1000)), View(push.setting, push.root, mean, spread))
    assert np.isfinite(sums.value)
