"""All that is compiled when the library is first used, in a process of its own."""

from __future__ import annotations

import time

KERNELS = ("se", "matern12", "matern32", "matern52")


def use_all() -> float:
    """Seconds to import, and to fit, predict and explain a tiny table along every path of the kernels."""
    start = time.perf_counter()
    import numpy as np

    from termwise import AdditiveGPRegressor, OAKRegressor

    rng = np.random.default_rng(0)
    table = {
        "a": rng.standard_normal(30),
        "b": np.exp(rng.standard_normal(30)),
        "c": rng.choice(["x", "y", "z"], 30),
    }
    table["a"][3] = np.nan
    y = np.nan_to_num(table["a"]) + table["b"] + rng.standard_normal(30)
    for kernel in KERNELS:
        for flow in ("learned", "fixed"):
            model = OAKRegressor(kernel=kernel, flow=flow, max_order=2, n_restarts=1).fit(table, y)
            model.predict(table, return_std=True)
            model.predict_terms(table)
        AdditiveGPRegressor(kernel=kernel, max_order=2, n_restarts=1).fit(table, y).predict(table)
    return time.perf_counter() - start
