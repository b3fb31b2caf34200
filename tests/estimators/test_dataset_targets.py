"""Labels, counts and outliers from data larger than memory: as from memory, and after a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import termwise as tw
from termwise.errors import CheckpointError, OptionError, TableError, TargetError, TermwiseWarning
from termwise.inference import coarse, stochastic

pa = pytest.importorskip("pyarrow")

from tests.estimators.datasets import write  # noqa: E402  # it needs pyarrow

ROWS = 3000
OPTIONS: dict[str, Any] = {"max_order": 1, "n_restarts": 1, "n_inducing": 30}


def features(n: int = ROWS, seed: int = 0) -> tuple[dict[str, Any], np.ndarray]:
    """Two numbers and levels, and a function of them."""
    rng = np.random.default_rng(seed)
    x, z = rng.standard_normal((2, n))
    city = rng.choice(["Bern", "Rome", "Oslo"], n)
    return {"x": x, "z": z, "city": city}, 1.5 * np.sin(2.0 * x) + 0.8 * (city == "Rome") - 0.3


def labelled(n: int = ROWS, labels: Any = ("no", "yes"), seed: int = 0) -> tuple[Any, np.ndarray]:
    columns, f = features(n, seed)
    late = np.random.default_rng(seed + 1).random(n) < 1.0 / (1.0 + np.exp(-2.0 * f))
    return pa.table({**columns, "late": pa.array([labels[int(one)] for one in late])}), f


def file_of(folder: Path, table: Any) -> Path:
    return write(folder / "t.parquet", table, (1000, 1, len(table) - 1001))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coarse, "FIRST_ROWS", 500)
    monkeypatch.setattr(stochastic, "MOST_SAMPLED", 500)
    monkeypatch.setattr(stochastic, "BATCH_ROWS", 512)
    monkeypatch.setattr(stochastic, "LEAST_STEPS", 120)


@pytest.mark.parametrize("inference", ["sparse", "stochastic"])
@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1), (False, True), (2.0, 7.0)], ids=str)
def test_labels_of_any_kind(labels: Any, inference: str, tmp_path: Path, quick: None) -> None:
    table, f = labelled(labels=labels)
    path = file_of(tmp_path, table)
    model = tw.OAKClassifier(inference=inference, **OPTIONS).fit_dataset(path, target="late")
    assert model.classes_.tolist() == sorted(labels)
    p = np.concatenate(list(model.predict_dataset(path)))
    np.testing.assert_allclose(p, model.predict_proba(table), rtol=1e-11)
    assert np.corrcoef(np.log(p[:, 1] / p[:, 0]), f)[0, 1] > 0.97
    again = tw.OAKClassifier(**OPTIONS, inference="sparse").fit(table.drop_columns("late"), table["late"])
    assert again.classes_.tolist() == model.classes_.tolist()
    assert np.sqrt(np.mean((again.predict_proba(table) - p) ** 2)) < 0.02
    assert model.fit_result_.rows == ROWS


def test_few_rows_are_read_whole(tmp_path: Path) -> None:
    table, _ = labelled(300)
    path = write(tmp_path / "t.parquet", table, (200, 100))
    one, other = (tw.OAKClassifier(max_order=1, n_restarts=1) for _ in range(2))
    p = one.fit_dataset(path, target="late").predict_proba(table)
    assert one.fit_result_.inducing is None
    np.testing.assert_array_equal(
        p, other.fit(table.drop_columns("late"), table["late"]).predict_proba(table)
    )


def test_class_weights(tmp_path: Path) -> None:
    table, _ = labelled()
    path = file_of(tmp_path, table)
    X, y = table.drop_columns("late"), table["late"]
    for weight in ("balanced", {"no": 1.0, "yes": 3.0}):
        options = {**OPTIONS, "class_weight": weight, "inference": "sparse"}
        p = tw.OAKClassifier(**options).fit_dataset(path, target="late").predict_proba(X)
        q = tw.OAKClassifier(**options).fit(X, y).predict_proba(X)
        assert np.sqrt(np.mean((p - q) ** 2)) < 0.02
    with pytest.raises(OptionError, match="class_weight names 'maybe'"):
        tw.OAKClassifier(**OPTIONS, class_weight={"maybe": 1.0}).fit_dataset(path, target="late")


def test_more_than_two_labels(tmp_path: Path, quick: None) -> None:
    columns, f = features()
    kind = np.array(["low", "mid", "top"])[np.digitize(f, [-0.7, 0.9])]
    table = pa.table({**columns, "kind": kind})
    path = file_of(tmp_path, table)
    folder = tmp_path / "checkpoints"
    model = tw.OAKClassifier(**OPTIONS).fit_dataset(path, target="kind", checkpoint=folder)
    assert model.classes_.tolist() == ["low", "mid", "top"]
    assert sorted(one.name for one in folder.iterdir()) == ["label-0", "label-1", "label-2"]
    assert np.mean(model.predict(table) == kind) > 0.9
    assert len(model.estimators_) == 3
    with pytest.raises(OptionError, match="holds checkpoints already"):
        tw.OAKClassifier(**OPTIONS).fit_dataset(path, target="kind", checkpoint=folder)
    again = tw.OAKClassifier(**OPTIONS).fit_dataset(path, target="kind", resume=folder)
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    weighted = tw.OAKClassifier(**OPTIONS, inference="stochastic", class_weight={"top": 20.0})
    p = weighted.fit_dataset(path, target="kind").predict_proba(table)
    assert np.mean(p[:, 2]) > np.mean(model.predict_proba(table)[:, 2])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "b", None], "label 'late' is missing in row 2"),
        ([0.0, 1.0, float("nan")], "label 'late' is missing in row 2"),
        ([0.0, 1.5, 1.0], "is 1.5 in row 1 .*use a regressor"),
        (["a", "a", "a"], "all rows have the label 'a'"),
        ([f"label {i}" for i in range(3000)], "more than 100 different labels"),
    ],
)
def test_bad_labels(labels: list[Any], message: str, tmp_path: Path) -> None:
    columns, _ = features()
    cells = (labels * ROWS)[:ROWS]
    path = file_of(tmp_path, pa.table({**columns, "late": pa.array(cells)}))
    with pytest.raises(TargetError, match=message):
        tw.OAKClassifier(**OPTIONS).fit_dataset(path, target="late")


@pytest.mark.parametrize("inference", ["sparse", "stochastic"])
def test_counts_with_an_exposure(inference: str, tmp_path: Path, quick: None) -> None:
    columns, f = features()
    rng = np.random.default_rng(3)
    hours = np.exp(rng.normal(0.0, 1.0, ROWS))
    counts = rng.poisson(hours * np.exp(f))
    table = pa.table({**columns, "hours": hours, "calls": counts})
    path = file_of(tmp_path, table)
    model = tw.OAKRegressor(likelihood="poisson", inference=inference, **OPTIONS)
    model.fit_dataset(path, target="calls", exposure="hours")
    assert model.encoder_.schema.names == ("x", "z", "city")
    rate = model.predict(table.drop_columns(["hours", "calls"]))
    assert np.sqrt(np.mean((np.log(rate) - f) ** 2)) < 0.15


def test_counts_that_are_all_the_same_over_different_hours(tmp_path: Path) -> None:
    columns, f = features()
    table = pa.table({**columns, "hours": np.exp(-f), "calls": np.ones(ROWS)})
    model = tw.OAKRegressor(likelihood="poisson", inference="sparse", **OPTIONS)
    model.fit_dataset(file_of(tmp_path, table), target="calls", exposure="hours")
    assert np.corrcoef(np.log(model.predict(table.drop_columns(["hours", "calls"]))), f)[0, 1] > 0.9


def test_counts_that_are_all_zero_have_no_rate(tmp_path: Path) -> None:
    columns, f = features()
    table = pa.table({**columns, "hours": np.exp(-f), "calls": np.zeros(ROWS)})
    model = tw.OAKRegressor(likelihood="poisson", inference="sparse", **OPTIONS)
    with pytest.raises(TargetError, match="zero in every row, and their rate could be anything"):
        model.fit_dataset(file_of(tmp_path, table), target="calls", exposure="hours")


@pytest.mark.parametrize("likelihood", ["poisson", "student"])
def test_minibatches_with_rates_that_differ_by_far(
    likelihood: str, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few rows have four hundred times the rate of the others, or are far away.

    Which of them are among thirty inducing rows is chance, and matters more than the engine: so over seeds.
    """
    monkeypatch.setattr(stochastic, "LEAST_STEPS", 800)
    columns, f = features()
    rng = np.random.default_rng(0)
    rare = rng.random(ROWS) < 0.02
    table = {**columns, "city": np.where(rare, "Lima", columns["city"])}
    rate = np.exp(f + 6.0 * rare)
    y = rng.poisson(rate) if likelihood == "poisson" else f + 0.2 * rng.standard_normal(ROWS) + 1e6 * rare

    def fits(engine: str) -> list[tw.OAKRegressor]:
        options = {"likelihood": likelihood, "inference": engine, **OPTIONS}
        return [tw.OAKRegressor(random_state=seed, **options).fit(table, y) for seed in range(3)]

    minibatches, whole = fits("stochastic"), fits("sparse")
    density, expected = (
        np.mean([model.log_predictive_density(table, y) for model in models])
        for models in (minibatches, whole)
    )
    assert density > expected - 0.05
    if likelihood == "poisson":
        for model in minibatches:
            assert np.sqrt(np.mean((np.log(model.predict(table)) - np.log(rate)) ** 2)) < 0.3


