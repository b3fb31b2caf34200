"""A fitted model from plain data, in which every part must fit every other.

Whatever is wrong is raised as an ordinary error; `load` gives it the path and the remedy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, cast

import numpy as np

from termwise.encode.encoder import ColumnEncoder, Encoder, LevelEncoder
from termwise.encode.flow import Flow
from termwise.encode.scale import Standardise
from termwise.estimators.columns import ColumnChoice
from termwise.estimators.deep import DeepKernelRegressor
from termwise.estimators.fitted import FittedModel
from termwise.estimators.options import KERNELS, one_of
from termwise.estimators.predicting import PosteriorRegressor
from termwise.estimators.probabilities import LINKS, PosteriorClassifier
from termwise.estimators.projected import INFERENCES, ProjectedGPRegressor
from termwise.estimators.spherical import Spherical
from termwise.estimators.targets import LIKELIHOODS, NORMAL
from termwise.inference.result import FitResult, Status
from termwise.io.archive import ARRAYS, FIRST_FORMAT, OPTIONAL
from termwise.io.deep import restore_deep
from termwise.io.describe import ESTIMATORS
from termwise.io.numbers import built, known, noise_of, number, numbers
from termwise.io.projected import PROJECTION, restore_encoder, restore_kernel
from termwise.io.spherical import check_lengthened, restore_angles, restore_lengthened
from termwise.kernels.additive import AdditiveKernel
from termwise.kernels.categorical import Categorical
from termwise.kernels.column import ColumnKernel
from termwise.kernels.component import Component
from termwise.kernels.terms import Subset
from termwise.likelihoods import Likelihood, Student
from termwise.measures.base import Array
from termwise.measures.discrete import Discrete
from termwise.measures.registry import MEASURES
from termwise.posterior.noise import Noise
from termwise.posterior.posterior import Posterior
from termwise.table import Column

ROWS = {"centres", "seen"}  # arrays of encoded rows
COLUMN_KERNELS: dict[str, type[ColumnKernel]] = {**KERNELS, Categorical.name: Categorical}


def restore(document: Mapping[str, Any], arrays: Mapping[str, Array]) -> FittedModel:
    """The model that `describe` described."""
    kind = known(ESTIMATORS, document["estimator"], "estimator")
    params = _params(document["params"])
    model = kind(**params)
    if isinstance(model, PosteriorRegressor):
        normal = document["format"] == FIRST_FORMAT  # it knew nothing else
        model.likelihood_ = None if normal else _likelihood(document["likelihood"])
        model.exposed_ = bool(document.get("exposed", False))  # files before did not say
    if not isinstance(model, PosteriorClassifier):
        return _fitted(model, document, arrays)
    model.classes_, model.link_ = _labels(document["classes"]), _link(document)
    if len(model.classes_) == 2:
        return _fitted(model, document, arrays)
    if len(document["each"]) != len(model.classes_):
        raise ValueError(f"it has {len(document['each'])} parts for {len(model.classes_)} labels")
    each = []
    for place, part in enumerate(document["each"]):
        one = kind(**{**params, "class_weight": None})
        one.classes_, one.link_ = np.array([False, True]), model.link_
        own = {
            name.removeprefix(f"{place}."): a for name, a in arrays.items() if name.startswith(f"{place}.")
        }
        each.append(_fitted(one, part, own))
    model._keep_each(each, model.classes_)
    return model


def _fitted(model: Any, document: Mapping[str, Any], arrays: Mapping[str, Array]) -> Any:
    encoder, posterior = _of_kind(model, document, arrays)
    scale = built(Standardise, document["target_scale"])
    if scale.scale <= 0.0:
        raise ValueError(f"the scale of the target is {scale.scale}")
    model.encoder_, model.posterior_, model.target_scale_ = encoder, posterior, scale
    # Files written before the scatter was learned have normal noise.
    model.noise_ = _scatter(document["scatter"]) if "scatter" in document else Noise.normal(posterior.noise)
    model.fit_result_ = _fit_result(document["fit_result"])
    model.objective_ = model.fit_result_.objective
    if isinstance(model, ProjectedGPRegressor):
        model.n_directions_ = len(encoder.groups)
        model.inference_ = one_of("inference", document["inference"], INFERENCES[1:])
    elif not isinstance(model, (Spherical, DeepKernelRegressor)):
        model.columns_ = _choices(document["columns"], encoder)
    _keep_names(model, encoder)
    return model


def _of_kind(model: Any, document: Mapping[str, Any], arrays: Mapping[str, Array]) -> tuple[Any, Posterior]:
    """The way into the posterior, and the posterior."""
    encoder = _encoder(document["encoder"])
    if isinstance(model, ProjectedGPRegressor):
        projected = restore_encoder(encoder, document, arrays[PROJECTION])
        own: dict[str, Any] = {name: array for name, array in arrays.items() if name != PROJECTION}
        _check_arrays(own, len(projected.columns))
        kernel = restore_kernel(document["kernel"], projected.groups)
        return projected, Posterior(kernel, **own, noise=noise_of(document))
    if isinstance(model, Spherical):
        lengthened = restore_lengthened(encoder, document)
        angles = restore_angles(document["kernel"], lengthened.scales.size + 1)
        _check_arrays(arrays, lengthened.scales.size + 2)
        for name in ROWS & arrays.keys():
            check_lengthened(name, arrays[name], angles)
        return lengthened, Posterior(angles, **arrays, noise=noise_of(document), terms=None)
    if isinstance(model, DeepKernelRegressor):
        return encoder, cast("Posterior", restore_deep(model, encoder, document, arrays))
    return encoder, _posterior(document, encoder, arrays)


def _params(data: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the constructor, in which class weights of labels that are no texts are pairs."""
    pairs = data.get("class_weight")
    if not isinstance(pairs, list):
        return dict(data)
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or type(pair[0]) not in (bool, int, float, str):
            raise ValueError(f"its class_weight has {str(pair)[:80]}")
    return {**data, "class_weight": {label: number(weight) for label, weight in pairs}}


