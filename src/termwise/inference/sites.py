"""Three rules for the sites: variational inference, expectation propagation and Laplace's approximation.

Each says, given the posterior under the present sites, what its value is and where the sites should go; the
sites are moved until they stay. There the gradient for the kernel is that of regression on the sites, except
that the sites of Laplace's rule move with the mode.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from termwise.errors import NumericalError
from termwise.inference.latent import Conditioned, Sites
from termwise.inference.mixing import DEPTH, Mixing
from termwise.likelihoods.observed import Observed
from termwise.measures.base import Array

MOST_STEPS = 200
TOLERANCE = 1e-9  # nats
ROUNDING = 30.0  # times what rounding does to the value: smaller changes tell nothing
LEAST_STEP = 1e-6
GROWTH = 1.1  # of a step that was shortened: where a whole step went too far once, it mostly does so again
FARTHER = 10.0  # times as far from rest as before: a mixed step has led astray
DIFFERENCE = 1e-5  # of log parameters


@dataclass(frozen=True, eq=False)
class Proposal:
    """The value of a rule under the present sites, and the sites it asks for next."""

    value: float
    sites: Sites


@dataclass(frozen=True, eq=False)
class Slope:
    """The gradient of a value at rest: for the parameters of the likelihood, and for the kernel matrix.

    That for K is (alpha alpha' - R) / 2, and for Laplace's rule (u alpha' + alpha u') / 2 besides.
    """

    parameters: Array
    u: Array | None = None


@dataclass(frozen=True, eq=False)
class Settled:
    """Where the sites have come to rest, if they have."""

    posterior: Conditioned
    evidence: float
    slope: Slope
    converged: bool
    steps: int


class Rule(ABC):
    """How sites follow from the posterior under them. `step` is the part of the way they go at first."""

    step = 1.0
    rises = True  # whether a step of the right length cannot lower the value
    depth = DEPTH  # of what steps learn from those before

    @abstractmethod
    def propose(self, posterior: Conditioned, observed: Observed) -> Proposal:
        """The value under the present sites, and the sites asked for."""

    @abstractmethod
    def slope(self, posterior: Conditioned, observed: Observed, K: Array) -> Slope:
        """The gradient of the value at rest."""

    def evidence(self, value: float, posterior: Conditioned) -> float:
        """The logarithm of the evidence, by the value at rest."""
        return value


class Variational(Rule):
    """The normal posterior closest to the true one by KL: its value is a bound from below.

    A whole step is one of natural gradients with length one. Khan and Lin (2017).
    """

    def propose(self, posterior: Conditioned, observed: Observed) -> Proposal:
        """E log p(y | f) - KL, and the sites whose natural parameters are its gradient."""
        found = observed.expected(posterior.mean, posterior.variance)
        value = float(np.sum(found.value)) - posterior.divergence
        tau = -2.0 * found.by_variance
        return Proposal(value, Sites.of(tau, found.by_mean + tau * posterior.mean))

    def slope(self, posterior: Conditioned, observed: Observed, K: Array) -> Slope:
        """The bound is at its highest in the posterior, so only the likelihood itself is left."""
        by_row = observed.expected_by_parameters(posterior.mean, posterior.variance)
        return Slope(np.sum(by_row, axis=1))


class Laplace(Rule):
    """The normal at the mode with the curvature there, by Newton's steps. Rasmussen and Williams sec. 3.4."""

    depth = 0  # Newton's steps know better

    def propose(self, posterior: Conditioned, observed: Observed) -> Proposal:
        """log p(y, f), without the determinant that is the same for all f, and Newton's sites."""
        f = posterior.mean
        first, second, _ = observed.derivatives(f)
        value = float(np.sum(observed.log_density(f))) - 0.5 * posterior.quadratic
        return Proposal(value, Sites.of(-second, first - second * f))

    def evidence(self, value: float, posterior: Conditioned) -> float:
        """With the determinant, that of the sites at the mode."""
        return value - 0.5 * posterior.log_determinant

    def slope(self, posterior: Conditioned, observed: Observed, K: Array) -> Slope:
        """As the mode moves with K, the curvature changes, and with it the determinant."""
        f, v = posterior.mean, posterior.variance
        by_mode = 0.5 * v * observed.derivatives(f)[2]
        u = by_mode - posterior.times_inverse(K @ by_mode)
        direct = np.sum(observed.by_parameters(f), axis=1)
        here = observed.likelihood.parameters
        for i, shift in enumerate(DIFFERENCE * np.eye(here.size)):
            up, down = (observed.at(here + sign * shift).derivatives(f) for sign in (1.0, -1.0))
            by_slope, by_curvature = ((up[k] - down[k]) / (2.0 * DIFFERENCE) for k in (0, 1))
            direct[i] += 0.5 * float(v @ by_curvature) + float(u @ (K @ by_slope))
        return Slope(direct, u)


class Propagation(Rule):
    """Expectation propagation: each site makes the moments of its row those of the true likelihood.

    All sites at once, and damped. Rasmussen and Williams section 3.6.
    """

    step = 0.8
    rises = False

    def propose(self, posterior: Conditioned, observed: Observed) -> Proposal:
        """Their eq. 3.65, and the sites by moments that are matched."""
        tau, nu = posterior.sites.tau, posterior.sites.nu
        mean, variance = _cavity(posterior)
        found = observed.tilted(mean, variance)
        rest = 1.0 + found.curvature * variance
        asked = Sites.of(-found.curvature / rest, (found.slope - found.curvature * mean) / rest)
        # With z = nu / tau, nu (m - z) of a strong row is -alpha z, and what is left of its own part is
        # the square of z - cavity mean: by nu^2 the evidence of a large count would have no digit left.
        strong, wide = posterior.strong, 1.0 + tau * variance
        square = tau * np.where(strong, nu / tau - mean, 0.0) ** 2
        faint = tau * mean**2 - 2.0 * nu * mean - nu**2 * variance + nu * posterior.mean * wide
        each = found.value + 0.5 * np.log1p(tau * variance) + 0.5 * np.where(strong, square, faint) / wide
        value = float(np.sum(each)) - 0.5 * (posterior.log_determinant + posterior.fit)
        return Proposal(value, asked)

    def slope(self, posterior: Conditioned, observed: Observed, K: Array) -> Slope:
        """At rest the value does not change with the sites."""
        return Slope(np.sum(observed.tilted_by_parameters(*_cavity(posterior)), axis=1))


def _cavity(posterior: Conditioned) -> tuple[Array, Array]:
    """Mean and variance of each row's f without its own site."""
    variance = posterior.variance / posterior.shares
    return variance * (posterior.mean / posterior.variance - posterior.sites.nu), variance


RULES: dict[str, Rule] = {"variational": Variational(), "ep": Propagation(), "laplace": Laplace()}


def settle(rule: Rule, K: Array, observed: Observed, sites: Sites | None = None) -> Settled:
    """Move the sites until they and the value stay; steps that go too far are shortened."""
    if sites is None:
        sites = Sites.of(*observed.start_sites())
    here = Conditioned.on(K, sites)
    now = rule.propose(here, observed)
    # Steps are compared by nu: tau, which can be large, would drown it.
    mixing, step, converged, steps = Mixing(len(K), rule.depth), rule.step, False, 0
    while not converged and steps < MOST_STEPS and step > LEAST_STEP:
        steps += 1
        try:
            there = Conditioned.on(K, here.sites.towards(now.sites, step, mixing))
            then = rule.propose(there, observed)
        except NumericalError:
            step = mixing.astray(step)
            continue
        change, left = then.value - now.value, _distance(there.sites, then.sites)
        within = max(TOLERANCE, ROUNDING * there.rounding * max(len(K), abs(now.value)))
        lowest = -max(within, TOLERANCE * abs(now.value))
        worse = not np.isfinite(change) or (rule.rises and change < lowest)
        if worse or (mixing.remembers and left > FARTHER * _distance(here.sites, now.sites)):
            step = mixing.astray(step)
            continue
        converged = abs(change) < within and left < np.sqrt(TOLERANCE)
        here, now, step = there, then, min(rule.step, GROWTH * step)
    evidence = rule.evidence(now.value, here)
    return Settled(here, evidence, rule.slope(here, observed, K), converged, steps)


def _distance(one: Sites, other: Sites) -> float:
    by_tau = np.abs(one.tau - other.tau) / (1.0 + one.tau)
    by_nu = np.abs(one.nu - other.nu) / (1.0 + np.abs(one.nu))
    return float(max(np.max(by_tau), np.max(by_nu)))
