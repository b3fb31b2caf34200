"""A posterior with fewer terms, and the parameters that these would have learned by themselves.

Beside others a term may be rough, or small, where they make up for it. What the rows told is known at the
centres (`posterior/removal.py`), and so is the log evidence of the kept terms under any parameters: no row is
needed to climb it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from termwise.errors import NumericalError
from termwise.inference.climb import WORST
from termwise.inference.columns import LOG_LENGTHSCALES, lengthscale_log_prior
from termwise.inference.orders import VARIANCES
from termwise.kernels.additive import AdditiveKernel, Subset
from termwise.kernels.column import Stationary
from termwise.kernels.component import Component
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior
from termwise.posterior.prune import Told, with_kernel
from termwise.posterior.removal import LEAST_NOISE, MOST_NOISE

STEPS, TOLERANCE = 30, 1e-6  # of the climb; relative change of the evidence that ends it
STEP = 1e-30  # of complex-step differentiation


def alone(posterior: Posterior, terms: Sequence[Subset]) -> Posterior:
    """The posterior of the constant and these terms, as if there had never been others."""
    told = Told.of(posterior, terms)
    if told.is_all:
        return told.kept
    evidence = Evidence(told, tuple(terms))
    start = evidence.start()
    low, high = np.transpose(evidence.bounds())
    found = minimize(
        evidence.negative,
        np.clip(start, low, high),
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(low, high, strict=True)),
        options={"maxiter": STEPS, "ftol": TOLERANCE},
    )
    return with_kernel(told, evidence.kernel(found.x))


@dataclass(frozen=True, eq=False)
class Evidence:
    """The log evidence of some terms by (log lengthscales, log variances of their orders, log noise).

    The noise is what these terms cannot take up; lengthscales have the prior of every fit.
    """

    told: Told
    terms: tuple[Subset, ...]

    @property
    def _before(self) -> AdditiveKernel:
        return self.told.posterior.kernel

    @cached_property
    def _columns(self) -> list[int]:
        return sorted({d for term in self.terms for d in term})

    @cached_property
    def _numbers(self) -> list[int]:
        """The columns that have a lengthscale."""
        return [d for d in self._columns if isinstance(self._before.components[d].kernel, Stationary)]

    @cached_property
    def _orders(self) -> list[int]:
        return sorted({len(term) for term in self.terms})

    def start(self) -> Array:
        """The parameters that the terms have beside the others."""
        lengthscales = [_lengthscale(self._before.components[d]) for d in self._numbers]
        variances = [self._before.variances[order] for order in self._orders]
        return np.log([*lengthscales, *variances, self.told.most_likely()])

    def bounds(self) -> list[tuple[float, float]]:
        """Those of every fit; an order may be as small as it was."""
        least, most = np.log(VARIANCES)
        orders = [(min(least, np.log(self._before.variances[r])), most) for r in self._orders]
        noise = np.log(np.array([LEAST_NOISE, MOST_NOISE]) * self.told.scale)
        return [*[LOG_LENGTHSCALES] * len(self._numbers), *orders, (noise[0], noise[1])]

    def kernel(self, theta: Array) -> AdditiveKernel:
        """The additive kernel with these parameters."""
        components, variances = list(self._before.components), list(self._before.variances)
        for d, log_lengthscale in zip(self._numbers, theta, strict=False):
            components[d] = _with_lengthscale(components[d], float(np.exp(log_lengthscale)))
        for order, log_variance in zip(self._orders, theta[len(self._numbers) :], strict=False):
            variances[order] = float(np.exp(log_variance))
        return AdditiveKernel(tuple(components), tuple(variances))

    def negative(self, theta: Array) -> tuple[float, Array]:
        """Minus the log evidence and log prior, and its gradient."""
        try:
            value, gradient = self.value_and_gradient(theta)
        except NumericalError:
            return WORST, np.zeros(theta.size)  # the line search takes a shorter step
        return -value, -gradient

    def value_and_gradient(self, theta: Array) -> tuple[float, Array]:
        """The log evidence beside that of all terms, with the log prior."""
        z, dz = self._column_kernels(theta)
        variances = dict(zip(self._orders, np.exp(theta[len(self._numbers) : -1]), strict=True))
        noise = float(np.exp(theta[-1]))
        K = np.full(self.told.whole.shape, self._before.variances[0])
        for term in self.terms:
            K += variances[len(term)] * _product(z, term)
        value, G = self._evidence(K, noise)
        gradient = np.zeros(theta.size)
        gradient[-1] = noise * np.trace(G)
        for term in self.terms:
            of_term = variances[len(term)] * G
            at = len(self._numbers) + self._orders.index(len(term))
            gradient[at] += np.vdot(of_term, _product(z, term))
            for d in set(term) & set(dz):
                others = _product(z, tuple(e for e in term if e != d))
                gradient[self._numbers.index(d)] += np.vdot(of_term * others, dz[d])
        for i in range(len(self._numbers)):
            prior, slope = lengthscale_log_prior(theta[i])
            value, gradient[i] = value + prior, gradient[i] + slope
        return value, gradient

    def _column_kernels(self, theta: Array) -> tuple[dict[int, Array], dict[int, Array]]:
        """z between the centres for every column, and its derivative for the log lengthscale."""
        Z, components = self.told.posterior.centres, self._before.components
        z = {d: components[d].matrix(Z[:, d], Z[:, d]) for d in self._columns if d not in self._numbers}
        dz = {}
        for d, log_lengthscale in zip(self._numbers, theta, strict=False):
            lengthscale = np.exp(log_lengthscale) * (1.0 + STEP * 1j)
            both = _with_lengthscale(components[d], lengthscale).matrix(Z[:, d], Z[:, d])
            z[d], dz[d] = both.real.copy(), both.imag / STEP
        return z, dz

    def _evidence(self, K: Array, noise: float) -> tuple[float, Array]:
        """The log evidence beside that of all terms, and its gradient for K: (alpha alpha' - B) / 2."""
        removal = self.told.removal(K, noise)
        upper = removal.factor()
        moved = solve_triangular(upper, removal.linear, trans="T", check_finite=False)
        alpha, root = self.told.solution(upper, moved)
        G: Array = 0.5 * (np.outer(alpha, alpha) - root @ root.T)
        return removal.gain_by(upper, moved), G


def _lengthscale(component: Component) -> float:
    assert isinstance(component.kernel, Stationary)
    return component.kernel.lengthscale


def _with_lengthscale(component: Component, lengthscale: float | complex) -> Component:
    return replace(component, kernel=replace(component.kernel, lengthscale=lengthscale))  # type: ignore[call-arg]


def _product(z: dict[int, Array], term: Subset) -> Array | float:
    product: Array | float = 1.0
    for d in term:
        product = product * z[d]
    return product
