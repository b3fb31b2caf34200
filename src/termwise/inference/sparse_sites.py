"""Sparse inference when the likelihood is not normal: the variational bound over any number of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, reduce
from operator import add

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, solve_triangular

from termwise.errors import NumericalError
from termwise.inference.blocks import Chunk, Push, Reached, Setting
from termwise.inference.bound import Decoupled, shrinkage_root
from termwise.inference.climb import WORST
from termwise.inference.kept import Kept
from termwise.inference.learnable import Learnable
from termwise.inference.mixing import Mixing
from termwise.inference.site_blocks import (
    SitePull,
    SiteSums,
    View,
    first_statistics,
    site_adjoint,
    site_statistics,
)
from termwise.inference.sites import GROWTH, LEAST_STEP, MOST_STEPS
from termwise.inference.sparse import Solution, kept_by, push_of, through_inducing
from termwise.inference.workers import Workers
from termwise.kernels.fused import run
from termwise.linalg.in_place import in_place, invert_upper
from termwise.measures.base import Array

TOLERANCE = 1e-9  # nats a row
NO_NUMBERS = "the sums over rows are no numbers to compute with"


@dataclass(frozen=True, eq=False)
class Inducing:
    """q(u) by its natural parameters: precision I + outer, and linear; u is standard normal a priori.

    If the last of u are orthogonal to the others, the mean is the same and the covariance is that of two
    blocks: where a bound with a covariance in blocks is at rest, its mean follows from all of `outer`.
    """

    outer: Array
    linear: Array
    orthogonal: Decoupled | None = None

    @classmethod
    def prior(cls, size: int) -> Inducing:
        """Nothing known."""
        return cls(np.zeros((size, size)), np.zeros(size))

    @classmethod
    def asked(cls, sums: SiteSums) -> Inducing:
        """What the rows ask for."""
        return cls(np.triu(sums.outer) + np.triu(sums.outer, 1).T, sums.linear)

    def _with(self, flat: Array) -> Inducing:
        size = self.linear.size
        upper = np.zeros((size, size))
        upper[_upper(size)] = flat[size:]
        return replace(self, outer=upper + np.triu(upper, 1).T, linear=flat[:size])

    @property
    def _flat(self) -> Array:
        return np.concatenate([self.linear, self.outer[_upper(self.linear.size)]])

    def towards(self, sums: SiteSums, step: float, mixing: Mixing | None = None) -> Inducing:
        """A part of the way to what the rows ask for; by mixing, on to where steps before it point."""
        asked = Inducing.asked(sums)
        if mixing is None:
            outer = self.outer + step * (asked.outer - self.outer)
            return replace(self, outer=outer, linear=self.linear + step * (asked.linear - self.linear))
        here = self._flat
        return self._with(mixing.next(here, asked._flat - here, step))

    def scaled(self, by: float) -> Inducing:
        """What is known of so many times the rows, if these are like all."""
        return replace(self, outer=by * self.outer, linear=by * self.linear)

    @property
    def taken(self) -> Array:
        """What the covariance is made of: all of outer, or its blocks."""
        return self.outer if self.orthogonal is None else self.orthogonal.apart(self.outer)[0]

    @property
    def parts(self) -> tuple[slice, ...]:
        """Which of them are known together."""
        if self.orthogonal is None:
            return (slice(None),)
        first = self.linear.size - self.orthogonal.count
        return slice(first), slice(first, None)

    def moments(self) -> tuple[Array, Array, float]:
        """The mean, an upper triangle whose square C C' is the covariance, and KL from the prior."""
        if not (np.all(np.isfinite(self.outer)) and np.all(np.isfinite(self.linear))):
            raise NumericalError(NO_NUMBERS)  # dpotrf does not tell
        taken = self.taken
        spread, log_determinant = np.zeros(taken.shape), 0.0
        for part in self.parts:
            spread[part, part], more = _spread(taken[part, part])
            log_determinant += more
        if self.orthogonal is None:
            mean = spread @ (spread.T @ self.linear)
        else:
            mean = cho_solve(_factor(self.outer), self.linear)
        trace = float(np.sum(spread**2))
        divergence = 0.5 * (log_determinant + trace - mean.size + float(mean @ mean))
        return mean, spread, divergence

    def seen(self, setting: Setting, root: Array) -> tuple[View, float]:
        """What rows are seen through with it, and KL from the prior."""
        mean, spread, divergence = self.moments()
        return View(setting, root, mean, spread, self.parts), divergence


