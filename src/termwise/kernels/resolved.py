"""Quadrature nodes fine enough for a kernel as well as for a measure."""

from __future__ import annotations

import numpy as np

from termwise.kernels.column import ColumnKernel, Stationary
from termwise.measures.base import Array, Continuous, Measure
from termwise.measures.quadrature import subdivided


def resolved_nodes(
    kernel: ColumnKernel, measure: Measure, *, breaks: Array | None = None
) -> tuple[Array, Array]:
    """Points and weights with E f(X) = sum_q w_q f(s_q) for f a product of k(s, x) at the points `breaks`.

    A discrete measure has its exact nodes. Otherwise panels are at most one lengthscale wide, and if the
    kernel has a kink one ends at each break: eight nodes on a panel with a kink inside give few digits.
    """
    if not isinstance(measure, Continuous) or not isinstance(kernel, Stationary):
        return measure.nodes()
    edges = measure.edges()
    if kernel.kinked and breaks is not None:
        inside = (breaks.real > edges[0].real) & (breaks.real < edges[-1].real)
        edges = np.union1d(edges, breaks[inside])
    return measure.rule(subdivided(edges, kernel.lengthscale.real))
