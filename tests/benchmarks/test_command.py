"""The command that runs benchmarks."""

from importlib import import_module

import pytest

from benchmarks.__main__ import BENCHMARKS, main


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_that_is_listed_can_be_run(name):
    assert callable(import_module(f"benchmarks.{name}").run)


def test_an_unknown_set_is_refused_by_name(capsys):
    assert main(["large", "--datasets", "nowhere"]) == 1
    assert "'nowhere'" in capsys.readouterr().err


def test_only_the_benchmark_of_many_sets_can_be_run_in_part(capsys):
    with pytest.raises(SystemExit):
        main(["core", "--splits", "1"])
    assert "--splits" in capsys.readouterr().err
