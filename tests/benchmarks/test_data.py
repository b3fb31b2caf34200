"""How benchmark sets are split."""

import numpy as np
import pytest

from benchmarks.data import NoDataError, SetError, load, read


def test_a_set_without_masks_is_split_by_a_seeded_shuffle(made_up):
    made_up("plain", {"x": range(20), "y": range(100, 120)})
    order = np.arange(20)
    np.random.RandomState(1).shuffle(order)
    split = load("plain", 1)
    assert split.X["x"].tolist() == order[:18].tolist()
    assert split.X_test["x"].tolist() == order[18:].tolist()


def test_the_target_is_standard_on_the_training_rows(made_up):
    made_up("plain", {"x": range(20), "y": range(100, 120)})
    split = load("plain")
    assert split.y.mean() == pytest.approx(0.0, abs=1e-12)
    assert split.y.std() == pytest.approx(1.0)


def test_masks_of_another_name_split_a_set(made_up):
    made_up("plain", {"x": range(4), "y": range(4)})
    made_up("splits/plain", {"split1": [1, 0, 0, 0]})
    made_up("splits/folds", {"split1": [0, 0, 1, 1]})
    assert load("plain", 1).X_test["x"].tolist() == [0.0]
    assert load("plain", 1, masks="folds").X_test["x"].tolist() == [2.0, 3.0]


def test_masks_that_are_not_there_are_asked_for_by_name(made_up):
    made_up("plain", {"x": range(4), "y": range(4)})
    with pytest.raises(NoDataError, match=r"splits/folds\.csv\.gz"):
        load("plain", 1, masks="folds")


def test_a_set_that_is_not_what_the_manifest_says_is_refused(made_up, tmp_path):
    made_up("plain", {"x": range(4), "y": range(4)})
    manifest = tmp_path / "MANIFEST.csv"
    for row, said in (
        ("plain,5,1,y,", "rows 4, but the manifest says 5"),
        ("plain,4,2,y,", "inputs 1, but the manifest says 2"),
        ("plain,4,1,z,", "target y, but the manifest says z"),
        ("plain,4,1,y,city", "no column 'city'"),
        ("other,4,1,y,", "plain is not in the manifest"),
    ):
        manifest.write_text(f"name,n,d,target,categorical_columns\n{row}\n")
        with pytest.raises(SetError, match=said):
            read("plain")


def test_a_set_that_is_not_there_is_named(made_up):
    with pytest.raises(NoDataError, match=r"plain\.csv\.gz"):
        read("plain")
