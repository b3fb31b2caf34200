"""The short table of the README is that of the cells in the repository."""

import pytest

from benchmarks.harness.cells import Cell
from benchmarks.harness.readme import BEGIN, END, README, NoPlaceError, kept_cells, short_table, with_table

CELLS = {
    "oak-regression": [
        Cell("a", 0, "OAK", rmse=0.1, log_density=1.0, fit_seconds=2.0),
        Cell("b", 0, "OAK", rmse=0.3, log_density=0.0, fit_seconds=4.0),
        Cell("d", 0, "OAK", rmse=0.2, log_density=0.5, fit_seconds=3.0),
        Cell("a", 0, "Linear", rmse=0.2, log_density=0.5, fit_seconds=0.1),
        Cell("b", 0, "Linear", rmse=0.2, log_density=-0.5, fit_seconds=0.1),
        Cell("d", 0, "Linear", rmse=0.5, log_density=-0.6, fit_seconds=0.1),
        Cell("a", 0, "small", rmse=0.05, log_density=0.5, fit_seconds=0.1),
    ],
    "oak-classification": [Cell("c", 0, "OAK", accuracy=0.9, log_density=-0.3, fit_seconds=1.0)],
}


def test_the_readme_shows_the_cells_of_the_repository():
    text = README.read_text(encoding="utf-8")
    assert with_table(text, kept_cells()) == text, "run: python -m benchmarks readme"


def test_wins_and_losses_stand_beside_averages_and_gaps_stay_gaps():
    lines = short_table(CELLS)
    numbers, labels = (
        "0.200 (0.200) | – | 0.500 (0.500) | – | 3.00",
        "0.900 (0.900) | – | -0.300 (-0.300) | – | 1.00",
    )
    assert lines[2] == f"| OAK | {numbers} | {labels} |"
    assert lines[3].startswith("| Linear | 0.300 (0.200) | 2–1 | -0.200 (-0.500) | 3–0 | 0.100 | – | – |")
    assert lines[4].startswith("| small | – | 0–1 | – | 1–0 |")
    assert len({line.count("|") for line in lines}) == 1
    assert len(short_table({"oak-regression": CELLS["oak-regression"]})[0].split("|")) == 8


def test_only_what_stands_between_the_marks_changes():
    text = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    found = with_table(text, CELLS)
    assert found.startswith(f"before\n{BEGIN}\n| model |")
    assert found.endswith(f"|\n{END}\nafter\n")
    assert with_table(found, CELLS) == found
    with pytest.raises(NoPlaceError, match="put them into the text"):
        with_table("nothing", CELLS)
