"""Tables and options that tests of networks share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

QUICK: dict[str, Any] = {"max_epochs": 8, "n_seeds": 1, "hidden": (16, 8)}
KINDS: dict[str, dict[str, Any]] = {
    "iok": QUICK,
    "sets": {**QUICK, "sets": ["age:income", "city"], "penalty": 0.01, "updates": "alternating"},
    "ok": {**QUICK, "kernel": "ok", "n_restarts": 2},
    "ticket": {**QUICK, "kernel": "ok", "sparsity": 0.3, "max_epochs": 2},
    "network": {**QUICK, "kernel": "network"},
    "rbf": {**QUICK, "kernel": "rbf"},
    "matern": {**QUICK, "kernel": "matern", "n_inducing": 10},
    "sm": {**QUICK, "kernel": "sm"},
    "arccos": {"max_epochs": 8, "kernel": "arccos"},
    "trend": {**QUICK, "mean": "detector"},
}
every_kind = pytest.mark.parametrize("kind", KINDS)
TERMS = ("iok", "sets", "ok", "network")


def waves(n: int = 600) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(-2.0, 2.0, (n, 4)), columns=list("abcd"))
    y = np.sin(2.0 * frame.a) - frame.b**2 + frame.c * frame.d + 3.0
    return frame, (y + 0.05 * rng.standard_normal(n)).to_numpy()
