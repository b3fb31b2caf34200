"""A fitted model as plain data."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from termwise.__about__ import __version__
from termwise.errors import ModelFileError, TermwiseWarning
from termwise.estimators.additive import AdditiveGPClassifier, AdditiveGPRegressor
from termwise.estimators.deep import DeepKernelRegressor
from termwise.estimators.fitted import FittedModel
from termwise.estimators.oak import OAKClassifier, OAKRegressor
from termwise.estimators.predicting import PosteriorRegressor
from termwise.estimators.probabilities import PosteriorClassifier
from termwise.estimators.projected import ProjectedGPRegressor
from termwise.estimators.selected import plain_terms
from termwise.estimators.spherical import Spherical, SphericalGPClassifier, SphericalGPRegressor
from termwise.estimators.targets import LIKELIHOODS, NORMAL
from termwise.explain.terms import Term
from termwise.io.archive import ARRAYS, FORMAT, OPTIONAL
from termwise.io.deep import deep_arrays, describe_deep
from termwise.io.projected import PROJECTION, describe_projected
from termwise.io.spherical import describe_spherical
from termwise.kernels.component import Component
from termwise.likelihoods import Likelihood
from termwise.measures.base import Array

ESTIMATORS: dict[str, type[FittedModel]] = {
    estimator.__name__: estimator
    for estimator in (
        OAKRegressor,
        AdditiveGPRegressor,
        OAKClassifier,
        AdditiveGPClassifier,
        ProjectedGPRegressor,
        SphericalGPRegressor,
        SphericalGPClassifier,
        DeepKernelRegressor,
    )
}

PASSING = ("progress", "random_state")  # options that may be things of the session they are used in


def describe(model: FittedModel) -> dict[str, Any]:
    """All of a model but its arrays, as JSON data; floats are kept exactly."""
    document = {
        "format": FORMAT,
        "termwise": __version__,
        "estimator": type(model).__name__,
        "params": _plain_params(model),
        "arrays": {name: list(array.shape) for name, array in arrays_of(model).items()},
    }
    if isinstance(model, PosteriorClassifier):
        document |= {"classes": _labels(model.classes_), "link": model.link_}
    if isinstance(model, PosteriorRegressor):
        document |= {"likelihood": _likelihood(model.likelihood_), "exposed": model.exposed_}
    parts = parts_of(model)
    if parts == [model]:
        return {**document, **_fitted(model)}
    return {**document, "each": [_fitted(part) for part in parts]}


def _likelihood(likelihood: Likelihood | None) -> dict[str, Any]:
    if likelihood is None:
        return {"name": NORMAL}
    name = next(name for name, kind in LIKELIHOODS.items() if type(kind) is type(likelihood))
    return {"name": name, **asdict(likelihood)}  # type: ignore[call-overload]


def parts_of(model: FittedModel) -> list[Any]:
    """The model itself, or one for each label if there are more than two."""
    return list(getattr(model, "estimators_", [model]))


def _labels(classes: Array) -> list[Any]:
    labels: list[Any] = classes.tolist()
    # Dates are not what they were: in some units they are whole numbers by now.
    if classes.dtype.kind in "mM" or not all(isinstance(label, (bool, int, float, str)) for label in labels):
        raise ModelFileError(
            f"labels of type {classes.dtype} cannot be saved; fit with labels that are texts or numbers"
        )
    return labels


def _fitted(model: FittedModel) -> dict[str, Any]:
    return {
        **_own(model),
        "noise": float(model.posterior_.noise),
        "scatter": asdict(model.noise_),
        "target_scale": asdict(model.target_scale_),
        "fit_result": asdict(model.fit_result_),
    }


def _own(model: FittedModel) -> dict[str, Any]:
    """The way into the posterior, and its kernel."""
    if isinstance(model, ProjectedGPRegressor):
        return describe_projected(model)
    if isinstance(model, DeepKernelRegressor):
        return describe_deep(model)
    return describe_spherical(model) if isinstance(model, Spherical) else _additive(model)


def _additive(model: Any) -> dict[str, Any]:
    posterior = model.posterior_
    return {
        "encoder": model.encoder_.to_dict(),
        "components": [_component(component) for component in posterior.additive.components],
        "variances": [float(variance) for variance in posterior.additive.variances],
        "terms": None if posterior.terms is None else [list(map(int, term)) for term in posterior.terms],
        "columns": [asdict(choice) for choice in model.columns_],
    }


def arrays_of(model: FittedModel) -> dict[str, Array]:
    """The arrays of a model, by name; those of one label of many have its number before it."""
    if isinstance(model, DeepKernelRegressor):
        return deep_arrays(model)
    parts = parts_of(model)
    found = {
        name if parts == [model] else f"{number}.{name}": getattr(part.posterior_, name)
        for number, part in enumerate(parts)
        for name in (*ARRAYS, *OPTIONAL)
    }
    if isinstance(model, ProjectedGPRegressor):
        found[PROJECTION] = model.encoder_.projection
    return {name: array for name, array in found.items() if array is not None}


def _component(component: Component) -> dict[str, Any]:
    return {
        "kernel": {"name": component.kernel.name, **asdict(component.kernel)},
        "measure": None if component.measure is None else component.measure.to_dict(),
        "weight": float(component.weight),
    }


def _plain_params(model: FittedModel) -> dict[str, Any]:
    """The arguments of the constructor; those that are not plain data are left out."""
    params = {}
    for name, value in model.get_params(deep=False).items():
        try:
            params[name] = PARAMS.get(name, _plain)(value)
        except TypeError as error:
            if name not in PASSING:
                warnings.warn(
                    f"{name} is {value!r} ({error}), which is left out of the file; the model is the same, "
                    "but set the option again before the loaded one is fitted anew",
                    TermwiseWarning,
                    stacklevel=4,
                )
    return params


def _pairs(class_weight: Any) -> Any:
    """Weights of labels that are not texts as pairs, as the keys of JSON are texts."""
    if not isinstance(class_weight, Mapping) or all(isinstance(label, str) for label in class_weight):
        return _plain(class_weight)
    pairs: list[list[Any]] = _plain([[label, weight] for label, weight in class_weight.items()])
    if not all(isinstance(label, (bool, int, float, str)) for label, _ in pairs):
        raise TypeError("a label is neither a text nor a number")
    return pairs


def _names(asked: Any, option: str) -> Any:
    """Terms by their names, if some are those of another model."""
    terms = plain_terms(asked, option)
    if not isinstance(terms, (list, tuple)):
        return _plain(terms)
    return _plain([term.name if isinstance(term, Term) else term for term in terms])


PARAMS: dict[str, Callable[[Any], Any]] = {
    "class_weight": _pairs,
    "terms": partial(_names, option="terms"),
    "sets": partial(_names, option="sets"),
}  # else as they are


def _plain(value: Any) -> Any:
    """The value as JSON has it; TypeError if it has no such form."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(item) for key, item in value.items()}
    raise TypeError(f"{type(value).__name__} is not plain data")
