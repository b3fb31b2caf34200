"""A table with columns of several kinds, and Parquet files of it with row groups of any sizes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

NOISE_SD = 0.3
CITIES = np.array(["Bern", "Oslo", "Rom"], dtype=object)
FEATURES = ["age", "income", "city", "owner"]


def a_table(n: int, seed: int = 0) -> pa.Table:
    """Two numbers, levels and truth values, some cells missing; the target is a sum of functions of them."""
    rng = np.random.default_rng(seed)
    age, income = rng.normal(40.0, 9.0, n), rng.lognormal(3.0, 1.0, n)
    city, owner = rng.choice(3, n, p=[0.5, 0.3, 0.2]), rng.random(n) < 0.4
    f = np.sin((age - 40.0) / 5.0) + 0.5 * np.log(income) + (city == 1)
    y = f + NOISE_SD * rng.standard_normal(n)
    cells = {
        "age": pa.array(age, mask=rng.random(n) < 0.01),
        "income": pa.array(income),
        "city": pa.array(CITIES[city], pa.string(), mask=rng.random(n) < 0.01),
        "owner": pa.array(owner),
        "y": pa.array(y),
    }
    return pa.table(cells)


def in_memory(table: pa.Table) -> tuple[dict[str, Any], np.ndarray]:
    """The features and the target, as `fit` takes them."""
    return table.drop_columns(["y"]).to_pydict(), table.column("y").to_numpy()


def write(path: Path, table: pa.Table, sizes: Sequence[int] | None = None, **options: Any) -> Path:
    """One file with row groups of these sizes, empty where the size is zero."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ends = np.cumsum([0, *(sizes or [table.num_rows])])
    assert ends[-1] == table.num_rows
    with pq.ParquetWriter(path, table.schema, **options) as writer:
        for start, end in pairwise(ends.tolist()):
            writer.write_table(table.slice(start, end - start))
    return path


def with_column(table: pa.Table, name: str, values: Any) -> pa.Table:
    """The table with a column added or replaced."""
    column = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values)
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, column)
    return table.append_column(name, column)


def assert_same(one: Any, other: Any) -> None:
    """Two models to the last bit."""
    assert one.fit_result_.objective == other.fit_result_.objective
    assert one.encoder_ == other.encoder_
    assert one.noise_ == other.noise_
    assert np.array_equal(one.posterior_.alpha, other.posterior_.alpha)
    assert np.array_equal(one.posterior_.centres, other.posterior_.centres, equal_nan=True)