def test_bad_counts(tmp_path: Path) -> None:
    columns, _ = features()
    counts, hours = np.ones(ROWS), np.ones(ROWS)
    counts[7], hours[9] = -2.0, 0.0

    def fit(**options: Any) -> None:
        table = pa.table({**columns, "hours": hours, "calls": counts, "few": np.abs(counts)})
        model = tw.OAKRegressor(likelihood="poisson", **OPTIONS)
        model.fit_dataset(file_of(tmp_path, table), **options)

    with pytest.raises(TargetError, match=r"the target is -2 in some row, and counts are not negative"):
        fit(target="calls")
    with pytest.raises(OptionError, match="exposure 'hours' must be a number above zero in every row"):
        fit(target="few", exposure="hours")
    with pytest.raises(OptionError, match=r"exposure is 'hour'.* 'hours'"):
        fit(target="few", exposure="hour")
    with pytest.raises(OptionError, match="exposure is given and the likelihood is 'normal'"):
        tw.OAKRegressor().fit_dataset(tmp_path / "t.parquet", target="few", exposure="hours")


def test_outliers(tmp_path: Path) -> None:
    columns, f = features()
    rng = np.random.default_rng(5)
    y = f + 0.1 * rng.standard_normal(ROWS)
    y[rng.random(ROWS) < 0.05] = 300.0
    path = file_of(tmp_path, pa.table({**columns, "y": y}))
    model = tw.OAKRegressor(likelihood="student", inference="sparse", **OPTIONS).fit_dataset(path, target="y")
    assert np.sqrt(np.mean((model.predict(pa.table(columns)) - f) ** 2)) < 0.1


