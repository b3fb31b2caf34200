"""The page itself: sections of plain markup, one style, and two scripts that run the model."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from termwise.__about__ import __version__
from termwise.display.parts import has_levels
from termwise.display.style import percent, share_text
from termwise.explain.checks import column_checks
from termwise.explain.effects import MOST_FEATURES, Effect, effect
from termwise.explain.explanation import Explanation, LocalExplanation
from termwise.explain.runnable import Runnable
from termwise.explain.terms import Term
from termwise.report.checks import Judged, checks_section
from termwise.report.markup import Markup, element, joined
from termwise.report.running import running
from termwise.report.svg import drawing, is_surface
from termwise.report.tables import scrolling, table
from termwise.report.words import number, summary
from termwise.table import level_text

SMALL, MOST_DRAWN = 0.001, 48  # terms with a smaller share are listed but not drawn
MOST_LISTED = 40
MOST_ROWS, MOST_OF_A_ROW = 10, 8
NUMBERS_OF_A_CURVE = 11
AVERAGED = (
    "The probability itself is averaged over what is not known of them, and so nearer to one half than by "
    "their sum."
)
SCALES = {
    "normal": "Terms add up to the prediction, in the units of the target.",
    "poisson": "Terms add up to the logarithm of the rate. The rate itself is averaged over what is not "
    "known of them, and so somewhat higher than by their sum.",
    "logit": f"Terms add up to the logarithm of the odds. {AVERAGED}",
    "probit": f"Terms add up to the probit of the probability. {AVERAGED}",
}

ROW_SCALES = {
    "target": "in the units of the target",
    "latent": "on the scale on which terms add up, for labels the logarithm of the odds or the probit",
    "logarithm": "logarithms of the rate",
    "probability": "probabilities, and changes of them by each term alone",
}


def page(
    explanations: Sequence[Explanation], title: str | None, rows: LocalExplanation | None, judged: Judged
) -> str:
    """The whole page as text."""
    models = [_runs(explanation) for explanation in explanations]
    title = title or _title(models)
    sections = [
        ("summary", "In words", _in_words(explanations, models)),
        ("whatif-section", "What if", _what_if()),
        ("terms", "Which terms matter", _each(explanations, models, _ranked)),
        ("figures", "What each term does", _each(explanations, models, _figures)),
        ("rows", "Single rows", None if rows is None else _rows(rows)),
        ("checks", "Checks", checks_section(judged, column_checks(models[0].posterior, models[0].encoder))),
        ("made", "How the model was made", _made(models[0])),
    ]
    present = [section for section in sections if section[2] is not None]
    links = [element("li", element("a", name, href=f"#{key}")) for key, name, _ in present]
    body = [
        element(
            "section", element("h2", name, id=f"{key}-name"), content, id=key, aria_labelledby=f"{key}-name"
        )
        for key, name, content in present
    ]
    content = joined(
        element("a", "Skip to the contents", href="#summary", class_="skip"),
        element("header", element("h1", title), element("nav", element("ul", links), aria_label="Contents")),
        element("main", body),
        element("footer", element("p", f"Made by Termwise {__version__}. The page needs no network.")),
    )
    return _document(title, content, models)


def _document(title: str, content: Markup, models: Sequence[Runnable]) -> str:
    data = running(models)
    data["order"] = _by_importance(models)
    data["scale_words"] = SCALES[models[0].kind]
    text = json.dumps(data, allow_nan=False).replace("<", "\\u003c")  # so that it cannot end its element
    scripts = [_asset("engine.js"), _asset("page.js")]
    # Only these two scripts may run, and nothing may be fetched.
    allowed = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {allowed}"
    head = joined(
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", Markup(_asset("page.css"))),
    )
    parts = [
        element("script", Markup(text), type="application/json", id="model"),
        *(element("script", Markup(script)) for script in scripts),
    ]
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>{content}{joined(parts)}</body></html>\n'
    )


@cache
def _asset(name: str) -> str:
    return resources.files("termwise.report").joinpath("assets", name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


def _runs(explanation: Explanation) -> Runnable:
    assert explanation.runs is not None, "the report has looked"
    return explanation.runs


def _title(models: Sequence[Runnable]) -> str:
    made = models[0].made
    return f"What {made['estimator']} has learned from {made['rows']:,} rows"


def _by_importance(models: Sequence[Runnable]) -> list[int]:
    """The columns, those of the leading terms first."""
    seen: list[int] = []
    for model in models:
        seen += [d for term in model.terms for d in term.columns]
    seen += range(len(models[0].encoder.columns))
    return list(dict.fromkeys(seen))


def _each(explanations: Sequence[Explanation], models: Sequence[Runnable], section: Any) -> Markup:
    """The section of a model, or one for each label."""
    if len(models) == 1:
        return Markup(section(explanations[0], models[0]))
    parts = [
        element(
            "details",
            element("summary", f"{model.label} against the rest"),
            section(explanation, model),
            open=i == 0,
        )
        for i, (explanation, model) in enumerate(zip(explanations, models, strict=True))
    ]
    return joined(parts)


def _in_words(explanations: Sequence[Explanation], models: Sequence[Runnable]) -> Markup:
    parts = []
    for explanation, model in zip(explanations, models, strict=True):
        first, *more = summary(explanation, model.explains)
        name = None if len(models) == 1 else element("h3", model.label)
        parts.append(joined(name, element("p", first, class_="lead"), [element("p", text) for text in more]))
    return joined(parts)


def _what_if() -> Markup:
    words = (
        "Move a slider or choose a level: the prediction and the terms it is made of follow. "
        "It is computed here, in this page, by the model itself."
    )
    without = element("noscript", element("p", "This part needs JavaScript; everything else is below."))
    return joined(element("p", words, class_="quiet"), element("div", without, id="whatif"))


def _ranked(explanation: Explanation, model: Runnable) -> Markup:
    ranked = explanation.sobol
    count = max(1, min(int(np.sum(ranked["share"] >= SMALL)), MOST_LISTED))
    head = element(
        "tr",
        element("th", "term", scope="col"),
        element("th", "share", scope="col", class_="number"),
        element("th", "of what the model explains, and its 90 % interval", scope="col"),
    )
    leading, rest = ranked[:count], ranked[count : count + MOST_LISTED]
    left = float(np.sum(ranked["share"][count:]))
    orders = ", ".join(
        f"{percent(float(share))} % of order {order}"
        for order, share in enumerate(explanation.order_shares, start=1)
    )

    def listed(name: str, rows: Any) -> Markup:
        body = element("tbody", [_ranked_row(row) for row in rows])
        return scrolling(name, element("table", element("thead", head), body))

    more = f"{len(ranked) - count} smaller, with {percent(left)} % together"
    if len(rest) < len(ranked) - count:
        more += f" (the first {len(rest)} are listed)"
    if not model.complete:
        more += "; those of high order are too many to be listed"
    return joined(
        listed("ranked terms", leading),
        element("details", element("summary", more), listed("smaller terms", rest)) if len(rest) else None,
        element("p", f"By the number of features that act together: {orders}.", class_="quiet"),
    )


def _ranked_row(row: Any) -> Markup:
    share, low, high = (float(row[name]) for name in ("share", "low", "high"))
    bars = [element("i", style=f"width:{100 * share:.2f}%")]
    if np.isfinite(low) and np.isfinite(high):
        bars.append(element("b", style=f"left:{100 * low:.2f}%;width:{100 * (high - low):.2f}%"))
    return element(
        "tr",
        element("th", row["term"], scope="row"),
        element("td", share_text(share, low, high), class_="number"),
        element("td", element("span", bars, class_="share", aria_hidden="true")),
    )


def _figures(explanation: Explanation, model: Runnable) -> Markup:
    shares = explanation.sobol["share"]
    drawn = [
        (term, row)
        for term, row, share in zip(
            model.terms, explanation.sobol, shares, strict=False
        )  # not all may be listed
        if share >= SMALL and term.order <= MOST_FEATURES
    ][:MOST_DRAWN]
    effects = [
        replace(
            effect(model.posterior, model.encoder, term, model.scale.scale),
            quantity=model.quantity,
            target=model.target,
        )
        for term, _ in drawn
    ]
    # One scale of colours for all, so that a weak term does not look strong.
    coloured = [float(np.max(np.abs(each.mean))) for each in effects if is_surface(each)]
    limit = max(coloured, default=1.0) or 1.0
    figures = [_figure(e, row, limit) for e, (_, row) in zip(effects, drawn, strict=True)]
    words = (
        f"Lines and points are the {model.quantity} {model.target}; bands are two standard deviations wide "
        "on either side. Grey bars show where the rows are."
    )
    if coloured:
        words += (
            f" Colours go from blue ({number(-limit)}) to red ({number(limit)}), pale where not even the "
            "sign is known."
        )
    return joined(element("p", words, class_="quiet"), element("div", figures, class_="figures"))


def _figure(found: Effect, row: Any, limit: float) -> Markup:
    share = share_text(row["share"], row["low"], row["high"])
    caption = element("figcaption", element("h3", found.term.name), element("span", share, class_="quiet"))
    if found.term.order < MOST_FEATURES:
        return element("figure", caption, drawing(found, limit), _numbers(found))
    third = found.axes[2]
    slices = []
    for k, value in enumerate(third):
        at = level_text(value) if has_levels(third) else number(float(value))
        slices.append(
            element("div", element("p", f"{found.features[2]}: {at}"), drawing(_slice(found, k), limit))
        )
    return element("figure", caption, element("div", slices, class_="slices"), class_="wide")


def _slice(found: Effect, k: int) -> Effect:
    """An effect of three features at one value of the third, as one of two."""
    assert found.std is not None, "effects of a page are on the scale on which terms add up"
    return replace(
        found,
        term=Term(found.features[:2], found.term.columns[:2]),
        axes=found.axes[:2],
        mean=found.mean[..., k],
        std=found.std[..., k],
        rows=found.rows[:2],
        arranged=None,
    )


def _numbers(found: Effect) -> Markup | None:
    """A curve or levels as a table, for who wants numbers or cannot see."""
    if found.term.order != 1:
        return None
    axis, parts = found.axes[0], (found.mean, found.low, found.high)
    levels = has_levels(axis)
    places = range(len(axis)) if levels else np.linspace(0, len(axis) - 1, NUMBERS_OF_A_CURVE).astype(int)
    rows = [
        (
            level_text(axis[i]) if levels else number(float(axis[i])),
            *(number(float(part[i])) for part in parts),
        )
        for i in places
    ]
    head = (found.term.features[0], "mean", "low", "high")
    numbers = table(f"{found.term.name} as numbers", head, rows)
    return element("details", element("summary", "As numbers"), numbers)


def _rows(rows: LocalExplanation) -> Markup:
    parts, smallest = [], rows.negligible

    def said(value: float) -> str:
        return number(0.0 if abs(value) < smallest else float(value))

    for i in range(min(len(rows.predictions), MOST_ROWS)):
        order = np.argsort(-np.abs(rows.contributions[i]), kind="stable")[:MOST_OF_A_ROW]
        lines = [
            (
                rows.terms[k],
                said(rows.contributions[i, k]),
                f"{said(rows.low[i, k])} to {said(rows.high[i, k])}",
            )
            for k in order
        ]
        outcome = rows.outcome_text(i)
        name = f"Row {i + 1}: {said(rows.predictions[i])}" + (f" ({outcome})" if outcome else "")
        terms = table(name, ("term", "adds", "two standard deviations to either side"), lines)
        parts.append(element("details", element("summary", name), terms, open=i == 0))
    what = ROW_SCALES.get(rows.scale, rows.scale)
    constant = f"Numbers are {what}. Without any term a row has {said(rows.constant)}; its leading terms:"
    return joined(element("p", constant, class_="quiet"), parts)


def _made(model: Runnable) -> Markup:
    made = model.made
    facts = [
        ("estimator", made["estimator"]),
        ("rows learned from", f"{made['rows']:,}"),
        ("centres", f"{model.posterior.alpha.size:,}"),
        ("search", f"{made['status']} after {made['evaluations']} evaluations, {number(made['seconds'])} s"),
        ("added to the diagonal", number(made["jitter"])),
        *made["options"].items(),
    ]
    columns = [(entry["column"], entry["measure"], entry["reason"]) for entry in made["columns"]]
    listed = table("columns", ("column", "measure", "why"), columns, numbers=False)
    return joined(
        table("how the model was made", ("what", "value"), facts, numbers=False),
        element("details", element("summary", "What was chosen for each column"), listed),
    )
