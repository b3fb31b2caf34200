"""From an encoded table to the columns that are learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from termwise.encode.encoder import Encoder, LevelEncoder, NumberEncoder
from termwise.errors import TableError
from termwise.inference.columns import FixedColumn, TrainableColumn, WarpedColumn
from termwise.inference.fit import Fit
from termwise.inference.levels import LevelColumn
from termwise.inference.model import Model
from termwise.kernels.column import Stationary
from termwise.measures.base import Array
from termwise.measures.choose import choose_measure
from termwise.measures.discrete import Discrete
from termwise.measures.empirical import Empirical

UNCONSTRAINED = "terms are not constrained"
SHRINKAGE = 5.0  # rows of a level at which its mean target counts half


@dataclass(frozen=True)
class ColumnChoice:
    """What was chosen for a column and why."""

    column: str
    measure: str
    reason: str


@dataclass(frozen=True)
class ColumnPlan:
    """What an estimator asks of its columns."""

    kernel: type[Stationary]
    measures: Sequence[str]
    constrained: bool
    learned: bool
    normalise: bool


def learned_encoder(encoder: Encoder, found: Fit) -> Encoder:
    """The encoder with what the evidence has taught about each column behind it."""
    model = found.model
    assert isinstance(model, Model), "columns are learned one by one"
    parts = model.by_column(found.theta)
    columns = [
        column.followed_by(trained.steps(theta)) if isinstance(column, NumberEncoder) else column
        for column, trained, theta in zip(encoder.columns, model.columns, parts, strict=True)
    ]
    return replace(encoder, columns=tuple(columns))


def require_columns(encoder: Encoder) -> None:
    """Refuse a table in which nothing varies."""
    if not encoder.columns:
        raise TableError(
            "no column varies, so none can explain the target; add columns with more than one value"
        )


def plan_columns(
    encoder: Encoder, X: Array, y: Array, plan: ColumnPlan
) -> tuple[tuple[TrainableColumn, ...], tuple[ColumnChoice, ...]]:
    """A trainable column for every encoded one, and the reasons."""
    pairs = []
    for d, (name, column) in enumerate(zip(encoder.names, encoder.columns, strict=True)):
        x = np.ascontiguousarray(X[:, d])
        if isinstance(column, LevelEncoder):
            pairs.append(_levels(name, x, y, len(column.levels), plan))
        else:
            pairs.append(_number(name, x, plan.measures[d], plan, bent=bool(column.flow.steps)))
    return tuple(column for column, _ in pairs), tuple(choice for _, choice in pairs)


def _levels(
    name: str, codes: Array, y: Array, n_levels: int, plan: ColumnPlan
) -> tuple[TrainableColumn, ColumnChoice]:
    known = ~np.isnan(codes)
    which = codes[known].astype(np.intp)
    measure = Discrete.fit(which, n_levels)
    counts = np.bincount(which, minlength=n_levels)
    means = np.bincount(which, weights=y[known], minlength=n_levels) / (counts + SHRINKAGE)
    column = LevelColumn(measure, plan.constrained, tuple(means.tolist()))
    if not plan.constrained:
        return column, ColumnChoice(name, "none", UNCONSTRAINED)
    return column, ColumnChoice(name, "discrete", f"{n_levels} levels: their frequencies")


def _number(
    name: str, x: Array, kind: str, plan: ColumnPlan, *, bent: bool
) -> tuple[TrainableColumn, ColumnChoice]:
    known = x[~np.isnan(x)]
    if not plan.constrained:
        return FixedColumn(None, plan.kernel), ColumnChoice(name, "none", UNCONSTRAINED)
    if plan.learned and kind in ("auto", "empirical"):
        measure = Empirical.fit(known)
        warp = np.unique(known).size > 2
        column = WarpedColumn(measure, plan.kernel, normalise=plan.normalise, warp=warp)
        begun = "" if bent else ", from its values as they are"
        return column, ColumnChoice(name, "empirical", f"its encoding was learned by the evidence{begun}")
    choice = choose_measure(known, kind=kind)
    chosen = choice.measure
    if isinstance(chosen, Empirical):
        fixed = WarpedColumn(chosen, plan.kernel, normalise=plan.normalise, warp=False)
        return fixed, ColumnChoice(name, chosen.kind, choice.reason)
    column_fixed = FixedColumn(chosen, plan.kernel, normalise=plan.normalise)
    return column_fixed, ColumnChoice(name, chosen.kind, choice.reason)
