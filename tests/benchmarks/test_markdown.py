"""Tables as text: in Markdown, and in the columns of a terminal."""

import pytest

from benchmarks.harness.compare import Mean
from benchmarks.harness.grid import ABOUT, Entry, grid, shown
from benchmarks.harness.markdown import as_markdown
from benchmarks.harness.terminal import as_text
from benchmarks.published import Printed

TABLE = {
    "near": {"a": Mean(0.2, 0.01, 10), "b": Mean(0.3, 0.02, 10), "exact": Mean(0.1, 0.03, 3)},
    "far": {"a": Mean(1.0, 0.1, 10), "b": Mean(None, None, 0, 10, "no [room] for k_xx")},
    "mid": {"a": Mean(0.5004, None, 10), "b": Mean(0.4996, None, 8, 2, "late"), "exact": Mean(0.7, None, 3)},
}
PAPER = {"near": {"OAK": Printed(0.15, 0.02)}, "mid": {"OAK": Printed(None)}}


def lines_of(text, start):
    return [line for line in text.splitlines() if line.startswith(start)]


def test_a_whole_table_in_markdown():
    assert as_markdown(grid(TABLE, "rmse", paper=PAPER)) == "\n".join([
        f"rmse ({ABOUT['rmse']}), lower is better: mean (standard deviation) over splits, "
        "in bold whom the fewest beat on the splits that both have run",
        "",
        "| set | a | b | exact | OAK (paper) |",
        "| :-- | --: | --: | --: | --: |",
        "| near | 0.200 (0.010) | 0.300 (0.020) | **0.100 (0.030)**¹ | 0.150 (0.020) |",
        "| far | **1.000 (0.100)** | failed² | – | – |",
        "| mid | **0.500** | **0.500**³ | 0.700¹ | NaN |",
        "| *average* | 0.567 | 0.400⁴ | 0.400⁴ | 0.150⁵ |",
        "| *median* | 0.500 | 0.400⁴ | 0.400⁴ | 0.150⁵ |",
        "| *average rank* | **1.33** | 1.67 | 2.00⁶ |  |",
        "",
        "- ¹ of 3 splits",
        r"- ² failed: no \[room\] for k\_xx",
        "- ³ of 8 splits; 2 failed: late",
        "- ⁴ over 2 of 3 sets",
        "- ⁵ over 1 of 3 sets",
        "- ⁶ over 2 of 3 sets, among the models that ran every set",
        "",
    ])  # fmt: skip


def test_models_come_in_the_order_asked_for_and_are_ranked_among_themselves():
    found = grid({"near": TABLE["near"]}, "rmse", models=["b", "a"])
    assert found.columns == ("b", "a")
    assert found.foot["average rank"] == (Entry("2.00"), Entry("1.00", best=True))
    assert found.rows["near"][1].best


def test_all_methods_of_a_paper_stand_beside():
    paper = {"near": {"OAK": Printed(0.15), "SVM": Printed(0.4)}}
    assert grid(TABLE, "rmse", paper=paper).columns == ("a", "b", "exact", "OAK (paper)", "SVM (paper)")


@pytest.mark.parametrize(("score", "best"), [("rmse", "a"), ("auc", "c"), ("coverage", "b")])
def test_the_best_is_that_of_the_score(score, best):
    row = {"a": Mean(0.8, None, 1), "b": Mean(0.91, None, 1), "c": Mean(0.99, None, 1)}
    found = grid({"s": row}, score)
    assert [name for name, one in zip(found.columns, found.rows["s"], strict=True) if one.best] == [best]
    assert [name for name, one in zip(found.columns, found.foot["average"], strict=True) if one.best] == [
        best
    ]


def test_the_best_of_a_set_is_so_on_the_splits_of_both():
    """The quick one has run a split that all find easy, where another is better still."""
    row = {
        "thorough": Mean(0.5, None, 2, by_split={0: 0.1, 1: 0.9}),
        "slower": Mean(0.6, None, 2, by_split={0: 0.3, 1: 0.9}),
        "quick": Mean(0.2, None, 1, by_split={0: 0.2}),
        "failed": Mean(None, None, 0, 2, "no"),
    }
    found = grid({"s": row}, "rmse")
    assert [name for name, one in zip(found.columns, found.rows["s"], strict=True) if one.best] == [
        "thorough"
    ]


def test_the_caption_says_which_way_is_better():
    assert grid({"s": {"a": Mean(0.9, None, 1)}}, "coverage").caption == (
        "coverage (part of the test rows inside the 90 % interval), nearest to 0.9 is best"
    )
    assert grid({"s": {"a": Mean(0.9, None, 1)}}, "auc").caption == (
        "auc (area under the ROC curve), higher is better"
    )


@pytest.mark.parametrize(
    ("score", "value", "text"),
    [
        ("rmse", 0.28951, "0.290"),
        ("rmse", 12345.6, "1.23e+04"),
        ("terms", 7.25, "7.2"),
        ("log_density", -1.2, "-1.200"),
        ("fit_seconds", 1234.5, "1234"),
        ("fit_seconds", 0.01234, "0.0123"),
        ("fit_seconds", 0.0, "0.00"),
    ],
)
def test_scores_are_shown_in_digits_worth_reading(score, value, text):
    assert shown(score, value) == text


def test_columns_of_a_terminal_are_in_line_and_starred():
    text = as_text(grid(TABLE, "rmse"))
    head, near, far = (lines_of(text, start)[0] for start in ("set", "near", "far"))
    assert "0.100 (0.030)*¹" in near
    assert "failed²" in far
    # the last letter of a head, of a number and of a failure are above each other
    assert head.rindex("b") == near.index("(0.020)") + 6 == far.index("failed") + 5
    assert lines_of(text, "²") == ["² failed: no [room] for k_xx"]


def wide(models):
    row = {f"model number {place}": Mean(0.1 * place, 0.01, 10) for place in range(1, models + 1)}
    return {"a_set_with_quite_a_long_name_of_its_own": row, "short": row}


@pytest.mark.parametrize("models", [1, 4, 8])
def test_eight_models_fit_in_one_block(models):
    text = as_text(grid(wide(models), "rmse"))
    assert max(map(len, text.splitlines())) <= 110
    assert len(lines_of(text, "set")) == 1
    assert ("(0.010)" in text) == (models < 8)
    assert lines_of(text, "a_set_with_quite_a_…")


def test_more_models_go_on_below():
    text = as_text(grid(wide(15), "rmse"))
    assert max(map(len, text.splitlines())) <= 110
    assert len(lines_of(text, "set")) == len(lines_of(text, "short")) == 2
    for place in range(1, 16):
        assert f"{0.1 * place:.3f}" in text


@pytest.mark.parametrize("width", range(40, 140, 9))
def test_no_line_is_wider_than_asked_for(width):
    assert max(map(len, as_text(grid(wide(15), "rmse"), width=width).splitlines())) <= width
