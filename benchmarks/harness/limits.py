"""What the tables should show of our defaults, as figures with limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean, median

from benchmarks.figures import Figure
from benchmarks.harness.cells import Cell
from benchmarks.harness.compare import average, means, middle, ranks
from benchmarks.harness.models import most_rows, names
from benchmarks.harness.ours import ACTIVATIONS, ANGULAR, BOTH, FEW, MANY
from benchmarks.harness.tables import FAMILY, Table
from benchmarks.published import published

OURS, RIVAL = "OAK", "EBM"
HOURS, CORES = 3.0, 2  # of all our fits, on so many cores
BESIDE = "OAK beside others: "  # figures that need the others
COVERED = (0.85, 0.94)
DIVERSE, GRID = "DPA-GP-ARD", "DPA-GP-ARD-SKI"
ENOUGH = 0.98  # of the score of all terms, by ten
WON, MOST_TIMES = 4, 2.0  # sets on which orthogonal variables should help more, and their cost


def limits(table: Table, cells: Sequence[Cell], *, row_number: bool) -> Iterator[Figure]:
    """The figures of a table whose column of ours is whole; those beside others if all of them ran.

    A cell of ours that failed is missed.
    """
    if row_number:
        found = _as_in_the_paper(cells)
    else:
        kinds: dict[str, Callable[[Sequence[Cell]], Iterator[Figure]]] = {
            "oak-regression": _regression,
            "oak-classification": _classification,
            "classification": _additive,
            "projected": _projected,
            "spherical": _spherical,
        }
        found = kinds[table.name](cells) if table.name in kinds else iter(())
    mine = [cell for cell in cells if cell.model == table.reference]
    if len({cell.key for cell in mine}) < len(table.sets) * table.splits:
        return
    every = all(_ran(model, table, cells) for model in table.models or names(table.asked.task))
    yield from (figure for figure in found if every or not figure.name.startswith(BESIDE))
    yield Figure(f"{table.reference}: cells that failed", sum(bool(cell.error) for cell in mine), at_most=0)


def _ran(model: str, table: Table, cells: Sequence[Cell]) -> bool:
    """Whether a model has run every set; one that takes only so many rows, some of them."""
    sets = {cell.dataset for cell in cells if cell.model == model}
    return bool(sets) if most_rows(model) is not None else sets >= set(table.sets)


def _regression(cells: Sequence[Cell]) -> Iterator[Figure]:
    rmse = means(cells, "rmse")
    if OURS not in average(rmse):
        return  # every cell failed, which is told besides
    yield Figure("OAK: average RMSE (paper .475)", average(rmse)[OURS].value, at_most=0.40)
    yield Figure("OAK: median RMSE (paper .376)", middle(rmse)[OURS].value, at_most=0.33)
    yield from _place(cells, "rmse", "RMSE", 2)
    yield from _place(cells, "log_density", "log density", 1)
    coverage = _of_sets(cells, "coverage")
    inside = sum(COVERED[0] <= value <= COVERED[1] for value in coverage)
    yield Figure(f"OAK: sets of {len(coverage)} with coverage .85 to .94", inside, at_least=20)
    ten = _of_sets(cells, "ten_terms", most=1.0)
    yield Figure(f"OAK: sets of {len(ten)} where ten terms do", sum(v >= ENOUGH for v in ten), at_least=18)
    seconds = sum(_core_seconds(cell) for cell in cells if cell.model == OURS)
    yield Figure("OAK: hours of all fits, on two cores", seconds / CORES / 3600.0, "h", at_most=HOURS)
    yield from _beside_rival(cells)


def _classification(cells: Sequence[Cell]) -> Iterator[Figure]:
    table = means(cells, "accuracy")
    if OURS not in average(table):
        return  # every cell failed, which is told besides
    accuracy = {model: over for model, over in average(table).items() if over.sets == len(table)}
    if OURS in accuracy:
        best = max(over.value for over in accuracy.values())
        yield Figure(f"{BESIDE}average accuracy", accuracy[OURS].value, at_least=best - 0.005)
    yield Figure("OAK: average log likelihood", average(means(cells, "log_density"))[OURS].value)
    yield from _place(cells, "log_density", "log likelihood", 1)
    yield from _beside_rival(cells)


def _as_in_the_paper(cells: Sequence[Cell]) -> Iterator[Figure]:
    found = {score: average(means(cells, score)).get(OURS) for score in ("accuracy", "log_density")}
    for (score, over), least in zip(found.items(), (0.872, -0.267), strict=True):
        if over is not None:
            yield Figure(f"OAK: average {score} (paper {least})", over.value, at_least=least)


def _additive(cells: Sequence[Cell]) -> Iterator[Figure]:
    """The best of ours on each set within a standard error of the best of the paper."""
    cells = [cell for cell in cells if cell.model in FAMILY]
    for score, table in (("accuracy", "additive-4"), ("log_density", "additive-5")):
        paper = published(table, score)
        for name, row in means(cells, score).items():
            printed = max(one.mean for one in paper[name].values() if one.mean is not None)
            found = [one for one in row.values() if one.mean is not None]
            if not found:
                continue  # every split failed, which is told besides
            ours = max(found, key=lambda one: one.mean or 0.0)
            width = (ours.sd or 0.0) / ours.count**0.5
            label = f"{name}: {score} of our best (paper {printed:.4g})"
            yield Figure(label, ours.mean or 0.0, at_least=printed - width)


def _projected(cells: Sequence[Cell]) -> Iterator[Figure]:
    """The diverse directions with lengthscales beside the paper's, and by a grid beside exactly."""
    paper, found = published("projected-1", "rmse"), means(cells, "rmse")
    near, alike = 0, []
    for name, row in found.items():
        ours, by_grid = row[DIVERSE], row.get(GRID)
        if ours.mean is None:
            continue  # every split failed, which is told besides
        width = (ours.sd or 0.0) / ours.count**0.5
        near += ours.mean <= (paper[name][DIVERSE].mean or 0.0) + width
        if by_grid is not None and by_grid.mean is not None:
            alike.append(by_grid.mean / ours.mean)
    yield Figure(f"{DIVERSE}: sets of {len(found)} as good as in the paper", near, at_least=13)
    if alike:
        yield Figure(f"{GRID}: sets of {len(alike)} within 2 % of {DIVERSE}", sum(a <= 1.02 for a in alike))
        yield Figure(f"{GRID}: mean RMSE over that of {DIVERSE}", fmean(alike), "x", at_most=1.02)


