"""The command with Parquet in pieces: files, folders and patterns, streamed, and all or nothing."""

from __future__ import annotations

import csv
import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import termwise as tw
from termwise.cli.main import cli
from termwise.estimators.regressor import AdditiveRegressor

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from tests.estimators.datasets import a_table, assert_same, write  # noqa: E402  # it needs pyarrow

ROWS = 300
OPTIONS = ["--target", "y", "--max-order", 1, "--n-inducing", 12]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(tw.__file__).parents[1])}


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def error_of(result: Result) -> str:
    """The only line on stderr, of a command that was refused."""
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith("termwise: error: ")
    return line


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder data with two files, and a model of them; tests read it only."""
    folder, table = tmp_path_factory.mktemp("cli"), a_table(ROWS)
    write(folder / "data" / "a.parquet", table.slice(0, 120), (70, 50))
    write(folder / "data" / "b.parquet", table.slice(120), (180,))
    result = run("fit", folder / "data", *OPTIONS, "-o", folder / "m")
    assert result.exit_code == 0, result.output
    assert f"fitted {ROWS} rows in " in result.stderr
    return folder


@pytest.fixture(scope="module")
def loaded(folder: Path) -> AdditiveRegressor:
    return tw.load(folder / "m")


def table_of(text: str) -> tuple[list[str], np.ndarray]:
    header, *rows = csv.reader(io.StringIO(text))
    return header, np.array(rows, dtype=float)


def test_a_folder_a_pattern_and_several_files_give_the_model_of_python(
    folder: Path, loaded: Any, tmp_path: Path
) -> None:
    expected = tw.OAKRegressor(max_order=1, n_inducing=12).fit_dataset(folder / "data", target="y")
    assert_same(loaded, expected)
    files = sorted((folder / "data").iterdir())
    for given in ([folder / "data" / "*.parquet"], [folder / "data" / "*"], files):
        result = run("fit", *given, *OPTIONS, "-o", tmp_path / "m", "--quiet")
        assert (result.exit_code, result.stderr) == (0, ""), result.output
        assert_same(tw.load(tmp_path / "m"), expected)
    assert os.listdir(tmp_path) == ["m"]


def test_predictions_are_those_of_python_on_stdout_and_in_a_file(
    folder: Path, loaded: Any, tmp_path: Path
) -> None:
    result = run("predict", folder / "m", folder / "data", "--terms")
    assert (result.exit_code, result.stderr) == (0, "")
    header, values = table_of(result.stdout)
    terms = [term.name for term in loaded.terms_]
    assert header == ["prediction", "std", "constant", *terms]
    assert len(values) == ROWS
    table = a_table(ROWS)
    mean, std = loaded.predict(table, return_std=True)
    np.testing.assert_allclose(values[:, 0], mean, rtol=1e-10)
    np.testing.assert_allclose(values[:, 1], std, rtol=1e-10)
    np.testing.assert_allclose(values[:, 3:], loaded.predict_terms(table).to_pandas(), atol=1e-10)
    np.testing.assert_allclose(values[:, 2:].sum(axis=1), mean, rtol=1e-8)
    for given in ([folder / "data" / "*.parquet"], sorted((folder / "data").iterdir())):
        written = run("predict", folder / "m", *given, "--terms", "-o", tmp_path / "out.csv")
        assert (written.exit_code, written.output) == (0, "")
        assert (tmp_path / "out.csv").read_text() == result.stdout
    assert os.listdir(tmp_path) == ["out.csv"]


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A file of which the last row group cannot be read."""
    path = tmp_path / "data" / "t.parquet"
    write(path, a_table(ROWS), (200, 100), write_page_checksum=True, use_dictionary=False)
    column = pq.ParquetFile(path).metadata.row_group(1).column(1)
    content = bytearray(path.read_bytes())
    content[column.data_page_offset + column.total_compressed_size - 8] ^= 0x10
    path.write_bytes(bytes(content))
    return path


