"""Choosing the measure of a column from its encoded values, with the reason in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from termwise.errors import OptionError
from termwise.measures.base import Array, Continuous, Measure
from termwise.measures.empirical import Empirical
from termwise.measures.mixture import Mixture
from termwise.measures.normal import Normal
from termwise.measures.uniform import Uniform

FEW_VALUES = 20
LARGE_ATOM = 0.05
# A gap between two cdfs below this is too small to change an explanation, however many rows prove it.
SMALL_GAP = 0.04
# Five per cent points of sqrt(n) times the largest gap. The location and the scale were fitted to the same
# rows, so Lilliefors' figure is right for them; Kolmogorov's would pass 500 uniform rows as normal.
LILLIEFORS = 0.886
KOLMOGOROV = 1.36

FITS: dict[str, Callable[[Array], Measure]] = {
    "normal": Normal.fit,
    "mixture": Mixture.fit,
    "uniform": Uniform.fit,
    "empirical": Empirical.fit,
}


@dataclass(frozen=True)
class Choice:
    """A measure, and one sentence that says why."""

    measure: Measure
    reason: str


def choose_measure(z: Array, *, kind: str = "auto") -> Choice:
    """The measure of a column of encoded values, without NaN; `kind` other than "auto" is obeyed."""
    values = np.asarray(z, dtype=float)
    if values.ndim != 1 or not values.size or not np.all(np.isfinite(values)):
        raise OptionError("the values of a column must be one row of finite numbers, at least one")
    if kind == "auto":
        return _choose(values)
    if kind not in FITS:
        raise OptionError(f"measure {kind!r} is not known; use one of auto, {', '.join(FITS)}")
    return Choice(FITS[kind](values), f"{kind}, as asked")


def _choose(z: Array) -> Choice:
    distinct, counts = np.unique(z, return_counts=True)
    if distinct.size <= FEW_VALUES:
        return Choice(Empirical.fit(z), f"only {distinct.size} distinct values: empirical")
    largest = counts.max() / z.size
    if largest > LARGE_ATOM:
        value = distinct[counts.argmax()]
        return Choice(Empirical.fit(z), f"{largest:.0%} of the rows share the value {value:.3g}: empirical")

    root = np.sqrt(z.size)
    skew = np.mean((z - z.mean()) ** 3) / z.std() ** 3
    gap = largest_gap(Normal(), z)
    found = f"skew {skew:.2f}, largest gap to the standard normal {gap:.3f}"
    if gap <= max(SMALL_GAP, LILLIEFORS / root):
        return Choice(Normal(), f"{found}: normal")
    uniform = Uniform.fit(z)
    gap = largest_gap(uniform, z)
    if gap <= max(SMALL_GAP, KOLMOGOROV / root):
        return Choice(uniform, f"{found}, to a uniform {gap:.3f}: uniform")
    mixture = Mixture.fit(z)
    gap = largest_gap(mixture, z)
    if gap <= max(SMALL_GAP, LILLIEFORS / root):
        count = len(mixture.weights)
        return Choice(mixture, f"{found}, to a mixture of {count} normals {gap:.3f}: mixture")
    return Choice(Empirical.fit(z), f"{found}, to a mixture {gap:.3f}: empirical")


def largest_gap(measure: Continuous, z: Array) -> float:
    """The Kolmogorov-Smirnov distance sup_x |F_n(x) - F(x)| between the rows and a measure."""
    probability = measure.cdf(np.sort(z))
    steps = np.arange(z.size + 1) / z.size
    return float(max(np.max(steps[1:] - probability), np.max(probability - steps[:-1])))
