"""The benchmark of the larger sets, in part."""

import numpy as np

from benchmarks.__main__ import main


def test_one_split_of_one_set_can_be_run(made_up, capsys):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(2700)
    made_up("power", {"x": x, "y": np.sin(x) + 0.1 * rng.standard_normal(x.size)})
    assert main(["large", "--quick", "--datasets", "power", "--splits", "1"]) == 0
    printed = capsys.readouterr().out
    for found in (
        "split 0: RMSE",
        "split 0: inducing rows",
        "mean RMSE (paper 0.234)",
        "sets of 1 at or below",
    ):
        assert found in printed
