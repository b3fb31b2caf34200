"""How a target comes about, as asked: what the engine learns from it, and how to say it in its own units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from termwise.encode.scale import Standardise
from termwise.encode.target import CountTarget, NumberTarget, TargetColumn
from termwise.errors import OptionError, TargetError
from termwise.estimators.known import Known
from termwise.estimators.options import checked_target, finite_target
from termwise.likelihoods import Likelihood, Poisson, Student
from termwise.measures.base import Array
from termwise.posterior.noise import Noise
from termwise.table.survey import TargetSurvey

# Normal noise has an engine of its own, so it is no likelihood here.
LIKELIHOODS: dict[str, Likelihood] = {"poisson": Poisson(), "student": Student()}
NORMAL = "normal"
MOST_EVENTS = 1e7  # of a row: weighed by more, the kernel matrix has too few digits left
FARTHEST = 1e100  # from the median, in quartile distances: squares of it are still numbers
WIDEST_HINT = 3.0


@dataclass(frozen=True, eq=False)
class Target:
    """What the engine learns: y in its units, the likelihood if it is not normal, weights and offsets.

    `times` is how often each row occurs. `weight` is how much its target says each time, and nothing of how
    often its inputs occur.
    """

    y: Array
    likelihood: Likelihood | None = None
    weight: Array | None = None
    offset: Array | None = None
    times: Array | None = None

    @property
    def power(self) -> Array | None:
        """What the likelihood of each row is raised to, by both; None if that is one."""
        if self.weight is None or self.times is None:
            return self.times if self.weight is None else self.weight
        return self.weight * self.times

    @property
    def hint(self) -> Array:
        """The target as numbers of about unit size, to guess how levels differ before anything is learned."""
        if self.likelihood is None:
            return self.y
        if self.offset is None:
            return np.clip(self.y, -WIDEST_HINT, WIDEST_HINT)
        # Relative where counts are many, and in their own standard deviations where they are few.
        expected = np.exp(self.offset)
        distance = (self.y - expected) / np.sqrt(expected + expected**2)
        return np.clip(distance, -WIDEST_HINT, WIDEST_HINT)

    def rows(self, chosen: Array, times: Array | None) -> Target:
        """Some of the rows, that occur so often."""
        weight, offset = (None if part is None else part[chosen] for part in (self.weight, self.offset))
        return Target(self.y[chosen], self.likelihood, weight, offset, times)


def prepared_target(name: str, y: Any, exposure: Any, n_rows: int) -> tuple[Target, Standardise]:
    """The target for the engine, and the scale that its latent function has in the units of the terms."""
    refuse_exposure(name, exposure)
    if name == NORMAL:
        values = checked_target(y, n_rows)
        scale = Standardise.fit(values)
        return Target(scale.forward(values)), scale
    if name == "student":
        values = checked_target(y, n_rows)
        scale = Standardise.by_quartiles(values)
        return Target(_within_reach(scale.forward(values)), LIKELIHOODS[name]), scale
    return _prepared_counts(y, exposure, n_rows)


def _prepared_counts(y: Any, exposure: Any, n_rows: int) -> tuple[Target, Standardise]:
    counts, exposures = checked_counts(y, n_rows), checked_exposure(exposure, n_rows)
    if np.min(exposures) == np.max(exposures):
        checked_target(counts, n_rows)
    highest = int(np.argmax(counts))
    _check_highest(counts[highest], f"row {highest}")
    # About the mean rate the latent function is about zero, however rare or many the events are.
    log_rate = float(np.log(np.sum(counts)) - np.log(np.sum(exposures)))
    return Target(counts, Poisson(), None, np.log(exposures) + log_rate), Standardise(log_rate, 1.0)


def target_column(name: str, known: Known) -> tuple[TargetColumn, Standardise]:
    """The same of a data set, by the survey of its target and a sample."""
    about, wanted, sample = known.survey.target, known.wanted, known.targets.columns
    assert isinstance(about, TargetSurvey), "a regressor asks for numbers"
    if name == NORMAL:
        return NumberTarget(wanted.target, known.scale), known.scale
    if name == "student":
        scale = Standardise.by_quartiles(sample[0])
        _within_reach(scale.forward(np.array([about.least, about.largest])))
        return NumberTarget(wanted.target, scale), scale
    _refuse_negative(about.least, "some row")
    _check_highest(about.largest, "some row")
    # The sample tells what the exposure is on average, and all rows what the count is.
    exposure = 1.0 if wanted.exposure is None else float(np.mean(sample[1]))
    log_rate = float(np.log(about.mean / exposure))
    return CountTarget(wanted.target, log_rate, wanted.exposure), Standardise(log_rate, 1.0)


def _within_reach(standardised: Array) -> Array:
    far = np.flatnonzero(np.abs(standardised) > FARTHEST)
    if far.size:
        raise TargetError(
            f"the target of row {far[0]} is {FARTHEST:g} times farther from the median than the quartiles; "
            "leave such rows out"
        )
    return standardised


def latent_noise(likelihood: Likelihood, mean: float) -> Noise:
    """The variance of an observation about the function, on its scale; `mean` is that of the targets.

    For counts it is log(1 + 1 / mean count), that of the logarithm of a count about the mean: Nakagawa,
    Johnson and Schielzeth (2017). It is what `explained_` compares the terms with, and nothing else uses it.
    With outliers it is the variance of a normal with the same middle: that of Student's t itself would speak
    of the outliers alone, and of them only by where the degrees of freedom are bounded.
    """
    if isinstance(likelihood, Poisson):
        return Noise.normal(float(np.log1p(1.0 / mean)))
    assert isinstance(likelihood, Student), "labels have the noise of their link"
    return Noise.normal(likelihood.middle_variance)


def refuse_exposure(name: str, exposure: Any) -> None:
    """An exposure means something for counts only."""
    if exposure is not None and name != "poisson":
        raise OptionError(
            f"exposure is given and the likelihood is {name!r}; leave exposure out, or fit counts by an "
            "OAKRegressor or AdditiveGPRegressor with likelihood='poisson'"
        )


def checked_counts(y: Any, n_rows: int) -> Array:
    """Numbers of zero or more, one for each row; they need not be whole."""
    counts = finite_target(y, n_rows)
    lowest = int(np.argmin(counts))
    _refuse_negative(counts[lowest], f"row {lowest}")
    return counts


def _refuse_negative(count: float, where: str) -> None:
    if count < 0.0:
        raise TargetError(
            f"the target is {count:g} in {where}, and counts are not negative; check the target, or use "
            "likelihood='normal' or 'student'"
        )


def _check_highest(count: float, where: str) -> None:
    if count == 0.0:
        raise TargetError(
            "the counts are zero in every row, and their rate could be anything below one; check that the "
            "right column is the target"
        )
    if count > MOST_EVENTS:
        raise TargetError(
            f"the target is {count:g} in {where}, and likelihood='poisson' takes counts up to "
            f"{MOST_EVENTS:g}; so many events scatter normally: fit the logarithm with likelihood='normal'"
        )


def checked_exposure(exposure: Any, n_rows: int) -> Array:
    """A number above zero for each row; one if none is given, and one number is that of all rows."""
    if exposure is None:
        return np.ones(n_rows)
    try:
        values = np.asarray(exposure).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise OptionError(
            f"exposure is not made of numbers ({error}); pass one number above zero for each row"
        ) from None
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 0 and values.shape != (n_rows,):
        raise OptionError(
            f"exposure has the shape {values.shape} and the table {n_rows} rows; pass one number for each row"
        )
    values = np.broadcast_to(values, (n_rows,))
    bad = np.flatnonzero(~(np.isfinite(values) & (values > 0.0)))
    if bad.size:
        raise OptionError(
            f"exposure is {values[bad[0]]:g} in row {bad[0]} ({bad.size} such in all), but must be a number "
            "above zero; leave rows without exposure out"
        )
    return values
