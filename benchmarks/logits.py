"""Five million rows with a known additive logit, from Parquet; and the same fit killed and resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import child
from benchmarks.figures import Figure
from benchmarks.timing import seconds

ROWS, COLUMNS, ROW_GROUP = 5_000_000, 8, 250_000
QUICK_ROWS = 20_000
MOST_APART, MOST_LOST = 0.03, 1e-3  # of a share; nats a row
TESTED = 50_000
# The variances of the terms below: sine, line and square of one column, and a product of two.
VARIANCES = {"x0": 0.5 * (1.0 - np.exp(-8.0)), "x1": 0.49, "x2": 0.245, "x3:x4": 0.64}


def latent(X: np.ndarray) -> np.ndarray:
    """The logarithm of the odds: three functions of one column and a product, orthogonal to each other."""
    single = np.sin(2.0 * X[:, 0]) + 0.7 * X[:, 1] + 0.35 * (X[:, 2] ** 2 - 1.0)
    value: np.ndarray = single + 0.8 * X[:, 3] * X[:, 4] - 0.5
    return value


def run(quick: bool = False) -> Iterator[Figure]:
    """The fit, its shares, and how it ends after a kill; quick with few rows, without the limits."""
    rows = QUICK_ROWS if quick else ROWS
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "logits.parquet")
        write(path, rows)
        whole = child.call("benchmarks.logits:measure", path, None, None)
        yield Figure("rows", rows)
        yield Figure("seconds of the fit", whole["seconds"], "s")
        yield Figure("  peak memory", whole["peak"], "MB")
        yield Figure("  error of the log odds, in their sd", whole["error"])
        total = sum(VARIANCES.values())
        true = 1.0 - VARIANCES["x3:x4"] / total
        yield Figure(f"  share of order one (true {true:.4f})", whole["first_order"])
        apart = abs(whole["first_order"] - true)
        yield Figure("  distance of the shares by order", apart, at_most=None if quick else MOST_APART)
        for name, variance in VARIANCES.items():
            yield Figure(f"  share of {name} (true {variance / total:.4f})", whole["shares"].get(name, 0.0))
        checkpoints = os.path.join(folder, "checkpoints")
        yield Figure("killed after", killed(path, checkpoints, whole["seconds"]), "s")
        resumed = child.call("benchmarks.logits:measure", path, None, checkpoints)
        yield Figure("  seconds of the resumed fit", resumed["seconds"], "s")
        lost = abs(resumed["objective"] - whole["objective"]) / rows
        yield Figure("  objective beside the undisturbed fit", lost, "nat", at_most=MOST_LOST)


def write(path: str, rows: int) -> None:
    """The table, group by group: it need not fit in memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, writer = np.random.default_rng(0), None
    for start in range(0, rows, ROW_GROUP):
        X = rng.standard_normal((min(ROW_GROUP, rows - start), COLUMNS))
        yes = rng.random(len(X)) < 1.0 / (1.0 + np.exp(-latent(X)))
        table = pa.table({**{f"x{d}": X[:, d] for d in range(COLUMNS)}, "yes": yes})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None, "there are rows"
    writer.close()


def measure(path: str, checkpoint: str | None, resume: str | None) -> dict[str, object]:
    """One fit."""
    from termwise import OAKClassifier

    model = OAKClassifier(max_order=2, inference="stochastic")
    time = seconds(lambda: model.fit_dataset(path, target="yes", checkpoint=checkpoint, resume=resume))
    peak = child.peak_megabytes()
    X = np.random.default_rng(1).standard_normal((TESTED, COLUMNS))
    f = model.constant_ + model.predict_terms({f"x{d}": X[:, d] for d in range(COLUMNS)}).sum(axis=1)
    return {
        "seconds": time,
        "peak": peak,
        "objective": model.objective_,
        "error": float(np.sqrt(np.mean((f - latent(X)) ** 2)) / np.std(latent(X))),
        "first_order": float(model.order_shares_[0]),
        "shares": {str(row["term"]): float(row["share"]) for row in model.sobol_},
    }


def killed(path: str, checkpoints: str, whole: float) -> float:
    """Begin a fit, kill it when it is about half way, and say after how many seconds."""
    code = f"from benchmarks.logits import measure; measure({path!r}, {checkpoints!r}, None)"
    begin = time.monotonic()
    process = subprocess.Popen([sys.executable, "-c", code], cwd=child.REPOSITORY)
    while time.monotonic() - begin < 0.5 * whole or not _some_steps(Path(checkpoints)):
        time.sleep(0.1)
        if process.poll() is not None:
            raise RuntimeError("the fit has ended before it could be killed")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return time.monotonic() - begin


def _some_steps(folder: Path) -> bool:
    return any(int(path.stem) > 0 for path in folder.glob("*.npz"))
