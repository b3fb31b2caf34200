"""Regression and classification by the angle between rows: one function of all features, without terms."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from termwise.encode.rows import ArrayChunk
from termwise.encode.spherical import SphericalEncoder
from termwise.errors import NoTermsError, OptionError, TermwiseWarning
from termwise.estimators.base import keep_arguments, seed_of
from termwise.estimators.engine import check_sparse_memory
from termwise.estimators.fitted import FittedModel
from termwise.estimators.merge import merged_rows, repeated_rows
from termwise.estimators.numbers import UNKNOWN, as_numbers
from termwise.estimators.options import one_of, search_options, whole_number
from termwise.estimators.predicting import PosteriorRegressor
from termwise.estimators.probabilities import PosteriorClassifier, base_value
from termwise.estimators.targets import NORMAL, Target, prepared_target
from termwise.inference.alike import ALIKE, alike_of
from termwise.inference.coarse import SparseOptions
from termwise.inference.fit import NOTHING, Fit
from termwise.inference.fit_spherical import SphericalOptions, fit_spherical
from termwise.inference.progress import monitored
from termwise.inference.spherical import SphericalModel
from termwise.kernels.features import FEATURES, MOST_DEGREES, ROW
from termwise.kernels.fused.run import cores
from termwise.kernels.zonal import KERNELS
from termwise.measures.base import Array
from termwise.table import Table, read_table

# What models with terms have besides.
OF_TERMS = (
    "concurvity",
    "constant_",
    "cumulative_score",
    "explain",
    "explained_",
    "order_shares_",
    "predict_terms",
    "prune",
    "sobol_",
    "terms_",
)


class Spherical(FittedModel):
    """Abstract: the way from a table to the posterior of a function of the angle."""

    kernel: str
    features: str
    n_degrees: int
    n_inducing: int
    n_orthogonal: int
    categorical: Any
    unknown: str
    progress: Any
    random_state: Any
    n_jobs: int | None

    def _check_options(self) -> None:
        one_of("kernel", self.kernel, tuple(KERNELS))
        one_of("features", self.features, FEATURES)
        one_of("unknown", self.unknown, tuple(UNKNOWN))
        if whole_number("n_degrees", self.n_degrees, at_least=1) > MOST_DEGREES:
            raise OptionError(f"n_degrees is {self.n_degrees}; use {MOST_DEGREES} at most")
        whole_number("n_inducing", self.n_inducing, at_least=1)
        whole_number("n_orthogonal", self.n_orthogonal, at_least=0)
        if self.features != "points" and self.n_degrees == 1 and self.n_orthogonal == 0:
            raise OptionError(
                f"features={self.features!r} of one degree are a constant alone; use n_degrees=2 or more, or "
                "n_orthogonal"
            )
        search_options(1, self.n_jobs, self.progress)

    if not TYPE_CHECKING:  # to which every name would be there

        def __getattr__(self, name: str) -> Any:
            """Say who has terms, where they are asked for."""
            kind = type(self).__name__
            if name not in OF_TERMS:
                raise AttributeError(f"{kind!r} object has no attribute {name!r}")
            other = "OAKClassifier" if hasattr(type(self), "predict_proba") else "OAKRegressor"
            raise NoTermsError(
                f"a {kind} is one function of all columns, has no terms, and so no {name!r}; use {other} for "
                "terms, and predict, log_predictive_density and check here"
            )

    def _learn(self, table: Table, target: Target) -> tuple[SphericalEncoder, Fit]:
        """Learn from a table and a target in the units that the engine works in."""
        n_rows = table.n_rows
        if target.likelihood is not None:
            table, target = merged_rows(table, target)
        counted, owner = repeated_rows(target.times, table.n_rows), type(self).__name__
        dense, spread = as_numbers(table, self.categorical, self.unknown, owner=owner, counted=counted)
        X = np.column_stack([spread, np.full(table.n_rows, float(ROW))])
        rows = ArrayChunk(X, target.y, target.power, target.offset)
        likelihood = target.likelihood
        alike = alike_of(*spread.shape)
        model = SphericalModel(
            len(dense.names),
            self.kernel,
            self.features,
            self.n_degrees,
            likelihood,
            alike=alike if alike < ALIKE else None,
        )
        _check_degrees(model)
        threads = self.n_jobs if self.n_jobs is not None and self.n_jobs > 0 else cores()
        options = SphericalOptions(self.n_inducing, self.n_orthogonal, threads)
        self._check_memory(rows.X, threads)
        rng = np.random.default_rng(seed_of(self.random_state))
        with monitored(self.progress) as monitor:
            found = fit_spherical(model, rows, options, rng, monitor)
        self._warn_of_nothing(found)
        scales = np.exp(found.theta[: len(dense.names)])
        return SphericalEncoder(dense, scales), replace(found, result=replace(found.result, rows=n_rows))

    def _check_memory(self, X: Array, threads: int) -> None:
        """Refuse more inducing variables than there is memory for, of those that rows can place."""
        counts = {"n_inducing": self.n_inducing, "n_orthogonal": self.n_orthogonal}
        name = " + ".join(option for option, count in counts.items() if count)
        n_rows, n_columns = X.shape
        total = sum(min(count, n_rows) for count in counts.values())
        check_sparse_memory(SparseOptions(total, threads=threads), n_rows, n_columns, name=name)

    def _warn_of_nothing(self, found: Fit) -> None:
        """Points find nothing where there is nothing; features also where columns are many for them."""
        if self.features != "points" and found.model.variance_of_terms(found.theta) < NOTHING:
            warnings.warn(
                f"features={self.features!r} have found nothing: all rows are predicted alike; use "
                "n_degrees=2 or 3, n_orthogonal, or features='points'",
                TermwiseWarning,
                stacklevel=4,
            )


def _check_degrees(model: SphericalModel) -> None:
    """Refuse features that have fewer degrees in common with the kernel than they are asked to have."""

    def whole(one: SphericalModel) -> bool:
        return len(one.degrees) == one.n_degrees

    if whole(model):
        return
    kernels = [name for name in KERNELS if whole(replace(model, kind=name))]
    features = [name for name in FEATURES if whole(replace(model, features=name))]
    found = len(model.degrees)
    remedies = [f"n_degrees={found} at most"] if found else []
    for option, names in (("features", features), ("kernel", kernels)):
        if names:
            remedies.insert(0, f"{option}={' or '.join(map(repr, names))}")
    raise OptionError(
        f"kernel={model.kind!r} and features={model.features!r} have {found} degrees in common, of "
        f"n_degrees={model.n_degrees}, and the function would lack the others; use {', or '.join(remedies)}"
    )


class SphericalGPRegressor(PosteriorRegressor, Spherical):
    """One function of all features, by the angle between rows. Spherical inducing features (2023).

    It predicts and knows how sure it is, but has no terms: for comparison with the others. A column of levels
    becomes one number for each level; a missing cell stands at the mean, and if there were some in `fit`, a
    further number says where.

    Parameters
    ----------
    kernel : {"arccos0", "arccos1", "arccos2", "se", "matern32", "matern52"}
        That of an infinite network of one layer whose activation is a step, or max(t, 0) to the power of one
        or two; or how smooth the function is on the sphere.
    features : {"points", "relu", "softplus", "harmonics"}
        What the inducing variables are: values of the function at some places, units of a network, or
        spherical harmonics of the lowest degrees.
    n_degrees : int
        How many degrees of spherical harmonics the features have. Networks go together with "arccos1", "se"
        and the Matern kernels, with which they have that many in common.
    n_inducing : int
        How many of them there are, at most.
    n_orthogonal : int
        How many more values at some places, orthogonal to them, there are at most: they mend mean and
        variance where the features cannot follow. Beside points there are none if all rows are places.
    unknown : {"mean", "error"}
        Whether a level that was not seen in `fit` stands at the mean, or is refused.
    categorical, progress, random_state, n_jobs
        As for `OAKRegressor`.
    """

    def __init__(
        self,
        *,
        kernel: str = "arccos1",
        features: str = "points",
        n_degrees: int = 6,
        n_inducing: int = 128,
        n_orthogonal: int = 0,
        categorical: Any = "auto",
        unknown: str = "mean",
        progress: Any = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        keep_arguments(self, locals())

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from a table and a target; any frame, numpy array or list of rows.

        Writes `encoder_`, `target_scale_`, `posterior_`, `noise_`, `fit_result_` and `objective_`.
        """
        self._check_options()
        table = read_table(X)
        target, scale = prepared_target(NORMAL, y, None, table.n_rows)
        encoder, found = self._learn(table, target)
        self._keep(found, encoder, scale)
        self.likelihood_, self.exposed_ = None, False
        return self


