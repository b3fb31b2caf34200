"""The command that runs benchmarks."""

import argparse
import shlex
from importlib import import_module

import pytest

from benchmarks.__main__ import BENCHMARKS, main
from benchmarks.harness.cells import Cell, held, write_cells
from benchmarks.harness.command import _ends, add_options, plan
from benchmarks.harness.models import own_splits
from benchmarks.harness.tables import TABLES


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_that_is_listed_can_be_run(name):
    assert callable(import_module(f"benchmarks.{name}").run)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--datasets", "nowhere"], "no set 'nowhere'"),
        (["--models", "Oracle"], "no model 'Oracle'"),
        (["--row-number"], "--row-number is for oak-classification"),
        (["--jobs", "0"], "must be above zero"),
        (["--timeout", "-1"], "must be above zero"),
        (["--splits", "0"], "use 1 to 5"),
        (["--splits", "6"], "use 1 to 5"),
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


def test_names_with_spaces_can_be_asked_for_and_are_told_as_a_shell_wants_them(monkeypatch, tmp_path):
    monkeypatch.setenv("TERMWISE_DATA", str(tmp_path / "no"))
    names = ["se relu 128+128", "arccos1 softplus 256"]
    write_cells(tmp_path / "spherical" / "cells.csv", [Cell("power", 0, name, rmse=0.5) for name in names])
    asked = ["--models", ", ".join(names), "--show", "--out", str(tmp_path)]
    assert main(["papers", "--table", "spherical", *asked]) == 0
    page = (tmp_path / "spherical" / "table.md").read_text()
    told = next(line for line in page.splitlines() if line.startswith("`python"))
    assert shlex.split(told.strip("`"))[-1].split(",") == names


def test_slow_models_have_fewer_splits_and_one_of_many_rows():
    notes = []
    sizes = {"few": 1000, "many": 20_000, "too many": 10_000_000}

    def ends(model, splits):
        return dict(_ends(model, sizes, splits, notes, own=own_splits(model)))

    assert ends("MLP", 10) == {"few": 3, "many": 1, "too many": 1}
    assert ends("EBM", 10) == dict.fromkeys(sizes, 1)
    assert ends("SVM", 2) == {"few": 2, "many": 1, "too many": 0}
    assert ends("OAK", 10) == dict.fromkeys(sizes, 10)
    assert "first 3 of 10 splits, and on the first of sets of more than 2000 rows" in notes[0]
    assert notes[1].endswith("first 1 of 10 splits")
    assert [note.partition(":")[0] for note in notes[2:]] == ["SVM", "SVM"]


def test_splits_of_slow_models_can_be_asked_for(made_up):
    made_up("power", {"a": range(20), "b": range(20)})

    def splits(*words):
        parser = argparse.ArgumentParser()
        add_options(parser)
        parser.add_argument("--row-number", action="store_true")
        found = plan(TABLES["spherical"], parser.parse_args(["--datasets", "power", *words]))
        return sum(key.model == "MLP" for key in found.cells)

    assert splits("--models", "MLP") == 3
    assert splits("--models", "MLP", "--splits", "5") == 5


def test_options_of_tables_are_not_for_single_benchmarks(capsys):
    with pytest.raises(SystemExit):
        main(["core", "--splits", "1"])
    assert "--splits" in capsys.readouterr().err


