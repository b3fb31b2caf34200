"""The command that runs benchmarks."""

from importlib import import_module

import pytest

from benchmarks.__main__ import BENCHMARKS, main


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_that_is_listed_can_be_run(name):
    assert callable(import_module(f"benchmarks.{name}").run)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--datasets", "nowhere"], "no set 'nowhere'"),
        (["--models", "Oracle"], "no model 'Oracle'"),
        (["--row-number"], "--row-number is for oak-classification"),
    ],
)
def test_what_does_not_exist_is_refused_by_name(asked, said, made_up, tmp_path, capsys):
    assert main(["papers", "--table", "spherical", "--out", str(tmp_path), *asked]) == 1
    assert said in capsys.readouterr().err


def test_a_missing_data_folder_is_one_clear_line(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("TERMWISE_DATA", str(tmp_path / "no"))
    assert main(["papers", "--table", "spherical", "--out", str(tmp_path)]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert "set TERMWISE_DATA" in lines[0]


def test_options_of_tables_are_not_for_single_benchmarks(capsys):
    with pytest.raises(SystemExit):
        main(["core", "--splits", "1"])
    assert "--splits" in capsys.readouterr().err
