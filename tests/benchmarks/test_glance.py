"""A table in a few lines: who is compared on which splits, and the orders beside the paper's."""

from math import comb

import numpy as np
import pytest

from benchmarks.harness.cells import Cell
from benchmarks.harness.glance import as_lines, glance
from benchmarks.harness.orders import by_order, order_lines
from benchmarks.harness.ours import Ours
from benchmarks.published import published


def cells(model, scores, **known):
    """Cells of one model: a list of errors, one for each split, by set."""
    return [
        Cell(name, split, model, rmse=rmse, log_density=-rmse, fit_seconds=2.0, **known)
        for name, errors in scores.items()
        for split, rmse in enumerate(errors)
    ]


TABLE = [
    *cells("OAK", {"a": [0.1, 0.9], "b": [0.3], "c": [0.5]}),
    *cells("slow", {"a": [0.2], "b": [0.2], "c": [0.6]}),
    *cells("small", {"b": [0.1]}),
]


def test_averages_are_over_own_splits_and_comparisons_on_those_of_both():
    ours, slow, _ = glance(TABLE, ("rmse", "log_density"), "OAK")
    assert (ours.model, slow.model) == ("OAK", "slow")
    assert ours.average[0] == pytest.approx((0.5 + 0.3 + 0.5) / 3)
    assert ours.median[0] == pytest.approx(0.5)
    assert ours.rank == pytest.approx((4 / 3, 4 / 3))
    assert (slow.paired[0].wins, slow.paired[0].losses) == (2, 1)
    assert ours.seconds == 2.0


def test_a_model_of_fewer_sets_has_wins_and_losses_only():
    small = glance(TABLE, ("rmse", "log_density"), "OAK")[-1]
    assert (small.model, small.sets) == ("small", 1)
    assert (small.average, small.rank) == ((None, None), (None, None))
    assert (small.paired[0].wins, small.paired[0].losses) == (0, 1)


def test_it_is_a_table_of_markdown():
    scores = ("rmse", "log_density")
    head, _, ours, *_, small = as_lines(glance(TABLE, scores, "OAK"), scores, "OAK")
    assert head.startswith(
        "| model | RMSE: average | median | average rank | OAK won–lost | log density: average |"
    )
    assert ours.startswith("| OAK | 0.433 | 0.500 | 1.33 | – |")
    assert small.startswith("| small (1 of 3 sets) | – | – | – | 0–1 |")
    assert {line.count("|") for line in (head, ours, small)} == {11}


def test_orders_are_means_over_splits_beside_the_papers():
    found = [Cell("liver", split, "additive", orders=text) for split, text in enumerate(("90 10", "70 30"))]
    assert by_order(found) == {"liver": [80.0, 20.0]}
    lines = order_lines(found, published("additive-1", "order_share"))
    assert lines[2].startswith("| liver | 80.0 | 20.0 |")
    assert lines[3].startswith("| liver (paper) | 0.0 | 0.2 | 99.7 |")
    assert {line.count("|") for line in lines} == {8}
    assert not order_lines([Cell("liver", 0, "OAK")], {})


def test_the_orders_of_a_fit_are_variances_times_the_number_of_terms():
    rng = np.random.default_rng(0)
    X = {name: rng.standard_normal(60) for name in "abc"}
    model = Ours("additive", "regression")
    model.fit(X, X["a"] + X["b"] * X["c"], ())
    variances = model.estimator.posterior_.kernel.variances[1:]
    each = np.array([variance * comb(3, order) for order, variance in enumerate(variances, start=1)])
    found = [float(text) for text in model.orders().split()]
    np.testing.assert_allclose(found, 100.0 * each / each.sum(), atol=0.006)
    assert Ours("OAK", "regression").orders() == ""
