"""How the variance of each order of interaction follows from parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import comb

import numpy as np

from termwise.inference.columns import exponential_log_prior
from termwise.measures.base import Array

VARIANCES = (1e-8, 1e3)
LARGEST_LOG = 500.0
VARIANCE_RATE = 0.2  # Gamma(1, rate 0.2) on every variance, as in OAK section 5


class Orders(ABC):
    """Log parameters in, the variances of orders 0 .. max_order out."""

    max_order: int

    @property
    def least_order(self) -> int:
        """The fewest columns in a term."""
        return 1

    def wider(self) -> Orders | None:
        """With one more order, if there may be more."""
        return None

    @property
    @abstractmethod
    def size(self) -> int:
        """How many parameters there are."""

    @abstractmethod
    def start(self, e: Array) -> Array:
        """Parameters with which every order contributes alike, e_r being the mean of order r at x = x'."""

    @abstractmethod
    def variances(self, theta: Array) -> tuple[Array, Array]:
        """The variances (max_order + 1,) and their derivatives (size, max_order + 1)."""

    def bounds(self) -> list[tuple[float, float]]:
        """Bounds of the parameters."""
        return [(float(np.log(VARIANCES[0])), float(np.log(VARIANCES[1])))] * self.size

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """Exponential for every parameter."""
        parts = [exponential_log_prior(value, VARIANCE_RATE) for value in theta]
        return sum(value for value, _ in parts), np.array([slope for _, slope in parts])


@dataclass(frozen=True)
class EachOrder(Orders):
    """One variance for each of the given orders; the others are zero. Additive GP eq. 3.

    Orders 0 .. R are the full additive kernel, (0, 1) a GAM, (0, D) the squared exponential over all columns.
    """

    orders: tuple[int, ...]
    n_columns: int = 0
    most: int = 0  # the largest order that may be added

    def wider(self) -> EachOrder | None:
        """With the next order, if there may be more."""
        order = self.max_order + 1
        return replace(self, orders=(*self.orders, order)) if order <= self.most else None

    @property
    def max_order(self) -> int:  # type: ignore[override]
        """The largest order."""
        return max(self.orders)

    @property
    def least_order(self) -> int:
        """The smallest order besides the constant."""
        return min((order for order in self.orders if order > 0), default=1)

    @property
    def size(self) -> int:
        """One parameter an order."""
        return len(self.orders)

    def start(self, e: Array) -> Array:
        """Log of an equal share, divided by what the order has at x = x'."""
        share = 1.0 / len(self.orders) / np.maximum(e[list(self.orders)], 1e-300)
        return np.clip(np.log(share), *np.transpose(self.bounds()))

    def bounds(self) -> list[tuple[float, float]]:
        """The least variance is that of the whole order, which has many terms if there are many columns."""
        low, high = np.log(VARIANCES)
        return [(float(low - np.log(max(1, comb(self.n_columns, r)))), float(high)) for r in self.orders]

    def variances(self, theta: Array) -> tuple[Array, Array]:
        """exp(theta) at the given orders."""
        jacobian = np.zeros((self.size, self.max_order + 1))
        jacobian[np.arange(self.size), list(self.orders)] = np.exp(theta)
        return jacobian.sum(axis=0), jacobian


@dataclass(frozen=True)
class AllSubsets(Orders):
    """v prod_d (1 + alpha k_d) = sum_r v alpha^r e_r: two parameters for all orders. Additive GP eq. 8."""

    max_order: int

    @property
    def size(self) -> int:
        """v and alpha."""
        return 2

    def start(self, e: Array) -> Array:
        """alpha = 1 / D, and v so that the prior variance is about one."""
        alpha = 1.0 / max(self.max_order, 1)
        total = float(np.sum(e * alpha ** np.arange(e.size)))
        return np.log([1.0 / total, alpha])

    def bounds(self) -> list[tuple[float, float]]:
        """alpha is bounded so that alpha^D stays a number."""
        low, high = np.log(VARIANCES)
        return [
            (float(low), float(high)),
            (float(low), float(min(high, LARGEST_LOG / max(self.max_order, 1)))),
        ]

    def variances(self, theta: Array) -> tuple[Array, Array]:
        """v alpha^r."""
        r = np.arange(self.max_order + 1)
        variances = np.exp(theta[0] + r * theta[1])
        return variances, np.stack([variances, r * variances])