# Checkpoints.


def test_checkpoints_need_the_engine_that_writes_them(tmp_path: Path) -> None:
    path = file_of(tmp_path, labelled()[0])
    folder = tmp_path / "c"
    with pytest.raises(OptionError, match="inference is 'sparse', which writes none"):
        tw.OAKClassifier(inference="sparse").fit_dataset(path, target="late", checkpoint=folder)
    with pytest.raises(OptionError, match="no such folder of checkpoints"):
        tw.OAKClassifier().fit_dataset(path, target="late", resume=tmp_path / "nowhere")
    with pytest.raises(OptionError, match="different folders"):
        tw.OAKClassifier().fit_dataset(path, target="late", checkpoint=folder, resume=tmp_path)
    with pytest.raises(OptionError, match=r"resume is True; give the path"):
        tw.OAKClassifier().fit_dataset(path, target="late", resume=True)
    odd = tw.OAKClassifier(random_state=np.random.RandomState(0))
    with pytest.raises(OptionError, match="random_state is RandomState and checkpoints are asked for"):
        odd.fit_dataset(path, target="late", checkpoint=folder)
    with pytest.raises(TableError, match="cannot be read"):
        tw.OAKClassifier().fit_dataset(tmp_path / "no.parquet", target="late", checkpoint=folder)
    assert not folder.exists()


