"""Regression and classification with the additive kernels of 2011, whose terms are not orthogonal."""

from __future__ import annotations

from typing import Any

from termwise.encode.encoder import Encoder
from termwise.estimators.base import AdditiveModel, keep_arguments
from termwise.estimators.classifier import AdditiveClassifier
from termwise.estimators.columns import ColumnPlan
from termwise.estimators.options import KERNELS, one_of, whole_number
from termwise.estimators.regressor import AdditiveRegressor
from termwise.inference.orders import AllSubsets, EachOrder, Orders

KINDS = ("additive", "gam", "se", "all-subsets")


class Unconstrained(AdditiveModel):
    """Abstract: additive kernels without the constraint of orthogonality."""

    kind: str
    max_order: int | None

    def _check_options(self) -> None:
        super()._check_options()
        one_of("kind", self.kind, KINDS)
        if self.max_order is not None:
            whole_number("max_order", self.max_order, at_least=1)

    def _orders(self, n_columns: int) -> Orders:
        if self.kind == "gam":
            return EachOrder((0, 1), n_columns)
        if self.kind == "se":
            return EachOrder((0, n_columns), n_columns)
        if self.kind == "all-subsets":
            return AllSubsets(n_columns)
        order = n_columns if self.max_order is None else min(self.max_order, n_columns)
        return EachOrder(tuple(range(order + 1)), n_columns)

    def _plan(self, encoder: Encoder) -> ColumnPlan:
        return ColumnPlan(KERNELS[self.kernel], ["auto"] * len(encoder.names), False, False, False)

    def _flows(self) -> tuple[bool, ...]:
        return (False,)


class AdditiveGPRegressor(Unconstrained, AdditiveRegressor):
    """A sum of functions of one, two, .. features with one variance for each order. Additive GPs (2011).

    Parameters
    ----------
    kind : {"additive", "gam", "se", "all-subsets"}
        All orders up to max_order; order one only; one function of all features; or all subsets with the
        two parameters of prod(1 + alpha k_d).
    max_order : int or None, default 10
        The most features in one term, for kind="additive"; None for all.
    likelihood : {"normal", "poisson", "student"}
        How the target comes about, given the function: as for `OAKRegressor`.
    kernel, categorical, inference, n_inducing, inducing, n_orthogonal, n_restarts, unknown, progress,
    random_state, n_jobs
        As for `OAKRegressor`; the kernel is "se" as in the paper.
    """

    def __init__(
        self,
        *,
        kind: str = "additive",
        max_order: int | None = 10,
        kernel: str = "se",
        categorical: Any = "auto",
        likelihood: str = "normal",
        inference: str = "auto",
        n_inducing: int | None = None,
        inducing: str = "variance",
        n_orthogonal: int = 0,
        n_restarts: int = 2,
        unknown: str = "marginalise",
        progress: Any = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        keep_arguments(self, locals())


class AdditiveGPClassifier(Unconstrained, AdditiveClassifier):
    """Classification with these kernels; arguments as those of `AdditiveGPRegressor` and `OAKClassifier`."""

    def __init__(
        self,
        *,
        kind: str = "additive",
        max_order: int | None = 10,
        kernel: str = "se",
        categorical: Any = "auto",
        link: str = "logit",
        class_weight: Any = None,
        inference: str = "auto",
        n_inducing: int | None = None,
        inducing: str = "variance",
        n_orthogonal: int = 0,
        n_restarts: int = 2,
        unknown: str = "marginalise",
        progress: Any = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        keep_arguments(self, locals())
