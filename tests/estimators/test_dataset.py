"""A data set in files gives the model of its rows in memory, whoever works on it and however it is cut."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import termwise as tw
from termwise.encode import encoded
from termwise.encode.rows import ArrayChunk
from termwise.errors import TermwiseWarning
from termwise.estimators import known as known_module
from termwise.inference.result import Status

pa = pytest.importorskip("pyarrow")
ds = pytest.importorskip("pyarrow.dataset")

from tests.estimators.datasets import (  # noqa: E402  # it needs pyarrow
    FEATURES,
    NOISE_SD,
    a_table,
    assert_same,
    in_memory,
    with_column,
    write,
)

ROWS, INDUCING = 3000, 24
SIZES = (700, 0, 1, 1299)  # of row groups, one empty
SMALL = 240


def oak(**options: Any) -> tw.OAKRegressor:
    return tw.OAKRegressor(**{"max_order": 2, "n_inducing": INDUCING, "n_restarts": 1, **options})


def quick(**options: Any) -> tw.OAKRegressor:
    """A sparse fit that takes a fraction of a second."""
    return oak(**{"max_order": 1, "n_inducing": 8, **options})


@pytest.fixture(autouse=True)
def _an_empty_cache() -> Any:
    assert encoded._cache._kept == {}
    yield
    assert encoded._cache._kept == {}, "a fit lets go what it has kept"
    assert encoded._cache._bytes == 0


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return a_table(ROWS)


@pytest.fixture(scope="module")
def folder(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files with uneven row groups."""
    folder = tmp_path_factory.mktemp("data")
    write(folder / "a.parquet", table.slice(0, 2000), SIZES)
    write(folder / "b.parquet", table.slice(2000), (1000,))
    return folder


