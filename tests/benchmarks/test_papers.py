"""The tables of the papers, in part."""

import numpy as np

from benchmarks.__main__ import main


def test_one_split_of_one_set_can_be_run(made_up, capsys):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(80)
    made_up("liver", {"x": x, "z": rng.standard_normal(80), "y": (x > 0.0).astype(float)})
    assert main(["papers", "--table", "classification", "--datasets", "liver", "--splits", "1"]) == 0
    printed = capsys.readouterr().out
    for found in ("liver, OAK: error", "liver, SE: loss", "share of order one", "our best (paper 29.842)"):
        assert found in printed


def test_a_set_that_is_not_in_the_table_is_named(capsys):
    assert main(["papers", "--datasets", "housing"]) == 1
    assert "choose from breast" in capsys.readouterr().err
