"""A data set that cannot be fitted: an error with a name that says what to do, and nothing half-done."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import termwise as tw
from termwise.encode import encoded
from termwise.errors import (
    ClusterError,
    NotEnoughMemoryError,
    OptionError,
    SchemaError,
    TableError,
    TargetError,
    TermwiseError,
)
from termwise.estimators import engine, known

pa = pytest.importorskip("pyarrow")
ds = pytest.importorskip("pyarrow.dataset")
pq = pytest.importorskip("pyarrow.parquet")

from tests.estimators.datasets import a_table, with_column, write  # noqa: E402  # it needs pyarrow

ROWS = 1500  # more than the first sample, so that files are read again after it


def quick(**options: Any) -> tw.OAKRegressor:
    return tw.OAKRegressor(**{"max_order": 1, "n_inducing": 8, "n_restarts": 1, **options})


def refused(
    data: Any, error: type[TermwiseError], *, target: str = "y", model: Any = None, **how: Any
) -> str:
    """The message of a fit that is refused, after which the model is as it was and nothing is kept."""
    model = quick() if model is None else model
    before = dict(vars(model))
    with pytest.raises(error) as caught:
        model.fit_dataset(data, target=target, **how)
    assert caught.type is error
    assert vars(model) == before
    assert (encoded._cache._kept, encoded._cache._bytes) == ({}, 0)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("data") / "good.parquet", a_table(ROWS), (1000, 500))


# The target.


def y_with(value: float) -> Callable[[pa.Table], Any]:
    def changed(table: pa.Table) -> Any:
        y = table.column("y").to_numpy().copy()
        y[1234] = value
        return y

    return changed


BAD_TARGETS: dict[str, tuple[Callable[[pa.Table], Any], str]] = {
    "constant": (lambda table: np.full(ROWS, 3.0), "'y' is 3 in every row.*check that the right column"),
    "missing": (y_with(np.nan), "row group 1: the target 'y' is missing in row 234 .*the files without"),
    "infinite": (y_with(np.inf), "'y' is infinite in row 234"),
    "text": (lambda table: ["a", *["1"] * (ROWS - 1)], "'y' has the text 'a' in row 0"),
    "too large to be squared": (lambda table: 1e200 * np.arange(ROWS), "out of the range.*other units"),
    "too small to be squared": (lambda table: 1e-200 * np.arange(ROWS), "out of the range.*other units"),
}


@pytest.mark.parametrize("how", BAD_TARGETS)
def test_a_target_that_cannot_be_learned(how: str, tmp_path: Path) -> None:
    values, message = BAD_TARGETS[how]
    table = a_table(ROWS)
    path = write(tmp_path / "t.parquet", with_column(table, "y", values(table)), (1000, 500))
    with pytest.raises(TargetError, match=message):
        raise TargetError(refused(path, TargetError))


def test_a_target_that_is_not_there_or_alone(good: Path, tmp_path: Path) -> None:
    assert "did you mean 'y'?" in refused(good, TargetError, target="Y")
    alone = write(tmp_path / "t.parquet", a_table(ROWS).select(["y"]))
    assert "add columns to predict it from" in refused(alone, TargetError)


# The columns.


def test_columns_that_cannot_be_used(good: Path, tmp_path: Path) -> None:
    assert "did you mean 'city'?" in refused(good, OptionError, model=quick(categorical=["citi"]))
    assert "columns that are not there" in refused(good, OptionError, model=quick(measure={"x": "normal"}))
    table = a_table(ROWS)
    same = pa.table({"same": np.ones(ROWS), "y": table.column("y")})
    assert "no column varies" in refused(write(tmp_path / "s.parquet", same), TableError)
    infinite = with_column(table, "income", [*table.column("income").to_pylist()[:-1], np.inf])
    path = write(tmp_path / "i.parquet", infinite, (1000, 500))
    assert "row group 1: column 'income' has an infinite value in row 499" in refused(path, TableError)


def test_a_table_of_nothing_but_names_of_rows(tmp_path: Path) -> None:
    names = pa.table({"id": [f"row {i}" for i in range(ROWS)], "y": a_table(ROWS).column("y")})
    with pytest.warns(tw.errors.TermwiseWarning, match="left out"):
        message = refused(write(tmp_path / "t.parquet", names), TableError)
    assert "add columns in which values come back" in message


def test_files_that_do_not_fit_each_other(tmp_path: Path) -> None:
    table = a_table(100)
    write(tmp_path / "a.parquet", table)
    other = tmp_path / "b.parquet"
    write(other, table.drop_columns(["city"]))
    assert "'b.parquet' has no column 'city'" in refused(tmp_path, SchemaError).replace(f"{tmp_path}/", "")
    write(other, with_column(table, "more", [1.0] * 100))
    assert "has the column 'more'" in refused(tmp_path, SchemaError)
    write(other, with_column(table, "age", ["old"] * 100))
    assert "column 'age' holds texts in" in refused(tmp_path, SchemaError)


# The files.


def test_paths_that_are_not_there(tmp_path: Path) -> None:
    assert "No such file or folder" in refused(tmp_path / "nowhere.parquet", TableError)
    assert "no file that ends in .parquet" in refused(tmp_path, TableError)
    assert "no file matches the pattern" in refused(str(tmp_path / "*.parquet"), TableError)
    assert "the list of paths is empty" in refused([], TableError)
    for nothing in (None, 3, [3]):
        assert "expected the path of a Parquet file" in refused(nothing, TableError)
    empty = write(tmp_path / "t.parquet", a_table(10).slice(0, 0))
    assert "the data set has no rows" in refused(empty, TableError)


def flipped(path: Path, row_group: int) -> None:
    """Change one byte of the values of a row group."""
    column = pq.ParquetFile(path).metadata.row_group(row_group).column(1)
    content = bytearray(path.read_bytes())
    content[column.data_page_offset + column.total_compressed_size - 8] ^= 0x10
    path.write_bytes(bytes(content))


def test_a_damaged_file(good: Path, tmp_path: Path) -> None:
    content = good.read_bytes()
    path = tmp_path / "t.parquet"
    path.write_bytes(content[: len(content) // 2])
    assert "t.parquet' cannot be read as Parquet" in refused(path, TableError)
    write(path, a_table(ROWS), (1000, 500), write_page_checksum=True, use_dictionary=False)
    quick().fit_dataset(path, target="y")
    flipped(path, row_group=1)
    assert "row group 1 cannot be read as Parquet" in refused(path, TableError)


def without_target(row: int) -> pa.Table:
    table = a_table(ROWS)
    y = table.column("y").to_numpy().copy()
    y[row] = np.nan
    return with_column(table, "y", y)


REPLACED: dict[str, tuple[Callable[[Path], Any], type[TermwiseError], str]] = {
    "gone": (lambda path: path.unlink(), TableError, "cannot be read as Parquet"),
    "truncated": (lambda path: os.truncate(path, 2000), TableError, "cannot be read as Parquet"),
    "shorter": (lambda path: write(path, a_table(900), (500, 400)), TableError, "."),
    "longer": (lambda path: write(path, a_table(3000), (2000, 1000)), TableError, "."),
    "no target": (lambda path: write(path, without_target(1200), (1000, 500)), TargetError, "do not write"),
}


@pytest.mark.parametrize("how", REPLACED)
@pytest.mark.parametrize("kind", ["local", "threads"])
def test_a_file_that_changes_while_it_is_fitted(how: str, kind: str, tmp_path: Path) -> None:
    """After the first sample, which is in memory, the rows are read for the second time."""
    change, error, message = REPLACED[how]
    path = write(tmp_path / "t.parquet", a_table(ROWS), (1000, 500))
    rows: list[int] = []

    def progress(step: Any) -> None:
        if not rows:
            change(path)
        rows.append(step.rows)

    with ThreadPoolExecutor(2) as threads:
        executor = threads if kind == "threads" else None
        found = refused(path, error, model=quick(progress=progress), executor=executor)
    assert message in found or message == "."
    assert 0 < max(rows) < ROWS


def test_a_refit_that_fails_leaves_the_old_model(good: Path, tmp_path: Path) -> None:
    model = quick().fit_dataset(good, target="y")
    bad = write(tmp_path / "t.parquet", without_target(0))
    refused(bad, TargetError, model=model)
    assert np.all(np.isfinite(model.predict(a_table(5))))


def test_prediction_of_a_data_set_that_cannot_be_read(good: Path, tmp_path: Path) -> None:
    model = quick().fit_dataset(good, target="y")
    path = write(tmp_path / "t.parquet", a_table(30).drop_columns(["income"]))
    with pytest.raises(SchemaError, match="no column 'income'"):
        next(model.predict_dataset(path))
    write(path, a_table(30), (20, 10), write_page_checksum=True, use_dictionary=False)
    flipped(path, row_group=1)
    pieces = model.predict_dataset(path)
    assert len(next(pieces)[0]) == 20
    with pytest.raises(TableError, match="row group 1 cannot be read"):
        next(pieces)
    with pytest.raises(TableError, match="No such file"):
        next(model.predict_dataset(tmp_path / "nowhere.parquet"))


# The machine and the workers.


@pytest.mark.parametrize("inference", ["exact", "sparse"])
def test_memory_that_will_not_do(inference: str, good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remedy = {"exact": "use inference='sparse'", "sparse": "use a smaller n_inducing"}[inference]
    model = quick(inference=inference, n_inducing=ROWS if inference == "sparse" else None)
    free = engine.KEPT_BYTES + 10**6 if inference == "sparse" else 10**7
    monkeypatch.setattr(engine, "available_bytes", lambda: free)
    message = refused(good, NotEnoughMemoryError, model=model)
    assert remedy in message
    assert f"{free / 1e9:.1f} GB are free" in message
    if inference == "sparse":
        quick(n_inducing=8).fit_dataset(good, target="y")
        monkeypatch.setattr(engine, "available_bytes", lambda: 10**7)
        assert "leave columns out" in refused(good, NotEnoughMemoryError)


def test_too_many_rows_for_the_exact_engine(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MOST_ROWS", ROWS - 1)
    message = refused(good, TableError, model=quick(inference="exact", n_inducing=None))
    assert f"has {ROWS} rows" in message
    assert "use inference='sparse'" in message


def test_workers_that_are_none(good: Path) -> None:
    with ThreadPoolExecutor(1) as executor:
        assert "use one of them" in refused(good, OptionError, client=object(), executor=executor)
    assert "has been shut down" in refused(good, OptionError, executor=executor)
    for wrong in (3, "processes", multiprocessing):
        assert "use a concurrent.futures.Executor" in refused(good, OptionError, executor=wrong)


def test_without_dask_the_error_names_the_extra(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("dask", "distributed"):
        monkeypatch.setitem(sys.modules, name, None)
    assert "pip install 'termwise[distributed]'" in refused(good, OptionError, client=object())
    quick().fit_dataset(good, target="y")  # needs none of it


def test_without_pyarrow_the_error_names_the_extra(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'termwise[large]'" in refused(good, TableError)


class Deadly(ProcessPoolExecutor):
    """Processes that are killed as soon as there is work for them."""

    def map(self, *arguments: Any, **options: Any) -> Any:
        results = super().map(*arguments, **options)
        for process in list(self._processes.values()):
            os.kill(process.pid, signal.SIGKILL)
        return results


def test_processes_that_are_killed(good: Path) -> None:
    executor: Executor
    with Deadly(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        message = refused(good, ClusterError, executor=executor)
    assert "lost one of its workers" in message
    assert "make a new executor" in message


def test_an_interrupt_leaves_nothing_behind(good: Path) -> None:
    def interrupted(step: Any) -> None:
        if step.rows == ROWS:
            assert encoded._cache._bytes > 0
            raise KeyboardInterrupt

    model = quick(progress=interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit_dataset(good, target="y")
    assert encoded._cache._bytes == 0
    assert not hasattr(model, "posterior_")


def test_limits_of_the_target_are_within_the_squares_of_floats() -> None:
    with np.errstate(all="raise"):
        assert np.float64(known.LARGEST) ** 2 * 1e15 < np.inf
        assert np.float64(known.SMALLEST_RANGE) ** 2 * 1e-15 > 0.0


def test_a_kernel_between_more_levels_than_the_memory_holds_is_refused(monkeypatch):
    levels = np.array([f"level {i % 400}" for i in range(900)])
    monkeypatch.setattr(engine, "available_bytes", lambda: 10**7)
    with pytest.raises(NotEnoughMemoryError, match=r"of 400 levels needs .* put rare levels together"):
        tw.OAKRegressor(n_inducing=8).fit({"city": levels}, np.arange(900.0))


def test_a_table_in_memory_is_for_fit():
    cells = {"a": [1.0, 2.0], "y": [1.0, 2.0]}
    for table in (cells, pa.table(cells), np.ones((3, 2)), pa.table(cells).to_pandas()):
        assert "use fit(X, y)" in refused(table, TableError)


@pytest.mark.parametrize("target", [["y"], 4, None, np.array(["y"])])
def test_a_target_that_is_no_name(target: Any, good: Path) -> None:
    assert "give the name of one column, such as target='y'" in refused(good, TargetError, target=target)


def test_a_wrong_path_is_told_before_the_first_prediction(good: Path, tmp_path: Path) -> None:
    model = quick().fit_dataset(good, target="y")
    with pytest.raises(TableError, match="No such file or folder"):
        model.predict_dataset(tmp_path / "nowhere.parquet")


def test_a_csv_file_is_told_from_a_damaged_one(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,y\n1,2\n3,4\n")
    assert "a CSV file is for read_csv and fit" in refused(tmp_path / "t.csv", TableError)
    with pytest.raises(TableError, match="if it is a path use fit_dataset"):
        quick().fit(str(tmp_path / "t.csv"), [1.0, 2.0])


def test_inducing_rows_have_no_place_in_exact_inference(good: Path) -> None:
    assert "leave one of them out" in refused(good, OptionError, model=quick(inference="exact", n_inducing=9))
