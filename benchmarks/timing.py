"""Seconds of short steps, and LAPACK's as the yardstick of the machine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack


def seconds(step: Callable[[], object]) -> float:
    """The seconds of one call."""
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


@dataclass(frozen=True)
class Timing:
    """The least and the median seconds; far apart when something else runs on the machine."""

    least: float
    median: float


def take_turns(steps: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, Timing]:
    """The seconds of each step, which says itself how long it took.

    The steps take turns, so that whatever else runs on the machine meets all of them alike; what disturbs
    only adds time, so the least is the closest to the truth. A first round, untimed, warms up.
    """
    rounds = [{name: step() for name, step in steps.items()} for _ in range(repeats + 1)][1:]
    found = {name: [one[name] for one in rounds] for name in steps}
    return {name: Timing(min(times), statistics.median(times)) for name, times in found.items()}


def lapack_step(n: int) -> Callable[[], float]:
    """A function that times potrf + potri, the least work of one exact value and gradient, at n rows.

    With the lower triangle of a matrix in Fortran order, the faster of the two in OpenBLAS. The copy that
    LAPACK overwrites is not timed.
    """
    rng = np.random.default_rng(0)
    half = rng.standard_normal((n, n))
    A = np.asfortranarray(half @ half.T + n * np.eye(n))

    def step() -> float:
        copy = A.copy(order="F")
        return seconds(lambda: _invert(copy))

    return step


def _invert(A: np.ndarray) -> None:
    factor, info = lapack.dpotrf(A, lower=1, clean=0, overwrite_a=1)
    assert info == 0, "the matrix of the yardstick is positive definite"
    lapack.dpotri(factor, lower=1, overwrite_c=1)


def lapack_seconds(n: int, repeats: int = 9) -> float:
    """The least seconds of potrf + potri at n rows."""
    return take_turns({"LAPACK": lapack_step(n)}, repeats)["LAPACK"].least
