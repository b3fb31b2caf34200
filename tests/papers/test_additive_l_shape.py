"""Additive GPs (2011) section 5.1, figure 5: a peak far from all training rows, inferred from two sines."""

import numpy as np
import pytest

from termwise import AdditiveGPRegressor, OAKRegressor

ROWS, NOISE_SD = 100, 0.05
LOW, HIGH, WIDTH = -4.0, 4.0, 2.0  # training rows lie in the two arms of an L, each WIDTH wide
PEAK = np.pi / 2


def truth(X):
    return np.sin(X[:, 0]) + np.sin(X[:, 1])


@pytest.fixture(scope="module")
def training():
    rng = np.random.default_rng(0)
    X = rng.uniform(LOW, HIGH, (20 * ROWS, 2))
    X = X[X.min(axis=1) < LOW + WIDTH][:ROWS]
    return X, truth(X) + NOISE_SD * rng.standard_normal(ROWS)


@pytest.fixture(scope="module")
def far():
    """The rows within one of the peak; the nearest training row is more than two away from them all."""
    axis = np.linspace(-1.0, 1.0, 15)
    return PEAK + np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)


def test_the_peak_is_far_from_the_training_rows(training, far):
    assert np.min(far) - (LOW + WIDTH) > 2.0
    assert truth(far).max() > 2.0 - 1e-9 > truth(training[0]).max() + 0.1


def relative_error(model, X):
    return np.sqrt(np.mean((model.predict(X) - truth(X)) ** 2)) / np.std(truth(X))


@pytest.mark.parametrize(
    "model",
    [
        AdditiveGPRegressor(),
        OAKRegressor(),
        OAKRegressor(kernel="se", flow=None),
    ],
    ids=["additive", "OAK", "OAK, squared exponential"],
)
def test_additive_models_predict_the_far_peak(model, training, far):
    model.fit(*training)
    assert model.order_shares_[0] > 0.9
    assert relative_error(model, far) < 0.5
    at_peak = model.predict([[PEAK, PEAK]])[0]
    assert at_peak == pytest.approx(2.0, abs=0.2)
    highest = far[np.argmax(model.predict(far))]
    np.testing.assert_allclose(highest, [PEAK, PEAK], atol=0.5)


def test_one_function_of_both_features_misses_the_far_peak(training, far):
    model = AdditiveGPRegressor(kind="se").fit(*training)
    assert relative_error(model, training[0]) < 0.1
    assert relative_error(model, far) > 1.0
    assert model.predict([[PEAK, PEAK]])[0] < 1.5