def _keep_names(model: Any, encoder: Encoder) -> None:
    model.n_features_in_ = len(encoder.schema)
    if encoder.schema.named:
        model.feature_names_in_ = np.array(encoder.schema.names, dtype=object)


def _labels(data: Any) -> Array:
    if not isinstance(data, list) or len(data) < 2 or len({type(label) for label in data}) != 1:
        raise ValueError(f"its labels are {str(data)[:80]}")
    if type(data[0]) not in (bool, int, float, str) or data != sorted(set(data)):
        raise ValueError(f"its labels are {str(data)[:80]}")
    return np.array(data)


def _link(document: Mapping[str, Any]) -> str:
    name: str = document.get("link", document["params"].get("link"))  # files before had it as an option only
    known(LINKS, name, "link")
    return name


def _likelihood(data: Mapping[str, Any]) -> Likelihood | None:
    given = dict(data)
    name = given.pop("name")
    if name == NORMAL and not given:
        return None
    found: Likelihood = built(type(known(LIKELIHOODS, name, "likelihood")), given)
    if isinstance(found, Student) and (found.scale <= 0.0 or found.degrees <= 2.0):
        raise ValueError(f"its likelihood is {found}")
    return found


def _encoder(data: Mapping[str, Any]) -> Encoder:
    kinds = [column["kind"] for column in data["columns"]]
    if not all(kind in ("number", "level") for kind in kinds):
        raise ValueError(f"its columns are encoded as {str(kinds)[:80]}")
    encoder = Encoder.from_dict(data)
    active = encoder.active
    if not active or list(active) != sorted(set(active)) or active[0] < 0:
        raise ValueError(f"its encoder has the active columns {active[:10]}")
    for i, column in zip(active, encoder.columns, strict=True):
        _check_column(encoder.schema.columns[i], column)
    return encoder


def _check_column(described: Column, column: ColumnEncoder) -> None:
    if isinstance(column, LevelEncoder):
        same = (column.name, column.levels) == (described.name, described.levels)
        if not same or len(column.levels) < 2 or column.unknown not in ("marginalise", "error"):
            raise ValueError(f"the levels of column {described.name!r} are not those of its schema")
    elif described.is_discrete:
        raise ValueError(f"column {described.name!r} has levels but is encoded as a number")
    else:
        _check_flow(column.flow)


def _check_flow(flow: Flow) -> None:
    for step in (flow.units, *flow.steps):
        for name, value in asdict(step).items():
            if number(value) <= 0.0 and name in ("scale", "spread"):
                raise ValueError(f"the {name} of an encoding is {value}")
    if number(flow.low) > number(flow.high):
        raise ValueError(f"an encoding goes from {flow.low} to {flow.high}")


def _posterior(document: Mapping[str, Any], encoder: Encoder, arrays: Mapping[str, Array]) -> Posterior:
    described = zip(document["components"], encoder.columns, strict=True)
    components = tuple(_component(data, column) for data, column in described)
    variances = numbers(document["variances"])
    if not 1 <= len(variances) <= len(components) + 1 or min(variances) < 0.0:
        raise ValueError(f"{len(variances)} order variances do not belong to {len(components)} columns")
    noise = noise_of(document)
    _check_arrays(arrays, len(encoder.columns))
    for name in ROWS & arrays.keys():
        _check_levels(name, arrays[name], encoder)
    terms = _terms(document["terms"], len(components), len(variances) - 1)
    return Posterior(AdditiveKernel(components, variances), **arrays, noise=noise, terms=terms)


