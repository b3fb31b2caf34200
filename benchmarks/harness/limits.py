"""What the tables should show of our defaults, as figures with limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean, median

from benchmarks.figures import Figure
from benchmarks.harness.cells import Cell
from benchmarks.harness.compare import average, means, middle, ranks
from benchmarks.harness.tables import Table
from benchmarks.published import published

OURS, RIVAL = "OAK", "EBM"
HOURS = 3.0
COVERED = (0.85, 0.94)
ENOUGH = 0.98  # of the score of all terms, by ten


def limits(table: Table, cells: Sequence[Cell], *, row_number: bool, jobs: int) -> Iterator[Figure]:
    """The figures of a table; their limits hold only if it is whole."""
    if row_number:
        found = _as_in_the_paper(cells)
    else:
        kinds: dict[str, Callable[[Sequence[Cell], int], Iterator[Figure]]] = {
            "oak-regression": _regression,
            "oak-classification": _classification,
            "classification": _additive,
        }
        found = kinds[table.name](cells, jobs) if table.name in kinds else iter(())
    mine = {(cell.dataset, cell.split) for cell in cells if cell.model == OURS and not cell.error}
    whole = len(mine) == len(table.sets) * table.splits
    for figure in found if mine else ():
        yield figure if whole else Figure(figure.name, figure.value, figure.unit)


def _regression(cells: Sequence[Cell], jobs: int) -> Iterator[Figure]:
    rmse = means(cells, "rmse")
    yield Figure("OAK: average RMSE (paper .475)", average(rmse)[OURS].value, at_most=0.40)
    yield Figure("OAK: median RMSE (paper .376)", middle(rmse)[OURS].value, at_most=0.33)
    yield Figure("OAK: place by average rank, RMSE", _place(cells, "rmse"), at_most=2)
    yield Figure("OAK: place by average rank, log density", _place(cells, "log_density"), at_most=1)
    coverage = _of_sets(cells, "coverage")
    inside = sum(COVERED[0] <= value <= COVERED[1] for value in coverage)
    yield Figure(f"OAK: sets of {len(coverage)} with coverage .85 to .94", inside, at_least=20)
    ten = _of_sets(cells, "ten_terms")
    yield Figure(f"OAK: sets of {len(ten)} where ten terms do", sum(v >= ENOUGH for v in ten), at_least=18)
    mine = [cell for cell in cells if cell.model == OURS and cell.fit_seconds is not None]
    hours = sum((cell.fit_seconds or 0.0) + (cell.predict_seconds or 0.0) for cell in mine) / jobs / 3600.0
    yield Figure("OAK: hours of all fits", hours, "h", at_most=HOURS)
    yield from _beside_rival(cells)


def _classification(cells: Sequence[Cell], jobs: int) -> Iterator[Figure]:
    accuracy = average(means(cells, "accuracy"))
    best = max(over.value for over in accuracy.values())
    yield Figure("OAK: average accuracy", accuracy[OURS].value, at_least=best - 0.005)
    yield Figure("OAK: average log likelihood", average(means(cells, "log_density"))[OURS].value)
    yield Figure("OAK: place by average rank, log likelihood", _place(cells, "log_density"), at_most=1)
    yield from _beside_rival(cells)


def _as_in_the_paper(cells: Sequence[Cell]) -> Iterator[Figure]:
    found = {score: average(means(cells, score)).get(OURS) for score in ("accuracy", "log_density")}
    for (score, over), least in zip(found.items(), (0.872, -0.267), strict=True):
        if over is not None:
            yield Figure(f"OAK: average {score} (paper {least})", over.value, at_least=least)


def _additive(cells: Sequence[Cell], jobs: int) -> Iterator[Figure]:
    """The best of ours on each set within a standard error of the best of the paper."""
    for score, table in (("accuracy", "additive-4"), ("log_density", "additive-5")):
        paper = published(table, score)
        for name, row in means(cells, score).items():
            printed = max(one.mean for one in paper[name].values() if one.mean is not None)
            found = [one for one in row.values() if one.mean is not None]
            ours = max(found, key=lambda one: one.mean or 0.0)
            width = (ours.sd or 0.0) / ours.count**0.5
            label = f"{name}: {score} of our best (paper {printed:.4g})"
            yield Figure(label, ours.mean or 0.0, at_least=printed - width)


def _beside_rival(cells: Sequence[Cell]) -> Iterator[Figure]:
    seconds = {name: _seconds(cells, name) for name in (OURS, RIVAL)}
    if all(seconds.values()):
        ratio = median(seconds[OURS]) / median(seconds[RIVAL])
        yield Figure(f"OAK: median seconds of a fit over {RIVAL}'s", ratio, "x", at_most=1.0)


def _seconds(cells: Iterable[Cell], model: str) -> list[float]:
    return [cell.fit_seconds for cell in cells if cell.model == model and cell.fit_seconds is not None]


def _of_sets(cells: Sequence[Cell], score: str) -> list[float]:
    """The mean over splits of our score, for every set."""
    by: dict[str, list[float]] = {}
    for cell in cells:
        value = getattr(cell, score)
        if cell.model == OURS and value is not None:
            by.setdefault(cell.dataset, []).append(value)
    return [fmean(values) for values in by.values()]


def _place(cells: Sequence[Cell], score: str) -> int:
    """Ours among all that ran every set, and those that ran only some, each over its own sets."""
    found = ranks(means(cells, score), score)
    mine = found.average[OURS]
    return 1 + sum(rank < mine for rank in found.average.values())
