"""A fitted model in plain data, and that data as text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from termwise.table import shortened

if TYPE_CHECKING:
    from termwise.estimators.fitted import FittedModel
    from termwise.explain.explanation import Explanation

BAR = 20  # letters of a share of 100 %
LONGEST = 60  # letters of a name
TOP, SMALL = 20, 0.001  # without --top at most so many terms are shown, and none with a smaller share


def summary(model: FittedModel) -> dict[str, Any]:
    """The ranked terms, the orders, the columns and how the fit went.

    A classifier has `labels` too, and with more than two of them the terms are under `each`, by label.
    """
    from termwise.estimators.probabilities import joint_result

    parts = getattr(model, "estimators_", [model])
    encoder = parts[0].encoder_
    result = joint_result([part.fit_result_ for part in parts])
    return {
        "estimator": type(model).__name__,
        "orthogonal": parts[0].posterior_.orthogonal,
        **_target(model),
        "rows": result.rows or len(parts[0].posterior_.alpha),  # which files of early versions do not say
        **_learned(model, parts),
        "columns": [asdict(choice) for choice in getattr(parts[0], "columns_", ())],
        **_sensitivity(model),
        "listed": getattr(model, "terms", None) is not None,
        "columns_without_effect": [name for name in encoder.schema.names if name not in encoder.used],
        "fit": {name: value for name, value in asdict(result).items() if name != "starts"},
    }


def _sensitivity(model: Any) -> dict[str, Any]:
    """How much the prediction depends on each column, of a model whose terms are not of columns."""
    if not hasattr(model, "sensitivity_"):
        return {}
    found = model.sensitivity_
    pairs = sorted(zip(found.features, found.shares.tolist(), strict=True), key=lambda pair: -pair[1])
    return {"sensitivity": [{"column": name, "sensitivity": share} for name, share in pairs]}


def _target(model: Any) -> dict[str, Any]:
    if not hasattr(model, "classes_"):
        return {"likelihood": getattr(model, "likelihood", "normal")}
    return {"labels": model.classes_.tolist(), "link": model.link_}


def _learned(model: Any, parts: Sequence[Any]) -> dict[str, Any]:
    """What the terms are, or what they are for each label."""
    explained = [_terms(part.explain(n_terms=0)) for part in parts]
    if len(parts) == 1:
        return explained[0]
    labels = model.classes_.tolist()
    return {"each": [{"label": label, **one} for label, one in zip(labels, explained, strict=True)]}


def _terms(found: Explanation) -> dict[str, Any]:
    plain = found.to_dict()
    del plain["effects"]  # none was asked for
    return {"explained_of": found.explains, **plain}


def json_text(found: dict[str, Any], top: int | None) -> str:
    """The summary as JSON, in plain ASCII so that any terminal can show it; all terms if top is None."""
    shown = dict(found)
    if "each" in found:
        shown["each"] = [{**one, "terms": one["terms"][:top]} for one in found["each"]]
    else:
        shown["terms"] = found["terms"][:top]
    return json.dumps(shown, indent=2, allow_nan=False)


def summary_text(found: dict[str, Any], top: int | None) -> str:
    """The ranked terms with bars and intervals, and the shares of the orders; for each label of many."""
    from termwise.estimators.classifier import LATENT_NAMES

    parts = [{**found, **one} for one in found["each"]] if "each" in found else [found]
    lines = [_part_text(part, top) for part in parts]
    if "labels" in found:
        # A label is as if a latent value, the terms with the noise of the link, were above zero.
        scale = LATENT_NAMES[found["link"]]
        lines.append(f"Shares are of the variance on the scale of the {scale}, where terms add up.")
    if not found["orthogonal"]:
        lines.append("These terms are not orthogonal: a share says little about its features alone.")
    return "\n\n".join(lines)


def _part_text(found: dict[str, Any], top: int | None) -> str:
    terms = found["terms"]
    shown = terms[: _worth_showing(terms) if top is None else top]
    rows = [("term", "share", "", "90 % interval" if any(map(_interval, shown)) else "")]
    rows += [
        (_shown(term["term"]), _percent(term["share"]), _bar(term["share"]), _interval(term))
        for term in shown
    ]
    lines = [_explained(found), "", _table(rows, "<><<")]
    left = terms[len(shown) :]
    if left:
        count = "1 more term" if len(left) == 1 else f"{len(left)} more terms"
        lines.append(f"and {count} with {_percent(sum(term['share'] for term in left))} (see --top)")
    shares = enumerate(found["order_shares"], start=1)
    orders = [(f"order {order}", _percent(share), _bar(share)) for order, share in shares if share]
    return "\n".join([*lines, "", _table(orders, "<><")] if orders else lines)


def chosen_text(found: dict[str, Any]) -> str:
    """What was chosen for each column, and why."""
    why = f"has one value only{' or is in none of the terms' if found['listed'] else ''}: no effect"
    without = [(_shown(name), "-", why) for name in found["columns_without_effect"]]
    if "sensitivity" in found:
        rows = [("column", "", "sensitivity of the prediction to it")]
        rows += [
            (_shown(one["column"]), _percent(one["sensitivity"]), _bar(one["sensitivity"]))
            for one in found["sensitivity"]
        ]
        return _table([*rows, *without], "<><")
    rows = [(_shown(entry["column"]), entry["measure"], entry["reason"]) for entry in found["columns"]]
    if not rows and not without:  # networks have no measures
        return ""
    return _table([("column", "measure", "why"), *rows, *without], "<<<")


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
    return shortened(" ".join(name.split()), LONGEST)


def _explained(found: dict[str, Any]) -> str:
    part, rest = _percent(found["explained"]), "chance" if "labels" in found else "noise"
    return f"The terms explain {part} of {_shown(found['explained_of'])}; the rest is {rest} to the model."


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100.0 * share:.1f} %"


def _bar(share: float | None) -> str:
    # Plain letters, as not every terminal and log file has blocks.
    return "#" * min(BAR, round(BAR * (share or 0.0)))


def _interval(term: dict[str, Any]) -> str:
    if term["low"] is None or term["high"] is None:
        return ""
    return f"{100.0 * term['low']:.1f} to {100.0 * term['high']:.1f} %"
