"""Grid interpolation along 20 directions of 100 features, beside GPyTorch's. Projected section 5.4."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.figures import Figure
from benchmarks.peers_gpytorch import Problem, ski_step
from benchmarks.timing import Timing, seconds, take_turns
from termwise.inference.exact import ExactObjective
from termwise.inference.projected import ProjectedModel
from termwise.inference.ski import Grid, SkiObjective
from termwise.kernels.directions import random_directions
from termwise.kernels.fused.run import cores

FEATURES, DIRECTIONS, NODES = 100, 20, 512
COMPARED, SMALL, LARGE = 2000, 20_000, (100_000, 200_000, 1_000_000)
SCALE, NOISE, CONSTANT = 1.0, 0.3, 1e-8
LENGTHSCALE = 1.0  # in roots of the number of features
RANGE = 10.0  # lengthscales that the nodes are spread over


def table(n: int) -> tuple[np.ndarray, np.ndarray]:
    """x normal, y = sum sin x_i + 0.01 e, standardised."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, FEATURES))
    y = np.sin(X).sum(axis=1) + 0.01 * rng.standard_normal(n)
    return X, (y - y.mean()) / y.std()


def model() -> ProjectedModel:
    """Random directions, with a lengthscale for each feature."""
    drawn = random_directions(DIRECTIONS, FEATURES, np.random.default_rng(1))
    return ProjectedModel(drawn, (1,) * DIRECTIONS, "se")


def parameters(of: ProjectedModel) -> np.ndarray:
    """Where every step is made: somewhat different lengthscales."""
    rng = np.random.default_rng(2)
    start = of.start(np.full(FEATURES, LENGTHSCALE), NOISE)
    start[:FEATURES] += 0.2 * rng.standard_normal(FEATURES)
    start[-3:-1] = np.log([CONSTANT, SCALE])
    return start


def ours(n: int) -> tuple[SkiObjective, np.ndarray]:
    """Our objective with as many nodes, and the parameters."""
    X, y = table(n)
    of = model()
    return SkiObjective(of, X, y, "se", Grid(RANGE / NODES)), parameters(of)


def theirs(n: int) -> Problem:
    """The same for GPyTorch."""
    X, y = table(n)
    of = model()
    theta = parameters(of)
    return Problem(X, y, of.directions, np.exp(theta[:FEATURES]), CONSTANT, SCALE, NOISE, NODES)


def run(quick: bool) -> Iterator[Figure]:
    """Errors against exact inference, then seconds of a step as the rows grow."""
    yield from _errors(500 if quick else COMPARED)
    yield from _beside(2000 if quick else SMALL)
    yield from _growth((4000, 8000) if quick else LARGE)


def _errors(n: int) -> Iterator[Figure]:
    objective, theta = ours(n)
    exact = ExactObjective(objective.model, objective.X, objective.y, cores())
    value, slope = exact.value_and_gradient(theta)
    found, gradient = objective.value_and_gradient(theta)
    value, found = (one - objective.model.log_prior(theta)[0] for one in (value, found))
    yield Figure(f"error of ours, nats a row, {n} rows", abs(found - value) / n, at_most=1e-3)
    off = float(np.max(np.abs(gradient - slope)) / np.max(np.abs(slope)))
    yield Figure("error of our gradient, of the largest slope", off, at_most=0.01)
    step = ski_step(theirs(n))
    peers = [abs(step()[0] - value) / n for _ in range(5)]
    yield Figure(f"error of GPyTorch, nats a row, {n} rows", float(np.mean(peers)))


def _beside(n: int) -> Iterator[Figure]:
    objective, theta = ours(n)
    step = ski_step(theirs(n))
    times = take_turns(
        {
            "ours": lambda: seconds(lambda: objective.value_and_gradient(theta)),
            "GPyTorch": lambda: step()[1],
        },
        3,
    )
    for name, timing in times.items():
        yield from _timed(f"a step of {n} rows, {name}", timing)
    ratio = times["GPyTorch"].least / times["ours"].least
    yield Figure("GPyTorch over ours", ratio, "x", at_least=3.0)


def _timed(name: str, timing: Timing) -> Iterator[Figure]:
    yield Figure(f"{name} (least)", timing.least, "s")


def _growth(sizes: tuple[int, ...]) -> Iterator[Figure]:
    least: dict[int, float] = {}
    for n in sizes:
        objective, theta = ours(n)
        objective.value_and_gradient(theta)
        least[n] = min(seconds(lambda: objective.value_and_gradient(theta)) for _ in range(2))  # noqa: B023
        yield Figure(f"a step of {n} rows", least[n], "s")
    small, double = sizes[:2]
    yield Figure(f"{double} rows over {small}", least[double] / least[small], "x", at_most=2.3)
