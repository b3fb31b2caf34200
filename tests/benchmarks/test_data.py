"""How benchmark sets are split."""

import numpy as np
import pytest

from benchmarks.data import load


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
