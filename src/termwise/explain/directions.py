"""What directions are made of, and how a whole prediction depends on each feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from termwise.encode.dense import DenseEncoder
from termwise.explain.plain import frame_of
from termwise.kernels.terms import Subset
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior

STEP = 1e-4  # of a central difference, in lengthscales
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Loadings:
    """How far each feature moves a row along each direction, in lengthscales.

    A number by one standard deviation; a level, or a missing cell, by one unit of the centred and scaled
    number that stands for it.

    `values` is (coordinates, features), the coordinates ranked by the share of their term.
    """

    coordinates: tuple[str, ...]
    features: tuple[str, ...]
    values: Array

    def __repr__(self) -> str:
        """How much there is."""
        return (
            f"<Loadings of {len(self.coordinates)} coordinates by {len(self.features)} features; see frame()>"
        )

    def frame(self) -> Any:
        """A pandas data frame with a row for each coordinate and a column for each feature."""
        names = [
            f"{name} ({i})" if self.features.index(name) < i else name for i, name in enumerate(self.features)
        ]
        columns = dict(zip(names, self.values.T, strict=True))
        return frame_of(columns, list(self.coordinates))


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """How much the prediction varies as one column does and the others stay, by slopes, as shares.

    Of a number that is the mean squared slope per standard deviation; of a column of levels the variance over
    its levels, as often as each was seen. A feature that moves the prediction up and down again within a
    short way has a larger one than its share of the variance.
    """

    features: tuple[str, ...]
    shares: Array

    def __repr__(self) -> str:
        """Those that lead."""
        order = np.argsort(-self.shares, kind="stable")[:3]
        leading = ", ".join(f"{self.features[i]} {self.shares[i]:.2f}" for i in order)
        return f"<Sensitivity to {len(self.features)} features: {leading} ..; see frame()>"

    def frame(self) -> Any:
        """A pandas data frame, the feature that matters most first."""
        order = np.argsort(-self.shares, kind="stable")
        return frame_of({"feature": [self.features[i] for i in order], "sensitivity": self.shares[order]})


def coordinate_slopes(posterior: Posterior, terms: Sequence[Subset], rows: Array) -> Array:
    """d E f(x) / d u_c for all coordinates of rows, (n, C): terms share none, so that all move at once."""
    slopes = np.zeros(rows.shape)
    for place in range(max(map(len, terms), default=0)):
        moved = np.array([term[place] for term in terms if len(term) > place], dtype=np.intp)
        step = np.zeros(rows.shape[1])
        step[moved] = STEP
        own = [term for term in terms if len(term) > place]
        up, down = (posterior.term_means(own, rows + sign * step) for sign in (1.0, -1.0))
        slopes[:, moved] = (up - down) / (2.0 * STEP)
    return slopes


def sensitivity(slopes: Array, dense: DenseEncoder) -> Sensitivity:
    """By the slopes of the prediction for the numbers of rows, (n, features)."""
    totals = np.mean(dense.variance_along(slopes), axis=0)
    shares: Array = totals / max(float(np.sum(totals)), TINY)
    return Sensitivity(dense.encoder.names, shares)
