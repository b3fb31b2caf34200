"""How a model did on rows that it had not seen, and how well its columns were encoded, for the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from termwise.explain.checks import Calibration, Checks, ColumnCheck
from termwise.explain.concurvity import Concurvity
from termwise.explain.cumulative import CumulativeScore
from termwise.measures.base import Array
from termwise.report.markup import Markup, element, joined
from termwise.report.tables import table
from termwise.report.words import number

WIDTH, HEIGHT, FOOT = 360.0, 150.0, 18.0
MOST_LISTED = 40


@dataclass(frozen=True, eq=False)
class Judged:
    """What is known of a model from rows that it had not seen, if anything is."""

    checks: Checks | None = None
    scores: CumulativeScore | None = None
    concurvity: Concurvity | None = None


def checks_section(judged: Judged, columns: Sequence[ColumnCheck]) -> Markup:
    """What was checked on new rows, if there were any, and the columns."""
    parts = []
    if judged.checks is not None:
        parts.append(_on_new_rows(judged.checks, judged.scores))
    if judged.scores is not None:
        parts.append(_by_terms(judged.scores))
    if judged.concurvity is not None:
        parts.append(_concurvity(judged.concurvity))
    encoded = element("details", element("summary", "How columns were encoded"), _columns(columns))
    return joined(parts, encoded)


def _on_new_rows(checks: Checks, scores: CumulativeScore | None) -> Markup:
    residuals = checks.residuals
    facts = [("rows", f"{checks.n_rows:,}")]
    if scores is not None:
        facts.append((scores.score, number(scores.whole)))
        facts.append((f"{scores.score} if all rows had the same prediction", number(float(scores.scores[0]))))
    facts += [
        ("mean of the residuals", number(residuals.mean)),
        ("their standard deviation", number(residuals.sd)),
        ("their skewness", number(residuals.skewness)),
        ("the largest, in standard deviations that the model expects", number(residuals.largest)),
    ]
    if checks.calibration is not None:
        facts.append(("mean distance of said and seen probabilities", number(checks.calibration.error)))
    parts = [table("residuals", ("on new rows", "value"), facts)]
    if checks.coverage:
        rows = [
            (f"{100 * one.level:g} %", f"{100 * one.covered:.1f} %", f"± {100 * one.error:.1f} %")
            for one in checks.coverage
        ]
        head = ("interval", "rows inside", "sampling error")
        parts.append(element("p", "A model that knows how sure it is has as many rows inside as it says:"))
        parts.append(table("coverage of intervals", head, rows))
    if checks.pit is not None:
        words = (
            "Where new rows lie in their predictions (PIT): level if the model is right, like a U if it is "
            "too sure, like a hill if it is not sure enough."
        )
        parts += [element("p", words, class_="quiet"), _bars(checks.pit, words)]
    if checks.calibration is not None:
        parts.append(_calibration(checks.calibration))
    return joined(parts)


def _by_terms(scores: CumulativeScore) -> Markup:
    """The score with one term more at a time."""
    names = ("none", *scores.terms)[:MOST_LISTED]
    rows = [(name, number(float(value))) for name, value in zip(names, scores.scores, strict=False)]
    rows.append(("the whole model", number(scores.whole)))
    listed = table("scores by terms", ("and one term more", scores.score), rows)
    return element("details", element("summary", "How few terms would do"), listed)


def _concurvity(found: Concurvity) -> Markup:
    words = (
        "How well the other terms could stand in for a term on these rows (R²): near one, shares and curves "
        "say only how the model divides what the rows leave open."
    )
    rows = [
        (term, number(float(value)), near or "")
        for term, value, near in zip(found.terms, found.r_squared, found.nearest, strict=True)
    ][:MOST_LISTED]
    listed = table("concurvity", ("term", "R²", "most like"), rows)
    summary = element("summary", "Which terms others could stand in for (concurvity)")
    return element("details", summary, element("p", words, class_="quiet"), listed)


def _bars(counts: Array, words: str) -> Markup:
    """A histogram, with a line where it would be level."""
    tall = counts / max(float(np.max(counts)), 1.0) * (HEIGHT - FOOT - 6.0)
    wide = WIDTH / counts.size
    base = HEIGHT - FOOT
    bars = "".join(
        f"M{i * wide:.1f},{base:.1f}v{-h:.1f}h{wide - 1.0:.1f}v{h:.1f}Z"
        for i, h in enumerate(tall)
        if h > 0.0
    )
    level = base - float(np.mean(tall))
    inside = joined(
        element("path", d=bars or "M0,0", class_="rows"),
        element("line", x1=0.0, x2=WIDTH, y1=level, y2=level, class_="level"),
        element("text", "0", x=2.0, y=HEIGHT - 4.0),
        element("text", "1", x=WIDTH - 8.0, y=HEIGHT - 4.0),
    )
    box = f"0 0 {WIDTH:.0f} {HEIGHT:.0f}"
    return element("svg", inside, role="img", aria_label=words, viewBox=box, class_="check")


def _calibration(found: Calibration) -> Markup:
    rows = [
        (
            f"{100 * low:.0f} to {100 * high:.0f} %",
            f"{100 * said:.1f} %",
            f"{100 * seen:.1f} %",
            f"{int(count):,}",
        )
        for low, high, said, seen, count in zip(
            found.edges[:-1], found.edges[1:], found.predicted, found.observed, found.counts, strict=True
        )
        if count > 0
    ]
    head = ("probability", "said on average", "seen", "rows")
    return element(
        "details",
        element("summary", "Said and seen probabilities"),
        table("calibration", head, rows),
        open=True,
    )


def _columns(columns: Sequence[ColumnCheck]) -> Markup:
    words = (
        "Numbers are bent towards a standard normal before anything is learned; a distance above 0.1 or so "
        "means that a column could not be, as one with few values cannot."
    )
    rows = [(one.column, number(one.distance), number(one.skewness), number(one.kurtosis)) for one in columns]
    head = ("column", "distance from the normal", "skewness", "kurtosis")
    return joined(element("p", words, class_="quiet"), table("encoded columns", head, rows))
