"""What cells are summed up to, against sums done by hand and the tables of Demsar 2006."""

import math

import pytest

from benchmarks.harness import compare as c
from benchmarks.harness.cells import Cell
from benchmarks.published import published


def table(rows, models="abc"):
    """Means by set from rows of numbers; "x" is a failure and None a gap."""
    return {
        f"set{place}": {
            model: c.Mean(None, None, 0, 1, "broke") if value == "x" else c.Mean(value, None, 1)
            for model, value in zip(models, row, strict=True)
            if value is not None
        }
        for place, row in enumerate(rows)
    }


def cells_of(values, dataset="s", model="m", score="rmse"):
    return [Cell(dataset, split, model, **{score: value}) for split, value in enumerate(values)]


def test_mean_and_deviation_are_over_splits():
    found = c.means(cells_of([1.0, 2.0, 3.0]) + cells_of([5.0], model="n"), "rmse")
    assert found == {"s": {"m": c.Mean(2.0, 1.0, 3), "n": c.Mean(5.0, None, 1)}}


def test_a_failed_split_is_counted_and_named_and_not_averaged():
    cells = [*cells_of([1.0, 3.0]), Cell("s", 2, "m", rmse=99.0, error="out of memory")]
    assert c.means(cells, "rmse")["s"]["m"] == c.Mean(2.0, math.sqrt(2.0), 2, 1, "out of memory")


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_a_score_that_is_not_finite_is_a_failure(value):
    found = c.means(cells_of([value]) + cells_of([1.0], model="n"), "rmse")["s"]
    assert found["m"] == c.Mean(None, None, 0, 1, f"rmse is {value}")
    assert found["n"].failed == 0


def test_sets_of_the_other_task_and_models_without_the_score_are_left_out():
    cells = [
        *cells_of([0.1]),
        Cell("s", 0, "trees", accuracy=0.9),  # gives no rmse, though it ran
        Cell("t", 0, "m", accuracy=0.8),
        Cell("t", 0, "broken", error="no"),
        Cell("t", 0, "trees", error="no"),
        Cell("s", 0, "broken", error="no"),
    ]
    assert c.means(cells, "rmse") == {
        "s": {"m": c.Mean(0.1, None, 1), "broken": c.Mean(None, None, 0, 1, "no")}
    }


def test_two_models_are_compared_on_the_splits_that_both_have_run():
    """The second split is hard: who has not run it is no better for that."""
    cells = (
        cells_of([1.0, 9.0], model="all")
        + cells_of([2.0], model="one")
        + cells_of([3.0, 8.0], model="other")
        + [Cell("s", 1, "late", rmse=8.5), Cell("s", 0, "late", error="broke")]
    )
    found = c.means(cells, "rmse")
    leads = {name: one.wins for name, one in c.paired(found, "rmse", "all").items()}
    assert leads == {"one": 1, "other": 1, "late": 0}
    # late has failed where one has run
    ranks = c.ranks(found, "rmse").average
    assert ranks == {"all": 2.0, "one": 2.0, "other": 3.0, "late": 3.0}
    assert sum(ranks.values()) == 10.0


def test_average_and_median_are_over_the_sets_of_each_model():
    found = table([(1.0, 4.0, None), (2.0, "x", None), (6.0, 8.0, 1.0)])
    assert c.average(found) == {"a": c.Over(3.0, 3), "b": c.Over(6.0, 2), "c": c.Over(1.0, 1)}
    assert c.middle(found) == {"a": c.Over(2.0, 3), "b": c.Over(6.0, 2), "c": c.Over(1.0, 1)}


@pytest.mark.parametrize(
    ("score", "best_first"),
    [
        *(
            (score, "abc")
            for score in ("rmse", "mae", "fit_seconds", "predict_seconds", "peak_megabytes", "terms")
        ),
        *((score, "cba") for score in ("accuracy", "auc", "log_density", "ten_terms")),
        ("coverage", "bca"),
    ],
)
def test_every_score_has_its_direction(score, best_first):
    assert "".join(c.ranks(table([(0.7, 0.89, 0.98)]), score).average) == best_first


