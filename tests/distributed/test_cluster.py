"""On a real cluster: the same model to the last bit, also when workers die; if all is lost, an error."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import termwise as tw
from termwise.encode import encoded
from termwise.errors import ClusterError, OptionError, SchemaError, TableError, TargetError
from termwise.estimators import base
from termwise.inference.source import answer

pa = pytest.importorskip("pyarrow")
distributed = pytest.importorskip("distributed")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
psutil = pytest.importorskip("psutil")

from tests.estimators.datasets import a_table, assert_same, with_column, write  # noqa: E402

ROWS, SIZES = 5000, (2000, 0, 1000, 1500, 500)
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(tw.__file__).parents[1])}
RECONNECT = 5.0  # seconds for which a client looks for a scheduler that is gone
PATIENCE = 60.0  # seconds that a slow machine may need for what takes one


def model(**options: Any) -> tw.OAKRegressor:
    return tw.OAKRegressor(**{"max_order": 1, "n_inducing": 24, "n_restarts": 1, **options})


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    """A client of its own for every test, and two workers, after which no task is left."""
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
        yield client
        if client.status == "running":
            wait_until(lambda: not gc.collect() and tasks(client) == 0, "a fit leaves no tasks behind")


def wait_until(done: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def tasks(client: Any) -> int:
    return int(client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("data") / "t.parquet", a_table(ROWS), SIZES)


@pytest.fixture(scope="module")
def local(path: Path) -> tw.OAKRegressor:
    """The model that the threads of this process find."""
    return model().fit_dataset(path, target="y")


# The same model.


def test_files_are_fitted_by_the_workers(path: Path, local: Any, client: Any) -> None:
    seen: list[Any] = []
    found = model(progress=seen.append).fit_dataset(path, target="y", client=client)
    assert_same(found, local)
    assert found.fit_result_.rows == ROWS == seen[-1].rows
    assert found.fit_result_.inducing == 24
    assert seen[-1].remaining >= 0.0
    assert encoded._cache._kept == {}, "the rows were read by the workers"
    kept = client.run(lambda: len(sys.modules["termwise.encode.encoded"]._cache._kept))
    assert sum(kept.values()) == 0, "as results, which Dask takes care of"


def test_labels_and_counts_are_learned_by_the_workers(client: Any, tmp_path: Path) -> None:
    table = a_table(3000)
    y = table["y"].to_numpy()
    table = with_column(with_column(table, "y", y > np.median(y)), "calls", np.round(np.exp(y - y.mean())))
    path = write(tmp_path / "t.parquet", table, (1000, 2000))
    options: dict[str, Any] = {"max_order": 1, "n_restarts": 1, "n_inducing": 30, "inference": "sparse"}
    for kind, more, target in (
        (tw.OAKClassifier, {}, "y"),
        (tw.OAKRegressor, {"likelihood": "poisson"}, "calls"),
        (tw.OAKRegressor, {"likelihood": "student"}, "calls"),
    ):
        far, near = (
            kind(**options, **more).fit_dataset(path, target=target, client=one) for one in (client, None)
        )
        assert_same(far, near)
    with pytest.raises(OptionError, match="works in this process alone"):
        tw.OAKClassifier(inference="stochastic").fit_dataset(path, target="y", client=client)


def test_an_executor_of_the_client_does_as_well(path: Path, local: Any, client: Any) -> None:
    assert_same(model().fit_dataset(path, target="y", executor=client.get_executor()), local)


def test_a_dataframe_of_files(path: Path, local: Any, client: Any) -> None:
    frame = dd.read_parquet(path, split_row_groups=True)
    assert_same(model().fit_dataset(frame, target="y", client=client), local)


def a_frame(table: pa.Table) -> tuple[Any, list[pa.Table]]:
    """A Dask frame with a partition that is empty and one without any city; the same as tables."""
    parts = [table.slice(0, 2000), table.slice(0, 0), table.slice(2000, 1000), table.slice(3000)]
    parts[2] = with_column(parts[2], "city", pa.array([None] * 1000, pa.string()))
    made = [dd.from_pandas(part.to_pandas(), npartitions=1) for part in parts]
    return dd.concat(made), parts


def test_a_dataframe_with_empty_parts_and_columns(client: Any, tmp_path: Path) -> None:
    frame, parts = a_frame(a_table(ROWS))
    assert frame.npartitions == 4
    expected_path = write(tmp_path / "t.parquet", pa.concat_tables(parts), (2000, 0, 1000, 2000))
    found = model().fit_dataset(frame, target="y", client=client)
    assert_same(found, model().fit_dataset(expected_path, target="y"))
    assert found.encoder_.columns[2].levels == ("Bern", "Oslo", "Rom")


def test_a_small_dataframe_has_the_exact_engine(client: Any, tmp_path: Path) -> None:
    table = a_table(200)
    frame = dd.from_pandas(table.to_pandas(), npartitions=2)
    found = model(n_inducing=None).fit_dataset(frame, target="y", client=client)
    expected = model(n_inducing=None).fit_dataset(write(tmp_path / "t.parquet", table), target="y")
    assert found.fit_result_.inducing is None
    np.testing.assert_allclose(found.predict(table), expected.predict(table), rtol=1e-6)


# Workers die.


def kill_a_worker(client: Any) -> Callable[[Any], None]:
    """A listener that kills a worker process once all rows are looked at."""
    killed: list[int] = []

    def progress(step: Any) -> None:
        if step.rows == ROWS and not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    progress.killed = killed  # type: ignore[attr-defined]
    return progress


@pytest.mark.parametrize("kind", ["files", "frame"])
def test_a_worker_that_is_killed_in_the_middle(kind: str, path: Path, local: Any, client: Any) -> None:
    progress = kill_a_worker(client)
    data = path if kind == "files" else dd.read_parquet(path, split_row_groups=True)
    found = model(progress=progress).fit_dataset(data, target="y", client=client)
    (pid,) = progress.killed  # type: ignore[attr-defined]
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    assert_same(found, local)


def dying(times: int, marks: Path) -> Callable[..., Any]:
    """Looks at rows, but the first processes that do so kill themselves."""
    folder = str(marks)

    def look_or_die(look: Any, question: Any, threads: int = 1) -> Any:
        for number in range(times):
            try:
                os.close(os.open(os.path.join(folder, str(number)), os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)
        return answer(look, question, threads)

    return look_or_die


def test_a_worker_that_is_killed_while_rows_are_surveyed(
    path: Path, local: Any, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("termwise.estimators.known.answer", dying(1, tmp_path))
    found = model().fit_dataset(path, target="y", client=client)
    assert os.listdir(tmp_path) == ["0"]
    assert_same(found, local)


def test_workers_that_die_again_and_again(
    path: Path, client: Any, cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("termwise.estimators.known.answer", dying(1, tmp_path))
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    with pytest.raises(ClusterError, match=r"died again and again on the same rows .*smaller row groups"):
        model().fit_dataset(path, target="y", client=client)


# The cluster is lost.


def test_a_client_that_is_closed_in_the_middle(path: Path, client: Any) -> None:
    def progress(step: Any) -> None:
        if step.rows == ROWS:
            client.close()

    found = model(progress=progress)
    with pytest.raises(ClusterError, match=r"connection to the cluster was lost.*fit again"):
        found.fit_dataset(path, target="y", client=client)
    assert not hasattr(found, "posterior_")
    for how in ({"client": client}, {"executor": client.get_executor()}):
        with pytest.raises(ClusterError, match="connection to the cluster was lost"):
            model().fit_dataset(path, target="y", **how)


@contextmanager
def processes(folder: Path, before: str = "") -> Iterator[tuple[Any, subprocess.Popen[bytes]]]:
    """A client of a scheduler and a worker that are processes of their own, and the scheduler."""
    common = ["--scheduler-file", str(folder / "scheduler.json"), "--no-dashboard"]
    commands = {
        "scheduler": ["--port", "0", "--host", "127.0.0.1"],
        "worker": ["--nthreads", "1", "--no-nanny"],
    }
    started = []
    for name, options in commands.items():
        code = f"{before}\nfrom distributed.cli.dask_{name} import main; main()"
        command = [sys.executable, "-c", code, *common, *options]
        started.append(subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=folder, env=ENVIRONMENT))
    try:
        with distributed.Client(scheduler_file=str(folder / "scheduler.json"), timeout=RECONNECT) as client:
            client.wait_for_workers(1, timeout=PATIENCE)
            yield client, started[0]
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_a_scheduler_that_is_killed_in_the_middle(path: Path, tmp_path: Path) -> None:
    def progress(step: Any) -> None:
        if step.rows == ROWS:
            scheduler.kill()
            scheduler.wait()

    lost = pytest.raises(ClusterError, match="see that the scheduler runs")
    with processes(tmp_path) as (client, scheduler), lost:
        model(progress=progress).fit_dataset(path, target="y", client=client)


def test_a_cluster_that_does_not_know_the_library(path: Path, tmp_path: Path) -> None:
    unknown = pytest.raises(ClusterError, match="install the same version of Termwise")
    with processes(tmp_path, "import sys; sys.modules['termwise'] = None") as (client, _), unknown:
        model().fit_dataset(path, target="y", client=client)


SCRIPT = """
import sys
from distributed import Client, LocalCluster
import termwise as tw

