"""Our models, as a table wants them: everything at its default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import termwise
from benchmarks.harness.cells import TRIED_TERMS
from benchmarks.harness.model import INTERVAL, Columns, Predicted
from termwise.estimators.spherical import SphericalGPRegressor

ADDITIVE = {"additive": "additive", "GAM": "gam", "SE": "se"}
# The models of the projected paper, by its names and as its table 2 has them.
EXACT: dict[str, Any] = {"inference": "exact"}
RANDOM: dict[str, Any] = {**EXACT, "directions": "random", "ard": False}
PROJECTED: dict[str, dict[str, Any]] = {
    "RBF-ARD": {**EXACT, "directions": "none"},
    "IMQ-ARD": {**EXACT, "directions": "none", "kernel": "imq"},
    "Single-RP": {**RANDOM, "n_directions": 1},
    "RPA-GP-1": RANDOM,
    "RPA-GP-2": {**RANDOM, "degrees": (1,) * 4 + (2,) * 4 + (3,) * 4},
    "RPA-GP-3": {**RANDOM, "degrees": (1,) * 3 + (2,) * 3 + (3,) * 3 + (4,) * 2 + (5,) * 2 + (6,)},
    "DPA-GP": {**EXACT, "ard": False},
    "RPA-GP-ARD": {**EXACT, "directions": "random"},
    "DPA-GP-ARD": EXACT,
    "DPA-GP-ARD-SKI": {"inference": "ski"},
}
# The models of the spherical paper, section 3.6.2: what the inducing variables are, and how many there
# are; behind the plus are those that are orthogonal to the first.
ANGULAR, ACTIVATIONS = ("arccos1", "matern52", "se"), ("relu", "softplus")
FEW, MANY, BOTH = "128", "256", "128+128"
COUNTED: dict[str, dict[str, Any]] = {
    FEW: {"n_inducing": 128},
    MANY: {"n_inducing": 256},
    BOTH: {"n_inducing": 128, "n_orthogonal": 128},
}
SPHERICAL: dict[str, dict[str, Any]] = {
    f"{kernel} {features} {count}": {"kernel": kernel, "features": features, "n_degrees": 6, **options}
    for kernel in ANGULAR
    for features in ("points", *ACTIVATIONS)
    for count, options in COUNTED.items()
}
# The models of the deep paper, by its names. Its D-OK is pruned, by how much it does not say; this is not.
DEEP = {
    "D-IOK": "iok",
    "D-OK": "ok",
    "D-RBF": "rbf",
    "D-MAT": "matern",
    "D-SM": "sm",
    "K-ARC": "arccos",
    "DNN": "network",
}
OURS = ("OAK", *ADDITIVE, *PROJECTED, *SPHERICAL, *DEEP)
ALL_ORDERS = "additive"  # the model whose kernel has a variance for every order
TEN = 10
REACHED = 0.99  # of the score of all terms, by the terms that are counted


class Ours:
    """One of our estimators behind the methods of every model."""

    def __init__(self, name: str, task: str, seed: int = 0) -> None:
        self.name, self.task, self.seed = name, task, seed
        self.estimator: Any = None

    def fit(self, X: Columns, y: np.ndarray, categorical: Sequence[str]) -> None:
        """Learn with the defaults."""
        kinds: Any = list(categorical) or "auto"
        ending = "Regressor" if self.task == "regression" else "Classifier"
        if self.name in ADDITIVE:
            kind = ADDITIVE[self.name]
            self.estimator = getattr(termwise, f"AdditiveGP{ending}")(kind=kind, categorical=kinds)
        elif self.name in PROJECTED:
            options = {**PROJECTED[self.name], "random_state": self.seed}  # directions differ by split
            self.estimator = termwise.ProjectedGPRegressor(**options, categorical=kinds)
        elif self.name in SPHERICAL:
            options = {**SPHERICAL[self.name], "random_state": self.seed}
            self.estimator = SphericalGPRegressor(**options, categorical=kinds)
        elif self.name in DEEP:
            kernel = DEEP[self.name]
            self.estimator = termwise.DeepKernelRegressor(
                kernel=kernel, random_state=self.seed, categorical=kinds
            )
        else:
            self.estimator = getattr(termwise, f"OAK{ending}")(categorical=kinds)
        self.estimator.fit(X, y)

    def predict(self, X: Columns) -> Predicted:
        """Mean and standard deviation, or the probability of label 1."""
        if self.task == "classification":
            return Predicted(self.estimator.predict_proba(X)[:, 1])
        if self.name in SPHERICAL:
            return as_learned(self.estimator, X)
        return Predicted(*self.estimator.predict(X, return_std=True))

    def own_scores(self, X: Columns, y: np.ndarray) -> dict[str, float]:
        """Log density and coverage as the model has them: the tails of its scatter may be heavy.

        Those of the spherical paper have none of their own: it scores the normal density that they learn by.
        """
        if self.task == "classification" or self.name in SPHERICAL:
            return {}
        covered = {one.level: one.covered for one in self.estimator.check(X, y).coverage}
        density = self.estimator.log_predictive_density(X, y)
        return {"log_density": float(np.mean(density)), "coverage": covered[INTERVAL]}

    def orders(self) -> str:
        """Per cent of the prior variance of each order 1, 2, .., of the model that has all orders."""
        if self.name != ALL_ORDERS:
            return ""
        known = self.estimator.posterior_
        alone = np.eye(len(known.kernel.variances))[1:] * known.kernel.variances
        each = [replace(known.kernel, variances=tuple(one)).diagonal(known.rows).mean() for one in alone]
        return " ".join(f"{share:.2f}" for share in 100.0 * np.array(each) / sum(each))


def as_learned(estimator: Any, X: Columns) -> Predicted:
    """The normal density of a new observation with the noise of the bound, whatever residuals say of it."""
    mean = estimator.predict(X)
    known = estimator.posterior_
    variance = known.variance(estimator._encode(X)) + known.noise
    return Predicted(mean, estimator.target_scale_.scale * np.sqrt(variance))


@dataclass(frozen=True)
class Parsimony:
    """How few terms do: those for 99 % of the score, and the score of ten over that of all."""

    terms: int | None
    ten_terms: float | None
    first_order: float | None


def parsimony(
    model: Ours, X: Columns, y: np.ndarray, *, pruned: bool = True, counted: bool = True
) -> Parsimony:
    """If asked, prune to ten terms, and to fewer as long as R², of labels the accuracy, stays.

    A model that explains nothing is reached by no term at all, so that its ten terms have a ratio of one.
    """
    if model.name != "OAK":
        return Parsimony(None, None, None)
    estimator = model.estimator
    first = float(estimator.order_shares_[0])
    if not pruned:
        return Parsimony(None, None, first)
    whole, empty = estimator.score(X, y), _empty_score(model.task, y)
    if whole <= empty:
        return Parsimony(0 if counted else None, 1.0, first)
    ten = estimator.prune(n_terms=TEN)
    score = ten.score(X, y)
    if not counted:
        return Parsimony(None, score / whole, first)
    terms = 0 if empty >= REACHED * whole else _terms(estimator, ten, X, y, whole)
    return Parsimony(terms, score / whole, first)


def _terms(estimator: Any, ten: Any, X: Columns, y: np.ndarray, whole: float) -> int:
    """As few terms as halving finds that reach the score, or all that are tried; one more if these do not."""
    enough = REACHED * whole
    if ten.score(X, y) < enough:
        more = estimator.prune(n_terms=TRIED_TERMS).score(X, y)
        return TRIED_TERMS if more >= enough else TRIED_TERMS + 1
    few, many = 0, len(ten.terms_)  # not known to be enough; known to be
    while many - few > 1:
        half = (few + many) // 2
        if ten.prune(n_terms=half).score(X, y) >= enough:
            many = half
        else:
            few = half
    return many


def _empty_score(task: str, y: np.ndarray) -> float:
    return 0.0 if task == "regression" else max(float(np.mean(y)), 1.0 - float(np.mean(y)))