class SphericalGPClassifier(PosteriorClassifier, Spherical):
    """Classification by the angle between rows; arguments as those of `SphericalGPRegressor`.

    With more than two labels each has a function of its own, in `estimators_` in the order of `classes_`.

    Parameters
    ----------
    link : {"logit", "probit"}
        How the probability follows from the latent function.
    class_weight : dict, "balanced" or None
        How much the rows of each label count beside each other, as for `OAKClassifier`.
    """

    _of_labels: ClassVar[str] = "a function"

    def __init__(
        self,
        *,
        kernel: str = "arccos1",
        features: str = "points",
        n_degrees: int = 6,
        n_inducing: int = 128,
        n_orthogonal: int = 0,
        categorical: Any = "auto",
        link: str = "logit",
        class_weight: Any = None,
        unknown: str = "mean",
        progress: Any = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        keep_arguments(self, locals())

    def _check_options(self) -> None:
        Spherical._check_options(self)
        self._check_label_options()

    def _fit_one(self, table: Table, target: Target, classes: Array) -> Self:
        # The kernel has no constant of its own, so that what features cannot tell would be even odds.
        middle = base_value(self.link, target)
        about = replace(target, offset=np.full(target.y.size, middle))
        encoder, found = self._learn(table, about)
        return self._keep_labels(found, encoder, classes, middle)