def test_a_file_that_is_damaged_at_its_end_leaves_no_output(
    folder: Path, damaged: Path, tmp_path: Path
) -> None:
    message = "row group 1 cannot be read as Parquet"
    assert message in error_of(run("predict", folder / "m", damaged, "-o", tmp_path / "out.csv"))
    assert message in error_of(run("fit", damaged, *OPTIONS, "-o", tmp_path / "m", "--quiet"))
    assert os.listdir(tmp_path) == ["data"]
    (tmp_path / "out.csv").write_text("old")
    error_of(run("predict", folder / "m", damaged, "-o", tmp_path / "out.csv"))
    assert (tmp_path / "out.csv").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["data", "out.csv"]


def test_stdout_has_the_rows_before_the_damage(folder: Path, loaded: Any, damaged: Path) -> None:
    result = run("predict", folder / "m", damaged)
    assert "row group 1" in error_of(result)
    header, values = table_of(result.stdout)
    assert header == ["prediction", "std"]
    np.testing.assert_allclose(values[:, 0], loaded.predict(a_table(ROWS).slice(0, 200)), rtol=1e-10)


def test_an_interrupt_while_predictions_are_written(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(model: Any, *given: Any) -> Any:
        yield next(whole(model, *given))
        raise KeyboardInterrupt

    whole = AdditiveRegressor.pieces
    monkeypatch.setattr(AdditiveRegressor, "pieces", interrupted)
    result = run("predict", folder / "m", folder / "data", "-o", tmp_path / "out.csv")
    assert error_of(result) == "termwise: error: interrupted"
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_an_interrupt_in_the_middle_of_a_long_fit(tmp_path: Path) -> None:
    write(tmp_path / "t.parquet", a_table(30_000), (10_000,) * 3)
    command = ["fit", "t.parquet", "--target", "y", "-o", "m", "--n-inducing", "400", "--max-order", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "termwise", *command],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stderr.readline()  # type: ignore[union-attr]
        process.send_signal(signal.SIGINT)
        stdout, rest = process.communicate(timeout=60)
    finally:
        process.kill()
    assert line.startswith("fitting ")
    assert "left" in line
    assert (process.returncode, stdout) == (2, "")
    assert rest.splitlines()[-1] == "termwise: error: interrupted"
    assert os.listdir(tmp_path) == ["t.parquet"]


def test_an_output_that_is_one_of_the_tables_is_refused(folder: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    for path in (folder / "data").iterdir():
        (data / path.name).parent.mkdir(exist_ok=True)
        (data / path.name).write_bytes(path.read_bytes())
    (tmp_path / "t.csv").write_text("age,income,city,owner\n40,20,Oslo,true\n")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    message = "would replace the table"
    for given in (data, data / "*.parquet", data / "b.parquet"):
        assert message in error_of(run("fit", given, *OPTIONS, "-o", data / "b.parquet"))
        assert message in error_of(run("predict", folder / "m", given, "-o", data / "b.parquet"))
    assert message in error_of(run("predict", folder / "m", tmp_path / "t.csv", "-o", tmp_path / "t.csv"))
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*")} == before


def test_tables_that_cannot_be_used(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age,y\n1,2\n3,4\n")
    (tmp_path / "b.csv").write_text("age,y\n1,2\n3,4\n")

    def fit(*tables: object) -> str:
        return error_of(run("fit", *tables, *OPTIONS, "-o", tmp_path / "m"))

    assert "only Parquet can be read in several pieces" in fit(tmp_path / "a.csv", tmp_path / "b.csv")
    assert "put the CSV files together" in fit(folder / "data" / "a.parquet", "-")
    assert "no file matches the pattern" in fit(tmp_path / "*.parquet")
    assert "no file matches the pattern" in fit(tmp_path / "part-*")
    assert "is given more than once" in fit(folder / "data", folder / "data" / "a.parquet")
    assert "no column 'z'" in error_of(run("fit", folder / "data", "--target", "z", "-o", tmp_path / "m"))
    assert "TABLE..." in error_of(run("fit", "--target", "y", "-o", tmp_path / "m"))
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "b.csv"]


def test_help_says_what_a_table_may_be() -> None:
    for command in ("fit", "predict"):
        text = " ".join(run(command, "--help").stdout.split())
        assert "TABLE..." in text
        assert "Parquet: files, a folder or a pattern" in text
    text = run("fit", "--help").stdout
    assert "termwise fit 'flights/*.parquet' --target delay" in text
    assert "sparse for millions" in " ".join(text.split())