def test_a_score_without_direction_is_refused():
    with pytest.raises(c.UnknownScoreError, match="use one of rmse"):
        c.ranks(table([(0.7, 0.9, 1.0)]), "train_rows")


def test_ties_share_their_rank_even_if_their_last_digits_differ():
    assert c.ranks(table([(0.3, 0.1 + 0.2, 0.5)]), "rmse").average == {"a": 1.5, "b": 1.5, "c": 3.0}


def test_a_failure_is_ranked_last():
    found = c.ranks(table([(1.0, "x", 2.0), (1.0, 2.0, 3.0), ("x", "x", 1.0)]), "rmse")
    assert found.average == {"a": (1 + 1 + 2.5) / 3, "c": (2 + 3 + 1) / 3, "b": (3 + 2 + 2.5) / 3}


def test_a_model_with_gaps_is_ranked_apart_and_moves_no_one():
    rows = [(2.0, 3.0, 1.0), (2.0, 3.0, None), (2.0, 3.0, 2.5)]
    found = c.ranks(table(rows), "rmse")
    assert found.average == {"a": 1.0, "b": 2.0}
    assert found.gaps == {"c": c.Over(1.5, 2)}


def test_without_a_model_that_ran_every_set_there_are_no_ranks():
    assert c.ranks(table([(1.0, None), (None, 2.0)], "ab"), "rmse") == c.Ranks({}, 2, {})
    assert c.ranks({}, "rmse") == c.Ranks({}, 0, {})


def test_friedman_is_that_of_the_formula_without_ties():
    rows = [(1, 2, 3, 4), (1, 2, 4, 3), (2, 1, 3, 4), (1, 3, 2, 4), (1, 2, 3, 4)]
    k, n = 4, 5
    sums = [sum(column) / n for column in zip(*rows, strict=True)]
    statistic = 12 * n / (k * (k + 1)) * (sum(rank**2 for rank in sums) - k * (k + 1) ** 2 / 4)
    # the upper tail of chi-squared with three degrees of freedom
    tail = math.erfc(math.sqrt(statistic / 2)) + math.sqrt(2 * statistic / math.pi) * math.exp(-statistic / 2)
    assert c.friedman(table(rows, "abcd"), "rmse") == pytest.approx(tail)


def test_models_that_always_tie_do_not_differ():
    assert c.friedman(table([(1.0, 1.0, 1.0)] * 3), "rmse") == 1.0


def test_friedman_needs_three_models_without_gaps():
    with pytest.raises(c.TooFewError, match="2 models ran all of 2 sets"):
        c.friedman(table([(1.0, 2.0, None), (1.0, 2.0, 3.0)]), "rmse")


def test_critical_difference_is_that_of_demsar():
    printed = (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164)  # Demsar 2006, table 5a
    for k, q in enumerate(printed, start=2):
        assert c.critical_difference(k, 12) == pytest.approx(q * math.sqrt(k * (k + 1) / 72), rel=5e-4)
    # his example: four classifiers on fourteen sets, at 5 and at 10 per cent
    assert c.critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)
    assert c.critical_difference(4, 14, alpha=0.1) == pytest.approx(1.12, abs=0.005)


def test_cliques_are_the_largest_groups_within_the_difference():
    average = {"a": 1.0, "b": 1.5, "c": 2.2, "d": 4.0, "e": 4.1, "f": 9.0}
    assert c.cliques(average, 1.0) == (("a", "b"), ("b", "c"), ("d", "e"))
    assert c.cliques(average, 1.5) == (("a", "b", "c"), ("d", "e"))
    assert c.cliques(average, 0.01) == ()
    assert c.cliques(average, 1.2) == (
        ("a", "b"),
        ("b", "c"),
        ("d", "e"),
    )  # exactly the difference: they differ


