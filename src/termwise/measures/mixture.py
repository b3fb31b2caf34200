"""A mixture of normals, for columns with more than one hump or a long tail."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp, ndtr

from termwise.errors import OptionError
from termwise.measures.base import (
    PANELS,
    REACH,
    Array,
    Continuous,
    as_floats,
    require_finite,
    require_positive,
    require_weights,
)

COMPONENTS = (2, 3, 4)
FEWEST_PANELS = 32  # half an sd wide: eight nodes integrate the density of a component to 1e-13
MOST_POINTS = 2000  # beyond, EM sees equally spaced quantiles: the same fit, at a cost that stays put
SD_FLOOR = 0.02  # of the sd of the data; a narrower hump is an atom, and that is the empirical measure's job
STEPS = 300
TOLERANCE = 1e-7


@dataclass(frozen=True)
class Mixture(Continuous):
    """sum_k weights_k N(means_k, sds_k^2). OAK eq. 29 (which writes the variance where we write the sd)."""

    kind: ClassVar[str] = "mixture"

    weights: tuple[float, ...]
    means: tuple[float, ...]
    sds: tuple[float, ...]
    mean: float = field(init=False, compare=False, repr=False)
    sd: float = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("weights", "means", "sds"):
            object.__setattr__(self, name, as_floats(getattr(self, name)))
        if not len(self.weights) == len(self.means) == len(self.sds):
            raise OptionError(
                f"a mixture has {len(self.weights)} weights, {len(self.means)} means, {len(self.sds)} sds; "
                "pass one of each for every component"
            )
        require_weights("the weights of a mixture", self.weights)
        require_finite("the means of a mixture", self.means)
        for sd in self.sds:
            require_positive("an sd of a mixture", sd)
        weights, means, sds = self.components()
        mean = weights @ means
        object.__setattr__(self, "mean", mean.item())
        object.__setattr__(self, "sd", np.sqrt(weights @ (sds**2 + (means - mean) ** 2)).item())

    @classmethod
    def fit(cls, x: Array) -> Mixture:
        """Maximum likelihood by EM with 2 to 4 components, as many as BIC prefers; deterministic."""
        points = np.sort(np.asarray(x, dtype=float))
        if points.size > MOST_POINTS:
            points = np.quantile(points, (np.arange(MOST_POINTS) + 0.5) / MOST_POINTS)
        fits = [_expectation_maximisation(points, count) for count in COMPONENTS if count <= points.size]
        if not fits:
            raise OptionError(f"a mixture needs at least two values; there are {points.size}")
        # A component has three parameters, less one for weights that sum to one. BIC counts all rows.
        scores = [
            2.0 * len(x) * fit.log_density(points).mean() - (3 * len(fit.weights) - 1) * np.log(len(x))
            for fit in fits
        ]
        return fits[int(np.argmax(scores))]

    def components(self) -> tuple[Array, Array, Array]:
        """Weights, means and sds."""
        return np.array(self.weights), np.array(self.means), np.array(self.sds)

    def log_density(self, x: Array) -> Array:
        """log p(x) for real x, finite far in the tails."""
        total: Array = logsumexp(_log_joint(x, *self.components()), axis=1)
        return total

    def density(self, x: Array) -> Array:
        """p(x), analytic."""
        weights, means, sds = self.components()
        kernels = np.exp(-0.5 * ((x[..., None] - means) / sds) ** 2)
        density: Array = kernels @ (weights / (sds * np.sqrt(2 * np.pi)))
        return density

    def cdf(self, x: Array) -> Array:
        """P(X <= x)."""
        weights, means, sds = self.components()
        probability: Array = ndtr((x[..., None] - means) / sds) @ weights
        return probability

    def edges(self, panels: int = PANELS) -> Array:
        """The union of equal panels over mean +- 8 sd of each component: the narrowest is resolved too."""
        _, means, sds = self.components()
        each = max(min(panels, FEWEST_PANELS), panels // len(means))
        return np.unique(means[:, None] + sds[:, None] * np.linspace(-REACH, REACH, each + 1))

    def sample(self, rng: np.random.Generator, size: int) -> Array:
        """Independent draws."""
        weights, means, sds = self.components()
        component = rng.choice(len(weights), size=size, p=weights / weights.sum())
        return rng.normal(means[component], sds[component])

    def scaled(self, factor: float) -> Mixture:
        """The measure of factor * X."""
        weights, means, sds = self.components()
        return Mixture(
            as_floats(weights),
            as_floats(means * factor),
            as_floats(sds * (factor if factor.real > 0 else -factor)),
        )


def _log_joint(x: Array, weights: Array, means: Array, sds: Array) -> Array:
    """log weights_k + log N(x_i; means_k, sds_k^2), an n x K matrix."""
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights)  # a component that has lost all its rows keeps weight zero
    scaled = (x[:, None] - means) / sds
    joint: Array = log_weights - np.log(sds * np.sqrt(2 * np.pi)) - 0.5 * scaled**2
    return joint


def _expectation_maximisation(points: Array, count: int) -> Mixture:
    """EM from means at equally spaced quantiles, until the mean log density gains less than 1e-7 a step."""
    spread = float(np.std(points))
    require_positive("the sd of the data of a mixture", spread)
    weights = np.full(count, 1.0 / count)
    means = np.quantile(points, (np.arange(count) + 0.5) / count)
    sds = np.full(count, spread / count)
    previous = -np.inf
    for _ in range(STEPS):
        joint = _log_joint(points, weights, means, sds)
        log_density = logsumexp(joint, axis=1, keepdims=True)
        share = np.exp(joint - log_density)
        mass = share.sum(axis=0)
        held = np.maximum(mass, 1e-12)  # no rows: the component stays where it is, with weight zero
        weights = mass / mass.sum()
        means = np.where(mass > 1e-12, points @ share / held, means)
        variance = np.sum(share * (points[:, None] - means) ** 2, axis=0) / held
        sds = np.sqrt(np.maximum(variance, (SD_FLOOR * spread) ** 2))
        current = float(log_density.mean())
        if current - previous < TOLERANCE:
            break
        previous = current
    return Mixture(as_floats(weights), as_floats(means), as_floats(sds))
