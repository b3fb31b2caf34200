"""Regression along directions: for tables of many columns, or whose columns act together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from termwise.encode.projected import ProjectedEncoder
from termwise.encode.rows import ArrayChunk
from termwise.errors import GridError, OptionError
from termwise.estimators.base import keep_arguments, seed_of
from termwise.estimators.engine import EXACT_ROWS, Asked, learn
from termwise.estimators.numbers import UNKNOWN, as_numbers
from termwise.estimators.options import one_of, search_options, whole_number
from termwise.estimators.predicting import TermRegressor
from termwise.estimators.targets import NORMAL, prepared_target
from termwise.explain.directions import Loadings, Sensitivity, coordinate_slopes, sensitivity
from termwise.inference.alike import alike_of
from termwise.inference.directed import TRIED_ROWS, best_count, best_prior, directed
from termwise.inference.fit import Candidate, Fit
from termwise.inference.fit_ski import interpolable
from termwise.inference.progress import Monitor, monitored
from termwise.inference.projected import ProjectedModel
from termwise.inference.ski import Grid
from termwise.kernels.fused.radial import RADIAL
from termwise.kernels.projected import ONE_COLUMN
from termwise.kernels.terms import Subset
from termwise.measures.base import Array
from termwise.table import read_table

DIRECTIONS = ("diverse", "random", "none")
INFERENCES = ("auto", "exact", "sparse", "ski")
SEQUENCES = (list, tuple, np.ndarray)
ROWS = 2000  # over which slopes are averaged


class ProjectedGPRegressor(TermRegressor):
    """A sum of functions, each of the position of a row along one direction. Projected additive GPs (2020).

    Directions are not learned, but a lengthscale of each feature is: features are divided by it before they
    are projected. A column of levels becomes one number for each level; a missing cell stands at the mean,
    and if there were some in `fit`, a further number says where. What such a cell might have been is not
    averaged over: the standard deviation is that of a row at the mean.

    Parameters
    ----------
    n_directions : int or "auto"
        How many directions; "auto" tries 5, 10, 20, 40 and 80 on some rows and takes the most likely.
    directions : {"diverse", "random", "none"}
        As different from each other as can be; drawn from a normal; or none: one function of all features.
    degrees : sequence of int, optional
        How many coordinates each function has, in the place of n_directions: (1, 1, 2, 3) are two of one
        coordinate, one of two and one of three. With directions="random".
    kernel : {"se", "matern12", "matern32", "matern52", "imq", "cosine"}
        How smooth the functions are; "cosine" is for functions of one coordinate.
    ard : bool
        Whether each feature has a lengthscale of its own.
    weights : {"equal", "learned"}
        Whether all directions have the same variance.
    inference : {"auto", "exact", "sparse", "ski"}
        "ski" interpolates on a grid, in time that grows with the rows; "auto" is exact up to 2,000 rows, then
        by a grid where it can be, else sparse.
    n_grid : int
        Nodes of the grid to a lengthscale.
    unknown : {"mean", "error"}
        Whether a level that was not seen in `fit` stands at the mean, or is refused.
    categorical, n_inducing, n_restarts, progress, random_state, n_jobs
        As for `OAKRegressor`.
    """

    def __init__(
        self,
        *,
        n_directions: Any = 20,
        directions: str = "diverse",
        degrees: Sequence[int] | None = None,
        kernel: str = "se",
        ard: bool = True,
        weights: str = "equal",
        inference: str = "auto",
        n_grid: int = 16,
        categorical: Any = "auto",
        n_inducing: int | None = None,
        n_restarts: int = 2,
        unknown: str = "mean",
        progress: Any = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        keep_arguments(self, locals())

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from a table and a target; any frame, numpy array or list of rows.

        Writes `encoder_`, `target_scale_`, `posterior_`, `noise_`, `fit_result_`, `objective_`,
        `n_directions_` and `inference_`, the engine that was used.
        """
        self._check_options()
        table = read_table(X)
        target, scale = prepared_target(NORMAL, y, None, table.n_rows)
        owner = type(self).__name__
        dense, spread = as_numbers(table, self.categorical, self.unknown, owner=owner)
        rows = ArrayChunk(spread, target.y)
        drawing, counting, searching, trying = np.random.default_rng(seed_of(self.random_state)).spawn(4)
        count = self._count(rows, counting)
        model = best_prior(self._model(count, rows.X.shape, drawing), rows, trying)
        with monitored(self.progress) as monitor:
            found = self._learn(model, rows, searching, monitor)
        learned = ProjectedEncoder(dense, model.projection(found.theta), model.groups)
        self._keep(found, learned, scale)
        self.likelihood_, self.exposed_, self.n_directions_ = None, False, len(model.groups)
        return self

    def _count(self, rows: ArrayChunk, rng: np.random.Generator) -> int:
        if self.directions == "diverse" and rows.X.shape[1] == 1:
            return 1  # there is one direction only
        if self.n_directions != "auto" or self.degrees is not None or self.directions == "none":
            return self.n_directions if self.n_directions != "auto" else 1
        some = rows.rows(rng.permutation(rows.y.size)[:TRIED_ROWS])
        return best_count(lambda count, stream: self._model(count, rows.X.shape, stream), some, rng)

    def _model(self, count: int, shape: tuple[int, ...], rng: np.random.Generator) -> ProjectedModel:
        degrees = (1,) * count if self.degrees is None else tuple(int(degree) for degree in self.degrees)
        drawn, groups = directed(self.directions, degrees, shape[1], rng)
        options = {"ard": self.ard, "weighted": self.weights == "learned", "alike": alike_of(*shape)}
        return ProjectedModel(drawn, groups, self.kernel, **options)

    def _learn(
        self, model: ProjectedModel, rows: ArrayChunk, rng: np.random.Generator, monitor: Monitor | None
    ) -> Fit:
        self.inference_ = self._engine(model, rows.y.size)
        by_grid, otherwise = rng.spawn(2)
        if self.inference_ == "ski":
            try:
                return learn([Candidate(model, rows)], self._asked(), by_grid, monitor)
            except GridError:  # some rows lie very far away
                if self.inference == "ski":
                    raise
                self.inference_ = "sparse"
        return learn([Candidate(model, rows)], self._asked(), otherwise, monitor)

    def _asked(self) -> Asked:
        grid = Grid(1.0 / self.n_grid)
        return Asked(self.inference_, self.n_inducing, "variance", self.n_restarts, self.n_jobs, grid)

    def _engine(self, model: ProjectedModel, n_rows: int) -> str:
        if self.inference != "auto":
            return self.inference
        if n_rows <= EXACT_ROWS and self.n_inducing is None:
            return "exact"
        return "ski" if interpolable(model) and self.n_inducing is None else "sparse"

    def _check_options(self) -> None:
        if self.n_directions != "auto" and not isinstance(self.n_directions, (int, np.integer)):
            raise OptionError(f"n_directions is {self.n_directions!r}; use a whole number, or 'auto'")
        if self.n_directions != "auto":
            whole_number("n_directions", self.n_directions, at_least=1)
        one_of("directions", self.directions, DIRECTIONS)
        one_of("kernel", self.kernel, tuple(RADIAL))
        if not isinstance(self.ard, (bool, np.bool_)):
            raise OptionError(f"ard is {self.ard!r}; use True or False")
        one_of("weights", self.weights, ("equal", "learned"))
        one_of("inference", self.inference, INFERENCES)
        one_of("unknown", self.unknown, tuple(UNKNOWN))
        search_options(self.n_restarts, self.n_jobs, self.progress)
        whole_number("n_grid", self.n_grid, at_least=2)
        if self.n_inducing is not None:
            whole_number("n_inducing", self.n_inducing, at_least=1)
        if not (self.degrees is None or (isinstance(self.degrees, SEQUENCES) and len(self.degrees))):
            raise OptionError(
                f"degrees is {self.degrees!r}; give a whole number for each function, as in (1, 2)"
            )
        degrees = (1,) if self.degrees is None else tuple(self.degrees)
        for degree in degrees:
            whole_number("a degree", degree, at_least=1)
        if self.degrees is not None and self.directions != "random":
            raise OptionError(
                f"degrees are given and directions is {self.directions!r}; use directions='random' with them"
            )
        several = self.directions == "none" or max(degrees) > 1
        if self.kernel in ONE_COLUMN and several:
            raise OptionError(f"kernel={self.kernel!r} is no kernel of several coordinates; use another")

    def _runs(self) -> None:
        """A page has no sliders for directions."""

    @property
    def _every_term(self) -> tuple[Subset, ...]:
        return self.posterior_.by_terms.listed(len(self.encoder_.groups))

    def _middles(self, terms: Sequence[Subset]) -> Array:
        """The mean of each term over rows: it is told with the constant, as it can be traded with others."""
        middles: Array = self.posterior_.term_means(terms, self.posterior_.centring_rows).mean(axis=0)
        return middles

    def _latent_constant(self) -> float:
        return super()._latent_constant() + float(np.sum(self._middles(self._every_term)))

    def _term_means(self, terms: Sequence[Subset], encoded: Array) -> Array:
        return super()._term_means(terms, encoded) - self._middles(terms)

    def _term_std(self, terms: Sequence[Subset], encoded: Array) -> Array:
        variances = [self.posterior_.centred_term(term, encoded)[1] for term in terms]
        std: Array = self.target_scale_.scale * np.sqrt(np.stack(variances, axis=1))
        return std

    @property
    def loadings_(self) -> Loadings:
        """What each direction is made of, that of the term with the largest share first."""
        ranked = [column for term in self.terms_ for column in term.columns]
        names = tuple(self.encoder_.names[column] for column in ranked)
        return Loadings(names, self.encoder_.dense.names, self.encoder_.projection[ranked])

    @property
    def sensitivity_(self) -> Sensitivity:
        """How much the prediction depends on each column of the table, over rows that were learned from."""
        self._check_has_posterior()
        posterior, dense = self.posterior_, self.encoder_.dense
        rows = posterior.rows[:: -(-len(posterior.rows) // ROWS)]
        slopes = coordinate_slopes(posterior, self._every_term, rows)
        return sensitivity(slopes @ self.encoder_.projection, dense)
