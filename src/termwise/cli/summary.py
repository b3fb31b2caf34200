"""A fitted model in plain data, and that data as text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from termwise.estimators.regressor import AdditiveRegressor

BAR = 20  # letters of a share of 100 %
TOP, SMALL = 20, 0.001  # without --top at most so many terms are shown, and none with a smaller share


def summary(model: AdditiveRegressor) -> dict[str, Any]:
    """The ranked terms, the orders, the columns and how the fit went."""
    encoder = model.encoder_
    explained = model.explain(n_terms=0).to_dict()
    result = model.fit_result_
    return {
        "estimator": type(model).__name__,
        "rows": len(model.posterior_.alpha),
        "explained": explained["explained"],
        "terms": explained["terms"],
        "order_shares": explained["order_shares"],
        "columns": [asdict(choice) for choice in model.columns_],
        "columns_without_effect": [name for name in encoder.schema.names if name not in encoder.names],
        "fit": {name: value for name, value in asdict(result).items() if name != "starts"},
    }


def json_text(found: dict[str, Any], top: int | None) -> str:
    """The summary as JSON, in plain ASCII so that any terminal can show it; all terms if top is None."""
    return json.dumps({**found, "terms": found["terms"][:top]}, indent=2, allow_nan=False)


def summary_text(found: dict[str, Any], top: int | None) -> str:
    """The ranked terms with bars and intervals, and the shares of the orders."""
    terms = found["terms"]
    shown = terms[: _worth_showing(terms) if top is None else top]
    rows = [("term", "share", "", "90 % interval")]
    rows += [
        (_shown(term["term"]), _percent(term["share"]), _bar(term["share"]), _interval(term))
        for term in shown
    ]
    lines = [_explained(found["explained"]), "", _table(rows, "<><<")]
    left = terms[len(shown) :]
    if left:
        count = "1 more term" if len(left) == 1 else f"{len(left)} more terms"
        lines.append(f"and {count} with {_percent(sum(term['share'] for term in left))} (see --top)")
    shares = enumerate(found["order_shares"], start=1)
    orders = [(f"order {order}", _percent(share), _bar(share)) for order, share in shares]
    lines += ["", _table(orders, "<><")]
    if found["estimator"] == "AdditiveGPRegressor":
        lines += ["", "These terms are not orthogonal: a share says little about its features alone."]
    return "\n".join(lines)


def chosen_text(found: dict[str, Any]) -> str:
    """What was chosen for each column, and why."""
    rows = [("column", "measure", "why")]
    rows += [(_shown(entry["column"]), entry["measure"], entry["reason"]) for entry in found["columns"]]
    rows += [(_shown(name), "-", "has one value only: no effect") for name in found["columns_without_effect"]]
    return _table(rows, "<<<")


def _worth_showing(terms: Sequence[dict[str, Any]]) -> int:
    """How many terms to show if nobody says; at least one."""
    return max(1, sum(term["share"] >= SMALL for term in terms[:TOP]))


def _table(rows: Sequence[Sequence[str]], align: str) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(_cells(row, align, widths)).rstrip() for row in rows)


def _cells(row: Sequence[str], align: str, widths: Sequence[int]) -> Iterable[str]:
    return (f"{cell:{side}{width}}" for cell, side, width in zip(row, align, widths, strict=True))


def _shown(name: str) -> str:
    # A name may hold line ends, but a row of the table is one line.
    return " ".join(name.split())


def _explained(part: float) -> str:
    return (
        f"The terms explain {_percent(part)} of the variance of the target; the rest is noise to the model."
    )


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100.0 * share:.1f} %"


def _bar(share: float | None) -> str:
    # Plain letters, as not every terminal and log file has blocks.
    return "#" * min(BAR, round(BAR * (share or 0.0)))


def _interval(term: dict[str, Any]) -> str:
    if term["low"] is None or term["high"] is None:
        return ""
    return f"{100.0 * term['low']:.1f} to {100.0 * term['high']:.1f} %"