def _factor(outer: Array) -> tuple[Array, bool]:
    """F, upper triangular, with F'F = I + outer, as `cho_solve` wants it."""
    factor = np.array(outer, order="F")
    factor.reshape(-1, order="F")[:: len(outer) + 1] += 1.0
    if in_place("dpotrf", factor):
        raise NumericalError(NO_NUMBERS)
    return factor, False


def _spread(outer: Array) -> tuple[Array, float]:
    """An upper triangle C with C C' = (I + outer)^-1, and the log determinant of I + outer."""
    # C = F^-1 for the precision F'F, F upper triangular, has C C' = (F'F)^-1.
    spread, _ = _factor(outer)
    log_determinant = 2.0 * float(np.sum(np.log(np.diag(spread))))
    invert_upper(spread)
    return np.ascontiguousarray(np.triu(spread)), log_determinant


@lru_cache(maxsize=2)
def _upper(size: int) -> NDArray[np.bool_]:
    """Where the upper triangle is: the rest is the same."""
    return np.triu(np.ones((size, size), dtype=bool))


def bound_gradient(view: View, sums: SiteSums, reached: Reached, threads: int = 1) -> tuple[Array, run.Rows]:
    """The gradient of the bound for all parameters, and for what the loops read of the inducing rows.

    Whitened inducing values are fixed, and need not be at rest: with M = sum_n (dF/da_n) a_n', the gradient
    for Kuu = U'U is -U^-1 S U^-T / 2, S being symmetric with the lower triangle of M, as a_n = U^-T k_n. At
    rest, with a covariance that is not in blocks, M itself is symmetric.
    """
    model, theta = view.setting.model, view.setting.theta
    outer = Inducing.asked(sums).outer
    turned_M = outer - view.times_covariance(outer, threads)  # M', as outer is symmetric
    turned_M += np.outer(sums.linear - outer @ view.mean, view.mean)
    half = np.triu(turned_M)
    inner = -(half + np.triu(half, 1).T)
    columns, by_variance, by_rows = through_inducing(view.setting, view.root, inner, reached, threads)
    _, dvariances = model.orders.variances(model.order_parameters(theta))
    return np.concatenate([columns, dvariances @ by_variance, sums.parameters]), by_rows


@dataclass(frozen=True, eq=False)
class Rest:
    """Where inducing values have come to, what is seen there, and the bound.

    They are lost if steps gave out, or where the bound is so low that no step changes it any more. If there
    were too few steps they are not lost: the next search goes on from there.
    """

    inducing: Inducing
    view: View
    sums: SiteSums
    value: float
    lost: bool = False
    rested: bool = True


