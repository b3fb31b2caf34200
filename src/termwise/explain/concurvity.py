"""Concurvity: how far the other terms could stand in for a term on some rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from termwise.errors import OptionError
from termwise.explain.plain import frame_of, plain
from termwise.measures.base import Array

LEAST_SHARE = 0.001  # terms below it are neither judged nor called as witnesses
MOST_TERMS = 200  # listed, by share


@dataclass(frozen=True, eq=False)
class Concurvity:
    """For each term R², of the regression of its values on those of all other terms, on the same rows.

    Near zero the rows tell the term from the others; near one its effect could as well be theirs, and
    shares and curves say how the model divides what the rows leave open. NaN if the term does not vary.
    `nearest` is the other term with the strongest correlation, `correlation` its value.
    """

    terms: tuple[str, ...]
    r_squared: Array
    nearest: tuple[str | None, ...]
    correlation: Array
    n_rows: int

    def __repr__(self) -> str:
        """The term with the highest value."""
        if not np.any(np.isfinite(self.r_squared)):
            return f"<Concurvity of {len(self.terms)} terms on {self.n_rows} rows>"
        worst = int(np.nanargmax(self.r_squared))
        most = f"at most {self.r_squared[worst]:.2f}, of {self.terms[worst]}"
        return f"<Concurvity of {len(self.terms)} terms on {self.n_rows} rows: {most}>"

    def frame(self) -> Any:
        """A pandas data frame with a row for each term."""
        return frame_of(self._columns())

    def to_dict(self) -> dict[str, Any]:
        """Plain data that JSON can write; NaN becomes None."""
        columns = self._columns()
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return {"n_rows": self.n_rows, "terms": plain(rows)}

    def _columns(self) -> dict[str, Any]:
        return {
            "term": list(self.terms),
            "r_squared": self.r_squared,
            "nearest": list(self.nearest),
            "correlation": self.correlation,
        }


def concurvity(names: Sequence[str], values: Array) -> Concurvity:
    """1 - |residual|^2 / |f_u - mean|^2, the residual being that of f_u on the other terms and a constant.

    `values` has a column for each term. Without an intercept of its own: columns are centred first.
    """
    n_rows, n_terms = values.shape
    if n_rows <= n_terms:
        raise OptionError(
            f"there are {n_rows} rows for {n_terms} terms, and so few are explained by any others; give more "
            "rows, or prune() the model first"
        )
    centred = values - np.mean(values, axis=0)
    lengths = np.linalg.norm(centred, axis=0)
    varies = lengths > 1e-12 * np.maximum(np.linalg.norm(values, axis=0), np.max(lengths, initial=0.0))
    unit = centred / np.where(varies, lengths, 1.0) * varies
    # Distances between the columns are those between the columns of R, and R is small.
    R = np.linalg.qr(unit).R
    r_squared = np.array([_explained(R, j) if varies[j] else np.nan for j in range(n_terms)])
    nearest, correlation = _nearest(R.T @ R, varies, names)
    return Concurvity(tuple(names), r_squared, nearest, correlation, n_rows)


def _explained(R: Array, j: int) -> float:
    """The part of the unit column j that the other columns explain."""
    others = np.delete(R, j, axis=1)
    if not others.size:
        return 0.0
    coefficients = np.linalg.lstsq(others, R[:, j], rcond=None)[0]
    residual = R[:, j] - others @ coefficients
    return float(np.clip(1.0 - residual @ residual, 0.0, 1.0))


def _nearest(
    correlations: Array, varies: Array, names: Sequence[str]
) -> tuple[tuple[str | None, ...], Array]:
    """The other term that each goes with most, and how much."""
    off = np.where(np.outer(varies, varies), correlations, 0.0)
    np.fill_diagonal(off, 0.0)
    found: list[str | None] = []
    values = np.full(len(names), np.nan)
    for j, row in enumerate(off):
        best = int(np.argmax(np.abs(row)))
        there = bool(varies[j]) and np.sum(varies) > 1
        found.append(names[best] if there else None)
        if there:
            values[j] = row[best]
    return tuple(found), values
