"""The command: its results, and one line with exit code 2 for whatever the user got wrong."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import termwise as tw
from termwise.cli.main import cli
from termwise.table import read_csv, split_target

ROWS = 30
HEADER = ["age", "income", "city", "price"]


def a_row(rng: np.random.Generator) -> list[Any]:
    age, income, city = rng.normal(40.0, 9.0), rng.lognormal(3.0, 1.0), rng.choice(["Oslo", "Bern", "Rom"])
    return [age, income, city, age / 9.0 + np.log(income) + (city == "Oslo")]


def text_of(header: list[str], rows: list[list[Any]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([header, *rows])
    return stream.getvalue()


RNG = np.random.default_rng(2)
TABLE = [a_row(RNG) for _ in range(ROWS)]


def run(*arguments: object, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], input=stdin)


def error_of(result: Result) -> str:
    """The only line on stderr, of a command that was refused."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("termwise: error: ")
    return lines[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with table.csv and the model fitted to it, which tests read only."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "table.csv").write_text(text_of(HEADER, TABLE))
    result = fit(folder / "table.csv", folder / "model.termwise")
    assert result.exit_code == 0, result.output
    (folder / "fit.txt").write_text(result.stdout)
    return folder


def fit(table: object, output: object, *more: object, stdin: str | bytes | None = None) -> Result:
    return run("fit", table, "--target", "price", "-o", output, "--max-order", 1, *more, stdin=stdin)


@pytest.fixture(scope="module")
def model(folder: Path) -> Path:
    return folder / "model.termwise"


def rows_of(result: Result) -> list[list[str]]:
    assert result.exit_code == 0, result.output
    return list(csv.reader(io.StringIO(result.stdout)))


# What works.


def test_fit_saves_what_python_would_and_prints_the_terms(folder: Path, model: Path) -> None:
    features, y = split_target(read_csv(folder / "table.csv"), "price")
    expected = tw.OAKRegressor(max_order=1).fit(features, y)
    np.testing.assert_array_equal(tw.load(model).predict(features), expected.predict(features))
    lines = (folder / "fit.txt").read_text().splitlines()
    assert lines[0].startswith(f"The terms explain {100.0 * expected.explained_:.1f} % of the variance")
    assert lines[2].split() == ["term", "share", "90", "%", "interval"]
    assert lines[3].split()[0] == expected.terms_[0].name
    assert f"{100.0 * expected.sobol_['share'][0]:.1f} %" in lines[3]
    assert "order 1  100.0 %  ####################" in lines


def test_fit_with_some_terms(folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "m"
    result = fit(folder / "table.csv", output, "--terms", "age, city", "--terms", "city:age", "--json")
    assert result.exit_code == 0, result.output
    assert {term["term"] for term in json.loads(result.stdout)["terms"]} == {"age", "city", "age:city"}
    table = folder / "table.csv"
    assert "--model oak" in error_of(fit(table, output, "--terms", "age", "--model", "additive"))
    assert "did you mean 'city'" in error_of(fit(table, output, "--terms", "age:citty"))
    assert "empty name" in error_of(fit(table, output, "--terms", ""))
    assert "income  -          has one value only or is in none" in run("explain", output).stdout


def test_fit_options(folder: Path, tmp_path: Path) -> None:
    rows = [[*row, index % 3] for index, row in enumerate(TABLE)]
    (tmp_path / "t.csv").write_text(text_of([*HEADER, "grade"], rows))
    options = ["--model", "additive", "--categorical", "grade, city", "--seed", 7, "--quiet", "--json"]
    result = fit(tmp_path / "t.csv", tmp_path / "m", *options)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    found = json.loads(result.stdout)
    assert found["estimator"] == "AdditiveGPRegressor"
    assert {term["term"] for term in found["terms"]} == {"age", "income", "city", "grade"}
    loaded = tw.load(tmp_path / "m")
    assert isinstance(loaded, tw.AdditiveGPRegressor)
    assert (loaded.max_order, loaded.random_state) == (1, 7)
    assert loaded.encoder_.schema.columns[3].levels == (0.0, 1.0, 2.0)
    assert "not orthogonal" in run("explain", tmp_path / "m").stdout


def test_fit_says_on_stderr_how_it_went(folder: Path, tmp_path: Path) -> None:
    result = fit(folder / "table.csv", tmp_path / "m")
    assert result.stderr.startswith(f"fitted {ROWS} rows in ")
    assert len(result.stderr.splitlines()) == 1


def test_tables_from_stdin_gzip_and_parquet(folder: Path, model: Path, tmp_path: Path) -> None:
    plain = (folder / "table.csv").read_bytes()
    expected = run("predict", model, folder / "table.csv").stdout
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(plain))
    assert run("predict", model, "-", stdin=plain).stdout == expected
    assert run("predict", model, tmp_path / "t.csv.gz").stdout == expected
    assert fit("-", tmp_path / "m", stdin=plain).exit_code == 0
    assert run("predict", tmp_path / "m", folder / "table.csv").stdout == expected
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    columns = dict(zip(HEADER, zip(*TABLE, strict=True), strict=True))
    pq.write_table(
        pa.table({name: list(map(_plain, cells)) for name, cells in columns.items()}), tmp_path / "t.parquet"
    )
    assert run("predict", model, tmp_path / "t.parquet").stdout == expected


def _plain(cell: Any) -> Any:
    return str(cell) if isinstance(cell, str) else float(cell)


def test_predict_gives_what_the_model_gives(folder: Path, model: Path, tmp_path: Path) -> None:
    result = run("predict", model, folder / "table.csv", "--terms")
    header, *rows = rows_of(result)
    loaded, table = tw.load(model), read_csv(folder / "table.csv")
    assert header == ["prediction", "std", "constant", *(term.name for term in loaded.terms_)]
    values = np.array(rows, dtype=float)
    mean, std = loaded.predict(table, return_std=True)
    np.testing.assert_array_equal(values[:, :2], np.stack([mean, std], axis=1))
    np.testing.assert_allclose(values[:, 2:].sum(axis=1), mean, rtol=1e-8)
    written = run("predict", model, folder / "table.csv", "--terms", "-o", tmp_path / "out.csv")
    assert (written.exit_code, written.stdout) == (0, "")
    assert (tmp_path / "out.csv").read_text() == result.stdout
    assert os.listdir(tmp_path) == ["out.csv"]


def test_a_column_may_be_called_like_one_of_ours(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text_of(["std", "constant", "größe", "price"], TABLE))
    assert fit(tmp_path / "t.csv", tmp_path / "m").exit_code == 0
    result = run("predict", tmp_path / "m", tmp_path / "t.csv", "--terms", "-o", tmp_path / "out.csv")
    assert result.exit_code == 0
    names = read_csv(tmp_path / "out.csv").names
    assert set(names[3:]) == {"std (term)", "constant (term)", "größe"}


def test_reordered_columns_one_row_and_unseen_levels(folder: Path, model: Path) -> None:
    whole = rows_of(run("predict", model, folder / "table.csv"))
    age, income, city, _ = TABLE[4]
    turned = text_of(["city", "more", "income", "age"], [[city, "x", income, age]])
    alone = rows_of(run("predict", model, "-", stdin=turned))
    np.testing.assert_allclose(np.array(alone[1], float), np.array(whole[5], float), rtol=1e-6)
    unseen = rows_of(run("predict", model, "-", stdin=text_of(HEADER[:3], [[age, income, "Paris"]])))
    missing = rows_of(run("predict", model, "-", stdin=text_of(HEADER[:3], [[age, income, ""]])))
    assert unseen == missing
    assert float(unseen[1][1]) > float(whole[5][1])  # what the city would have added is not known


def test_explain(model: Path) -> None:
    lines = run("explain", model).stdout.splitlines()
    loaded = tw.load(model)
    assert lines[3].split()[0] == loaded.terms_[0].name
    assert any(line.split() == ["column", "measure", "why"] for line in lines)
    assert any(line.startswith("city") and "3 levels" in line for line in lines)
    found = json.loads(run("explain", model, "--json").stdout)
    assert [term["term"] for term in found["terms"]] == [term.name for term in loaded.terms_]
    assert found["terms"][0]["share"] == loaded.sobol_["share"][0]
    assert found["order_shares"] == loaded.order_shares_.tolist()
    assert [entry["column"] for entry in found["columns"]] == HEADER[:3]
    assert len(json.loads(run("explain", model, "--json", "--top", 2).stdout)["terms"]) == 2
    short = run("explain", model, "--top", 1).stdout
    assert "and 2 more terms with" in short


def test_a_column_without_effect_is_named(tmp_path: Path) -> None:
    rows = [[*row, 1] for row in TABLE]
    (tmp_path / "t.csv").write_text(text_of([*HEADER, "same"], rows))
    assert fit(tmp_path / "t.csv", tmp_path / "m").exit_code == 0
    assert "same    -          has one value only" in run("explain", tmp_path / "m").stdout


def test_help_has_examples_and_the_version_is_told() -> None:
    assert run("--version").stdout == f"termwise {tw.__version__}\n"
    for arguments in ((), ("--help",), ("fit", "-h"), ("predict", "--help"), ("explain", "--help")):
        result = run(*arguments)
        assert result.exit_code == 0
        assert "Example:\n" in result.stdout


# What does not work.

BAD_TABLES: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "is empty"),
    "header only": ("age,price\n", "no rows"),
    "one row": ("age,price\n1,2\n", "at least two rows"),
    "no target": ("age,prices\n1,2\n3,4\n", "did you mean 'prices'?"),
    "target only": ("price\n1\n2\n", "the only column"),
    "target with a missing cell": ("age,price\n1,2\n3,\n4,5\n", "NaN in row 1"),
    "text target of one label": ("age,price\n1,cheap\n3,cheap\n", "one class"),
    "constant target": ("age,price\n1,2\n3,2\n", "in every row"),
    "constant features": ("age,price\n1,2\n1,3\n", "no column varies"),
    "infinite feature": ("age,price\n1,2\ninf,3\n", "infinite"),
    "ragged": ("age,price\n1,2\n3\n", "line 3"),
    "duplicate names": ("age,age,price\n1,2,3\n4,5,6\n", "more than once"),
    "quote": ('age,price\n"1,2\n3,4\n', "check the quotes"),
    "not text": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "UTF-8"),
    "damaged gzip": (b"\x1f\x8b\x08\0\0", "gzip"),
}


