"""What a model says, in sentences."""

from __future__ import annotations

import numpy as np

from termwise.display.style import percent
from termwise.explain.effects import Effect
from termwise.explain.explanation import Explanation

LEAST = 0.01  # explained of the whole; shares of less are shares of nothing
MOST = 0.95  # of what the model explains is "most of it"
DIGITS = 4


def number(value: float) -> str:
    """A number as people write it: four digits, with a real minus, and no needless zeros."""
    if not np.isfinite(value):
        return "not known"
    if value == 0.0:
        return "0"
    size = abs(value)
    if size >= 1e7 or size < 1e-4:
        text = f"{value:.{DIGITS - 1}e}"
        mantissa, exponent = text.split("e")
        text = f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    else:
        digits = max(DIGITS - 1 - int(np.floor(np.log10(size))), 0)
        text = f"{value:,.{digits}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace("-", "−")


def summary(explanation: Explanation, explains: str) -> list[str]:
    """How much the terms explain of that, which matter most, and whether they act together."""
    table = explanation.sobol
    if not len(table):
        return [f"The model explains nothing of {explains}: every row has the same prediction."]
    if explanation.explained < LEAST:
        part = f"{percent(explanation.explained)} % of {explains}{_where(explanation)}"
        return [f"The model explains {part}: next to nothing, so that it says little which terms lead."]
    shares = np.cumsum(table["share"])
    count = int(np.searchsorted(shares, min(MOST, float(shares[-1])) - 1e-9)) + 1
    first = table[0]
    have = "1 term has" if count == 1 else f"{count} terms have"
    where = _where(explanation)
    words = [
        f"The model explains {percent(explanation.explained)} % of {explains}{where}; {have} "
        f"{percent(float(shares[count - 1]))} % of that, and {first['term']} matters most "
        f"({percent(float(first['share']))} %)."
    ]
    orders = explanation.order_shares
    if len(orders) > 1:
        words.append(
            f"Of what is explained, single features have {percent(float(orders[0]))} %, features acting "
            f"together {percent(float(np.sum(orders[1:])))} %."
        )
    return words


def _where(explanation: Explanation) -> str:
    """Terms whose cells are missing explain nothing of a row."""
    missing = explanation.runs is not None and bool(np.any(np.isnan(explanation.runs.posterior.rows)))
    return " in rows that lack no value" if missing else ""


def description(effect: Effect) -> str:
    """One effect in a sentence, for who cannot see the figure."""
    if effect.term.order != 1:
        low, high = float(np.min(effect.mean)), float(np.max(effect.mean))
        return f"{effect.term.name}: from {number(low)} to {number(high)}."
    axis, mean = effect.axes[0], effect.mean
    low, high = int(np.argmin(mean)), int(np.argmax(mean))

    def at(i: int) -> str:
        place = axis[i] if axis.dtype == object else number(float(axis[i]))
        return f"{number(float(mean[i]))} at {place}"

    return f"{effect.term.name}: lowest {at(low)}, highest {at(high)}."