def _component(data: Mapping[str, Any], column: ColumnEncoder) -> Component:
    given = dict(data["kernel"])
    kernel = built(known(COLUMN_KERNELS, given.pop("name"), "kernel"), given)
    measure = None
    if data["measure"] is not None:
        given = dict(data["measure"])
        measure = built(known(MEASURES, given.pop("kind"), "measure"), given)
    # The compiled loops look levels up without checking bounds, so all tables must have the same levels.
    levels = len(column.levels) if isinstance(column, LevelEncoder) else 0
    in_kernel = len(kernel.kappa) if isinstance(kernel, Categorical) else 0
    in_measure = len(measure.probabilities) if isinstance(measure, Discrete) else 0
    if in_kernel != levels or (measure is not None and in_measure != levels):
        raise ValueError(
            f"a column with {levels} levels has {in_kernel} in its kernel, {in_measure} in its measure"
        )
    weight = number(data["weight"])
    if weight < 0.0:
        raise ValueError(f"the weight of a column is {weight}")
    return Component(kernel, measure, weight)


def _check_arrays(arrays: Mapping[str, Array], width: int) -> None:
    """Refuse arrays that do not fit each other, or rows that are not as wide as this."""
    if not {*ARRAYS} <= arrays.keys() <= {*ARRAYS, *OPTIONAL}:
        raise ValueError(f"it has the arrays {sorted(arrays)[:10]}")
    centres, alpha, root = arrays["centres"], arrays["alpha"], arrays["root"]
    if alpha.ndim != 1 or len(centres) != alpha.size or root.ndim != 2 or len(root) != alpha.size:
        raise ValueError(f"arrays of shape {centres.shape}, {alpha.shape} and {root.shape} do not fit")
    if not np.all(np.isfinite(alpha)) or not np.all(np.isfinite(root)):
        raise ValueError("its arrays have numbers that are not finite")
    for name in ROWS & arrays.keys():
        rows = arrays[name]
        if rows.ndim != 2 or rows.shape[1] != width or np.any(np.isinf(rows)):
            raise ValueError(f"its {name} are not finite rows of {width} columns")


def _check_levels(name: str, rows: Array, encoder: Encoder) -> None:
    for values, column in zip(rows.T, encoder.columns, strict=True):
        codes = values[~np.isnan(values)]
        if isinstance(column, LevelEncoder) and not np.all(np.isin(codes, np.arange(len(column.levels)))):
            raise ValueError(f"its {name} have levels that column {column.name!r} has not")


def _terms(data: Any, n_columns: int, max_order: int) -> tuple[Subset, ...] | None:
    if data is None:
        return None
    terms = tuple(tuple(term) for term in data)
    for term in terms:
        inside = all(type(d) is int and 0 <= d < n_columns for d in term)
        if not inside or list(term) != sorted(set(term)) or len(term) > max_order:
            raise ValueError(f"it has the term {term[:10]}")
    if len(set(terms)) != len(terms):
        raise ValueError("it has a term twice")
    return terms


def _scatter(data: Mapping[str, Any]) -> Noise:
    variances, weights = numbers(data["variances"]), numbers(data["weights"])
    means = numbers(data.get("means", [0.0] * len(weights)))  # files from before scatter could be skewed
    alike = len(variances) == len(weights) == len(means)
    if not weights or not alike or min(variances) < 0.0 or min(weights) <= 0.0:
        raise ValueError(f"the scatter of observations is {str(data)[:80]}")
    if abs(sum(weights) - 1.0) > 1e-9:
        raise ValueError(f"the weights of the scatter add up to {sum(weights)}")
    return Noise(variances, weights, means)


def _fit_result(data: Mapping[str, Any]) -> FitResult:
    objective, seconds, jitter = (number(data[name]) for name in ("objective", "seconds", "jitter"))
    status, evaluations, starts = Status(data["status"]), int(data["evaluations"]), numbers(data["starts"])
    inducing = data.get("inducing")
    return FitResult(
        status,
        objective,
        evaluations,
        seconds,
        jitter,
        starts,
        int(data.get("rows", 0)),
        None if inducing is None else int(inducing),
        number(data.get("scale", 1.0)),
        None if data.get("residual") is None else number(data["residual"]),
        int(data.get("orthogonal", 0)),
    )


def _choices(data: Any, encoder: Encoder) -> tuple[ColumnChoice, ...]:
    choices = tuple(ColumnChoice(**entry) for entry in data)
    if tuple(choice.column for choice in choices) != encoder.names:
        raise ValueError("what was chosen is not for the columns of the encoder")
    if not all(isinstance(text, str) for choice in choices for text in asdict(choice).values()):
        raise ValueError("what was chosen is not a text")
    return choices