@dataclass(eq=False)
class SparseSiteObjective:
    """The variational bound, at its best for the inducing values, + log p(theta).

    With all rows inducing it is the bound of the whole kernel matrix. The search for the inducing values
    begins where it ended the last time.
    """

    model: Learnable
    chunks: Sequence[Chunk]
    inducing: Array
    workers: Workers
    kept: Kept = field(default_factory=Kept)
    jitter: float = 0.0
    evaluations: int = 0
    known: Inducing | None = None
    tolerance: float = TOLERANCE
    rested: bool = True  # whether the last search came to rest
    orthogonal: Decoupled | None = None  # whether the last inducing rows are so
    _root: Array | None = None  # through which `known` was found

    def value_and_gradient(self, theta: Array, *, late: bool = True) -> tuple[float, Array]:
        """The objective and its gradient, for late parameters only if wanted; sets `jitter` and `rested`."""
        value, gradient, _ = self.value_and_gradients(theta, late=late)
        return value, gradient

    def value_and_gradients(self, theta: Array, *, late: bool = True) -> tuple[float, Array, run.Rows]:
        """The same, and the gradient for what the loops read of the inducing rows."""
        self.evaluations += 1
        rest = self._settle(self._setting(theta, late=late))
        pull = SitePull(rest.view, late)
        reached: Reached = reduce(add, self.workers.map(site_adjoint, self.chunks, pull))
        prior, gradient = self.model.log_prior(theta)
        by_parameters, by_rows = bound_gradient(rest.view, rest.sums, reached)
        return rest.value + prior, gradient + by_parameters, by_rows

    def settled(self, theta: Array) -> Inducing:
        """What the rows tell of the inducing values at theta."""
        return self._settle(self._setting(theta, late=False)).inducing

    def _setting(self, theta: Array, *, late: bool) -> Setting:
        self.kept.begin(late=late)
        return Setting(self.model, theta, self.inducing, kept_by(self.workers, self.kept))

    def _settle(self, setting: Setting) -> Rest:
        """Move the inducing values until the bound stays.

        Steps that give out have begun too far away. They are tried from elsewhere, and where they end is not
        where the next search should begin.
        """
        push, self.jitter = push_of(setting)
        self.rested = False
        best: Rest | None = None
        for begin in self._begins(push):
            found = self._moved(push, begin)
            if found is None:
                continue
            if not found.lost:
                self.known, self._root, self.rested = found.inducing, push.root, found.rested
                return found
            best = found if best is None or found.value > best.value else best
        if best is None:
            raise NumericalError(NO_NUMBERS)
        return best

    def _begins(self, push: Push) -> Iterator[Inducing]:
        """Where to begin: with what is known, with what rows say of themselves, with nothing."""
        if self.known is not None:
            yield self._known_through(push.root)
        first = Inducing.asked(reduce(add, self.workers.map(first_statistics, self.chunks, push)))
        for begin in (first, Inducing.prior(len(self.inducing))):
            yield replace(begin, orthogonal=self.orthogonal)

    def _moved(self, push: Push, here: Inducing) -> Rest | None:
        """Where steps from here end; those that go too far are shortened."""
        try:
            view, sums, value = self._look(push.setting, push.root, here)
        except NumericalError:
            return None
        if np.isnan(value):
            return None  # nothing is higher or lower than it
        within = self.tolerance * sums.n_rows
        # The linear part tells how far it is to go, and is small beside the other.
        step, mixing, resting = 1.0, Mixing(len(self.inducing)), False
        for _ in range(MOST_STEPS):
            there = here.towards(sums, step, mixing)
            try:
                then = self._look(push.setting, push.root, there)
                change = then[2] - value
            except NumericalError:
                change = -np.inf
            if not change >= -within:
                step = mixing.astray(step)
                if step < LEAST_STEP:
                    return Rest(here, view, sums, value, lost=True, rested=False)
                continue
            here, (view, sums, value) = there, then
            rested, resting = resting, abs(change) < within and step > 0.5
            if rested and resting:
                lost = value < -WORST
                return Rest(here, view, sums, value, lost=lost, rested=not lost)
            step = min(1.0, GROWTH * step)
        return Rest(here, view, sums, value, lost=value < -WORST, rested=False)

    def _known_through(self, root: Array) -> Inducing:
        """What rows have told of the function at inducing rows, which holds at other parameters too.

        With a_n = root' k_n the weights root a_n, by which inducing rows stand for row n, hardly change.
        """
        assert self.known is not None, "it has settled before"
        if self._root is None:
            return self.known
        to: Array = solve_triangular(root, self._root)
        return replace(self.known, outer=to @ self.known.outer @ to.T, linear=to @ self.known.linear)

    def _look(self, setting: Setting, root: Array, here: Inducing) -> tuple[View, SiteSums, float]:
        view, divergence = here.seen(setting, root)
        sums: SiteSums = reduce(add, self.workers.map(site_statistics, self.chunks, view))
        return view, sums, sums.value - divergence

    def posterior(self, theta: Array) -> Solution:
        """What is known at theta, with the inducing rows as centres; sets `jitter` and `rested`."""
        rest = self._settle(self._setting(theta, late=False))
        # What rows ask for is a sum of squares; what mixing has led to need not be one.
        asked = replace(Inducing.asked(rest.sums), orthogonal=self.orthogonal)
        taken = shrinkage_root(asked.taken)
        root = rest.view.root
        posterior = self.model.posterior(theta, self.inducing, root @ rest.view.mean, root @ taken, 0.0)
        value = rest.value + self.model.log_prior(theta)[0]
        return Solution(posterior, float(value), float(np.sum(taken**2)))
