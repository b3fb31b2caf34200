"""What engines ask of a model: all that is learned in one vector, and rows as the loops read them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from termwise.inference.orders import Orders
from termwise.inference.summed import Summed
from termwise.kernels.fused import run
from termwise.kernels.selection import EVERY, Selection
from termwise.kernels.terms import Kernel
from termwise.likelihoods import Likelihood
from termwise.measures.base import Array
from termwise.posterior.posterior import Posterior

NOISES = (1e-5, 2.0)  # in units of the variance of y
STEP = 1e-5  # of a central difference, in sd of the column


@dataclass(frozen=True, eq=False)
class Common(Summed):
    """Gradients for what all rows have in common: weights and mean variances by column, tables of levels."""

    weight: Array
    mean_variance: Array
    tables: Array


@dataclass(frozen=True)
class Lines:
    """Coordinates that have one kernel, and how many they are."""

    kernel: str
    count: int


class Layout(ABC):
    """Some rows at one vector: what the loops read of them, and the way back to the parameters.

    `cells` are the encoded columns (D, n) with NaN for what is missing.
    """

    cells: Array

    @property
    @abstractmethod
    def size(self) -> int:
        """The numbers that were computed of all cells."""

    @abstractmethod
    def copied_to(self, memory: Array) -> Self:
        """The same, with those numbers in this memory."""

    @cached_property
    @abstractmethod
    def rows(self) -> run.Rows:
        """Coordinates and amplitudes."""

    @cached_property
    @abstractmethod
    def missing(self) -> NDArray[np.bool_]:
        """Where `own_kernel` is the mean over what is not known."""

    @abstractmethod
    def weights(self, variances: Array) -> run.Kernel:
        """What the loops read besides the rows."""

    @cached_property
    @abstractmethod
    def own_kernel(self) -> Array:
        """z_j(x_i, x_i) of each part j that orders are made of, and its mean where it is missing."""

    @abstractmethod
    def row_gradient(self, given: run.Cotangents, by_own: Array) -> tuple[Array, Common]:
        """Gradient for the parameters of the kernel through these rows; the rest is for `common_gradient`.

        `given` are the gradients for what the loops read (its `x` for these rows), `by_own` those for
        `own_kernel`. The tables that are given are added to, as they may be large.
        """

    @abstractmethod
    def common_gradient(self, given: Common) -> Array:
        """Gradient for the parameters of the kernel, of what all rows have in common."""

    def gradient(self, given: run.Cotangents, by_own: Array) -> Array:
        """Gradient for the parameters of the kernel, through these rows alone."""
        by_rows, common = self.row_gradient(given, by_own)
        return by_rows + self.common_gradient(common)


class Learnable(ABC):
    """The kernel, order variances and noise, in one vector (kernel, orders, log noise).

    With a likelihood its own parameters stand in the place of the noise, if it has any.
    """

    orders: Orders
    likelihood: Likelihood | None
    selection: Selection = EVERY
    first_lengthscale: float  # with which a search begins, in sd of a column

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """How many columns rows have."""

    @property
    @abstractmethod
    def levels(self) -> NDArray[np.bool_]:
        """Which columns are of levels, between which there is nothing."""

    @property
    @abstractmethod
    def lines(self) -> Lines | None:
        """The coordinates, if the model is a sum of functions of a single one each."""

    @abstractmethod
    def kernel_bounds(self) -> list[tuple[float, float]]:
        """Bounds of the parameters of the kernel."""

    @abstractmethod
    def kernel_late(self) -> list[bool]:
        """Which of them are learned only after the others have settled."""

    @abstractmethod
    def kernel_start(self, lengthscales: Array) -> Array:
        """Parameters of the kernel at these lengthscales, in sd of each column."""

    @abstractmethod
    def kernel_log_prior(self, part: Array) -> tuple[float, Array]:
        """The log prior of the parameters of the kernel, and its gradient."""

    @abstractmethod
    def layout(self, theta: Array, cells: Array, *, late: bool = True, like: Layout | None = None) -> Layout:
        """Rows at a vector; tangents of late parameters only if they are wanted.

        `like` has other rows at the same vector: what all rows have in common is taken from there.
        """

    @abstractmethod
    def kernel(self, theta: Array) -> Kernel:
        """The kernel as a value."""

    @abstractmethod
    def encoded(self, theta: Array, X: Array) -> Array:
        """Rows (n, D) with what was learned of their encoding behind it: those that `kernel` reads."""

    def posterior(self, theta: Array, Z: Array, alpha: Array, root: Array, noise: float) -> Posterior:
        """What is known at a vector with these rows, as a table has them, as centres."""
        terms = None if self.selection.terms is None else ((), *self.selection.terms)
        return Posterior(self.kernel(theta), self.encoded(theta, Z), alpha, root, noise, terms)

    @abstractmethod
    def with_likelihood(self, likelihood: Likelihood) -> Self:
        """The same with another likelihood."""

    def wider(self) -> Self | None:
        """The same with one more order of interactions, if it may have more."""
        return None

    @cached_property
    def _order_slice(self) -> slice:
        start = len(self.kernel_bounds())
        return slice(start, start + self.orders.size)

    @property
    def last_order(self) -> int:
        """The place of the last order's parameter in the vector."""
        return self._order_slice.stop - 1

    def variances_and_likelihood(self) -> NDArray[np.bool_]:
        """Which parameters are those of the orders and of the likelihood."""
        return np.arange(len(self.bounds())) >= self._order_slice.start

    def movable(self, inducing: Array) -> NDArray[np.bool_]:
        """Which cells of inducing rows (M, D) can be moved: known numbers, as a level has no neighbours."""
        movable: NDArray[np.bool_] = ~self.levels & ~np.isnan(inducing)
        return movable

    def cells_gradient(self, theta: Array, inducing: Array, by_rows: run.Rows) -> Array:
        """The gradient for those cells, (M, D), by that for what the loops read of the rows.

        Coordinates and amplitudes are functions of one cell, so their slopes are two evaluations of each
        column; a central difference has nine digits, and no column needs to know more than its state.
        """
        cells, number = np.ascontiguousarray(inducing.T), ~self.levels[:, None]
        above, below = (
            self.layout(theta, np.where(number, cells + step, cells), late=False).rows
            for step in (STEP, -STEP)
        )
        slope = by_rows.u * (above.u - below.u) + by_rows.a * (above.a - below.a)
        return np.where(self.movable(inducing), slope.T / (2.0 * STEP), 0.0)

    def kernel_parameters(self, theta: Array) -> Array:
        """The part of the vector that belongs to the kernel."""
        return theta[: self._order_slice.start]

    def order_parameters(self, theta: Array) -> Array:
        """The part of the vector that belongs to the order variances."""
        return theta[self._order_slice]

    def likelihood_parameters(self, theta: Array) -> Array:
        """The part of the vector that belongs to the likelihood: by default the log noise."""
        return theta[self._order_slice.stop :]

    @property
    def _n_likelihood_parameters(self) -> int:
        return 1 if self.likelihood is None else self.likelihood.parameters.size

    def bounds(self) -> list[tuple[float, float]]:
        """Bounds of the whole vector."""
        noise = [(float(np.log(NOISES[0])), float(np.log(NOISES[1])))]
        last = self.likelihood.bounds() if self.likelihood else noise
        return [*self.kernel_bounds(), *self.orders.bounds(), *last]

    def late(self) -> NDArray[np.bool_]:
        """Which parameters are learned only after the others have settled."""
        others = self.orders.size + self._n_likelihood_parameters
        return np.array([*self.kernel_late(), *[False] * others])

    def start(self, lengthscales: Array, noise: float) -> Array:
        """A vector to start from, in which every order contributes alike."""
        kernel = self.kernel_start(lengthscales)
        more = np.zeros(self.orders.size + self._n_likelihood_parameters)
        e = self._mean_of_orders(np.concatenate([kernel, more]))
        last = [np.log(noise)] if self.likelihood is None else self.likelihood.parameters
        return np.concatenate([kernel, self.orders.start(e), last])

    def _mean_of_orders(self, theta: Array) -> Array:
        """What each order has at x = x' on average, before its variance."""
        nothing = np.full((self.n_columns, 1), np.nan)  # whose variance is the mean variance
        own: Array = self.selection.by_order(self.layout(theta, nothing).own_kernel, self.orders.max_order)
        return own[:, 0]

    def variance_of_terms(self, theta: Array) -> float:
        """The prior variance of all terms together, without that of the constant."""
        variances, _ = self.orders.variances(self.order_parameters(theta))
        return float(variances[1:] @ self._mean_of_orders(theta)[1:])

    def revived(self, theta: Array, share: float, lengthscale: float) -> Array:
        """The vector with what the orders have at least this share of their start at a lengthscale."""
        lengthscales = np.full(self.n_columns, lengthscale)
        orders = self._order_slice
        raised = theta.copy()
        raised[orders] = np.maximum(theta[orders], self.start(lengthscales, 1.0)[orders] + np.log(share))
        return raised

    def with_last_order(self, theta: Array, share: float) -> Array:
        """A vector that lacks the last order, with this share of what the others have together for it."""
        place = self.last_order
        whole = np.insert(theta, place, 0.0)
        variances, _ = self.orders.variances(self.order_parameters(whole))
        each = variances * self._mean_of_orders(whole)
        low, high = self.bounds()[place]
        whole[place] = np.clip(np.log(share * np.sum(each[1:-1]) / max(each[-1], 1e-300)), low, high)
        return whole

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """Sum of the log priors, and its gradient."""
        kernel, by_kernel = self.kernel_log_prior(self.kernel_parameters(theta))
        orders, by_orders = self.orders.log_prior(self.order_parameters(theta))
        nothing = np.zeros(self._n_likelihood_parameters)
        return kernel + orders, np.concatenate([by_kernel, by_orders, nothing])
