"""Which of two million flights arrive more than a quarter of an hour late, from Parquet, beside LightGBM."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score

from benchmarks import child
from benchmarks.data import Whole, read
from benchmarks.figures import Figure
from benchmarks.timing import seconds

LATE = 15.0  # minutes
MAX_ORDER = 2
HELD_OUT = 3  # one row of so many
QUICK_ROWS = 60_000
ROW_GROUP = 100_000
MOST_SECONDS, MORE_MEGABYTES = 15 * 60.0, 1000.0
BEHIND, MOST_ERROR, BINS = 0.015, 0.01, 20
SHOWN = 8


def run(quick: bool = False) -> Iterator[Figure]:
    """Our model in a process of its own; quick with few rows, without the limits."""
    whole = read("airline2008")
    order = np.random.default_rng(0).permutation(whole.y.size)[: QUICK_ROWS if quick else None]
    test, train = np.split(order, [order.size // HELD_OUT])
    train = np.sort(train)  # in the order of the year, as such files come
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, f"{name}.parquet") for name in ("train", "test")]
        for path, rows in zip(paths, (train, test), strict=True):
            write(path, whole, rows)
        found = child.call("benchmarks.late:measure", *paths, whole.categorical)
    data = train.size * (len(whole.X) + 1) * 8 / child.MEGABYTE
    yield Figure("training rows", train.size)
    yield Figure("OAK: seconds of the fit", found["seconds"], "s", at_most=None if quick else MOST_SECONDS)
    limit = None if quick else data + MORE_MEGABYTES
    yield Figure("  peak memory", found["peak"], "MB", at_most=limit)
    yield Figure("  log loss", found["loss"])
    error = found["calibration"]
    yield Figure(f"  calibration error, {BINS} bins", error, at_most=None if quick else MOST_ERROR)
    for name, share in found["shares"]:
        yield Figure(f"  share of {name}", share)
    yield from _beside_lightgbm(whole, train, test, found["auc"], limited=not quick)


def write(path: str, whole: Whole, rows: np.ndarray) -> None:
    """Some rows as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {name: x[rows] for name, x in whole.X.items()}
    table = pa.table({**columns, "late": whole.y[rows] > LATE})
    pq.write_table(table, path, row_group_size=ROW_GROUP)


def measure(train: str, test: str, categorical: list[str]) -> dict[str, object]:
    """Fit one file and score another."""
    from termwise import OAKClassifier

    model = OAKClassifier(max_order=MAX_ORDER, categorical=categorical, inference="stochastic")
    time = seconds(lambda: model.fit_dataset(train, target="late"))
    peak = child.peak_megabytes()
    y = _labels(test)
    p = np.concatenate([part[:, 1] for part in model.predict_dataset(test)])
    return {
        "seconds": time,
        "peak": peak,
        "auc": float(roc_auc_score(y, p)),
        "loss": float(log_loss(y, p)),
        "calibration": calibration_error(y, p),
        "shares": [(str(row["term"]), float(row["share"])) for row in model.sobol_[:SHOWN]],
    }


def calibration_error(y: np.ndarray, p: np.ndarray) -> float:
    """The mean distance between what is said and what comes true, over bins of as many rows each."""
    bins = np.array_split(np.argsort(p), BINS)
    return float(np.mean([abs(np.mean(y[rows]) - np.mean(p[rows])) for rows in bins]))


def _labels(path: str | Path) -> np.ndarray:
    import pyarrow.parquet as pq

    return np.asarray(pq.read_table(path, columns=["late"])["late"].to_numpy()).astype(int)


def _beside_lightgbm(
    whole: Whole, train: np.ndarray, test: np.ndarray, auc: float, *, limited: bool
) -> Iterator[Figure]:
    try:
        from lightgbm import LGBMClassifier
    except ImportError as error:
        print(f"  LightGBM is not compared: {error}; install it with: pip install termwise[bench]")
        return
    X, y = np.column_stack(list(whole.X.values())), whole.y > LATE
    levels = [list(whole.X).index(name) for name in whole.categorical]
    model = LGBMClassifier(verbose=-1)  # silent; all that it learns by is its default
    time = seconds(lambda: model.fit(X[train], y[train], categorical_feature=levels))
    p = np.asarray(model.booster_.predict(X[test]))
    theirs = float(roc_auc_score(y[test], p))
    yield Figure("LightGBM: seconds of the fit", time, "s")
    yield Figure("LightGBM: AUC", theirs)
    yield Figure(f"  calibration error, {BINS} bins", calibration_error(y[test], p))
    yield Figure("OAK: AUC", auc, at_least=theirs - BEHIND if limited else None)
