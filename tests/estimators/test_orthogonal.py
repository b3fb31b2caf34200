"""Additive models with orthogonal inducing rows."""

import numpy as np
import pytest

from termwise import AdditiveGPClassifier, AdditiveGPRegressor, OAKClassifier, OAKRegressor
from termwise.errors import OptionError
from tests.oracle.decoupled import taken_between

EVERY = [OAKRegressor, AdditiveGPRegressor, OAKClassifier, AdditiveGPClassifier]
APART = 1e-4  # rounding of a kernel matrix of a large condition


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2]
    return X, f + 0.1 * rng.standard_normal(n), (f + 0.3 * rng.standard_normal(n) > 0.0).astype(int)


def assert_apart(model):
    between, within = taken_between(model)
    assert between < APART
    assert within > 0.05


@pytest.mark.parametrize("Estimator", EVERY)
def test_orthogonal_rows_add_to_what_the_others_tell(Estimator):
    X, y, labels = table()
    y = labels if "Classifier" in Estimator.__name__ else y
    fits = {
        counts: Estimator(max_order=2, n_inducing=counts[0], n_orthogonal=counts[1], n_restarts=1).fit(X, y)
        for counts in ((24, 0), (24, 24), (48, 0))
    }
    few, both, many = (model.objective_ for model in fits.values())
    assert both > few + 1.0
    # With the same rows and parameters a covariance in blocks is never better; here both are learned.
    assert both < many + 0.1 * abs(many - few)
    assert fits[24, 24].fit_result_.inducing == 48
    assert fits[24, 24].fit_result_.orthogonal == 24
    assert_apart(fits[24, 24])


@pytest.mark.parametrize("Estimator", [OAKRegressor, OAKClassifier])
def test_minibatches_have_them_too(Estimator):
    X, y, labels = table(400)
    model = Estimator(max_order=2, n_inducing=16, n_orthogonal=8, inference="stochastic", n_restarts=1)
    model.fit(X, labels if Estimator is OAKClassifier else y)
    assert model.fit_result_.inducing == 24
    assert model.fit_result_.orthogonal == 8
    assert_apart(model)
    assert model.score(X, labels if Estimator is OAKClassifier else y) > 0.9


def test_few_rows_are_learned_by_the_sparse_engine_if_there_are_to_be_some():
    X, y, _ = table(60)
    model = OAKRegressor(max_order=1, n_orthogonal=10, n_restarts=1).fit(X, y)
    assert model.fit_result_.inducing == 60  # all rows are inducing, and none is left
    assert model.fit_result_.orthogonal == 0
    assert model.fit_result_.status in ("converged", "max_steps", "planned")


@pytest.mark.parametrize("inference", ["exact", "ski"])
def test_engines_without_inducing_rows_have_none(inference):
    X, y, _ = table(60)
    with pytest.raises(OptionError, match="n_orthogonal is 5 and inference"):
        OAKRegressor(max_order=1, inference=inference, n_orthogonal=5).fit(X, y)
