"""Whole tables: measured by real processes, killed, gone on with, and shown."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.harness.cells import Cell, append_cell, read_cells
from benchmarks.harness.command import OTHER_RUNS
from benchmarks.harness.run import order, remaining_seconds
from benchmarks.peers import registry

REPOSITORY = Path(__file__).resolve().parents[2]
SCORES = ("rmse", "log_density", "coverage", "accuracy", "auc", "train_rows", "test_rows", "error")


@pytest.fixture
def two_sets(made_up):
    """Two sets of the spherical table, small and easy."""
    rng = np.random.default_rng(0)
    for name in ("energy", "power"):
        x, city = rng.standard_normal(120), rng.choice(["a", "b"], 120)
        y = np.sin(2.0 * x) + (city == "a") + 0.1 * rng.standard_normal(120)
        made_up(name, {"x": x, "city": city, "y": y}, categorical="city")


def command(out, *more):
    """The arguments of a small table."""
    return ["papers", "--table", "spherical", "--datasets", "energy,power", "--out", str(out), *more]


def scores(out, table="spherical"):
    """What was measured, without what differs from run to run."""
    cells = read_cells(out / table / "cells.csv")
    return {cell.key: tuple(getattr(cell, name) for name in SCORES) for cell in cells}


def test_a_table_is_measured_shown_and_kept(two_sets, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(command(out, "--models", "OAK,Linear,KNN", "--splits", "2", "--jobs", "2")) == 0
    shown = capsys.readouterr()
    found = read_cells(out / "spherical" / "cells.csv")
    assert len(found) == 12
    assert not any(cell.error for cell in found)
    ours = [cell for cell in found if cell.model == "OAK"]
    assert all(cell.rmse < 0.3 and cell.terms <= 3 and cell.ten_terms > 0.99 for cell in ours)
    assert all(cell.fit_seconds > 0.0 and cell.version for cell in found)
    assert "average rank" in shown.out
    assert "1 left" in shown.err
    page = (out / "spherical" / "table.md").read_text()
    assert "python -m benchmarks papers --table spherical" in page
    assert "## log_density" in page
    assert (out / "spherical" / "rmse-ranks.png").stat().st_size > 5000
    before = scores(out)
    assert main(command(out, "--models", "OAK,Linear,KNN", "--splits", "2", "--jobs", "2")) == 0
    assert "cells to measure" not in capsys.readouterr().err
    assert scores(out) == before


def test_a_run_that_was_killed_goes_on_to_the_same_table(two_sets, tmp_path):
    asked = ("--models", "Linear,KNN,GBM", "--splits", "5", "--jobs", "2")
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert main(command(whole, *asked)) == 0
    run = subprocess.Popen(
        [sys.executable, "-m", "benchmarks", *command(cut, *asked)],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{REPOSITORY / 'src'}"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    path = cut / "spherical" / "cells.csv"
    while len(read_cells(path)) < 5:
        assert run.poll() is None
        time.sleep(0.02)
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert len(read_cells(path)) < 30
    assert main(command(cut, *asked)) == 0
    assert scores(cut) == scores(whole)


def test_a_set_or_a_peer_that_cannot_be_had_costs_one_line(two_sets, tmp_path, monkeypatch, capsys):
    manifest = tmp_path / "MANIFEST.csv"
    manifest.write_text("name,n,d,target,categorical_columns\nenergy,99,2,y,city\npower,120,2,y,city\n")
    gone = registry.Peer("LightGBM", "benchmarks.peers.no_such_file:make", "lightgbm")
    monkeypatch.setitem(registry.PEERS, "LightGBM", gone)
    out = tmp_path / "out"
    assert main(command(out, "--models", "Linear,LightGBM", "--splits", "1")) == 0
    err = capsys.readouterr().err.splitlines()
    assert sum("energy: left out" in line and "manifest says 99" in line for line in err) == 1
    assert sum(line.startswith("LightGBM: left out") and "not installed" in line for line in err) == 1
    assert [key.dataset for key in scores(out)] == ["power"]


def test_a_cell_that_fails_is_kept_with_its_error_and_the_rest_goes_on(made_up, tmp_path, capsys):
    rng = np.random.default_rng(0)
    made_up("power", {"x": rng.standard_normal(60), "y": rng.standard_normal(60)})
    made_up("energy", {"x": ["never", "again"] * 30, "y": ["not", "numbers"] * 30})
    out = tmp_path / "out"
    assert main(command(out, "--models", "Linear", "--splits", "1")) == 0
    found = {cell.dataset: cell for cell in read_cells(out / "spherical" / "cells.csv")}
    assert found["energy"].error
    assert not found["power"].error
    assert "failed: " in capsys.readouterr().err


def test_a_process_that_dies_or_takes_too_long_costs_its_cell_only(two_sets, tmp_path):
    out = tmp_path / "out"
    assert main(command(out, "--models", "GBM", "--splits", "1", "--timeout", "0.01")) == 0
    assert all("longer than 0.01 s" in cell.error for cell in read_cells(out / "spherical" / "cells.csv"))
    assert main(command(out, "--models", "GBM", "--splits", "1", "--retry")) == 0
    assert not any(cell.error for cell in read_cells(out / "spherical" / "cells.csv"))


def test_a_run_cut_short_has_whole_splits_first():
    keys = order(["a", "b"], ["OAK", "KNN"], 2)
    assert [key.split for key in keys] == [0, 0, 0, 0, 1, 1, 1, 1]


def test_what_is_left_takes_as_long_as_its_like():
    keys = order(["a", "b"], ["OAK", "KNN"], 2)
    done = [(Cell("a", 0, "OAK"), 10.0), (Cell("a", 0, "KNN"), 1.0), (Cell("b", 0, "OAK"), 30.0)]
    # a OAK 10, a KNN 1, b OAK 30, and twice b KNN as a KNN
    assert remaining_seconds(done, keys) == pytest.approx(10.0 + 1.0 + 30.0 + 1.0 + 1.0)


def test_only_what_was_asked_for_is_shown(two_sets, tmp_path, capsys):
    out = tmp_path / "out"
    for model in ("KNN", "Linear"):
        append_cell(out / "spherical" / "cells.csv", Cell("power", 0, model, rmse=0.5, log_density=-0.7))
    assert main(command(out, "--models", "KNN", "--show")) == 0
    shown = capsys.readouterr().out
    assert "KNN" in shown
    assert "Linear" not in shown
    page = (out / "spherical" / "table.md").read_text()
    assert "KNN" in page
    assert "Linear" in page, "what is kept is the whole table, whatever part is looked at"
    assert "--models" not in page
    assert OTHER_RUNS in page
