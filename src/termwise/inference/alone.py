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
from scipy.optimize import minimize

from termwise.errors import NumericalError
from termwise.inference.climb import WORST
from termwise.inference.columns import LOG_LENGTHSCALES, NO_TABLE, FixedColumn, State, lengthscale_log_prior
from termwise.inference.orders import VARIANCES
from termwise.kernels.additive import AdditiveKernel, pack_weights
from termwise.kernels.column import Stationary
from termwise.kernels.component import Component
from termwise.kernels.fused import run
from termwise.kernels.terms import Subset
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior
from termwise.posterior.prune import Told, error, with_kernel
from termwise.posterior.removal import LEAST_NOISE, MOST_NOISE

STEPS, TOLERANCE = 25, 1e-5  # of the climb; relative change of the evidence that ends it


def alone(posterior: Posterior, terms: Sequence[Subset], *, sites: bool = False) -> Posterior:
    """The posterior of the constant and these terms, as if there had never been others.

    Parameters stay those that the terms have beside the others if the mean is nearer with these: where noise
    has heavy tails, the evidence of a few terms may take large values for noise, or learn rows by heart.
    `sites` says that rows are labels, counts or numbers with outliers.
    """
    told = Told.of(posterior, terms)
    if told.is_all:
        return told.kept
    learned = learned_anew(told, tuple(terms))
    if sites and posterior.seen is None:
        return learned  # sites do not weigh alike, so that rows left out tell nothing
    try:
        kept = with_kernel(told, posterior.additive)
    except NumericalError:  # with next to no noise its digits may be lost, while those of the other are not
        return learned
    return min(learned, kept, key=lambda pruned: error(posterior, pruned))


def learned_anew(told: Told, terms: tuple[Subset, ...]) -> Posterior:
    """With the parameters that have the highest evidence."""
    evidence = Evidence(told, terms)
    low, high = np.transpose(evidence.bounds())
    found = minimize(
        evidence.negative,
        np.clip(evidence.start(), low, high),
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
        return self.told.posterior.additive

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
        numbers = {d: self._number(d, value) for d, value in zip(self._numbers, theta, strict=False)}
        z = {**self._levels, **{d: number.matrix() for d, number in numbers.items()}}
        variances = dict(zip(self._orders, np.exp(theta[len(numbers) : -1]), strict=True))
        noise = float(np.exp(theta[-1]))
        K = np.full(self.told.whole.shape, self._before.variances[0])
        for term in self.terms:
            K += variances[len(term)] * _product(z, term)
        value, alpha, root = self.told.retold(K, noise)
        G: Array = 0.5 * (np.outer(alpha, alpha) - root @ root.T)  # the gradient for K
        by_order, by_column = dict.fromkeys(self._orders, 0.0), dict.fromkeys(numbers, 0.0 * G)
        for term in self.terms:
            of_term = variances[len(term)] * G
            by_order[len(term)] += float(np.vdot(of_term, _product(z, term)))
            for d in numbers.keys() & set(term):
                by_column[d] = by_column[d] + of_term * _product(z, tuple(e for e in term if e != d))
        priors = [lengthscale_log_prior(value) for value in theta[: len(numbers)]]
        slopes = [
            numbers[d].slope(by_column[d]) + slope for d, (_, slope) in zip(numbers, priors, strict=True)
        ]
        gradient = np.array([*slopes, *by_order.values(), noise * np.trace(G)])
        return value + sum(prior for prior, _ in priors), gradient

    def _number(self, d: int, log_lengthscale: float) -> Number:
        component = self._before.components[d]
        assert isinstance(component.kernel, Stationary)
        column = FixedColumn(component.measure, type(component.kernel), normalise=False)
        state = column.state(np.array([log_lengthscale, 0.0]), self.told.posterior.centres[:, d])
        return Number(column.kind, component.weight, state)

    @cached_property
    def _levels(self) -> dict[int, Array]:
        """The kernels of columns that have no lengthscale, which stay as they are."""
        Z, components = self.told.posterior.centres, self._before.components
        left = [d for d in self._columns if d not in self._numbers]
        return {d: components[d].matrix(Z[:, d], Z[:, d]) for d in left}


@dataclass(frozen=True, eq=False)
class Number:
    """The kernel of a column of numbers between the centres: weight k - a a', and its slope."""

    kind: int
    weight: float
    state: State

    @cached_property
    def _weights(self) -> run.Weights:
        return pack_weights([self.kind], [self.weight], [NO_TABLE], np.array([0.0, 1.0]))

    @cached_property
    def _rows(self) -> run.Rows:
        return run.Rows(self.state.u[None], np.sqrt(self.weight) * self.state.a[None])

    def matrix(self) -> Array:
        """z between the centres."""
        return run.cross(self._weights, self._rows, self._rows, run.cores())

    def slope(self, G: Array) -> float:
        """The derivative of the sum of G z for the log lengthscale."""
        found = run.adjoint_cross(self._weights, self._rows, self._rows, G, run.cores())
        by_u, by_a = found.x.u[0] + found.z.u[0], found.x.a[0] + found.z.a[0]
        return float(self.state.du[0] @ by_u + np.sqrt(self.weight) * (self.state.da[0] @ by_a))


def _lengthscale(component: Component) -> float:
    assert isinstance(component.kernel, Stationary)
    return component.kernel.lengthscale


def _with_lengthscale(component: Component, lengthscale: float) -> Component:
    return replace(component, kernel=replace(component.kernel, lengthscale=lengthscale))  # type: ignore[call-arg]


def _product(z: dict[int, Array], term: Subset) -> Array | float:
    product: Array | float = 1.0
    for d in term:
        product = product * z[d]
    return product
