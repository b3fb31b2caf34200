"""n_jobs is the number of threads of the sparse engine, for tables and for data sets."""

from pathlib import Path

import pytest

from termwise import OAKRegressor
from termwise.estimators import dataset, engine
from termwise.inference.workers import LocalWorkers
from termwise.kernels.fused.run import cores

pytest.importorskip("pyarrow")

from tests.estimators.datasets import a_table, assert_same, in_memory, write


@pytest.fixture
def asked_for(monkeypatch):
    """The options of every fit."""
    seen, real = [], engine.fit_sparse

    def fit(model, data, options, rng, monitor=None):
        seen.append(options)
        return real(model, data, options, rng, monitor)

    monkeypatch.setattr(engine, "fit_sparse", fit)
    monkeypatch.setattr(dataset, "fit_sparse", fit)
    return seen


@pytest.mark.parametrize(("n_jobs", "threads"), [(None, cores()), (-1, cores()), (1, 1), (3, 3)])
def test_it_is_the_number_of_threads(n_jobs, threads, asked_for, tmp_path: Path):
    table = a_table(300)
    model = OAKRegressor(max_order=1, n_inducing=8, n_restarts=1, n_jobs=n_jobs)
    model.fit(*in_memory(table))
    model.fit_dataset(write(tmp_path / "t.parquet", table), target="y")
    assert [options.threads for options in asked_for] == [threads, threads]
    assert [options.workers for options in asked_for] == [LocalWorkers(threads)] * 2


def test_it_changes_no_bit():
    table = in_memory(a_table(300))
    one, three = (OAKRegressor(max_order=2, n_inducing=16, n_jobs=n).fit(*table) for n in (1, 3))
    assert_same(one, three)
