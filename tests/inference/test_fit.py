"""Learning the parameters: it climbs, says how it went, and heeds nothing that should not matter."""

from dataclasses import replace

import numpy as np
import pytest

from termwise.encode.rows import ArrayChunk
from termwise.inference import sites
from termwise.inference.columns import FixedColumn, WarpedColumn
from termwise.inference.exact import ExactObjective
from termwise.inference.fit import Candidate, FitOptions, explains_nothing, fit_exact, preferred
from termwise.inference.levels import LevelColumn
from termwise.inference.model import Model
from termwise.inference.orders import EachOrder
from termwise.inference.result import Status
from termwise.kernels.matern import Matern52
from termwise.kernels.squared_exponential import SquaredExponential
from termwise.likelihoods import Logit
from termwise.linalg import cholesky
from termwise.measures import Discrete, Empirical, Normal

ROWS = 36


def table(seed=0):
    """Two numbers, one with missing cells, and three levels; a smooth target with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((ROWS, 3))
    X[:, 2] = rng.choice(3, ROWS, p=[0.5, 0.3, 0.2])
    y = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + np.array([0.0, 1.0, -0.5])[X[:, 2].astype(int)]
    y = y + 0.2 * rng.standard_normal(ROWS)
    X[[3, 11], 1] = np.nan
    return X, (y - y.mean()) / y.std()


def model_of(X, loadings=(0.1, 0.4, -0.3)):
    known = X[~np.isnan(X[:, 1]), 1]
    return Model(
        (
            FixedColumn(Normal(), SquaredExponential),
            WarpedColumn(Empirical.fit(known), Matern52),
            LevelColumn(Discrete.fit(X[:, 2], 3), True, loadings),
        ),
        EachOrder((0, 1, 2)),
    )


def fit(X, y, *, model=None, monitor=None, seed=0, **options):
    model = model or model_of(X)
    chosen = FitOptions(**{"n_starts": 1, "n_jobs": 1, **options})
    return fit_exact([Candidate(model, ArrayChunk(X, y))], chosen, np.random.default_rng(seed), monitor)


@pytest.fixture(scope="module")
def fitted():
    seen = []
    X, y = table()
    return fit(X, y, n_starts=3, monitor=seen.append), seen, X, y


def test_a_fit_says_how_it_went(fitted):
    found, seen, X, y = fitted
    result = found.result
    assert result.status is Status.CONVERGED
    assert result.seconds > 0.0
    assert result.jitter == 0.0
    assert len(result.starts) == 3
    assert result.objective == max(result.starts)
    assert result.evaluations == len(seen)
    assert (result.rows, result.inducing) == (ROWS, None)
    objective = ExactObjective(found.model, X, y, threads=1)
    assert objective.value_and_gradient(found.theta)[0] == pytest.approx(result.objective, rel=1e-12)


def test_a_fit_never_ends_below_anything_it_has_seen_on_the_way(fitted):
    found, seen, *_ = fitted
    for start, ended in enumerate(found.result.starts):
        values = [progress.objective for progress in seen if progress.start == start]
        assert ended == max(values)
        assert ended > values[0]


def test_a_fit_ends_where_the_gradient_vanishes_or_a_bound_holds_it(fitted):
    found, _, X, y = fitted
    _, gradient = ExactObjective(found.model, X, y, threads=1).value_and_gradient(found.theta)
    for slope, value, (low, high) in zip(gradient, found.theta, found.model.bounds(), strict=True):
        assert low <= value <= high
        held = (value == high and slope > 0) or (value == low and slope < 0) or low == high
        assert held or abs(slope) < 0.05


def test_the_monitor_hears_of_every_evaluation_in_turn(fitted):
    _, seen, *_ = fitted
    for start in range(3):
        counts = [progress.evaluations for progress in seen if progress.start == start]
        assert counts == list(range(1, len(counts) + 1))
    seconds = [progress.seconds for progress in seen]
    assert seconds == sorted(seconds)
    assert {progress.rows for progress in seen if progress.start < 3} == {ROWS}
    # Then each fifth of the rows is left out.
    left_out = [progress for progress in seen if progress.start >= 3]
    assert {progress.start for progress in left_out} == {4, 5, 6, 7, 8}  # before them orders are tried
    assert {progress.rows for progress in left_out} == {ROWS - ROWS // 5, ROWS - ROWS // 5 - 1}


def test_the_posterior_is_that_of_the_rows_as_the_warp_bends_them(fitted):
    found, _, X, y = fitted
    steps = found.model.columns[1].steps(found.model.by_column(found.theta)[1])
    bent = X[:, 1]
    for step in steps:
        bent = step.forward(bent)
    np.testing.assert_array_equal(found.posterior.centres[:, 1], bent)
    np.testing.assert_array_equal(found.posterior.centres[:, [0, 2]], X[:, [0, 2]])
    residual = found.posterior.mean(found.posterior.centres) - y
    # y = (K + noise I) alpha, where a row with missing cells has more on the diagonal of K.
    complete = ~np.isnan(X).any(axis=1)
    np.testing.assert_allclose(
        residual[complete], -found.posterior.noise * found.posterior.alpha[complete], atol=1e-9
    )
    assert np.var(residual) < 0.3


def test_a_fit_is_the_same_at_every_call_and_at_any_number_of_jobs(fitted):
    found, _, X, y = fitted
    again = fit(X, y, n_starts=3)
    np.testing.assert_array_equal(found.theta, again.theta)
    side_by_side = fit(X, y, n_starts=3, n_jobs=2)
    assert side_by_side.result.starts == pytest.approx(again.result.starts, rel=1e-6)


def test_the_order_of_the_rows_does_not_matter(fitted):
    found, _, X, y = fitted
    shuffle = np.random.default_rng(1).permutation(ROWS)
    again = fit(X[shuffle], y[shuffle], n_starts=3)
    assert again.result.objective == pytest.approx(found.result.objective, abs=1e-4)


def test_the_order_of_the_levels_does_not_matter(fitted):
    found, _, X, y = fitted
    order = np.array([2, 0, 1])  # the level with code i gets the code order[i]
    renamed = X.copy()
    renamed[:, 2] = order[X[:, 2].astype(int)]
    loadings = np.array([0.1, 0.4, -0.3])[np.argsort(order)]
    again = fit(renamed, y, n_starts=3, model=model_of(renamed, tuple(loadings)))
    assert again.result.objective == pytest.approx(found.result.objective, abs=1e-4)


def test_the_order_of_the_columns_does_not_matter():
    X, y = table()
    model = model_of(X)
    found = fit(X, y, model=model)
    order = [2, 0, 1]
    again = fit(X[:, order], y, model=replace(model, columns=tuple(model.columns[d] for d in order)))
    assert again.result.objective == pytest.approx(found.result.objective, abs=1e-4)


def test_too_few_steps_are_reported():
    X, y = table()
    assert fit(X, y, max_steps=2).result.status is Status.MAX_STEPS


def test_more_starts_never_end_lower():
    X, y = table(seed=2)
    one, three = fit(X, y), fit(X, y, n_starts=3)
    assert three.result.starts[0] == one.result.objective
    assert three.result.objective >= one.result.objective


def test_sites_that_have_not_come_to_rest_are_no_success(monkeypatch):
    X, y = table()
    model = replace(model_of(X), likelihood=Logit())
    labels = (y > 0.0).astype(float)
    assert fit(X, labels, model=model).result.status is Status.CONVERGED
    monkeypatch.setattr(sites, "MOST_STEPS", 1)
    assert fit(X, labels, model=model).result.status is Status.STUCK


def test_a_fit_says_what_was_added_to_the_diagonal_with_sites(monkeypatch):
    X, y = table()
    model = replace(model_of(X), likelihood=Logit())
    monkeypatch.setattr(cholesky, "JITTERS", (1e-9,))
    assert 1e-9 < fit(X, (y > 0.0).astype(float), model=model, max_steps=2).result.jitter < 1e-6


def labelled(rows=80):
    """Labels by the first of two numbers, the rows, and the same with that number in another order."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((rows, 2))
    y = (rng.random(rows) < 1.0 / (1.0 + np.exp(-3.0 * X[:, 0]))).astype(float)
    columns = (FixedColumn(Normal(), SquaredExponential),) * 2
    model = Model(columns, EachOrder((0, 1)), Logit())
    mixed = np.column_stack([rng.permutation(X[:, 0]), X[:, 1]])
    return Candidate(model, ArrayChunk(X, y)), Candidate(model, ArrayChunk(mixed, y))