def test_a_comparison_holds_its_parts_together():
    found = c.compare(table([(1.0, 2.0, 3.0)] * 20), "rmse")
    assert found.ranks.average == {"a": 1.0, "b": 2.0, "c": 3.0}
    assert found.p_value < 1e-8
    assert found.difference == pytest.approx(2.343 * math.sqrt(12 / 120), rel=1e-3)
    assert found.cliques == ()


def test_wins_and_losses_are_counted_over_shared_sets():
    rows = [(1.0, 2.0, None), (1.0, 1.0, None), (3.0, 2.0, None), (1.0, "x", None), ("x", "x", 1.0)]
    found = c.paired(table(rows), "rmse", "a")
    assert (found["b"].wins, found["b"].ties, found["b"].losses) == (2, 2, 1)
    assert (found["c"].wins, found["c"].ties, found["c"].losses) == (0, 0, 1)
    assert found["b"].sign == 1.0  # two of three
    assert 0.0 < found["b"].wilcoxon <= 1.0
    assert "a" not in found


def test_tests_of_pairs_are_those_of_all_signs():
    """Eight wins of eight: of 2^8 signs, two are as extreme, for both tests."""
    found = c.paired(table([(0.0, 1.0 + place) for place in range(8)], "ab"), "rmse", "a")["b"]
    assert found.sign == pytest.approx(2 / 2**8)
    assert found.wilcoxon == pytest.approx(2 / 2**8)
    # the one loss is the smallest difference: sums of 0 and 1 are as extreme, on both sides
    found = c.paired(table([(0.0, 1.0 + place) for place in range(1, 8)] + [(1.0, 0.0)], "ab"), "rmse", "a")[
        "b"
    ]
    assert found.sign == pytest.approx(2 * (1 + 8) / 2**8)
    assert found.wilcoxon == pytest.approx(2 * 2 / 2**8)


def test_an_infinite_difference_is_the_largest():
    found = c.paired(table([("x", 1.0)] + [(0.0, 1.0 + place) for place in range(7)], "ab"), "rmse", "a")["b"]
    assert (found.wins, found.losses) == (7, 1)
    # a lost rank of 8: as many subsets of 1..8 sum to at most 8 as there are, on both sides
    subsets = sum(sum(r + 1 for r in range(8) if bits >> r & 1) <= 8 for bits in range(2**8))
    assert found.wilcoxon == pytest.approx(2 * subsets / 2**8)


def test_two_models_that_always_tie_have_no_evidence():
    assert c.paired(table([(1.0, 1.0)], "ab"), "rmse", "a")["b"] == c.Paired(0, 1, 0, 1.0, 1.0)


def test_costs_join_ranks_and_the_median_of_seconds():
    cells = [
        Cell(f"s{place}", 0, model, rmse=error, fit_seconds=seconds * (place + 1))
        for place in range(3)
        for model, error, seconds in (("a", 0.1, 1.0), ("b", 0.2, 0.5), ("exact", 0.05, 7.0))
        if model != "exact" or place == 0
    ]
    assert c.costs(cells, "rmse") == {
        "a": c.Cost(1.0, 2.0, 3, True),
        "b": c.Cost(2.0, 1.0, 3, True),
        "exact": c.Cost(1.0, 7.0, 1, False),
    }


def test_ranks_of_a_printed_table_are_the_printed_ranks():
    """OAK table 5, whose printed ranks rest on more digits than three."""
    found = {
        name: {m: c.Mean(one.mean, one.sd, 10, int(one.mean is None)) for m, one in row.items()}
        for name, row in published("oak-5", "rmse").items()
    }
    average = c.ranks(found, "rmse").average
    printed = {"OAK": 3.583, "Linear": 6.625, "SVGP": 4.083, "SVM": 4.208, "KNN": 4.958, "GBM": 3.208}
    printed |= {"AdaBoost": 5.750, "MLP": 3.583}
    assert average == pytest.approx(printed, abs=0.1)
