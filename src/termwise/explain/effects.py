"""The effect of one term on a grid, in the units of the table and of the target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from termwise.encode.encoder import LevelEncoder, RowEncoder
from termwise.encode.projected import Coordinate
from termwise.errors import TermError
from termwise.explain.plain import frame_of, plain
from termwise.explain.terms import Term, column_names
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior

GRID_1D, GRID_2D = 101, 33
SLICES = (0.1, 0.5, 0.9)  # quantiles of the third number at which a term of three features is shown
MOST_SLICES = 6  # of the third column, if it has levels
DRAWN, MOST_FEATURES = 2, 3  # of a term that is drawn unasked, and if it is named
BAND = 2.0  # standard deviations on either side of a mean


@dataclass(frozen=True, eq=False)
class Effect:
    """Mean and standard deviation of a term on a grid.

    `axes` has the grid values of each of `features`; `mean` and `std` have one axis for each of them. `rows`
    are the training values of each. They are in the order of the term, but of three features numbers come
    first, and the last axis has a few values only: slices. On a scale where a term is not normal there is no
    `std`, and `band` has the ends of what are two standard deviations elsewhere. `quantity` and `target` say
    what the numbers are: the "effect on" the "target".

    Of one feature, `missing_mean` and `missing_std` (or `missing_band`) say what the term is where the cell
    is missing: zero, with the variance that it has over the column. `n_missing` of the training rows
    lack a cell of the term.
    """

    term: Term
    axes: tuple[np.ndarray, ...]
    mean: Array
    std: Array | None
    rows: tuple[np.ndarray, ...]
    band: tuple[Array, Array] | None = None
    quantity: str = "effect on"
    target: str = "target"
    missing_mean: float | None = None
    missing_std: float | None = None
    missing_band: tuple[float, float] | None = None
    n_missing: int = 0
    arranged: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None

    @property
    def axis_labels(self) -> tuple[str, ...]:
        """What stands at each axis: the feature, or what a direction is made of."""
        return self.features if self.labels is None else self.labels

    @property
    def features(self) -> tuple[str, ...]:
        """The feature of each axis."""
        return self.term.features if self.arranged is None else self.arranged

    @property
    def low(self) -> Array:
        """The lower end of the band at each point."""
        return band_end(self.mean, self.std, self.band, 0)

    @property
    def high(self) -> Array:
        """The upper end of the band at each point."""
        return band_end(self.mean, self.std, self.band, 1)

    @property
    def missing_low(self) -> float | None:
        """The lower end of the band where the cell is missing; None of more than one feature."""
        return self._missing_end(0)

    @property
    def missing_high(self) -> float | None:
        """The upper end of the band where the cell is missing; None of more than one feature."""
        return self._missing_end(1)

    def _missing_end(self, which: int) -> float | None:
        if self.missing_band is not None:
            return self.missing_band[which]
        if self.missing_mean is None or self.missing_std is None:
            return None
        return self.missing_mean + (-BAND, BAND)[which] * self.missing_std

    def frame(self) -> Any:
        """A pandas data frame with a row for each point of the grid: the features, mean, low and high.

        A feature called "mean", "low" or "high" is in the column "mean (term)", and so on.
        """
        values = {"mean": self.mean.ravel(), "low": self.low.ravel(), "high": self.high.ravel()}
        mesh = np.meshgrid(*self.axes, indexing="ij")
        names = column_names(self.features, tuple(values))
        return frame_of({**{n: points.ravel() for n, points in zip(names, mesh, strict=True)}, **values})

    def to_dict(self) -> dict[str, Any]:
        """Plain data that JSON can write; NaN becomes None. The training rows are left out."""
        missing = {"mean": self.missing_mean, "low": self.missing_low, "high": self.missing_high}
        found: dict[str, Any] = plain(
            {
                "term": self.term.name,
                "features": self.features,
                "quantity": self.quantity,
                "target": self.target,
                "axes": self.axes,
                "mean": self.mean,
                "low": self.low,
                "high": self.high,
                "missing": None if self.missing_mean is None else missing,
                "n_missing": self.n_missing,
            }
        )
        return found


def band_end(mean: Array, std: Array | None, band: tuple[Array, Array] | None, which: int) -> Array:
    """The lower (0) or upper (1) end of the band of a result that has a standard deviation or a band."""
    if band is not None:
        return band[which]
    assert std is not None, "an effect has a standard deviation or a band"
    end: Array = mean + (-BAND, BAND)[which] * std
    return end


def effect(posterior: Posterior, encoder: RowEncoder, term: Term, scale: float) -> Effect:
    """Evaluate a term on a grid over the training range (all levels of a column of levels)."""
    if not 1 <= term.order <= MOST_FEATURES:
        raise TermError(
            f"the term {term.name!r} has {term.order} features, and effects are shown of one to "
            f"{MOST_FEATURES}; see what it adds to single rows with explain(X)"
        )
    columns = _arranged(encoder, term)
    grids = [
        _grid(encoder, posterior.rows[:, d], d, GRID_1D if term.order == 1 else GRID_2D) for d in columns
    ]
    if term.order == MOST_FEATURES:
        grids[-1] = _slices(encoder, posterior.rows[:, columns[-1]], columns[-1])
    mesh = np.meshgrid(*grids, indexing="ij")
    X = np.full((mesh[0].size, len(encoder.columns)), np.nan)
    for d, values in zip(columns, mesh, strict=True):
        X[:, d] = values.ravel()
    shape = mesh[0].shape
    directed = isinstance(encoder.columns[columns[0]], Coordinate)
    # a coordinate along a direction is never missing
    missing = _where_missing(posterior, term, scale) if term.order == 1 and not directed else None
    mean, variance = posterior.centred_term(term.columns, X) if directed else _as_it_is(posterior, term, X)
    return Effect(
        term=term,
        axes=tuple(encoder.columns[d].inverse(z) for d, z in zip(columns, grids, strict=True)),
        mean=scale * mean.reshape(shape),
        std=scale * np.sqrt(variance).reshape(shape),
        rows=tuple(encoder.columns[d].inverse(posterior.rows[:, d]) for d in columns),
        missing_mean=None if missing is None else 0.0,
        missing_std=missing,
        n_missing=int(np.sum(np.any(np.isnan(posterior.rows[:, columns]), axis=1))),
        arranged=tuple(encoder.names[d] for d in columns),
        labels=tuple(encoder.labels[d] for d in columns),
    )


def _as_it_is(posterior: Posterior, term: Term, X: Array) -> tuple[Array, Array]:
    return posterior.term_mean(term.columns, X), posterior.term_variance(term.columns, X)


def _arranged(encoder: RowEncoder, term: Term) -> list[int]:
    """The columns of a term; of three, numbers first, so that slices are at levels if there are any."""
    columns = list(term.columns)
    if term.order == MOST_FEATURES:
        columns.sort(key=lambda d: isinstance(encoder.columns[d], LevelEncoder))
    return columns


def _where_missing(posterior: Posterior, term: Term, scale: float) -> float:
    """The standard deviation of a term where its cell is missing."""
    nothing = np.full((1, posterior.rows.shape[1]), np.nan)
    return scale * float(np.sqrt(posterior.term_variance(term.columns, nothing)[0]))


def _grid(encoder: RowEncoder, rows: Array, d: int, size: int) -> Array:
    """An even grid in the units of the table, encoded; or every level."""
    column = encoder.columns[d]
    if isinstance(column, LevelEncoder):
        return np.arange(float(len(column.levels)))
    known = rows[~np.isnan(rows)]
    low, high = column.inverse(np.array([np.min(known), np.max(known)]))
    return column.forward(np.linspace(low, high, size))


def _slices(encoder: RowEncoder, rows: Array, d: int) -> Array:
    """Three quantiles of a number, encoded; or the most frequent levels, in their order."""
    known = rows[~np.isnan(rows)]
    column = encoder.columns[d]
    if not isinstance(column, LevelEncoder):
        # Quantiles of rows that there are: a number with few values has none between them.
        return np.unique(np.quantile(known, SLICES, method="inverted_cdf"))
    counts = np.bincount(known.astype(int), minlength=len(column.levels))
    return np.sort(np.argsort(-counts, kind="stable")[:MOST_SLICES]).astype(float)