def test_checkpoints_of_other_labels_are_not_gone_on_from(
    tmp_path: Path, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stochastic, "LEAST_STEPS", 5)
    columns, f = features(1200)
    kinds = [np.array(["low", "mid", "top", "tip"])[np.digitize(f, at)] for at in ([0.0], [-0.7, 0.9])]
    kinds.append(np.array(["low", "mid", "top", "tip"])[np.digitize(f, [-0.7, 0.5, 1.0])])
    path = file_of(tmp_path, pa.table({**columns, **{f"of {n}": kind for n, kind in enumerate(kinds, 2)}}))

    def fit(labels: int, **where: Any) -> Any:
        return tw.OAKClassifier(**OPTIONS).fit_dataset(path, target=f"of {labels}", **where)

    for labels in (2, 4):
        fit(labels, checkpoint=tmp_path / f"{labels}")
    for folder, labels in ((2, 3), (4, 2)):
        with pytest.raises(CheckpointError, match="of a fit to other labels"):
            fit(labels, resume=tmp_path / f"{folder}")
    with pytest.raises(CheckpointError, match="of a fit to other labels"):
        tw.OAKRegressor(**OPTIONS).fit_dataset(path, target="x", resume=tmp_path / "4")
    for label in range(3):  # as if they had been removed: one of the fourth label is no less of another fit
        for one in (tmp_path / "4" / f"label-{label}").iterdir():
            one.unlink()
    with pytest.raises(CheckpointError, match=r"label-3.* of a fit to other labels"):
        fit(3, resume=tmp_path / "4")


KILLED = """
import sys
import termwise as tw
from termwise.inference import checkpoint, coarse, stochastic
coarse.FIRST_ROWS = stochastic.MOST_SAMPLED = 500
stochastic.BATCH_ROWS, stochastic.LEAST_STEPS = 512, 1500
checkpoint.EVERY = 0.05
path, folder = sys.argv[1:]
tw.OAKClassifier(max_order=1, n_restarts=1, n_inducing=30).fit_dataset(path, target="late", checkpoint=folder)
"""


def test_a_fit_that_is_killed_goes_on_to_the_same_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick: None
) -> None:
    monkeypatch.setattr(stochastic, "LEAST_STEPS", 1500)
    table, _ = labelled()
    path, folder = file_of(tmp_path, table), tmp_path / "checkpoints"
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(path), str(folder)])
    _wait_for(lambda: len(list(folder.glob("*.npz"))) == 2 and not (folder / "000000000.npz").exists())
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = sorted(folder.glob("*.npz"))
    options = {**OPTIONS, "random_state": None}
    other = tw.OAKClassifier(**{**options, "max_order": 2})
    with pytest.raises(CheckpointError, match="other data or with other options"):
        other.fit_dataset(path, target="late", resume=folder)
    before[-1].write_bytes(before[-1].read_bytes()[:1000])
    with pytest.warns(TermwiseWarning, match=f"{before[-1].name} is cut short.*{before[0].name}"):
        resumed = tw.OAKClassifier(**options).fit_dataset(path, target="late", resume=folder)
    whole = tw.OAKClassifier(**options, inference="stochastic").fit_dataset(path, target="late")
    assert resumed.objective_ == whole.objective_
    np.testing.assert_array_equal(resumed.predict_proba(table), whole.predict_proba(table))


def _wait_for(condition: Any, most: float = 120.0) -> None:
    end = time.monotonic() + most
    while not condition():
        assert time.monotonic() < end, "the fit to be killed has not come so far"
        time.sleep(0.01)
