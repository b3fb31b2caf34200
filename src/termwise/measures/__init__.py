"""The distributions of encoded columns, under which the terms of a model are orthogonal."""

from termwise.measures.base import Continuous, Measure
from termwise.measures.choose import Choice, choose_measure
from termwise.measures.discrete import Discrete
from termwise.measures.empirical import Empirical
from termwise.measures.mixture import Mixture
from termwise.measures.normal import Normal
from termwise.measures.registry import MEASURES
from termwise.measures.uniform import Uniform

__all__ = [
    "MEASURES",
    "Choice",
    "Continuous",
    "Discrete",
    "Empirical",
    "Measure",
    "Mixture",
    "Normal",
    "Uniform",
    "choose_measure",
]
