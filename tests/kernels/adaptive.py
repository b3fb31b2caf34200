"""A slow and obvious oracle for expectations: adaptive quadrature between breakpoints."""

import inspect
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from scipy.integrate import quad, quad_vec

from termwise.kernels import matern, squared_exponential  # noqa: F401  (so that reflection finds them)
from termwise.kernels.column import ColumnKernel, Stationary
from termwise.measures import MEASURES, Continuous, Discrete, Empirical, Measure, Mixture, Normal, Uniform

EXAMPLES: dict[type[Measure], Measure] = {
    Normal: Normal(0.3, 1.2),
    Mixture: Mixture((0.3, 0.5, 0.2), (-2.0, 1.0, 1.5), (0.5, 1.0, 0.1)),
    Uniform: Uniform(-1.0, 2.5),
    Empirical: Empirical((-1.5, -0.2, 0.4, 2.0), (0.1, 0.4, 0.3, 0.2)),
    Discrete: Discrete((0.2, 0.5, 0.0, 0.3)),
}


def _leaves(parent: type[ColumnKernel]) -> Iterator[type[Stationary]]:
    for child in parent.__subclasses__():
        if child.__subclasses__():
            yield from _leaves(child)
        elif issubclass(child, Stationary) and not inspect.isabstract(child):
            yield child


OURS = {kernel for kernel in _leaves(ColumnKernel) if kernel.__module__.startswith("termwise.")}
KERNELS = sorted(OURS, key=lambda kernel: kernel.name)
MEASURE_EXAMPLES = [EXAMPLES[measure] for measure in MEASURES.values()]  # a new measure needs an example
CONTINUOUS = [measure for measure in MEASURE_EXAMPLES if isinstance(measure, Continuous)]


def breakpoints(measure: Continuous, breaks: list[float], reach: float) -> np.ndarray:
    """Ends and landmarks of the density, and the breaks with steps of `reach` around them."""
    if isinstance(measure, Uniform):
        marks = np.array([measure.low, measure.high])
    else:
        _, means, sds = measure.components()
        marks = np.array([-38, -12, -8, -5, -3, -2, -1, 0, 1, 2, 3, 5, 8, 12, 38])
        marks = (means + sds * marks[:, None]).ravel()
    steps = np.array([-300, -100, -30, -10, -3, -1, 0, 1, 3, 10, 30, 100, 300]) * reach
    around = np.add.outer(np.asarray(breaks, dtype=float), steps).ravel()
    return np.unique(np.clip(np.concatenate([marks, around]), marks.min(), marks.max()))


def expectation(
    measure: Continuous, function: Callable[[float], np.ndarray], *, breaks: list[float], reach: float
) -> np.ndarray:
    """E f(X) for an array-valued f, to about 1e-13 of its largest entry."""
    marks = breakpoints(measure, breaks, reach)
    value, error = quad_vec(
        lambda s: function(s) * measure.density(np.array(s)),
        marks[0],
        marks[-1],
        points=marks[1:-1],
        epsabs=1e-14,
        epsrel=1e-13,
        norm="max",
    )
    assert error < 1e-10
    return value


def relative_expectation(
    measure: Continuous, function: Callable[[float], float], *, breaks: list[float], reach: float
) -> float:
    """E f(X) for a positive f, to a relative 1e-12 however small it is."""
    marks = breakpoints(measure, breaks, reach)

    def weighted(s: float) -> float:
        return function(s) * float(measure.density(np.array(s)))

    return sum(quad(weighted, low, high, epsabs=0, epsrel=1e-12)[0] for low, high in pairwise(marks))
