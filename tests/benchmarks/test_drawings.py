"""Figures of a comparison: every model is named, in its colour, and no name covers another."""

from itertools import combinations

import numpy as np
import pytest

from benchmarks.harness.compare import Cost, Mean, TooFewError, compare
from benchmarks.harness.drawings import OTHERS, OURS, draw_costs, draw_ranks

NAMES = ["OAK", "additive", "OAK sparse", *(f"a peer of ours, number {place}" for place in range(12))]


def comparison():
    rng = np.random.default_rng(0)
    rows = 0.05 * np.arange(len(NAMES)) + rng.random((24, len(NAMES)))
    table = {
        f"set{n}": {m: Mean(x, None, 1) for m, x in zip(NAMES, row, strict=True)}
        for n, row in enumerate(rows)
    }
    return compare(table, "rmse")


def crowd():
    """Fifteen models of about the same rank and speed."""
    rng = np.random.default_rng(0)
    return {name: Cost(7.5 + rng.normal(), float(np.exp(rng.normal())), 24, name != "OAK") for name in NAMES}


def texts(figure):
    figure.draw_without_rendering()
    ax = figure.axes[0]
    return {text.get_text().strip(): text for text in ax.texts if text.get_text().strip()}


def assert_apart(figure):
    """No two texts cover each other, and all are in the figure."""
    boxes = {name: text.get_window_extent() for name, text in texts(figure).items()}
    for one, other in combinations(boxes, 2):
        assert not boxes[one].overlaps(boxes[other]), (one, other)
    for name, box in boxes.items():
        assert figure.bbox.x0 <= box.x0, name
        assert box.x1 <= figure.bbox.x1, name
        assert figure.bbox.y0 <= box.y0, name
        assert box.y1 <= figure.bbox.y1, name


@pytest.mark.parametrize("title", ["", "rmse"])
def test_fifteen_ranks_are_drawn_apart(title):
    assert_apart(draw_ranks(comparison(), ours=NAMES[:3], title=title))


def test_fifteen_costs_are_drawn_apart():
    assert_apart(draw_costs(crowd(), ours=NAMES[:3], title="rmse"))


@pytest.mark.parametrize(
    "draw", [lambda: draw_ranks(comparison(), ours=NAMES[:3]), lambda: draw_costs(crowd(), ours=NAMES[:3])]
)
def test_every_model_is_named_and_ours_are_in_colour(draw):
    found = texts(draw())
    for name in NAMES:
        colours = {
            text.get_color()
            for says, text in found.items()
            if says.endswith(name) or says.startswith(f"{name}  ")
        }
        assert colours == {OURS if name in NAMES[:3] else OTHERS}, name


def test_a_bar_joins_each_clique_and_bars_of_a_height_do_not_touch():
    found = comparison()
    lines = [line for line in draw_ranks(found).axes[0].lines if line.get_linewidth() > 3.0]
    ranks = found.ranks.average
    assert len(lines) == len(found.cliques) > 0
    for line, clique in zip(lines, found.cliques, strict=True):
        start, stop = line.get_xdata()
        within = {name for name, rank in ranks.items() if start <= rank <= stop}
        assert set(clique) <= within
    for one, other in combinations(lines, 2):
        if one.get_ydata()[0] == other.get_ydata()[0]:
            assert one.get_xdata()[1] < other.get_xdata()[0]


def test_a_model_that_did_not_run_every_set_is_hollow():
    ax = draw_costs(crowd()).axes[0]
    points = [line for line in ax.lines if len(line.get_xdata())]
    assert [line.get_markerfacecolor() == "w" for line in points] == [name == "OAK" for name in NAMES]
    assert ax.get_legend().get_texts()[0].get_text() == "rank and seconds over so many sets only"
    assert [text.get_text() for text in ax.texts if "(" in text.get_text()] == [
        f"OAK  ({crowd()['OAK'].sets})"
    ]


def test_the_best_is_on_top_and_the_fast_on_the_left():
    ax = draw_costs({"good": Cost(1.0, 0.1, 3, True), "slow": Cost(2.0, 30.0, 3, True)}).axes[0]
    (x, y), (x_slow, y_slow) = (ax.transData.transform(line.get_xydata()[0]) for line in ax.lines)
    assert y > y_slow
    assert x < x_slow
    assert ax.get_legend() is None


def test_nothing_to_draw_is_said():
    with pytest.raises(TooFewError, match="no model to draw"):
        draw_costs({})
