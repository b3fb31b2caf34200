"""The scores of a cell, beside what SciPy and a count by hand make of the same predictions."""

import numpy as np
import pytest
from scipy.stats import norm

from benchmarks.harness.model import Predicted
from benchmarks.harness.ours import Ours
from benchmarks.harness.scoring import LEAST_PROBABILITY, RESET, scored, scores
from benchmarks.harness.sets import Problem

KNOWN = {"dataset": "made up", "split": 0, "model": "made up"}


def test_numbers_are_scored_as_normal():
    rng = np.random.default_rng(0)
    mean, std, y = rng.standard_normal(200), rng.uniform(0.2, 2.0, 200), rng.standard_normal(200)
    found = scores("regression", Predicted(mean, std), y)
    normal = norm(mean, std)
    low, high = normal.interval(0.9)
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((y - mean) ** 2)))
    assert found["mae"] == pytest.approx(np.mean(np.abs(y - mean)))
    assert found["log_density"] == pytest.approx(np.mean(normal.logpdf(y)))
    assert found["coverage"] == pytest.approx(np.mean((low <= y) & (y <= high)))


def test_labels_are_scored_by_their_probability():
    p, y = np.array([0.9, 0.2, 0.4, 0.7, 0.55]), np.array([1.0, 0.0, 1.0, 0.0, 1.0])
    found = scores("classification", Predicted(p), y)
    assert found["accuracy"] == 3 / 5
    assert found["log_density"] == pytest.approx(np.mean(np.log([0.9, 0.8, 0.4, 0.3, 0.55])))
    # Of the six pairs of a one and a zero, four have the larger probability at the one.
    assert found["auc"] == pytest.approx(4 / 6)


def test_a_label_called_impossible_costs_much_but_not_everything():
    found = scores("classification", Predicted(np.array([0.0, 1.0])), np.array([1.0, 1.0]))
    assert found["log_density"] == pytest.approx(0.5 * np.log(LEAST_PROBABILITY), rel=1e-6)
    assert found["auc"] is None


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_predictions_that_are_no_numbers_are_an_error(bad):
    with pytest.raises(ArithmeticError, match="not finite"):
        scores("regression", Predicted(np.array([0.0, bad]), np.ones(2)), np.zeros(2))


class Hungry:
    """A model that needs forty megabytes in small pieces, which an allocator likes to keep."""

    def fit(self, X, y, categorical):
        pieces = [np.ones(500) for _ in range(10_000)]
        self.mean = float(np.mean(y)) + 0.0 * pieces[-1][0]

    def predict(self, X):
        return Predicted(np.full(len(X["x"]), self.mean))


@pytest.mark.skipif(not RESET.exists(), reason="only Linux tells of the peak of a part of a process")
def test_memory_counts_again_for_every_fit():
    x = np.linspace(-1.0, 1.0, 60)
    problem = Problem("classification", {"x": x}, (x > 0).astype(float), {"x": x}, (x > 0).astype(float), ())
    cells = [scored(problem, Hungry, **KNOWN) for _ in range(3)]
    assert all(35.0 < cell.peak_megabytes < 90.0 for cell in cells)


def test_who_gives_no_standard_deviation_gets_that_of_rows_left_out():
    class Constant(Hungry):
        def fit(self, X, y, categorical):
            self.mean = float(np.mean(y))

    rng = np.random.default_rng(1)
    y, x = rng.standard_normal(400), np.zeros(400)
    problem = Problem("regression", {"x": x}, y, {"x": x}, y, ())
    cell = scored(problem, Constant, **KNOWN)
    assert cell.log_density == pytest.approx(np.mean(norm(np.mean(y), np.std(y)).logpdf(y)), abs=0.01)


def test_models_of_the_angle_are_scored_by_the_normal_density_that_they_learn_by():
    """With a thousand rows and heavy tails the estimator itself would say another density."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(1200)
    y = np.sin(x) + 0.3 * rng.standard_t(3, 1200)
    rows = {"x": x[:1100]}, y[:1100], {"x": x[1100:]}, y[1100:]
    name = "arccos1 points 128"
    made = Ours(name, "regression")
    cell = scored(Problem("regression", *rows, ()), lambda: made, **{**KNOWN, "model": name})
    fitted = made.estimator
    encoded = fitted._encode(rows[2])
    variance = fitted.posterior_.variance(encoded) + fitted.posterior_.noise
    normal = norm(fitted.predict(rows[2]), fitted.target_scale_.scale * np.sqrt(variance))
    assert cell.log_density == pytest.approx(np.mean(normal.logpdf(rows[3])))
    assert abs(cell.log_density - np.mean(fitted.log_predictive_density(rows[2], rows[3]))) > 0.01
