"""Regression by small networks, one for each set of columns that act together (extra `deep`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from termwise.deep.backend import require_torch
from termwise.deep.heads import heads_of
from termwise.deep.networks import inputs_of
from termwise.deep.posterior import GramPosterior, RankOnePosterior, Reading, Seen, summed
from termwise.deep.rank_one import log_density, log_evidence
from termwise.encode.dense import DenseEncoder
from termwise.errors import NoTermsError, OptionError, TableError
from termwise.estimators.base import keep_arguments, seed_of
from termwise.estimators.interactions import interactions_of, warn_of_untold
from termwise.estimators.numbers import UNKNOWN, as_numbers, bent
from termwise.estimators.options import number_within, one_of, search_options, whole_number
from termwise.estimators.predicting import TermRegressor
from termwise.estimators.ranked import Ranked
from termwise.estimators.selected import asked_terms
from termwise.estimators.targets import NORMAL, prepared_target
from termwise.explain.effects import Effect
from termwise.explain.interactions import Interactions
from termwise.explain.terms import Term, named_term, sobol_table
from termwise.inference.progress import Clock
from termwise.inference.result import FitResult, Status
from termwise.kernels.terms import Subset
from termwise.measures.base import Array
from termwise.posterior.noise import Noise
from termwise.table import read_table

if TYPE_CHECKING:
    from termwise.deep.detector import Search
    from termwise.deep.embedded import Embedded
    from termwise.deep.optimal import Optimal
    from termwise.deep.training import Descent, Lesson, Rows
    from termwise.inference.fit import Fit

RANK_ONE, EMBEDDED = ("iok", "ok", "network"), ("rbf", "matern", "sm", "arccos")
TRAINED = tuple(kernel for kernel in (*RANK_ONE, *EMBEDDED) if kernel != "arccos")  # that have networks
MEANS = ("zero", "detector")
UPDATES = ("joint", "alternating")
SMALL, LARGE, LARGER = (64, 64, 32), (1000, 500, 50), (1000, 1000, 500, 50)  # table 1, for up to 6000 rows
MANY_ROWS = 6000
SMALL_LAYER = 200  # units of a layer, up to which a network is called small
STEPS = {True: 5e-3, False: 1e-3}  # of Adam, for small networks and for large ones
# Options that only some kernels have, where others would ignore them.
BELONGS = (
    ("sets", None, ("iok",)),
    ("penalty", 0.0, ("iok",)),
    ("updates", "joint", ("iok",)),
    ("sparsity", 0.0, ("ok",)),
    ("rewind", 0, ("ok",)),
    ("n_inducing", None, EMBEDDED),
    ("n_restarts", 2, RANK_ONE),
    ("hidden", None, TRAINED),
    ("learning_rate", None, TRAINED),
)
SEEN = 2000  # rows that are kept, to draw terms


@dataclass(frozen=True, eq=False)
class _Found:
    """What is kept of a fit; its parts are those of the fits of other engines."""

    posterior: RankOnePosterior | GramPosterior
    noise: Noise
    result: FitResult


class DeepKernelRegressor(TermRegressor):
    """A Gaussian process whose kernel is made of networks. Interpretable deep kernels (2020).

    With `kernel="iok"` the function is a sum of small networks, one for each set of columns that a first
    network finds to act together: each is a term. The band of a term says what the last layer of its network
    might have been as well, and takes the hidden layers as known: it is too narrow where curves bend, and
    wide for sets that share columns. A column of levels becomes one number for each level; a missing cell
    stands at the mean, and if there were some in `fit`, a further number says where. One tenth of the rows
    says when training is to stop, and how large the noise is; of up to 500 rows this is what each fifth of
    them shows, left out once.

    Parameters
    ----------
    kernel : {"iok", "ok", "rbf", "matern", "sm", "arccos", "network"}
        g(x) g(x') with g a sum of networks of some columns each; or with one network of all columns; the
        squared exponential, Matern 5/2 or spectral mixture kernel of what a network of all columns makes of a
        row; the arc-cosine kernel of two layers; or a network alone, for comparison.
    sets : list of names or Interactions, optional
        The columns of each network of "iok", as in ["age:income", "city"]; columns in none are left out; or
        what `detect_interactions` found. None asks it, and gives each column that acts with no other a
        network of its own.
    max_size : int
        The most columns of a set that is found.
    n_seeds : int
        How many networks are asked for sets.
    hidden : sequence of int, optional
        Units of the hidden layers; None goes by the kernel and the number of rows.
    mean : {"zero", "detector"}
        What the process is about: zero, or the networks that are asked for sets. With these it has no terms.
    penalty : float
        What the standard deviation of each network of "iok" costs, in those of the target: sets that were
        found by mistake are left out. 0.01 to 0.1 are of use.
    sparsity : float
        The part of the weights of "ok" that is pruned away, in rounds, with those that stay put back to where
        they began (lottery tickets).
    rewind : int
        After how many epochs the weights stood that pruning puts back; zero is before training.
    updates : {"joint", "alternating"}
        Whether the networks of "iok" are trained together or by turns.
    max_epochs : int
        The most times that training looks at all rows.
    learning_rate : float, optional
        The step of Adam; None goes by the size of the networks.
    n_inducing : int, optional
        Of how many rows the sparse engine makes its picture, for "rbf", "matern", "sm" and "arccos"; None is
        exact up to 2,000 rows, and 128 beyond.
    n_restarts : int
        How many starting points of "iok", "ok" and "network" are tried; with `sparsity` there is one.
    unknown : {"mean", "error"}
        Whether a level that was not seen in `fit` stands at the mean, or is refused.
    n_jobs : int or None
        Threads of PyTorch; None is one, with which small networks are fastest.
    categorical, random_state
        As for `OAKRegressor`.
    """

    def __init__(
        self,
        *,
        kernel: str = "iok",
        sets: Any = None,
        max_size: int = 4,
        n_seeds: int = 5,
        hidden: Sequence[int] | None = None,
        mean: str = "zero",
        penalty: float = 0.0,
        sparsity: float = 0.0,
        rewind: int = 0,
        updates: str = "joint",
        max_epochs: int = 300,
        learning_rate: float | None = None,
        n_inducing: int | None = None,
        n_restarts: int = 2,
        categorical: Any = "auto",
        unknown: str = "mean",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        keep_arguments(self, locals())

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from a table and a target; any frame, numpy array or list of rows.

        Writes `encoder_`, `target_scale_`, `posterior_`, `noise_`, `fit_result_`, `objective_`,
        `n_parameters_`, and `interactions_` if sets were asked for.
        """
        require_torch(type(self).__name__)
        from termwise.deep.folds import FEW_ROWS, error_of_folds
        from termwise.deep.tickets import masks_of
        from termwise.deep.training import Lesson, parted, threads

        self._check_options()
        clock = Clock()
        table = read_table(X)
        target, scale = prepared_target(NORMAL, y, None, table.n_rows)
        owner, flow = type(self).__name__, self.mean == "detector"  # a mean must read what it was asked with
        dense, spread = as_numbers(table, self.categorical, self.unknown, owner=owner, flow=flow)
        encoded = dense.encoder.transform(table)
        asking, splitting, training, seeing = np.random.default_rng(seed_of(self.random_state)).spawn(4)
        self.__dict__.pop("interactions_", None)
        with threads(self.n_jobs):
            # The same rows are left out all along: they would say too little noise of a mean that knew them.
            rows = parted(spread, splitting)
            sets, trend = self._sets(dense, encoded, target.y, rows, asking)
            if hasattr(self, "interactions_") and not trend:
                warn_of_untold(self.interactions_)
            # In the order of the draw, as the first of them stand for all where cells are missing.
            reading = Reading(dense, encoded[seeing.permutation(len(encoded))[:SEEN]], trend)
            whole = Lesson(spread, target.y, rows, np.isnan(encoded).sum(axis=1) == 0)
            lesson = replace(whole, y=target.y - reading.base(spread))
            make = partial(self._learned, inputs_of(sets, dense.sources), rng=training)
            learned = make(lesson)
            if table.n_rows <= FEW_ROWS:
                masks = masks_of(learned.networks) if self.sparsity else None
                anew = partial(self._predictor, partial(make, masks=masks), dense.sources, training)
                error = error_of_folds(whole, anew, training)
                learned = learned.with_noise(max(learned.noise, error), lesson)
        known = self._rank_one if self.kernel in RANK_ONE else self._embedded
        found = known(learned, reading, sets, lesson)
        result = replace(found.result, seconds=clock(), rows=table.n_rows)
        self._keep(cast("Fit", replace(found, result=result)), dense.encoder, scale)
        self.likelihood_, self.exposed_ = None, False
        self.n_parameters_ = found.posterior.n_parameters
        return self

    def _sets(
        self, dense: DenseEncoder, encoded: Array, y: Array, rows: Rows, rng: np.random.Generator
    ) -> tuple[tuple[Subset, ...], tuple[Any, ...]]:
        """The columns of each network, and the networks of the mean function."""
        names = dense.encoder.names
        everything: Subset = tuple(range(len(names)))
        asked = asked_terms(self.sets, dense.encoder.schema.names, "sets") if self.kernel == "iok" else None
        if self.mean == "detector" and len(names) < 2:
            raise TableError(
                f"only the column {names[0]!r} has more than one value, and mean='detector' is by columns "
                "that act together; use mean='zero', or pass more columns"
            )
        finding = self.kernel == "iok" and asked is None and len(names) > 1
        listed = (everything,) if asked is None else _places(asked, names)
        if not finding and self.mean == "zero":
            return listed, ()
        from termwise.deep.detector import Sample, detect, trend

        numbers = dense.spread(encoded) if self.mean == "detector" else bent(dense, encoded)
        sample = Sample(numbers, y, dense.sources, rows)
        if not finding:
            return listed, trend(sample, self._search(), rng)
        found = detect(sample, self._search(), rng)
        self.interactions_: Interactions = interactions_of(found, dense)
        return _places(self.interactions_.sets(), names), found.trend if self.mean == "detector" else ()

    def _search(self) -> Search:
        from termwise.deep.detector import Search

        return Search(self.n_seeds, self.max_size, self.max_epochs)

    def _descent(self, hidden: Sequence[int]) -> Descent:
        from termwise.deep.training import Descent

        step = STEPS[max(hidden) <= SMALL_LAYER] if self.learning_rate is None else float(self.learning_rate)
        alternating = self.updates == "alternating"
        return Descent(max_epochs=self.max_epochs, learning_rate=step, alternating=alternating)

    def _hidden(self, n_rows: int) -> tuple[int, ...]:
        if self.hidden is not None:
            return tuple(int(units) for units in self.hidden)
        if self.kernel == "iok":
            return SMALL
        return LARGE if n_rows <= MANY_ROWS else LARGER

    def _learned(
        self,
        inputs: tuple[tuple[int, ...], ...],
        lesson: Lesson,
        rng: np.random.Generator,
        masks: tuple[Array, ...] | None = None,
    ) -> Any:
        """Networks that were trained, with the kernel on them; pruned anew if no masks say what is left."""
        from termwise.deep.embedded import Embedding, fit_embedded
        from termwise.deep.optimal import Shape, Wanted, fit_optimal
        from termwise.deep.tickets import Pruning, fit_ticket

        hidden = self._hidden(lesson.y.size)
        shape, how = Shape(inputs, hidden), self._descent(hidden)
        if self.kernel in EMBEDDED:
            return fit_embedded(lesson, Embedding(self.kernel, hidden, self.n_inducing), how, rng)
        if self.sparsity and masks is None:
            return fit_ticket(lesson, shape, how, rng, Pruning(self.sparsity, self.rewind)).found
        starts = self.n_restarts if masks is None else 1
        wanted = Wanted(self.penalty, self.kernel == "network", starts, masks)
        return fit_optimal(lesson, shape, how, rng, wanted)

    def _predictor(
        self, make: Callable[[Lesson], Any], sources: Sequence[int], rng: np.random.Generator, lesson: Lesson
    ) -> Callable[[Array], Array]:
        """All but the sets learned from some rows, with the mean function: a function of others."""
        from termwise.deep.detector import Sample, trend

        nets: tuple[Any, ...] = ()
        if self.mean == "detector":
            nets = trend(Sample(lesson.X, lesson.y, sources, lesson.rows), self._search(), rng)
        left = replace(lesson, y=lesson.y - summed(nets, lesson.X))
        found = make(left)
        return lambda X: summed(nets, X) + found.mean(X)

    def _rank_one(self, found: Optimal, reading: Reading, sets: tuple[Subset, ...], lesson: Lesson) -> _Found:
        each = found.networks.outputs(lesson.X).sum(axis=2)
        left = tuple(sets[place] for place in found.places)
        pruned = bool(self.sparsity)
        heads = None if reading.trend else heads_of(found.networks, lesson.X, found.noise, pruned=pruned)
        posterior = RankOnePosterior(
            reading, found.networks, left, found.amplitude, found.noise, Seen.of(each), heads
        )
        evidence = log_density if self.kernel == "network" else log_evidence
        objective = evidence(each.sum(axis=0), lesson.y, found.noise)
        status = _status(found.noise, found.epochs < self.max_epochs)
        result = FitResult(status, objective, found.epochs, 0.0, 0.0, ())
        return _Found(posterior, Noise.normal(found.noise), result)

    def _embedded(self, found: Embedded, reading: Reading, _: Any, __: Any) -> _Found:
        solved = found.solved
        posterior = GramPosterior(reading, found.networks, found.kernel, solved, found.noise)
        inducing = None if found.inducing is None else len(solved.centres)
        status = _status(found.noise, found.converged)
        result = FitResult(status, solved.evidence, found.epochs, 0.0, solved.jitter, (), 0, inducing)
        return _Found(posterior, Noise.normal(found.noise), result)

    def _check_options(self) -> None:
        one_of("kernel", self.kernel, (*RANK_ONE, *EMBEDDED))
        one_of("mean", self.mean, MEANS)
        one_of("updates", self.updates, UPDATES)
        one_of("unknown", self.unknown, tuple(UNKNOWN))
        search_options(self.n_restarts, self.n_jobs, False)
        whole_number("max_size", self.max_size, at_least=2)
        whole_number("n_seeds", self.n_seeds, at_least=1)
        whole_number("max_epochs", self.max_epochs, at_least=1)
        whole_number("rewind", self.rewind, at_least=0)
        if self.n_inducing is not None:
            whole_number("n_inducing", self.n_inducing, at_least=1)
        if self.hidden is not None:
            _layers(self.hidden)
        number_within("penalty", self.penalty, 0.0, np.inf)
        number_within("sparsity", self.sparsity, 0.0, 1.0)
        if self.learning_rate is not None:
            number_within("learning_rate", self.learning_rate, 1e-12, np.inf)
        if self.rewind and not self.sparsity:
            raise OptionError(f"rewind is {self.rewind!r} and nothing is pruned; set sparsity, as in 0.8")
        if self.rewind >= self.max_epochs:
            raise OptionError(
                f"rewind is {self.rewind!r} and max_epochs {self.max_epochs!r}; go back to before the end"
            )
        for name, default, kernels in BELONGS:
            given = getattr(self, name)
            changed = given is not None if default is None else given != default
            if changed and self.kernel not in kernels:
                owners = " or ".join(f"{kernel!r}" for kernel in kernels)
                raise OptionError(
                    f"{name} is {given!r} and kernel is {self.kernel!r}; it belongs to kernel={owners}"
                )

    def _with_terms(self) -> RankOnePosterior:
        self._check_has_posterior()
        posterior: Any = self.posterior_
        if not isinstance(posterior, RankOnePosterior):
            raise NoTermsError(
                f"kernel={self.kernel!r} has no terms: it is one function of all columns; use 'iok'"
            )
        return posterior

    def _latent_constant(self) -> float:
        self._with_terms()
        return super()._latent_constant()

    def _ranked(self) -> Ranked:
        """The terms by how much each varies over rows that were learned from."""
        posterior = self._with_terms()
        covariance = posterior.term_covariance()
        variances = np.diag(covariance)
        shares = variances / max(float(variances.sum()), 1e-300)
        order = np.argsort(-shares, kind="stable")
        terms = tuple(named_term(posterior.sets[place], self.encoder_.names) for place in order)
        table = sobol_table(terms, shares[order], np.full((len(terms), 2), np.nan))
        sizes = [len(columns) for columns in posterior.sets]
        by_order = np.bincount(sizes, weights=shares, minlength=2)[1:]
        return Ranked(terms, table, by_order, True, float(np.sum(covariance)))

    def _effect(self, term: Term) -> Effect:
        """A missing cell stands at the mean of its column, where a term need not be zero."""
        found = super()._effect(term)
        if found.missing_mean is None:
            return found
        nothing = np.full((1, len(self.encoder_.columns)), np.nan)
        at = self.target_scale_.scale * float(self.posterior_.term_mean(term.columns, nothing)[0])
        return replace(found, missing_mean=at)

    def _runs(self) -> None:
        """A page has no sliders for networks."""


def _status(noise: float, converged: bool) -> Status:
    if not converged:
        return Status.MAX_STEPS
    # Rows that were left out may be predicted no better than by the mean of all.
    return Status.CONVERGED.if_rested(noise < 1.0)


def _places(sets: Sequence[Sequence[str]], names: Sequence[str]) -> tuple[Subset, ...]:
    """The positions of the columns of each set, each set once."""
    place = {name: position for position, name in enumerate(names)}
    lost = [name for columns in sets for name in columns if name not in place]
    if lost:
        raise TableError(
            f"sets has the column {lost[0]!r}, which has one value only, or a new level in every row; leave "
            "it out"
        )
    return tuple(dict.fromkeys(tuple(sorted(place[name] for name in columns)) for columns in sets))


def _layers(hidden: Any) -> None:
    if isinstance(hidden, str) or not isinstance(hidden, (Sequence, np.ndarray)) or not len(hidden):
        raise OptionError(f"hidden is {hidden!r}; give the units of each layer, at least one, as in (64, 32)")
    for units in hidden:
        whole_number("a layer of hidden", units, at_least=1)
