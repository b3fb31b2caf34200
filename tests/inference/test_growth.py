"""The next order is taken up if the rows ask for it, by every engine, and refused if they do not."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from termwise import AdditiveGPRegressor, OAKClassifier, OAKRegressor
from termwise.encode.rows import ArrayChunk
from termwise.errors import NumericalError
from termwise.inference import growth, stochastic
from termwise.inference.columns import FixedColumn
from termwise.inference.fit import Candidate, FitOptions, fit_exact
from termwise.inference.growth import GAIN, grown, wide_enough
from termwise.inference.model import Model
from termwise.inference.orders import AllSubsets, EachOrder
from termwise.kernels.squared_exponential import SquaredExponential
from termwise.measures import Normal
from tests.inference.mixed import mixed_model

NOISE = 0.1
QUICK: dict[str, Any] = {"n_restarts": 1, "flow": None, "measure": "normal"}


def product(order: int, rows: int = 300, columns: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The product of the first columns and a little of each, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns))
    f = np.prod(np.sign(X[:, :order]) * np.sqrt(np.abs(X[:, :order])), axis=1) + 0.3 * X.sum(axis=1)
    return X, f + NOISE * rng.standard_normal(rows)


def largest_order(model: Any) -> int:
    found: int = model.posterior_.kernel.max_order
    return found


def test_an_order_that_is_asked_for_is_taken_up():
    X, y = product(4)
    auto, three = OAKRegressor(**QUICK).fit(X, y), OAKRegressor(max_order=3, **QUICK).fit(X, y)
    assert (largest_order(auto), largest_order(three)) == (4, 3)
    assert auto.objective_ > three.objective_ + GAIN
    new, target = product(4, seed=1)
    assert auto.score(new, target) > three.score(new, target) + 0.1
    assert auto.terms_[0].columns == (0, 1, 2, 3)
    assert auto.fit_result_.evaluations > three.fit_result_.evaluations


def test_an_order_without_use_changes_nothing():
    X, y = product(2)
    auto, three = OAKRegressor(**QUICK).fit(X, y), OAKRegressor(max_order=3, **QUICK).fit(X, y)
    assert largest_order(auto) == 3
    assert auto.objective_ == three.objective_
    np.testing.assert_array_equal(auto.predict(X), three.predict(X))


def test_several_orders_one_after_the_other():
    X, y = product(5, rows=500)
    assert largest_order(OAKRegressor(**QUICK).fit(X, y)) == 5


def test_inducing_rows_find_it_too():
    X, y = product(4, rows=2400)
    model = OAKRegressor(inference="sparse", n_inducing=256, **QUICK).fit(X, y)
    assert largest_order(model) == 4
    assert np.sqrt(model.noise_.variance) < 2.0 * NOISE / y.std()


def test_labels_begin_with_pairs_and_find_triples():
    X, f = product(3, rows=400)
    model = OAKClassifier(**QUICK).fit(X, f > np.median(f))
    assert largest_order(model) == 3
    assert largest_order(OAKClassifier(**QUICK).fit(X, X[:, 0] * X[:, 1] > 0.0)) == 2


def test_minibatches_go_on_from_a_checkpoint_with_more_orders(tmp_path, monkeypatch):
    monkeypatch.setattr(stochastic, "LEAST_STEPS", 20)
    X, f = product(3, rows=1500)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({**{f"x{d}": x for d, x in enumerate(X.T)}, "y": f > np.median(f)}), path)
    options = {**QUICK, "n_inducing": 48, "inference": "stochastic"}
    whole = OAKClassifier(**options).fit_dataset(path, target="y", checkpoint=tmp_path / "kept")
    again = OAKClassifier(**options).fit_dataset(path, target="y", resume=tmp_path / "kept")
    assert largest_order(whole) == largest_order(again) == 3
    assert whole.objective_ == again.objective_


def test_terms_that_cannot_all_be_listed_are_not_added():
    def most(columns: int) -> int:
        return OAKRegressor()._orders(columns).most  # type: ignore[attr-defined]

    assert [most(columns) for columns in (2, 8, 30, 60, 2000)] == [2, 8, 4, 3, 1]
    assert OAKRegressor()._orders(2000).wider() is None
    assert OAKRegressor()._orders(60).wider() is None
    assert OAKRegressor(max_order=3)._orders(8).wider() is None


@pytest.mark.parametrize("orders", [AllSubsets(4), EachOrder((0, 1), 4), EachOrder((0, 4), 4, 4)])
def test_models_that_have_all_they_may_have_do_not_grow(orders):
    model, _ = mixed_model(np.random.default_rng(0), 12, orders, names=("warped", "normal", "free", "levels"))
    assert model.wider() is None
    assert grown(model, "as it was", None, None, None) == (model, "as it was")  # type: ignore[arg-type]


def test_the_vector_of_one_more_order():
    model, _ = mixed_model(np.random.default_rng(0), 12, EachOrder((0, 1, 2), 8, 3))
    theta = model.start(np.full(8, 0.7), 0.02)
    wider = model.wider()
    assert wider is not None
    assert (wider.orders.max_order, wider.wider()) == (3, None)
    more = wider.with_last_order(theta, 0.25)
    np.testing.assert_array_equal(np.delete(more, wider.last_order), theta)
    # What orders have on average, by the kernel at rows of which no cell is known.
    nothing = np.full((1, 8), np.nan)
    by_order = [wider.kernel(more).of_order(r).diagonal(nothing)[0] for r in (1, 2, 3)]
    assert by_order[2] == pytest.approx(0.25 * (by_order[0] + by_order[1]))
    of_kernel = len(model.kernel_bounds())
    np.testing.assert_array_equal(wider.variances_and_likelihood(), np.arange(more.size) >= of_kernel)
    assert wide_enough(model, more).orders == wider.orders
    assert wide_enough(model, theta) is model


def test_a_climb_that_was_cut_short_is_no_reason_for_an_order():
    """Evaluations count, also those of an order that was refused."""
    X, y = product(1, rows=80, columns=4)
    columns = (FixedColumn(Normal(), SquaredExponential),) * 4
    rows, options = ArrayChunk(X, y / y.std()), FitOptions(n_starts=1, max_steps=4)
    tried, not_tried = (
        fit_exact(
            [Candidate(Model(columns, EachOrder((0, 1), 4, most)), rows)], options, np.random.default_rng(0)
        )
        for most in (4, 1)
    )
    assert tried.model.orders.max_order == 1
    np.testing.assert_array_equal(tried.theta, not_tried.theta)
    assert tried.result.evaluations > not_tried.result.evaluations


def test_where_there_is_no_kernel_matrix_an_order_is_not_held_against_it(monkeypatch):
    """The narrower model at the parameters of the wider one: what it came to before is what counts then."""
    failed = []

    def fails(objective, theta):
        failed.append(theta)
        return value(Broken(), theta)

    value = growth._value
    monkeypatch.setattr(growth, "_value", fails)
    assert largest_order(OAKRegressor(**QUICK).fit(*product(4))) == 4
    assert failed


class Broken:
    evaluations = 0

    def value_and_gradient(self, theta, *, late=True):
        raise NumericalError("no")


def test_other_models_keep_their_orders():
    X, y = product(4, rows=120)
    assert largest_order(AdditiveGPRegressor(max_order=2, n_restarts=1).fit(X, y)) == 2
