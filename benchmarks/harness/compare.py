"""Sums up cells: means over splits, averages and ranks over sets, and which models differ.

Three things can be where a set and a model meet. A mean, if the model gave the score on at least one split.
A failure, if every split ended in an error or in a number that is not finite. A gap, if there is no cell, or
the model does not give this score. Failures count against a model and gaps do not: see `ranks`.

Slow models run fewer splits than others. Two models are compared on the splits that both have run, so that
rows are the same and no model takes away what is known of the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median, stdev

import numpy as np
from scipy import stats

from benchmarks.harness.cells import Cell

LOWER = ("rmse", "mae", "mse", "fit_seconds", "predict_seconds", "peak_megabytes", "terms")
HIGHER = ("accuracy", "auc", "log_density", "ten_terms", "first_order")  # the last as it is simpler
NEAR = {"coverage": 0.9}  # the value that is best
TIE_DIGITS = 9  # a mean over splits is not exact, so equal scores can differ in the digits after these


class UnknownScoreError(ValueError):
    """A score that has no better and worse."""


class TooFewError(ValueError):
    """Too few models or sets for the question asked."""


@dataclass(frozen=True)
class Mean:
    """One model on one set; `mean` is None if it failed on every split, `sd` if there are not two splits."""

    mean: float | None
    sd: float | None
    count: int  # splits with a score
    failed: int = 0  # splits without, though they were run
    error: str = ""  # the first of the failed splits
    by_split: Mapping[int, float] = field(default_factory=dict, compare=False)


Table = Mapping[str, Mapping[str, Mean]]  # by set, then by model


@dataclass(frozen=True)
class Over:
    """A number over some sets, and over how many."""

    value: float
    sets: int


@dataclass(frozen=True)
class Ranks:
    """Average ranks, 1 is best; `average` is of the models that ran every set, `gaps` of the others."""

    average: dict[str, float]
    sets: int
    gaps: dict[str, Over]


@dataclass(frozen=True)
class Comparison:
    """Ranks with the test of Friedman, the critical difference of Nemenyi, and groups that do not differ."""

    ranks: Ranks
    p_value: float
    difference: float
    cliques: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Paired:
    """How a reference did against another model over the sets that both ran."""

    wins: int
    ties: int
    losses: int
    sign: float  # p-value of the sign test, without ties
    wilcoxon: float  # p-value of the signed-rank test, with the ranks of ties split evenly


@dataclass(frozen=True)
class Cost:
    """The average rank of a model and its median seconds over sets; `whole` if it ran every set."""

    rank: float
    seconds: float
    sets: int
    whole: bool


def better(score: str) -> str:
    """Which way a score is better: "lower", "higher" or "nearest to" a value."""
    if score in NEAR:
        return f"nearest to {NEAR[score]:g}"
    if score not in LOWER + HIGHER:
        raise UnknownScoreError(f"no score {score!r}; use one of {', '.join((*LOWER, *HIGHER, *NEAR))}")
    return "lower" if score in LOWER else "higher"


def badness(score: str, value: float) -> float:
    """A number that is smaller the better the value."""
    way = better(score)
    found = abs(value - NEAR[score]) if score in NEAR else value if way == "lower" else -value
    return round(found, TIE_DIGITS)


def means(cells: Iterable[Cell], score: str) -> dict[str, dict[str, Mean]]:
    """Mean and standard deviation over splits, by set and model.

    A set that has only cells without this score is of the other task and left out; so is a model that does
    not give it. A set on which all failed stays, as does a model that never succeeded.
    """
    grouped: dict[str, dict[str, list[Cell]]] = {}
    for cell in cells:
        grouped.setdefault(cell.dataset, {}).setdefault(cell.model, []).append(cell)
    table = {name: {m: _mean(group, score) for m, group in row.items()} for name, row in grouped.items()}
    table = {name: row for name, row in table.items() if _shows(row)}
    kept = [model for model in models_of(table) if _gives(model, table)]
    return {name: {m: row[m] for m in kept if m in row and not _gap(row[m])} for name, row in table.items()}


def models_of(table: Table) -> tuple[str, ...]:
    """All models of a table, in the order in which they come."""
    return tuple(dict.fromkeys(model for row in table.values() for model in row))


def average(table: Table) -> dict[str, Over]:
    """The average of each model over the sets where it has a mean."""
    return {model: Over(fmean(values), len(values)) for model, values in _values(table).items()}


def middle(table: Table) -> dict[str, Over]:
    """The median of each model over the sets where it has a mean."""
    return {model: Over(median(values), len(values)) for model, values in _values(table).items()}


def ranks(table: Table, score: str) -> Ranks:
    """Average ranks over sets: one and how many are better, and half of those that are as good.

    Models with a mean or a failure on every set are ranked among each other, over all sets; a failure comes
    last, as a model that cannot be fitted is no use there. A model with gaps (an exact process, say, that
    cannot take many rows) would get a better or worse rank by the choice of its sets. So it changes no one's
    rank: each such model is added alone to the models without gaps, over its own sets, and kept apart with
    their number. A mean that lacks some failed splits counts as it is. If no model ran every set there are no
    ranks.
    """
    names = models_of(table)
    whole = [model for model in names if all(model in row for row in table.values())]
    order = _rank_rows(table, score, whole).mean(axis=0) if table else []
    found = dict(zip(whole, map(float, order), strict=True))
    gaps = {}
    for model in names:
        if whole and model not in whole:
            own = {name: row for name, row in table.items() if model in row}
            gaps[model] = Over(float(_rank_rows(own, score, [*whole, model])[:, -1].mean()), len(own))
    return Ranks(dict(sorted(found.items(), key=lambda pair: pair[1])), len(table), gaps)


def compare(table: Table, score: str, *, alpha: float = 0.05) -> Comparison:
    """Which of the models that ran every set differ; Demsar 2006, section 3.2.2."""
    found, p_value = ranks(table, score), friedman(table, score)
    difference = critical_difference(len(found.average), found.sets, alpha=alpha)
    return Comparison(found, p_value, difference, cliques(found.average, difference))


def friedman(table: Table, score: str) -> float:
    """The p-value of "all models without gaps are alike", corrected for ties."""
    names = list(ranks(table, score).average)
    if len(names) < 3 or len(table) < 2:
        raise TooFewError(
            f"{len(names)} models ran all of {len(table)} sets; the test needs 3 models and 2 sets: "
            "leave out models or sets with gaps, or use `paired` for two models"
        )
    rows = _rank_rows(table, score, names)
    if np.all(rows == rows[:, :1]):  # every set is one great tie, where the statistic is 0 / 0
        return 1.0
    return float(stats.friedmanchisquare(*rows.T).pvalue)


def critical_difference(models: int, sets: int, *, alpha: float = 0.05) -> float:
    """How far two average ranks must be apart: q sqrt(k (k + 1) / 6 N), of Nemenyi."""
    if models < 2 or sets < 1:
        raise TooFewError(
            f"{models} models on {sets} sets have no critical difference; give 2 models and 1 set"
        )
    q = stats.studentized_range.ppf(1.0 - alpha, models, np.inf) / math.sqrt(2.0)
    return float(q * math.sqrt(models * (models + 1) / (6.0 * sets)))


def cliques(average: Mapping[str, float], difference: float) -> tuple[tuple[str, ...], ...]:
    """The largest groups of at least two models whose average ranks lie within the difference."""
    names = sorted(average, key=lambda model: average[model])
    found: list[tuple[str, ...]] = []
    last = 0
    for start, model in enumerate(names):
        stop = start + sum(average[other] - average[model] < difference for other in names[start:])
        if stop > last and stop - start > 1:  # else it is part of the group before
            found.append(tuple(names[start:stop]))
        last = max(last, stop)
    return tuple(found)


def paired(table: Table, score: str, reference: str) -> dict[str, Paired]:
    """Wins, ties and losses of a reference against each other model; a failure loses against any mean."""
    if reference not in models_of(table):
        raise TooFewError(f"no model {reference!r}; choose from {', '.join(models_of(table))}")
    found = {}
    for model in models_of(table):
        rows = [row for row in table.values() if reference in row and model in row]
        if model != reference and rows:
            found[model] = _paired([_lead(score, row[reference], row[model]) for row in rows])
    return found


def costs(cells: Iterable[Cell], score: str) -> dict[str, Cost]:
    """Average rank and median seconds of a fit, for every model that was fitted at least once."""
    cells = list(cells)
    table, found = means(cells, score), ranks(means(cells, score), score)
    seconds = middle({name: row for name, row in means(cells, "fit_seconds").items() if name in table})
    places = {model: Over(rank, found.sets) for model, rank in found.average.items()} | found.gaps
    return {
        model: Cost(place.value, seconds[model].value, place.sets, model in found.average)
        for model, place in places.items()
        if model in seconds
    }


def shared_means(one: Mean, other: Mean) -> tuple[float, float] | None:
    """The means of two models over the splits that both have run; None if one failed or they share none."""
    if one.mean is None or other.mean is None:
        return None
    if not (one.by_split and other.by_split):  # numbers of a paper
        return one.mean, other.mean
    shared = sorted(one.by_split.keys() & other.by_split.keys())
    if not shared:
        return None
    mine, theirs = (fmean(m.by_split[split] for split in shared) for m in (one, other))
    return mine, theirs


def _mean(cells: Sequence[Cell], score: str) -> Mean:
    better(score)
    given = [(cell.error, getattr(cell, score)) for cell in cells]
    by_split = {
        cell.split: float(value)
        for cell, (error, value) in zip(cells, given, strict=True)
        if not error and value is not None and math.isfinite(value)
    }
    values = list(by_split.values())
    errors = [error or f"{score} is {value}" for error, value in given if error or not _finite_or_none(value)]
    return Mean(
        fmean(values) if values else None,
        stdev(values) if len(values) > 1 else None,
        len(values),
        len(errors),
        errors[0] if errors else "",
        by_split,
    )


def _finite_or_none(value: float | None) -> bool:
    return value is None or math.isfinite(value)


def _shows(row: Mapping[str, Mean]) -> bool:
    """Whether a set has a score, or none because every model failed."""
    return any(_found(one) for one in row.values()) or not any(_gap(one) for one in row.values())


def _found(one: Mean) -> bool:
    return one.mean is not None


def _gap(one: Mean) -> bool:
    return one.mean is None and not one.failed


def _gives(model: str, table: Table) -> bool:
    """Whether a model gives the score somewhere, or never had the occasion to show."""
    own = [row[model] for row in table.values() if model in row]
    return any(_found(one) for one in own) or not any(_gap(one) for one in own)


def _values(table: Table) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for row in table.values():
        for model, one in row.items():
            if one.mean is not None:
                found.setdefault(model, []).append(one.mean)
    return found


def _lead(score: str, one: Mean, other: Mean) -> float:
    """By how much one model is better than another, on the splits of both.

    Where they share none, one of them has failed on those of the other, and loses.
    """
    if one.mean is None or other.mean is None:
        return 0.0 if one.mean is other.mean else -math.inf if one.mean is None else math.inf
    found = shared_means(one, other)
    if found is None:
        return math.inf * np.sign(other.failed - one.failed) if one.failed != other.failed else 0.0
    mine, theirs = found
    return round(badness(score, theirs) - badness(score, mine), TIE_DIGITS)


def _rank_rows(table: Table, score: str, models: Sequence[str]) -> np.ndarray:
    """The ranks of some models, none of them with a gap, on each set."""
    ranked = np.ones((len(table), len(models)))
    for place, row in enumerate(table.values()):
        pairs = [[_lead(score, row[one], row[other]) for other in models] for one in models]
        leads = np.array(pairs).reshape(len(models), len(models))
        ranked[place] += np.sum(leads < 0.0, axis=1) + 0.5 * (np.sum(leads == 0.0, axis=1) - 1.0)
    return ranked


def _paired(leads: Sequence[float]) -> Paired:
    apart = np.array(leads)
    wins, losses = int(np.sum(apart > 0.0)), int(np.sum(apart < 0.0))
    if not wins + losses:
        return Paired(0, apart.size, 0, 1.0, 1.0)
    sign = stats.binomtest(wins, wins + losses).pvalue
    # only the order of the differences counts, and scipy takes no infinite ones
    sizes = np.sign(apart) * stats.rankdata(np.abs(apart))
    signed = stats.wilcoxon(sizes, zero_method="zsplit").pvalue
    return Paired(wins, apart.size - wins - losses, losses, float(sign), float(signed))