@pytest.mark.parametrize("place", [0, 1])
def test_of_several_candidates_the_evidence_chooses(place):
    """Starts are shared out in turn, and the fit is that of the chosen one alone."""
    right, wrong = labelled()
    both = [right, wrong] if place == 0 else [wrong, right]
    found = fit_exact(both, FitOptions(n_starts=2, n_jobs=1), np.random.default_rng(0))
    alone = fit_exact([right], FitOptions(n_starts=1, n_jobs=1), np.random.default_rng(0))
    assert found.chosen == place == preferred(both, 1, np.random.default_rng(0)).chosen
    assert len(found.result.starts) == 2
    assert found.result.starts[place] == found.result.objective > found.result.starts[1 - place]
    np.testing.assert_allclose(found.result.objective, alone.result.objective, rtol=1e-10)
    np.testing.assert_array_equal(found.posterior.rows, alone.posterior.rows)


def test_one_start_is_of_the_first_candidate_unless_that_explains_nothing():
    right, wrong = labelled()
    found, other = (
        fit_exact(both, FitOptions(n_starts=1, n_jobs=1), np.random.default_rng(0))
        for both in ([right, wrong], [wrong, right])
    )
    assert (found.chosen, len(found.result.starts)) == (0, 1)
    assert (other.chosen, len(other.result.starts)) == (1, 3)


def test_where_nothing_is_found_every_candidate_begins_again_from_afar():
    _, wrong = labelled()
    found = fit_exact([wrong, wrong], FitOptions(n_starts=2, n_jobs=1), np.random.default_rng(0))
    assert explains_nothing(found.model, found.theta)
    assert len(found.result.starts) == 4


def test_where_nothing_is_found_the_first_candidate_is_preferred():
    """Whatever rounding or a prior says: the second has a prior that is higher where all is nothing."""
    _, wrong = labelled()
    higher = replace(wrong, model=replace(wrong.model, columns=wrong.model.columns[:1]))
    higher = replace(higher, rows=replace(higher.rows, X=higher.rows.X[:, :1]))
    both = [wrong, higher]
    assert fit_exact(both, FitOptions(n_starts=2, n_jobs=1), np.random.default_rng(0)).chosen == 1
    found = preferred(both, 1, np.random.default_rng(0))
    assert found.chosen == 0
    assert found.evaluations > 4
    assert found.seconds > 0.0