def progress(step):
    if step.rows == {rows}:
        print("all rows", flush=True)

def main():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    client = Client(cluster)
    model = tw.OAKRegressor(max_order=1, n_inducing=24, n_restarts=1, progress=progress)
    while True:
        model.fit_dataset(sys.argv[1], target="y", client=client)

if __name__ == "__main__":
    main()
"""


def test_an_interrupt_ends_the_process_and_its_workers(path: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(rows=ROWS))
    process = subprocess.Popen(
        [sys.executable, str(script), str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    try:
        assert process.stdout.readline() == "all rows\n"  # type: ignore[union-attr]
        below = psutil.Process(process.pid).children(recursive=True)
        assert len(below) >= 2
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode not in (0, -signal.SIGKILL)
    assert "KeyboardInterrupt" in errors
    _, alive = psutil.wait_procs(below, timeout=PATIENCE)
    assert not alive


def test_a_fit_that_is_given_up_leaves_no_tasks_behind(path: Path, client: Any) -> None:
    """The fixture looks after it."""

    def progress(step: Any) -> None:
        if step.rows == ROWS:
            raise KeyboardInterrupt

    for data in (path, dd.read_parquet(path, split_row_groups=True)):
        with pytest.raises(KeyboardInterrupt):
            model(progress=progress).fit_dataset(data, target="y", client=client)


# Bad input.


def test_a_dataframe_that_cannot_be_fitted(client: Any) -> None:
    pandas = a_table(300).to_pandas()
    frame = dd.from_pandas(pandas, npartitions=3)
    bad: dict[str, tuple[Any, type[Exception]]] = {
        "no rows; expected at least one row": (frame[frame["age"] > 1e9], TableError),
        "'y' is missing in row 7 .*write the files without": (
            dd.from_pandas(pandas.assign(y=pandas["y"].where(pandas.index != 107)), npartitions=3),
            TargetError,
        ),
        "there is no column 'y'": (frame.drop(columns="y"), TargetError),
        "'age' holds texts in partition 2, but numbers before": (
            dd.concat(
                [
                    frame.partitions[0],
                    frame.partitions[0].loc[[]],
                    frame.partitions[1].assign(age="old"),
                ],
            ),
            SchemaError,
        ),
        "a Series of Dask, expected a dataframe": (frame["age"], TableError),
        "a Array of Dask, expected a dataframe": (frame[["age"]].to_dask_array(), TableError),
        r"'age' has the type list.*split it into columns": (
            frame.assign(age=frame["age"].apply(lambda x: [x], meta=("age", object))),
            TableError,
        ),
    }
    for message, (data, error) in bad.items():
        with pytest.raises(error, match=message):
            model().fit_dataset(data, target="y", client=client)
    with pytest.raises(OptionError, match=r"give their dask.distributed.Client as client"):
        model().fit_dataset(frame, target="y")


def test_a_damaged_file_is_named(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is damaged after the first pass, before the workers encode its rows."""
    path = write(tmp_path / "t.parquet", a_table(3000), (2000, 1000))
    know = base.know

    def know_and_damage(*args: Any) -> Any:
        known = know(*args)
        os.truncate(path, 20_000)
        return known

    monkeypatch.setattr(base, "know", know_and_damage)
    with pytest.raises(TableError, match=r"t\.parquet', row group \d cannot be read as Parquet"):
        model().fit_dataset(path, target="y", client=client)


def test_what_is_no_client(path: Path, client: Any, cluster: Any) -> None:
    def refuse(wrong: Any) -> None:
        with pytest.raises(OptionError, match=r"use a dask.distributed.Client that is not asynchronous"):
            model().fit_dataset(path, target="y", client=wrong)

    async def asynchronous() -> None:
        async with distributed.Client(cluster.scheduler_address, asynchronous=True) as wrong:
            refuse(wrong)

    for wrong in (cluster, "tcp://127.0.0.1:8786", 3):
        refuse(wrong)
    # In a thread of its own: tests with a browser leave a loop running in this one.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, asynchronous()).result()
    with pytest.raises(OptionError, match=r"use a concurrent.futures.Executor .* and client for"):
        model().fit_dataset(path, target="y", executor=client)
    with pytest.raises(OptionError, match="use one of them"):
        model().fit_dataset(path, target="y", client=client, executor=client.get_executor())
