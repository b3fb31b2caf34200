"""What a row with missing cells might have been.

Orthogonal terms of a missing cell have mean zero over what it might have been, so that they are left out of
the mean of a prediction. By the law of total variance, its variance is the mean over such values x of
var f(x) + (mean f(x) - mean)^2: how large the lost terms turned out to be, and how little is known of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from termwise.kernels.additive import AdditiveKernel
from termwise.measures.base import Array, Measure
from termwise.measures.standing import standing_for

VALUES = 31  # that a missing cell might have had


@lru_cache(maxsize=1024)
def possible_values(measure: Measure, column: int) -> Array:
    """What a cell of a column might have been, in an order of its own: several cells then vary apart."""
    found = np.random.default_rng(column).permutation(standing_for(measure, VALUES))
    found.setflags(write=False)
    return found


def possible_rows(kernel: AdditiveKernel, X: Array) -> Iterator[Array]:
    """The rows with their missing cells filled in, once for each of the values."""
    gone = np.isnan(X)
    values = np.zeros((VALUES, X.shape[1]))
    for d in np.flatnonzero(np.any(gone, axis=0)):
        measure = kernel.components[d].measure
        assert measure is not None, "a column without a measure has no values that it might have had"
        values[:, d] = possible_values(measure, int(d))
    for value in values:
        yield np.where(gone, value, X)
