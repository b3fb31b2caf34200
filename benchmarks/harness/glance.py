"""A table in one small one: a line a model, as a README shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.harness.cells import Cell
from benchmarks.harness.compare import (
    Over,
    Paired,
    average,
    means,
    middle,
    models_of,
    paired,
    ranks,
)
from benchmarks.harness.grid import GAP, shown

CALLED = {"rmse": "RMSE", "mse": "MSE", "log_density": "log density"}  # else as the score is named


@dataclass(frozen=True)
class Line:
    """One model; averages, medians and ranks are None if it did not run every set."""

    model: str
    average: tuple[float | None, ...]  # of each score
    median: tuple[float | None, ...]
    rank: tuple[float | None, ...]
    paired: tuple[Paired | None, ...]  # how the reference did against it
    seconds: float | None  # the median over sets
    sets: int


def glance(cells: Sequence[Cell], scores: Sequence[str], reference: str) -> list[Line]:
    """Every model on the splits that it has run, the best average rank first."""
    tables = [means(cells, score) for score in scores]
    seconds = means(cells, "fit_seconds")
    found = [
        (average(table), middle(table), ranks(table, score).average, paired(table, score, reference))
        for score, table in zip(scores, tables, strict=True)
    ]
    whole = len(tables[0])
    lines = [
        Line(
            model,
            tuple(_whole(one[0].get(model), whole) for one in found),
            tuple(_whole(one[1].get(model), whole) for one in found),
            tuple(one[2].get(model) for one in found),
            tuple(one[3].get(model) for one in found),
            middle(seconds)[model].value if model in middle(seconds) else None,
            sum(model in row for row in tables[0].values()),
        )
        for model in models_of(tables[0])
    ]
    return sorted(lines, key=lambda line: (-line.sets, line.rank[0] or float("inf"), line.model))


def _whole(over: Over | None, sets: int) -> float | None:
    return over.value if over is not None and over.sets == sets else None


def as_lines(lines: Sequence[Line], scores: Sequence[str], reference: str) -> list[str]:
    """The same in Markdown."""
    called = [CALLED.get(score, score.replace("_", " ")) for score in scores]
    heads = ["model"]
    for name in called:
        heads += [f"{name}: average", "median", "average rank", f"{reference} won–lost"]
    heads += ["seconds of a fit"]
    whole = max(line.sets for line in lines)
    rows = [f"| {' | '.join(heads)} |", "| :-- |" + " --: |" * (len(heads) - 1)]
    for line in lines:
        entries = [line.model if line.rank[0] is not None else f"{line.model} ({line.sets} of {whole} sets)"]
        for place, score in enumerate(scores):
            versus = line.paired[place]
            entries += [
                _shown(score, line.average[place]),
                _shown(score, line.median[place]),
                GAP if line.rank[place] is None else f"{line.rank[place]:.2f}",
                GAP if versus is None else f"{versus.wins}–{versus.losses}",
            ]
        entries += [_shown("fit_seconds", line.seconds)]
        rows.append(f"| {' | '.join(entries)} |")
    return rows


def _shown(score: str, value: float | None) -> str:
    return GAP if value is None else shown(score, value)
