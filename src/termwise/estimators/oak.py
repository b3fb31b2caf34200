"""Regression and classification with the orthogonal additive kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from termwise.encode.encoder import Encoder, LevelEncoder
from termwise.errors import OptionError
from termwise.estimators.base import AdditiveModel, keep_arguments
from termwise.estimators.classifier import AdditiveClassifier
from termwise.estimators.columns import ColumnPlan
from termwise.estimators.options import KERNELS, measure_of_columns, one_of, whole_number
from termwise.estimators.regressor import AdditiveRegressor
from termwise.explain.sobol import MOST_TERMS, listed_order
from termwise.inference.orders import EachOrder, Orders

FLOWS = ("learned", "fixed", None)


class Orthogonal(AdditiveModel):
    """Abstract: the orthogonal additive kernel, up to an order."""

    max_order: int | str | None
    first_order: ClassVar[int]  # up to which "auto" has all terms; more if the data ask for them
    flows: ClassVar[tuple[bool, ...]] = (True,)  # whether numbers are bent first, if more is to be learned
    terms: Any
    measure: Any
    flow: str | None
    normalise: bool

    def _check_options(self) -> None:
        super()._check_options()
        one_of("flow", self.flow, FLOWS)
        one_of("normalise", self.normalise, (True, False))
        if self.max_order is not None and self.max_order != "auto":
            whole_number("max_order", self.max_order, at_least=1, others=", 'auto' or None")

    def _orders(self, n_columns: int) -> Orders:
        if self.max_order == "auto":
            # Terms that cannot all be listed cannot be read.
            most = listed_order(n_columns, n_columns, MOST_TERMS)
            return EachOrder(tuple(range(min(self.first_order, n_columns) + 1)), n_columns, most)
        order = n_columns if self.max_order is None else min(int(self.max_order), n_columns)
        return EachOrder(tuple(range(order + 1)), n_columns)

    def _plan(self, encoder: Encoder) -> ColumnPlan:
        measures = measure_of_columns(self.measure, encoder.names, encoder.schema.names)
        for name, column in zip(encoder.names, encoder.columns, strict=True):
            if (
                isinstance(self.measure, Mapping)
                and name in self.measure
                and isinstance(column, LevelEncoder)
            ):
                raise OptionError(
                    f"measure names {name!r}, whose measure is the frequencies of its levels; leave it out"
                )
        return ColumnPlan(KERNELS[self.kernel], measures, True, self.flow == "learned", self.normalise)

    def _flows(self) -> tuple[bool, ...]:
        asked = set(self.measure.values() if isinstance(self.measure, Mapping) else [self.measure])
        # Under a measure that is asked for the flow is what makes it right.
        if self.flow == "learned" and asked <= {"auto", "empirical"}:
            return self.flows
        return (self.flow is not None,)


class OAKRegressor(Orthogonal, AdditiveRegressor):
    """A sum of functions of one, two, .. features, each orthogonal to all simpler ones. OAK (2022).

    Parameters
    ----------
    max_order : int, "auto" or None
        The most features in one term; None for all. "auto" begins with 3, in a classifier with 2, and adds
        one more as long as that makes the objective higher by ten nats and all terms can be listed.
    terms : list of names or Interactions, optional
        The only terms that the model may have, in the place of max_order: ["age", "age:income"], or
        `terms_` of a model that was pruned. Columns in none of them are left out. What `detect_interactions`
        found stands for all single columns, and for the sets that help with their parts, of up to three.
    kernel : {"matern52", "matern32", "matern12", "se"}
        How smooth the functions are. On the benchmark tables "matern52" had the higher mean evidence and
        the better calibrated predictions.
    measure : {"auto", "normal", "mixture", "uniform", "empirical"} or dict by column
        The distribution of a column under which terms are orthogonal.
    flow : {"learned", "fixed", None}
        How numbers are encoded: bent towards the normal and then further as the evidence asks; bent towards
        the normal only; or standardised only. A classifier leaves the first bend out if the evidence is
        higher without it, unless a measure is asked for, there is one start only, or inference is
        stochastic.
    normalise : bool, default False
        False is the form of the paper, in which a long lengthscale turns a column off. True divides a
        constrained kernel by its mean variance and learns a relevance for each column: the evidence is
        higher, but on the benchmark tables predictions were worse and there were more local optima.
    categorical : "auto", list of names or positions, or dict
        Columns whose numbers are labels. Strings, booleans and categories are found by themselves. A dict
        sets kinds by name: {"dose": "continuous", "ward": "categorical"}.
    likelihood : {"normal", "poisson", "student"}
        How the target comes about, given the function. "poisson" is for counts, with an `exposure` if they
        have one: terms are on the scale of the logarithm of the rate. "student" is for numbers with gross
        outliers, which then have little say; its scale and degrees of freedom are learned. With both, equal
        rows cost no more than one and the order of rows changes nothing.
    inference : {"auto", "exact", "sparse", "stochastic", "ski"}
        "exact" for up to some thousand rows, "sparse" for millions: all rows are used, seen through some
        of them. "stochastic" looks at them in minibatches, which pays with very many rows and where the
        likelihood is not normal; with few it is slow. "ski" interpolates on a grid: for many rows,
        max_order=1, and columns of numbers that no row lacks.
        "auto" goes by the number of rows and the likelihood.
    n_inducing : int or None
        Of how many rows the sparse engine makes its picture: more are more exact, and cost their square.
        None goes by the number of rows.
    inducing : {"variance", "greedy", "kmeans++", "optimised"}
        How these are chosen: drawn in proportion to what is not known yet, the row of which least is known,
        rows far from each other, or drawn and then moved to where they serve best.
    n_orthogonal : int
        How many more of them there are, at most, that tell what the others leave; none if all rows are
        inducing. What is known of the two sets is kept apart, so that a step is quicker than with as many of
        the first kind, and a little less exact.
    n_restarts : int, default 2
        How many starting points are tried; from the third on they are random, and from the second on
        if counts or outliers are learned. Those of a classifier take turns between two encodings of numbers.
    unknown : {"marginalise", "error"}
        What to do with a level not seen in fit.
    progress : bool or callable
        Write the progress of long fits to stderr, or call with a `Progress`.
    random_state : int, RandomState or None
        None is a fixed seed: the same table gives the same model.
    n_jobs : int or None
        Starts of the exact engine that run side by side, or threads of the sparse engine; None chooses by
        the size of the table.
    """

    first_order = 3

    def __init__(
        self,
        *,
        max_order: int | str | None = "auto",
        terms: Any = None,
        kernel: str = "matern52",
        measure: Any = "auto",
        flow: str | None = "learned",
        normalise: bool = False,
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


class OAKClassifier(Orthogonal, AdditiveClassifier):
    """Classification by the orthogonal additive kernel; arguments as those of `OAKRegressor`.

    Terms add up on the latent scale, and `explain(scale="probability")` says what they do to the probability.
    With more than two labels each has terms of its own, in `estimators_` in the order of `classes_`.

    Parameters
    ----------
    link : {"logit", "probit"}
        How the probability follows from the latent sum of terms.
    class_weight : dict, "balanced" or None
        How much the rows of each label count beside each other: the largest weight counts as one row. Labels
        are balanced by what their rows count. Encodings are fitted to the rows as they are, as are measures.
        Rows that count less tell less, and probabilities are no longer those of the table: of use only if
        errors of the rare label cost more.
    """

    first_order = 2
    # A label tells little of a lengthscale: of many columns and few rows the evidence is highest where some
    # have almost nothing left and others bend at every row.
    alike = 0.5
    # Bent towards the normal, columns that only together tell a label may no longer do so.
    flows = (True, False)

    def __init__(
        self,
        *,
        max_order: int | str | None = "auto",
        terms: Any = None,
        kernel: str = "matern52",
        measure: Any = "auto",
        flow: str | None = "learned",
        normalise: bool = False,
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