@pytest.fixture(scope="module")
def fitted(folder: Path) -> tw.OAKRegressor:
    return oak().fit_dataset(folder, target="y")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set that is fitted in a moment."""
    return write(tmp_path_factory.mktemp("small") / "small.parquet", a_table(SMALL, seed=3), (100, 140))


# The model is that of the rows in memory.


def rmse(model: Any, features: Any, y: np.ndarray) -> float:
    return float(np.sqrt(np.mean((model.predict(features) - y) ** 2)))


def shares(model: Any) -> dict[str, float]:
    return dict(zip(model.sobol_["term"].tolist(), model.sobol_["share"].tolist(), strict=True))


def check_alike(model: Any, expected: Any, within: float) -> None:
    """What differs is the sample of the first stages, and the encoder by a few rows more."""
    features, y = in_memory(a_table(2000, seed=1))
    assert rmse(model, features, y) == pytest.approx(rmse(expected, features, y), rel=0.02)
    assert rmse(model, features, y) < 1.15 * NOISE_SD
    assert np.std(model.predict(features) - expected.predict(features)) < 0.25 * NOISE_SD
    found = shares(model)
    for term, share in shares(expected).items():
        assert found[term] == pytest.approx(share, abs=within), term
    assert model.noise_.variance == pytest.approx(expected.noise_.variance, rel=0.1)
    assert model.fit_result_.objective == pytest.approx(expected.fit_result_.objective, abs=0.02 * ROWS)
    assert model.target_scale_.shift == pytest.approx(expected.target_scale_.shift, rel=1e-12)
    assert model.target_scale_.scale == pytest.approx(expected.target_scale_.scale, rel=1e-12)
    assert model.encoder_.schema == expected.encoder_.schema
    assert model.feature_names_in_.tolist() == FEATURES
    assert model.n_features_in_ == 4


def test_it_is_the_model_of_the_rows_in_memory(fitted: Any, table: pa.Table) -> None:
    check_alike(fitted, oak(inference="sparse").fit(*in_memory(table)), within=0.02)


def test_it_is_so_for_the_additive_regressor_too(folder: Path, table: pa.Table) -> None:
    options = {"max_order": 1, "n_inducing": INDUCING, "n_restarts": 1}
    model = tw.AdditiveGPRegressor(**options).fit_dataset(folder, target="y")
    # its terms are not orthogonal, so that one can take from the other
    check_alike(model, tw.AdditiveGPRegressor(**options).fit(*in_memory(table)), within=0.1)


@pytest.mark.parametrize("kind", [tw.OAKRegressor, tw.AdditiveGPRegressor])
def test_a_small_data_set_has_the_exact_engine_and_the_model_of_fit(kind: Any, small: Path) -> None:
    model = kind(max_order=1, n_restarts=1).fit_dataset(small, target="y")
    expected = kind(max_order=1, n_restarts=1).fit(*in_memory(a_table(SMALL, seed=3)))
    assert model.fit_result_.inducing is None
    assert model.fit_result_.rows == SMALL == len(model.posterior_.centres)
    assert model.encoder_.schema == expected.encoder_.schema
    assert model.columns_ == expected.columns_
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-8)
    new, _ = in_memory(a_table(50, seed=4))
    for found, wanted in zip(
        model.predict(new, return_std=True), expected.predict(new, return_std=True), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
    np.testing.assert_allclose(model.predict_terms(new), expected.predict_terms(new), atol=1e-5)


def test_the_fit_says_how_it_went(fitted: Any) -> None:
    result = fitted.fit_result_
    assert (result.rows, result.inducing) == (ROWS, INDUCING)
    assert fitted.posterior_.centres.shape == (INDUCING, 4)
    assert result.status in (Status.CONVERGED, Status.MAX_STEPS)
    assert result.objective == fitted.objective_
    assert result.seconds > 0.0


def test_progress_has_the_rows_and_the_time_that_is_left(small: Path) -> None:
    seen: list[Any] = []
    model = quick(progress=seen.append).fit_dataset(small, target="y")
    assert seen[-1].rows == SMALL == model.fit_result_.rows
    assert seen[-1].evaluations == model.fit_result_.evaluations
    for before, after in pairwise(seen):
        assert after.evaluations == before.evaluations + 1
        assert after.seconds >= before.seconds
    assert all(progress.remaining is not None and progress.remaining >= 0.0 for progress in seen)
    assert seen[-1].seconds <= model.fit_result_.seconds
    seen.clear()
    quick(inference="sparse", progress=seen.append).fit(*in_memory(a_table(SMALL)))
    assert seen[-1].rows == SMALL
    assert seen[-1].remaining >= 0.0


def test_a_data_set_is_predicted_piece_by_piece(fitted: Any, folder: Path, table: pa.Table) -> None:
    pieces = list(fitted.predict_dataset(folder))
    assert [len(mean) for mean, _ in pieces] == [700, 1, 1299, 1000]
    expected = fitted.predict(table, return_std=True)
    for found, wanted in zip(map(np.concatenate, zip(*pieces, strict=True)), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10)


def test_columns_of_a_data_set_are_found_by_name(fitted: Any, table: pa.Table, tmp_path: Path) -> None:
    turned = table.slice(0, 20).select(["y", "owner", "city", "income", "age"])
    path = write(tmp_path / "t.parquet", with_column(turned, "more", ["x"] * 20))
    ((mean, _),) = fitted.predict_dataset(path)
    np.testing.assert_allclose(mean, fitted.predict(table.slice(0, 20)), rtol=1e-10)


# Who works on it, and how it is given.


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_an_executor_gives_the_same_model_to_the_last_bit(kind: str, folder: Path, fitted: Any) -> None:
    spawn = multiprocessing.get_context("spawn")
    executors: dict[str, Any] = {
        "threads": lambda: ThreadPoolExecutor(3),
        "processes": lambda: ProcessPoolExecutor(2, mp_context=spawn),
    }
    executor: Executor
    with executors[kind]() as executor:
        assert_same(oak().fit_dataset(folder, target="y", executor=executor), fitted)
        assert executor.submit(len, "still open").result() == 10


def test_paths_folders_patterns_lists_and_datasets(tmp_path: Path) -> None:
    table = a_table(SMALL)
    files = [tmp_path / "data" / "a.parquet", tmp_path / "data" / "b.parquet"]
    write(files[0], table.slice(0, 150), (60, 90))
    write(files[1], table.slice(150))
    expected = quick().fit_dataset(files[0].parent, target="y")
    for data in (
        str(files[0].parent),
        str(tmp_path / "data" / "*.parquet"),
        files,
        [str(path) for path in files],
        ds.dataset(str(files[0].parent)),
    ):
        assert_same(quick().fit_dataset(data, target="y"), expected)
    single = write(tmp_path / "all.parquet", table, (60, 90, 90))
    for path in (single, str(single)):
        assert_same(quick().fit_dataset(path, target="y"), expected)


def test_how_the_rows_are_cut_hardly_matters(small: Path, tmp_path: Path) -> None:
    table = a_table(SMALL, seed=3)
    models = [
        quick().fit_dataset(write(tmp_path / f"{len(sizes)}.parquet", table, sizes), target="y")
        for sizes in ((SMALL,), (1, 0, 2, 117, 120))
    ]
    assert models[0].objective_ == pytest.approx(models[1].objective_, rel=1e-4)
    features, _ = in_memory(table)
    np.testing.assert_allclose(models[0].predict(features), models[1].predict(features), atol=0.05)


def test_the_same_seed_gives_the_same_model_and_another_seed_another(small: Path) -> None:
    models = [quick(random_state=seed).fit_dataset(small, target="y") for seed in (5, 5, 6)]
    assert_same(models[0], models[1])
    assert not np.array_equal(models[0].posterior_.centres, models[2].posterior_.centres, equal_nan=True)


# What is kept.


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The chunks that are read and encoded, one after the other."""
    read, encode = [], encoded.EncodedChunk._encode

    def counting(chunk: Any) -> Any:
        read.append(chunk.key)
        return encode(chunk)

    monkeypatch.setattr(encoded.EncodedChunk, "_encode", counting)
    return read


