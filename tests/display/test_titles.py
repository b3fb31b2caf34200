"""Titles stay within their panels."""

from __future__ import annotations

from dataclasses import replace

import pytest

from termwise.display import EffectDisplay, EffectsDisplay
from termwise.display.titles import wrapped
from termwise.explain.terms import Term
from tests.display.made_up import explanation_of

LONG = ("mean concave points (mm)", "worst concave points (mm)")


def fits(line: str) -> bool:
    return len(line) <= 24


@pytest.mark.parametrize(
    ("title", "lines"),
    [
        ("age   31 % (24–39 %)", ["age   31 % (24–39 %)"]),
        ("sepal width:petal length   5 %", ["sepal width:petal length", "5 %"]),
        ("sepal width (cm):petal length (cm)   5 %", ["sepal width (cm):", "petal length (cm)   5 %"]),
        (
            "the width of all sepals in cm   5 % (2–9 %)",
            ["the width of all sepals", "in cm   5 % (2–9 %)"],
        ),
        ("x" * 40 + "   5 %", ["x" * 23 + "…", "5 %"]),
        (
            " ".join(["twelve words"] * 20) + "   5 %",
            ["twelve words twelve", "words twelve words", "…", "words   5 %"],
        ),
    ],
)
def test_a_title_is_broken_where_it_is_too_wide(title: str, lines: list[str]) -> None:
    assert wrapped(title, fits).split("\n") == lines


def test_titles_and_names_of_maps_stay_within_their_panels() -> None:
    found = explanation_of(("age", "dose"), ("dose", "age"), ("age",))
    effects, table = [], found.sobol.copy()
    for i, effect in enumerate(found.effects):
        features = LONG[: effect.term.order]
        effects.append(replace(effect, term=Term(features, effect.term.columns)))
        table["term"][i] = effects[-1].term.name
    whole = replace(found, effects=tuple(effects), sobol=table)
    for display in (EffectsDisplay(whole).plot(), EffectDisplay(effects[0]).plot()):
        figure = display.figure_
        figure.draw_without_rendering()
        renderer = figure._get_renderer()
        for ax in display.axes_:
            for text in (ax._left_title, ax.xaxis.label):
                assert text.get_window_extent(renderer).width <= 1.02 * ax.bbox.width
        assert all(part in display.axes_[0].get_title(loc="left") for part in ("mean", "worst", ":\n"))
