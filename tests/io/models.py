"""The models that tests save, and what it means that two are the same."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import termwise as tw

ROWS = 36


def a_table() -> dict[str, Any]:
    """Numbers, texts, truth values, two numbers that are levels, one value only, missing cells."""
    rng = np.random.default_rng(5)
    age = rng.normal(40.0, 9.0, ROWS)
    age[4] = np.nan
    city = rng.choice(["Oslo", "Bern", "São Tomé"], ROWS).astype(object)
    city[7] = None
    return {
        "age": age,
        "income": rng.lognormal(3.0, 1.0, ROWS),
        "city": city.tolist(),
        "owner": (rng.random(ROWS) > 0.5).tolist(),
        "doors": rng.choice([2.0, 4.0], ROWS),
        "same": np.ones(ROWS),
    }


def a_target(table: dict[str, Any]) -> np.ndarray:
    oslo = np.array([city == "Oslo" for city in table["city"]])
    return np.nan_to_num(table["age"]) / 9.0 + np.log(table["income"]) * (1.0 + oslo) + table["doors"]


TABLE = a_table()
TARGET = a_target(TABLE)
# Also what was not seen in fit: a level, a number far out, and cells that are missing.
NEW = {
    "owner": [True, False, None, True],
    "city": ["Bern", "Rome", None, "Oslo"],
    "age": [30.0, np.nan, 200.0, 51.0],
    "income": [20.0, 1e6, 3.0, np.nan],
    "doors": [2.0, 4.0, 2.0, 3.0],
    "same": [1.0, 2.0, np.nan, 1.0],
}

MODELS: dict[str, Callable[[], Any]] = {
    "oak": lambda: tw.OAKRegressor(max_order=2, n_restarts=1),
    "oak fixed": lambda: tw.OAKRegressor(max_order=2, flow="fixed", kernel="matern32", n_restarts=1),
    "oak mixture": lambda: tw.OAKRegressor(
        max_order=2, flow=None, measure="mixture", kernel="se", n_restarts=1
    ),
    "oak uniform": lambda: tw.OAKRegressor(max_order=1, flow=None, measure={"age": "uniform"}, n_restarts=1),
    "oak of the paper": lambda: tw.OAKRegressor(max_order=2, normalise=False, n_restarts=1),
    "additive": lambda: tw.AdditiveGPRegressor(max_order=2, n_restarts=1),
    "all subsets": lambda: tw.AdditiveGPRegressor(kind="all-subsets", n_restarts=1),
}


def same_bits(one: Any, other: Any) -> bool:
    return np.asarray(one).tobytes() == np.asarray(other).tobytes()


def assert_same(model: Any, loaded: Any) -> None:
    for table in (TABLE, NEW):
        for one, other in zip(
            model.predict(table, return_std=True), loaded.predict(table, return_std=True), strict=True
        ):
            assert same_bits(one, other)
        terms = model.predict_terms(table, return_std=True)
        for one, other in zip(terms, loaded.predict_terms(table, return_std=True), strict=True):
            assert same_bits(one, other)


def rewritten(model: Any, folder: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    """A saved model with something changed in its description."""
    tw.save(model, folder / "m")
    with zipfile.ZipFile(folder / "m") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(members["model.json"])
    change(document)
    members["model.json"] = json.dumps(document).encode()
    with zipfile.ZipFile(folder / "changed", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return folder / "changed"
