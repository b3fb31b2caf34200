"""How a model did on rows that it had not seen, for the page."""

from __future__ import annotations

from typing import Any

from termwise.report.markup import Markup, element
from termwise.report.words import number


def checks_section(checks: Any) -> Markup:
    """Every figure of the checks that is a number, under its name."""
    rows = []
    for name, value in checks.to_dict().items():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            label = name.replace("_", " ")
            rows.append(element("tr", element("th", label, scope="row"), element("td", number(float(value)))))
    return element("table", element("tbody", rows))