def _spherical(cells: Sequence[Cell]) -> Iterator[Figure]:
    """Orthogonal variables beside as many features more, and their seconds beside those without them."""
    density = means(cells, "log_density")
    for kind in (f"{kernel} {features}" for kernel in ANGULAR for features in ACTIVATIONS):
        both, many, few = (f"{kind} {count}" for count in (BOTH, MANY, FEW))
        if all(both in row and many in row for row in density.values()):
            won = sum(_higher(row[both].mean, row[many].mean) for row in density.values())
            yield Figure(f"{kind}: sets of {len(density)} where {BOTH} beats {MANY}", won, at_least=WON)
        times = _times(cells, both, few)
        if times:
            name = f"{kind}: seconds of {BOTH} over those of {FEW}"
            yield Figure(f"{name}, median", median(times), "x", at_most=MOST_TIMES)
            yield Figure(f"{name}, worst", max(times), "x", at_most=MOST_TIMES)


def _higher(one: float | None, other: float | None) -> bool:
    """Whether a mean is above another; a model that failed on every split has none, and is below."""
    return one is not None and (other is None or one > other)


def _times(cells: Sequence[Cell], one: str, other: str) -> list[float]:
    """For every set the seconds of a model over those of another, on the splits that both have run."""
    seconds = {cell.key: cell.fit_seconds for cell in cells if cell.fit_seconds is not None}
    spent: dict[str, list[tuple[float, float]]] = {}
    for key, value in seconds.items():
        beside = seconds.get(key._replace(model=other))
        if key.model == one and beside is not None:
            spent.setdefault(key.dataset, []).append((value, beside))
    return [sum(a for a, _ in pairs) / sum(b for _, b in pairs) for pairs in spent.values()]


def _beside_rival(cells: Sequence[Cell]) -> Iterator[Figure]:
    """The seconds of both where both were fitted."""
    seconds = {
        name: {
            (cell.dataset, cell.split): cell.fit_seconds
            for cell in cells
            if cell.model == name and cell.fit_seconds is not None
        }
        for name in (OURS, RIVAL)
    }
    shared = set(seconds[OURS]) & set(seconds[RIVAL])
    if shared:
        ours, rival = (median(seconds[name][key] for key in shared) for name in (OURS, RIVAL))
        yield Figure(f"{BESIDE}median seconds of a fit over {RIVAL}'s", ours / rival, "x", at_most=1.0)


def _core_seconds(cell: Cell) -> float:
    return ((cell.fit_seconds or 0.0) + (cell.predict_seconds or 0.0)) * (cell.threads or 1)


def _of_sets(cells: Sequence[Cell], score: str, most: float = float("inf")) -> list[float]:
    """The mean over splits of our score, for every set; larger ones count as the most."""
    by: dict[str, list[float]] = {}
    for cell in cells:
        value = getattr(cell, score)
        if cell.model == OURS and value is not None:
            by.setdefault(cell.dataset, []).append(min(value, most))
    return [fmean(values) for values in by.values()]


def _place(cells: Sequence[Cell], score: str, called: str, most: int) -> Iterator[Figure]:
    """Ours among all that ran every set."""
    found = ranks(means(cells, score), score).average
    if OURS in found:
        place = 1 + sum(rank < found[OURS] for rank in found.values())
        yield Figure(f"{BESIDE}place by average rank, {called}", place, at_most=most)