def test_rows_are_read_once_if_they_can_be_kept_and_again_if_not(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = counted(monkeypatch)
    expected = quick().fit_dataset(small, target="y")
    assert len(read) == len(set(read)) == 2
    size = 8 * 5  # of a row
    for room, kept in ((100 * size, True), (99 * size, False)):
        monkeypatch.setattr(encoded, "CACHE_BYTES", room)
        read.clear()
        assert_same(quick().fit_dataset(small, target="y"), expected)
        first, second = (sum(number == which for _, number in read) for which in (0, 1))
        assert second > 10
        assert first == (1 if kept else second)


def test_what_others_have_left_makes_room_and_what_is_kept_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoded, "CACHE_BYTES", 3 * 80)
    cache, rows = encoded._Cache(), ArrayChunk(np.zeros((8, 1)), np.zeros(2))
    for key in (("old", 0), ("old", 1), ("new", 0), ("new", 0)):
        cache.keep(key, rows)
    assert cache._bytes == 3 * 80
    cache.keep(("new", 1), rows)
    assert cache.get(("old", 0)) is None
    for number in (2, 3):
        cache.keep(("new", number), rows)
    assert [cache.get(("new", number)) is rows for number in range(4)] == [True, True, True, False]
    cache.keep(("huge", 0), ArrayChunk(np.zeros((100, 1)), np.zeros(100)))
    assert cache.get(("huge", 0)) is None
    cache.forget("new")
    assert (cache._kept, cache._bytes) == ({}, 0)


# Columns that are awkward to see in pieces.


