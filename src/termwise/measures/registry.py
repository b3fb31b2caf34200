"""The closed list of measures, by which files are read."""

from __future__ import annotations

from termwise.measures.base import Measure
from termwise.measures.discrete import Discrete
from termwise.measures.empirical import Empirical
from termwise.measures.mixture import Mixture
from termwise.measures.normal import Normal
from termwise.measures.uniform import Uniform

MEASURES: dict[str, type[Measure]] = {
    measure.kind: measure for measure in (Normal, Mixture, Uniform, Empirical, Discrete)
}
