"""Which directions a model along directions has, and how many."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from termwise.encode.rows import ArrayChunk
from termwise.inference.climb import Effort, ascend, first_points, free_parameters
from termwise.inference.exact import ExactObjective
from termwise.inference.projected import ProjectedModel
from termwise.kernels.directions import diverse_directions, random_directions
from termwise.kernels.fused.run import cores
from termwise.measures.base import Array

COUNTS = (5, 10, 20, 40, 80)
TRIED_ROWS = 500  # of a table, on which numbers of directions are tried
EFFORT = Effort(tolerance=1e-5, max_steps=100)


def directed(
    how: str, degrees: Sequence[int], features: int, rng: np.random.Generator
) -> tuple[Array, tuple[int, ...]]:
    """Directions for functions of these degrees, and how many coordinates each has."""
    if how == "none":
        return np.eye(features), (features,)
    if how == "diverse":
        return diverse_directions(len(degrees), features, rng), tuple(degrees)
    drawn = [random_directions(1, features, rng, degree=degree) for degree in degrees]
    return np.concatenate(drawn), tuple(degrees)


def best_count(
    make: Callable[[int, np.random.Generator], ProjectedModel], rows: ArrayChunk, rng: np.random.Generator
) -> int:
    """The number of directions with the highest evidence on these rows, the smaller if two are alike."""
    found: dict[int, float] = {}
    for count, stream in zip(COUNTS, rng.spawn(len(COUNTS)), strict=True):
        model = make(count, stream)
        start = first_points(model, 1, stream)[0]
        objective = ExactObjective(model, rows.X, rows.y, cores())
        climb = ascend(objective, start, free_parameters(model), EFFORT, _unwatched)
        found[count] = climb.objective - model.log_prior(climb.theta)[0]
    return max(found, key=lambda count: found[count])


def _unwatched(evaluations: int, value: float) -> None:
    """Nobody listens."""
