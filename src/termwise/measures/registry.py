"""Measures from plain data, by a closed list of kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from termwise.errors import OptionError
from termwise.measures.base import Measure
from termwise.measures.discrete import Discrete
from termwise.measures.empirical import Empirical
from termwise.measures.mixture import Mixture
from termwise.measures.normal import Normal
from termwise.measures.uniform import Uniform

MEASURES: dict[str, type[Measure]] = {
    measure.kind: measure for measure in (Normal, Mixture, Uniform, Empirical, Discrete)
}


def measure_from_dict(data: Mapping[str, Any]) -> Measure:
    """The measure that `to_dict` described."""
    values = dict(data)
    kind = values.pop("kind", None)
    if kind not in MEASURES:
        raise OptionError(f"unknown measure {kind!r}; the kinds are {', '.join(MEASURES)}")
    try:
        return MEASURES[kind](**values)
    except TypeError as error:
        raise OptionError(f"a {kind} measure cannot be made from {sorted(values)}") from error
