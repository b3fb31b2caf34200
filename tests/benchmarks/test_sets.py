"""One split of a set, as every model gets it."""

import numpy as np
import pytest

from benchmarks.data import load, read
from benchmarks.harness.sets import ENCODED, ROW_NUMBER, Asked, encoded, fold_rows, problem
from benchmarks.harness.tables import TABLES

REGRESSION = Asked("regression")


def test_numbers_are_split_and_scaled_as_elsewhere(made_up):
    made_up("plain", {"x": range(20), "y": range(100, 120)})
    found, other = problem(REGRESSION, "plain", 3), load("plain", 3)
    assert found.y.tolist() == other.y.tolist()
    assert found.y_test.tolist() == other.y_test.tolist()
    assert found.X["x"].tolist() == other.X["x"].tolist()


def test_labels_are_one_for_the_last_in_the_alphabet(made_up):
    made_up("plain", {"x": range(10), "y": ["yes", "no"] * 5})
    found = problem(Asked("classification"), "plain", 0)
    both = dict(zip([*found.X["x"], *found.X_test["x"]], [*found.y, *found.y_test], strict=True))
    assert [both[float(row)] for row in range(10)] == [1.0, 0.0] * 5


def test_columns_can_be_left_out(made_up):
    made_up("plain", {"x": range(10), "leak": list("ab" * 5), "y": range(10)}, categorical="leak")
    found = problem(Asked("regression", dropped=(("plain", ("leak",)),)), "plain", 0)
    assert list(found.X) == list(found.X_test) == ["x"]
    assert found.categorical == ()


def test_folds_part_the_rows():
    tests = np.concatenate([fold_rows(fold, 37)[1] for fold in range(10)])
    assert sorted(tests) == list(range(37))
    train, test = fold_rows(4, 37)
    assert sorted([*train, *test]) == list(range(37))


def test_the_row_number_of_the_paper_is_an_input(made_up, tmp_path):
    (tmp_path / "uci121").mkdir()
    made_up("uci121/parkinsons", {"x": [3, 1, 2], "class": [0, 0, 1]})
    found = encoded("parkinsons-voice")
    assert list(found.X) == [ROW_NUMBER, "x"]
    assert found.X[ROW_NUMBER].tolist() == [0.0, 1.0, 2.0]
    assert found.y.tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_every_set_of_every_table_is_there_and_fits_the_manifest(table, data_dir):
    for name in table.sets:
        whole = read(name, data_dir)
        for column in dict(table.asked.dropped).get(name, ()):
            assert column in whole.X
        if table.asked.task == "classification":
            assert np.unique(whole.y).size == 2
    if table.name == "oak-classification":
        for name in table.sets:
            path = data_dir / "uci121" / f"{ENCODED.get(name, name)}.csv.gz"
            assert path.exists()


def test_the_tables_have_the_sets_of_the_paper():
    assert len(set(TABLES["oak-regression"].sets)) == 24
    assert len(set(TABLES["oak-classification"].sets)) == 29
    assert len(set(TABLES["projected"].sets)) == 16
