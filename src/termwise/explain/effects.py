"""The effect of one term on a grid, in the units of the table and of the target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from termwise.encode.encoder import Encoder, LevelEncoder
from termwise.explain.terms import Term
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior

GRID_1D, GRID_2D = 101, 33
BAND = 2.0  # standard deviations on either side of a mean


@dataclass(frozen=True, eq=False)
class Effect:
    """Mean and standard deviation of a term on a grid.

    `axes` has the grid values of each feature, in the order of the term; `mean` and `std` have one axis for
    each feature. `rows` are the training values of each feature. On a scale where a term is not normal there
    is no `std`, and `band` has the ends of what are two standard deviations elsewhere. `quantity` and
    `target` say what the numbers are: the "effect on" the "target".
    """

    term: Term
    axes: tuple[np.ndarray, ...]
    mean: Array
    std: Array | None
    rows: tuple[np.ndarray, ...]
    band: tuple[Array, Array] | None = None
    quantity: str = "effect on"
    target: str = "target"

    @property
    def low(self) -> Array:
        """The lower end of the band at each point."""
        return self._end(0)

    @property
    def high(self) -> Array:
        """The upper end of the band at each point."""
        return self._end(1)

    def _end(self, which: int) -> Array:
        if self.band is not None:
            return self.band[which]
        assert self.std is not None, "an effect has a standard deviation or a band"
        end: Array = self.mean + (-BAND, BAND)[which] * self.std
        return end


def effect(posterior: Posterior, encoder: Encoder, term: Term, scale: float) -> Effect:
    """Evaluate a term on a grid over the training range (all levels of a column of levels)."""
    axes_encoded, axes = [], []
    for d in term.columns:
        z = _grid(encoder, posterior.rows[:, d], d, GRID_1D if term.order == 1 else GRID_2D)
        axes_encoded.append(z)
        axes.append(encoder.columns[d].inverse(z))
    mesh = np.meshgrid(*axes_encoded, indexing="ij")
    X = np.full((mesh[0].size, len(encoder.columns)), np.nan)
    for d, values in zip(term.columns, mesh, strict=True):
        X[:, d] = values.ravel()
    mean = scale * posterior.term_mean(term.columns, X).reshape(mesh[0].shape)
    std = scale * np.sqrt(posterior.term_variance(term.columns, X)).reshape(mesh[0].shape)
    rows = tuple(encoder.columns[d].inverse(posterior.rows[:, d]) for d in term.columns)
    return Effect(term, tuple(axes), mean, std, rows)


def _grid(encoder: Encoder, rows: Array, d: int, size: int) -> Array:
    """An even grid in the units of the table, encoded; or every level."""
    column = encoder.columns[d]
    if isinstance(column, LevelEncoder):
        return np.arange(float(len(column.levels)))
    known = rows[~np.isnan(rows)]
    low, high = column.inverse(np.array([np.min(known), np.max(known)]))
    return column.forward(np.linspace(low, high, size))