def test_a_column_that_a_sample_sees_only_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A level and a range that only the last rows have, of which the sample has none."""
    n = 400
    table = a_table(n)
    city = [*table.column("city").to_pylist()[: n - 1], "Lima"]
    late = np.zeros(n)
    late[-3:] = [1.0, -7.0, 3.0]
    rare = with_column(with_column(table, "city", city), "late", late)
    write(tmp_path / "a.parquet", rare.slice(0, n - 3))
    write(tmp_path / "b.parquet", rare.slice(n - 3))
    monkeypatch.setattr(known_module, "MOST_SAMPLED", 40)
    monkeypatch.setattr(
        known_module,
        "sample_positions",
        lambda chunks, size, rng: [np.arange(size), *[np.zeros(0, dtype=int)] * (len(chunks) - 1)],
    )
    model = quick().fit_dataset(tmp_path, target="y")
    assert model.fit_result_.rows == n
    assert model.encoder_.names == (*FEATURES, "late")
    assert model.encoder_.columns[2].levels == ("Bern", "Lima", "Oslo", "Rom")
    flow = model.encoder_.columns[4].flow
    np.testing.assert_allclose(flow.units.inverse(np.array([flow.low, flow.high])), [-7.0, 3.0])
    mean, std = model.predict(rare.slice(n - 3), return_std=True)
    assert np.all(np.isfinite(mean))
    assert np.all(std > 0.0)


def test_texts_that_are_numbers_are_numbers_unless_a_late_one_is_not(tmp_path: Path) -> None:
    table = a_table(SMALL)
    income = [f"{value!r}" for value in table.column("income").to_pylist()]
    as_text = with_column(table, "income", income)
    expected = quick().fit_dataset(write(tmp_path / "n.parquet", table, (100, 140)), target="y")
    model = quick().fit_dataset(write(tmp_path / "t.parquet", as_text, (100, 140)), target="y")
    assert_same(model, expected)
    new = as_text.slice(0, 5)
    np.testing.assert_array_equal(model.predict(new), expected.predict(table.slice(0, 5)))
    ((mean, _),) = model.predict_dataset(write(tmp_path / "p.parquet", new))
    np.testing.assert_allclose(mean, expected.predict(table.slice(0, 5)), rtol=1e-12)
    grades = [str(i % 3) for i in range(SMALL - 1)]
    late = with_column(table, "grade", [*grades, "none"])
    model = quick().fit_dataset(write(tmp_path / "l.parquet", late, (SMALL - 1, 1)), target="y")
    assert model.encoder_.columns[4].levels == ("0", "1", "2", "none")


@pytest.mark.parametrize("target", ["text", "truth"])
def test_a_target_that_is_stored_otherwise(target: str, tmp_path: Path) -> None:
    table = a_table(SMALL)
    y = table.column("y").to_pylist()
    numbers = y if target == "text" else [float(value > 2.0) for value in y]
    stored = [repr(value) for value in y] if target == "text" else [value > 2.0 for value in y]
    paths = [
        write(tmp_path / f"{name}.parquet", with_column(table, "y", values), (100, 140))
        for name, values in (("numbers", numbers), ("stored", stored))
    ]
    expected, model = (quick().fit_dataset(path, target="y") for path in paths)
    assert_same(model, expected)


def test_a_column_that_names_the_rows_is_left_out(tmp_path: Path) -> None:
    """With a level for every row its table would be larger than all else."""
    table = a_table(SMALL)
    expected = quick().fit_dataset(write(tmp_path / "t.parquet", table), target="y")
    named = with_column(table, "id", [f"row {i}" for i in range(SMALL)])
    path = write(tmp_path / "n.parquet", named, (100, 140))
    with pytest.warns(TermwiseWarning, match="'id' has a new level in every row"):
        model = quick().fit_dataset(path, target="y")
    assert model.encoder_.names == expected.encoder_.names
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-4)
    assert np.all(np.isfinite(model.predict(table)))


def test_categorical_names_numbers_that_are_levels(tmp_path: Path) -> None:
    table = with_column(a_table(SMALL), "grade", np.arange(SMALL) % 3)
    path = write(tmp_path / "t.parquet", table, (100, 140))
    for categorical in (["grade"], [4], {"grade": "categorical"}):
        model = quick(categorical=categorical).fit_dataset(path, target="y")
        assert model.encoder_.columns[4].levels == (0.0, 1.0, 2.0)
    assert (
        quick(categorical={"owner": "continuous"}).fit_dataset(path, target="y").columns_[3].column == "owner"
    )


def test_more_inducing_rows_than_there_are_different_rows(tmp_path: Path) -> None:
    table = a_table(SMALL).take(np.arange(SMALL) % 7)
    y = np.array(table.column("y").to_pylist()) + 0.1 * np.random.default_rng(0).standard_normal(SMALL)
    path = write(tmp_path / "t.parquet", with_column(table, "y", y), (100, 140))
    model = quick(n_inducing=200).fit_dataset(path, target="y")
    assert model.fit_result_.inducing == 7
    means = np.array([y[i::7].mean() for i in range(7)])
    np.testing.assert_allclose(model.predict(table.slice(0, 7)), means, atol=0.1)
