"""Where directions help and where they do not: four made-up functions, and faces. Projected section 5.3."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.ndimage import rotate

from benchmarks.data import read
from benchmarks.figures import Figure
from termwise import AdditiveGPRegressor, ProjectedGPRegressor

FEATURES, NOISE = 8, 0.1
ROWS, TEST_ROWS, REPEATS = 200, 500, 5
SIDE, CROPPED = 64, 44  # pixels of a face, and of the square that is left after any rotation
FACES, TEST_FACES = 400, 200
ALIKE = 0.15  # relative difference of errors that are called equal

Function = Callable[[np.ndarray], np.ndarray]
FUNCTIONS: dict[str, Function] = {
    "additive": lambda X: np.sum(np.sin(2.0 * X), axis=1),
    "smooth XOR": lambda X: 2.0 * np.tanh(3.0 * X[:, 0]) * np.tanh(3.0 * X[:, 1]),
    "rotation-invariant": lambda X: np.linalg.norm(X, axis=1),
    "half irrelevant": lambda X: np.sin(X[:, : FEATURES // 2].sum(axis=1)),
}
MODELS: dict[str, Callable[[int], Any]] = {
    "GAM": lambda seed: AdditiveGPRegressor(kind="gam", random_state=seed),
    "DPA": lambda seed: ProjectedGPRegressor(n_directions=FEATURES, ard=False, random_state=seed),
    "DPA-ARD": lambda seed: ProjectedGPRegressor(n_directions=FEATURES, random_state=seed),
}


def errors(name: str, rows: int, repeats: int) -> dict[str, float]:
    """The mean RMSE of each model on one function, in standard deviations of it."""
    found: dict[str, list[float]] = {model: [] for model in MODELS}
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        X, new = rng.standard_normal((rows, FEATURES)), rng.standard_normal((TEST_ROWS, FEATURES))
        y, truth = FUNCTIONS[name](X), FUNCTIONS[name](new)
        noisy = y + NOISE * np.std(y) * rng.standard_normal(rows)
        for model, make in MODELS.items():
            error = make(seed).fit(X, noisy).predict(new) - truth
            found[model].append(float(np.sqrt(np.mean(error**2)) / np.std(truth)))
    return {model: float(np.mean(values)) for model, values in found.items()}


def run(quick: bool) -> Iterator[Figure]:
    """The four functions with what the paper says of them, then the faces."""
    rows, repeats = (80, 1) if quick else (ROWS, REPEATS)
    found = {}
    for name in FUNCTIONS:
        found[name] = errors(name, rows, repeats)
        yield from (Figure(f"{name}: RMSE of {model}", value) for model, value in found[name].items())
    yield from _ordered(found)
    yield from _faces(quick)


def _ordered(found: dict[str, dict[str, float]]) -> Iterator[Figure]:
    additive, xor, round_, half = (found[name] for name in FUNCTIONS)
    others = min(additive["DPA"], additive["DPA-ARD"])
    yield Figure("additive: GAM over the better of the others", additive["GAM"] / others, "x", at_most=1.0)
    worse = max(xor["DPA"], xor["DPA-ARD"])
    yield Figure("smooth XOR: the worse of the others over GAM", worse / xor["GAM"], "x", at_most=1.0)
    spread = max(round_.values()) / min(round_.values())
    yield Figure("rotation-invariant: worst over best", spread, "x", at_most=1.0 + ALIKE)
    least = min(half["GAM"], half["DPA"])
    yield Figure("half irrelevant: DPA-ARD over the others", half["DPA-ARD"] / least, "x", at_most=1.0)


def faces(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Faces turned by an angle between -90 and 90 degrees, and the angles, in quarter turns."""
    whole = read("olivetti")
    pixels = np.stack(list(whole.X.values()), axis=1).astype(float).reshape(-1, SIDE, SIDE)
    angles = rng.uniform(-90.0, 90.0, count)
    edge = (SIDE - CROPPED) // 2
    turned = [
        rotate(pixels[which], angle, reshape=False, order=1, mode="nearest")[edge:-edge, edge:-edge].ravel()
        for which, angle in zip(rng.integers(0, len(pixels), count), angles, strict=True)
    ]
    return np.array(turned), angles / 90.0


def _faces(quick: bool) -> Iterator[Figure]:
    rng = np.random.default_rng(0)
    count = 100 if quick else FACES
    X, y = faces(rng, count)
    new, truth = faces(rng, TEST_FACES)
    models = {
        "RBF": ProjectedGPRegressor(directions="none", n_restarts=1),
        "GAM": AdditiveGPRegressor(kind="gam", n_restarts=1),
        **{
            f"DPA-ARD, {j} directions": ProjectedGPRegressor(n_directions=j, n_restarts=1)
            for j in ((20,) if quick else (20, 100, 300))
        },
    }
    found = {}
    for name, model in models.items():
        error = model.fit(X, y).predict(new) - truth
        found[name] = float(np.sqrt(np.mean(error**2)) / np.std(y))
        yield Figure(f"faces, {count} rows: RMSE of {name}", found[name])
    best = min(value for name, value in found.items() if name.startswith("DPA"))
    least = min(found["RBF"], found["GAM"])
    yield Figure("faces: DPA-ARD over the better of the others", best / least, "x", at_most=1.0)
