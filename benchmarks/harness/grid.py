"""A table of scores as text, before it is laid out for a page or a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.harness.compare import (
    Mean,
    Over,
    Table,
    average,
    badness,
    better,
    middle,
    models_of,
    ranks,
    shared_means,
)
from benchmarks.published import Printed

SIGNIFICANT = (
    "fit_seconds",
    "predict_seconds",
    "peak_megabytes",
)  # scores that range over many powers of ten
DECIMALS = {"terms": 1}  # else 3
ABOUT = {
    "rmse": "root mean squared error, in standard deviations of the training target",
    "mae": "mean absolute error, in standard deviations of the training target",
    "mse": "mean squared error, in variances of the training target",
    "accuracy": "part of the test rows whose label was predicted",
    "auc": "area under the ROC curve",
    "log_density": "mean log density of the test rows; of labels, log likelihood",
    "coverage": "part of the test rows inside the 90 % interval",
    "terms": "terms that reach 99 % of the score of all; more than 20 count as 21",
    "ten_terms": "score of ten terms over that of all",
    "first_order": "share of single features in the explained variance",
    "fit_seconds": "seconds of a fit",
    "predict_seconds": "seconds to predict the test rows",
    "peak_megabytes": "megabytes by which the process grew",
}
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
GAP = "–"


@dataclass(frozen=True)
class Entry:
    """What stands in one place of a table; `note` is the number of its note, from 1."""

    mean: str
    sd: str = ""
    best: bool = False
    note: int | None = None

    @property
    def full(self) -> str:
        """The mean, with its deviation if there is one."""
        return f"{self.mean} ({self.sd})" if self.sd else self.mean


@dataclass(frozen=True)
class Grid:
    """Rows of sets, then rows over all sets, with an entry for each column."""

    caption: str
    columns: tuple[str, ...]
    rows: dict[str, tuple[Entry, ...]]
    foot: dict[str, tuple[Entry, ...]]
    notes: tuple[str, ...]


def grid(
    table: Table,
    score: str,
    *,
    models: Sequence[str] | None = None,
    paper: Mapping[str, Mapping[str, Printed]] | None = None,
) -> Grid:
    """The table of some models, in their order, beside the methods of a paper; all models if not named.

    A paper's numbers are from its own splits and its own machine, so they are not ranked with ours.
    """
    names = models_of(table) if models is None else tuple(models)
    table = {name: {model: row[model] for model in names if model in row} for name, row in table.items()}
    printed = {name: _as_means((paper or {}).get(name, {})) for name in table}
    methods = models_of(printed)
    notes: dict[str, int] = {}
    rows = {
        name: (*_row(row, score, names, notes), *(_printed(printed[name].get(one), score) for one in methods))
        for name, row in table.items()
    }
    foot = {
        label: (
            *_foot(over(table), len(table), score, names, notes),
            *(_over(over(printed).get(one), len(table), score, "", notes) for one in methods),
        )
        for label, over in (("average", average), ("median", middle))
    }
    foot["average rank"] = (
        *_rank_foot(table, score, names, notes),
        *(Entry("") for _ in methods),
    )
    way = better(score)
    what = f"{score} ({ABOUT[score]})" if score in ABOUT else score
    caption = f"{what}, {way} is {'better' if way in ('lower', 'higher') else 'best'}"
    return Grid(caption, (*names, *(f"{one} (paper)" for one in methods)), rows, foot, tuple(notes))


def shown(score: str, value: float) -> str:
    """A score in as many digits as are worth reading."""
    if score in SIGNIFICANT:
        digits = 2 - math.floor(math.log10(abs(value))) if value else 2
        return f"{value:.{min(max(digits, 0), 4)}f}"
    return f"{value:.{DECIMALS.get(score, 3)}f}" if abs(value) < 1000.0 else f"{value:.3g}"


def mark(note: int | None) -> str:
    """The raised number of a note."""
    return "" if note is None else str(note).translate(SUPERSCRIPTS)


def _row(row: Mapping[str, Mean], score: str, names: Sequence[str], notes: dict[str, int]) -> list[Entry]:
    most = max((one.count for one in row.values()), default=0)
    best = _leaders(row, score)
    return [_entry(row.get(model), score, most, model in best, notes) for model in names]


def _leaders(row: Mapping[str, Mean], score: str) -> set[str]:
    """Those whom the fewest beat on the splits of both, as in `ranks`. One alone is no contest.

    Means over splits of their own would favour whoever was spared a hard one.
    """
    ahead = {
        model: sum(
            pair is not None and _behind(score, *pair)
            for pair in (shared_means(one, other) for other in row.values())
        )
        for model, one in row.items()
        if one.mean is not None
    }
    fewest = min(ahead.values(), default=0)
    return {model for model, count in ahead.items() if count == fewest and len(row) > 1}


def _behind(score: str, mine: float, theirs: float) -> bool:
    """Whether one value looks worse than another: what looks the same is as good."""
    own, other = (badness(score, float(shown(score, value))) for value in (mine, theirs))
    return own > other


def _entry(one: Mean | None, score: str, most: int, best: bool, notes: dict[str, int]) -> Entry:
    if one is None:
        return Entry(GAP)
    if one.mean is None:
        return Entry("failed", note=_note(f"failed: {one.error}", notes))
    says = [f"of {one.count} split{'s' * (one.count > 1)}"] if one.count < most else []
    says += [f"{one.failed} failed: {one.error}"] if one.failed else []
    text = shown(score, one.mean)
    note = _note("; ".join(says), notes) if says else None
    return Entry(text, _deviation(score, one), best, note)


def _printed(one: Mean | None, score: str) -> Entry:
    if one is None:
        return Entry(GAP)
    return Entry("NaN") if one.mean is None else Entry(shown(score, one.mean), _deviation(score, one))


def _deviation(score: str, one: Mean) -> str:
    return "" if one.sd is None else shown(score, one.sd)


def _foot(
    found: Mapping[str, Over], sets: int, score: str, names: Sequence[str], notes: dict[str, int]
) -> list[Entry]:
    best = _best(score, [one.value for one in found.values() if one.sets == sets])
    return [_over(found.get(model), sets, score, best, notes) for model in names]


def _over(one: Over | None, sets: int, score: str, best: str, notes: dict[str, int]) -> Entry:
    """A number over all sets; one over fewer says so and is not held against the others."""
    if one is None:
        return Entry(GAP)
    text = shown(score, one.value)
    if one.sets < sets:
        return Entry(text, note=_note(f"over {one.sets} of {sets} sets", notes))
    return Entry(text, best=_as_good(score, text, best))


def _rank_foot(table: Table, score: str, names: Sequence[str], notes: dict[str, int]) -> list[Entry]:
    found = ranks(table, score)
    best = f"{min(found.average.values()):.2f}" if len(found.average) > 1 else ""
    texts = {model: f"{rank:.2f}" for model, rank in found.average.items()}
    entries = {model: Entry(text, best=text == best) for model, text in texts.items()}
    for model, over in found.gaps.items():
        says = f"over {over.sets} of {len(table)} sets, among the models that ran every set"
        entries[model] = Entry(f"{over.value:.2f}", note=_note(says, notes))
    return [entries.get(model, Entry(GAP)) for model in names]


def _as_means(row: Mapping[str, Printed]) -> dict[str, Mean]:
    return {method: Mean(one.mean, one.sd, 1) for method, one in row.items()}


def _best(score: str, values: Sequence[float | None]) -> str:
    """The best value as it is shown: what looks the same is as good. One alone is no contest."""
    if len(values) < 2:
        return ""
    texts = [shown(score, value) for value in values if value is not None]
    return min(texts, key=lambda text: badness(score, float(text)), default="")


def _as_good(score: str, text: str, best: str) -> bool:
    return bool(best) and badness(score, float(text)) == badness(score, float(best))


def _note(text: str, notes: dict[str, int]) -> int:
    return notes.setdefault(text, len(notes) + 1)