def test_what_was_measured_is_shown_without_data_or_libraries(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("TERMWISE_DATA", str(tmp_path / "no"))
    cells = [Cell("power", 0, model, rmse=0.5, log_density=0.1) for model in ("OAK", "SVGP")]
    write_cells(tmp_path / "oak-regression" / "cells.csv", cells)
    assert main(["papers", "--table", "oak-regression", "--out", str(tmp_path), "--show"]) == 0
    assert "SVGP" in capsys.readouterr().out


def test_who_shows_a_table_has_not_measured_it(monkeypatch, made_up, tmp_path):
    """The machine and the day stay those of the measurement."""
    made_up("power", {"x": range(40), "y": range(40)})
    place = tmp_path / "out" / "spherical"
    asked = ["papers", "--table", "spherical", "--datasets", "power", "--models", "Linear", "--splits", "1"]
    asked += ["--out", str(tmp_path / "out")]
    assert main(asked) == 0
    measured = (place / "table.md").read_text(), (place / "about.json").read_text()
    other = {"processor": "abacus", "cores": 1, "python": "1.0"}
    monkeypatch.setattr("benchmarks.harness.show.machine", lambda: other)
    for again in (asked, [*asked, "--show"]):
        assert main(again) == 0
        assert ((place / "table.md").read_text(), (place / "about.json").read_text()) == measured
    (place / "about.json").unlink()
    assert main([*asked, "--show"]) == 0
    assert "abacus" not in (place / "table.md").read_text()
    assert "nothing is known of" in (place / "table.md").read_text()


def test_a_set_on_which_all_failed_is_in_the_table(tmp_path, capsys):
    write_cells(tmp_path / "oak-regression" / "cells.csv", [Cell("power", 0, "OAK", error="no luck")])
    assert main(["papers", "--table", "oak-regression", "--out", str(tmp_path), "--show"]) == 0
    said = capsys.readouterr()
    assert "failed: no luck" in said.out
    assert "1 cells failed; --retry" in said.err


@pytest.mark.parametrize("damage", ["dataset,other\na,b\n", None])
def test_cells_that_cannot_be_read_are_one_clear_line(damage, tmp_path, capsys):
    path = tmp_path / "spherical" / "cells.csv"
    write_cells(path, [Cell("power", 0, "OAK", rmse=0.5)])
    path.write_text(damage or path.read_text().replace("0.5", "half"))
    assert main(["papers", "--table", "spherical", "--out", str(tmp_path), "--show"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert str(path) in lines[0]


def test_a_folder_that_cannot_be_written_is_one_clear_line(made_up, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    made_up("power", {"x": range(40), "y": range(40)})
    asked = ["--datasets", "power", "--models", "Linear", "--out", str(tmp_path / "file")]
    assert main(["papers", "--table", "spherical", *asked]) == 1
    lines = [line for line in capsys.readouterr().err.splitlines() if "slow" not in line]
    assert len(lines) == 1
    assert "use --out" in lines[0]


def test_what_cannot_be_begun_leaves_no_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("TERMWISE_DATA", str(tmp_path / "no"))
    assert main(["papers", "--table", "spherical", "--out", str(tmp_path / "out")]) == 1
    assert not (tmp_path / "out").exists()


def test_who_stops_one_table_stops_those_behind_it(monkeypatch, made_up, tmp_path, capsys):
    begun = []

    def stopped(plan, said):
        begun.append(plan.table)
        raise KeyboardInterrupt

    monkeypatch.setattr("benchmarks.harness.command.run", stopped)
    made_up("housing", {"x": range(40), "y": range(40)})
    tables = ["--table", "oak-regression", "--table", "additive-gp"]
    asked = ["--datasets", "housing", "--models", "Linear", "--out", str(tmp_path / "out")]
    assert main(["papers", *tables, *asked]) == 130
    assert begun == ["oak-regression"]
    assert "the same command goes on" in capsys.readouterr().err


def test_two_runs_do_not_write_to_one_folder(made_up, tmp_path, capsys):
    made_up("power", {"x": range(40), "y": range(40)})
    out = tmp_path / "out"
    (out / "spherical").mkdir(parents=True)
    asked = ["--datasets", "power", "--models", "Linear", "--splits", "1"]
    with held(out / "spherical"):
        assert main(["papers", "--table", "spherical", "--out", str(out), *asked]) == 1
    assert "another run writes to" in capsys.readouterr().err
    assert main(["papers", "--table", "spherical", "--out", str(out), *asked]) == 0