@pytest.mark.parametrize("how", BAD_TABLES)
def test_fit_refuses_a_table(how: str, tmp_path: Path) -> None:
    content, message = BAD_TABLES[how]
    assert message in error_of(fit("-", tmp_path / "m", stdin=content))
    assert os.listdir(tmp_path) == []


def test_fit_refuses_options(folder: Path, tmp_path: Path) -> None:
    table, output = folder / "table.csv", tmp_path / "m"
    assert "did you mean 'city'?" in error_of(fit(table, output, "--categorical", "citty"))
    assert "--max-order" in error_of(fit(table, output, "--max-order", 0))
    assert "'tree'" in error_of(fit(table, output, "--model", "tree"))
    assert "termwise fit --help" in error_of(run("fit", table))
    assert "--nonsense" in error_of(fit(table, output, "--nonsense"))
    assert "No such command 'fti'" in error_of(run("fti"))
    assert os.listdir(tmp_path) == []


def test_files_that_are_not_there(model: Path, tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere.csv"
    assert "No such file" in error_of(fit(nowhere, tmp_path / "m"))
    assert "No such file" in error_of(run("predict", model, nowhere))
    assert "No such file" in error_of(run("predict", nowhere, "-", stdin="age\n1\n"))
    assert "No such file" in error_of(run("explain", nowhere))
    assert "Is a directory" in error_of(run("explain", tmp_path))
    assert "has no file that ends in .parquet" in error_of(run("predict", model, tmp_path))
    assert os.listdir(tmp_path) == []


def test_output_that_cannot_be_written(folder: Path, model: Path, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text(text_of(HEADER, TABLE))
    for command in (lambda path: fit(table, path), lambda path: run("predict", model, table, "-o", path)):
        assert "folder of" in error_of(command(tmp_path / "nowhere" / "out"))
        assert "is a folder" in error_of(command(tmp_path))
    assert "stdout" in error_of(fit(table, "-"))
    assert "would replace the table" in error_of(fit(table, table))
    assert os.listdir(tmp_path) == ["table.csv"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_permission_denied(folder: Path, model: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert "permission denied" in error_of(fit(folder / "table.csv", tmp_path / "m"))


def test_predict_refuses_a_table(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    bad = {
        "agee,income,city\n1,2,Oslo\n": "did you mean 'agee'?",
        "age,income,city\nold,2,Oslo\n": "must be numbers, but has the text 'old' in row 0",
        "": "is empty",
        "age,income,city\n": "no rows",
    }
    for content, message in bad.items():
        assert message in error_of(run("predict", model, "-", "-o", out, stdin=content))
    assert os.listdir(tmp_path) == []


def test_a_damaged_model_file(model: Path, tmp_path: Path) -> None:
    content = model.read_bytes()
    for part, message in ((content[: len(content) // 2], "damaged"), (b"not a model", "not a model file")):
        (tmp_path / "m").write_bytes(part)
        assert message in error_of(run("explain", tmp_path / "m"))
        assert message in error_of(run("predict", tmp_path / "m", "-", stdin="age\n1\n"))


def test_parquet_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1 and no more")
    assert "cannot be read as Parquet" in error_of(fit(path, tmp_path / "m"))
    assert "No such file" in error_of(fit(tmp_path / "nowhere.parquet", tmp_path / "m"))
    pq.write_table(pa.table({"age": [1.0, 2.0], "price": [1.0, 3.0], "__index_level_0__": [5, 6]}), path)
    assert "index=False" in error_of(fit(path, tmp_path / "m"))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "termwise[large]" in error_of(fit(path, tmp_path / "m"))


def test_an_interrupt_and_an_unexpected_failure(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(error: BaseException) -> Any:
        def estimator(**_: Any) -> Any:
            raise error

        return estimator

    monkeypatch.delenv("TERMWISE_DEBUG", raising=False)
    monkeypatch.setattr(sys.modules["termwise.cli.fit"], "_estimator", fails(KeyboardInterrupt()))
    assert error_of(fit(folder / "table.csv", tmp_path / "m")) == "termwise: error: interrupted"
    monkeypatch.setattr(sys.modules["termwise.cli.fit"], "_estimator", fails(ZeroDivisionError("two\nlines")))
    result = fit(folder / "table.csv", tmp_path / "m")
    assert result.exit_code == 1
    assert result.stderr.startswith("termwise: error: unexpected ZeroDivisionError: two lines; ")
    assert "TERMWISE_DEBUG=1" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    monkeypatch.setenv("TERMWISE_DEBUG", "1")
    assert "Traceback" in fit(folder / "table.csv", tmp_path / "m").stderr
    assert os.listdir(tmp_path) == []


# The real process.


def process(*arguments: object, **how: Any) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "termwise", *map(str, arguments)]
    return subprocess.run(command, capture_output="stdout" not in how, timeout=120, check=False, **how)


def test_the_process_predicts_like_the_function(folder: Path, model: Path) -> None:
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = process("predict", model, "-", input=(folder / "table.csv").read_bytes(), env=ascii_only)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == run("predict", model, folder / "table.csv").stdout


def test_the_process_fails_in_one_line(tmp_path: Path) -> None:
    done = process("explain", tmp_path / "größe")
    assert (done.returncode, done.stdout) == (2, b"")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(b"termwise: error: ")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_and_a_closed_pipe_fail_in_one_line(folder: Path, model: Path) -> None:
    # With a buffer, or there is nothing left that Python would try to write again at its end.
    how: dict[str, Any] = {"stderr": subprocess.PIPE, "env": {**os.environ, "PYTHONUNBUFFERED": ""}}
    with open("/dev/full", "wb") as full:
        done = process("predict", model, folder / "table.csv", stdout=full, **how)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert b"No space left on device" in done.stderr
    reader, writer = os.pipe()
    os.close(reader)
    done = process("predict", model, folder / "table.csv", stdout=writer, **how)
    os.close(writer)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert b"the output was closed" in done.stderr
