"""Which directions a model along directions has, and how many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from termwise.encode.rows import ArrayChunk
from termwise.inference.alike import ALIKE, APART
from termwise.inference.climb import Climb, Effort, ascend, first_points, free_parameters
from termwise.inference.exact import ExactObjective
from termwise.inference.projected import ProjectedModel
from termwise.kernels.directions import diverse_directions, random_directions
from termwise.kernels.fused.run import cores
from termwise.measures.base import Array

COUNTS = (5, 10, 20, 40, 80)
TRIED_ROWS = 500  # of a table, on which numbers of directions and priors are tried
FOLDS, FEWEST = 3, 12  # of these rows, and the fewest rows on which a prior is tried
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
        _, climbed = _climbed(model, rows, stream)
        found[count] = climbed.objective - model.log_prior(climbed.theta)[0]
    return max(found, key=lambda count: found[count])


def best_prior(model: ProjectedModel, rows: ArrayChunk, rng: np.random.Generator) -> ProjectedModel:
    """The model with lengthscales held together, or free if that predicts rows better that were left out.

    The evidence cannot tell: of as many lengthscales as rows it is highest where they are learned by heart.
    """
    if not model.ard or model.alike >= ALIKE or rows.y.size < FEWEST:
        return model
    some = rows.rows(rng.permutation(rows.y.size)[:TRIED_ROWS])
    fold = np.arange(some.y.size) % FOLDS
    errors = []
    for one in (model, replace(model, alike=APART)):
        streams = rng.spawn(FOLDS)
        errors.append(sum(_left_out(one, some, fold == k, streams[k]) for k in range(FOLDS)))
    return model if errors[0] <= errors[1] else replace(model, alike=APART)


def _left_out(
    model: ProjectedModel, rows: ArrayChunk, left: NDArray[np.bool_], rng: np.random.Generator
) -> float:
    """The squared errors of rows that were left out."""
    objective, climbed = _climbed(model, rows.rows(np.flatnonzero(~left)), rng)
    X = model.encoded(climbed.theta, rows.X[left])
    return float(np.sum((rows.y[left] - objective.posterior(climbed.theta).mean(X)) ** 2))


def _climbed(
    model: ProjectedModel, rows: ArrayChunk, rng: np.random.Generator
) -> tuple[ExactObjective, Climb]:
    start = first_points(model, 1, rng)[0]
    objective = ExactObjective(model, rows.X, rows.y, cores())
    return objective, ascend(objective, start, free_parameters(model), EFFORT, _unwatched)


def _unwatched(evaluations: int, value: float) -> None:
    """Nobody listens."""
