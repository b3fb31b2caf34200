"""A fitted model as something that can run elsewhere, with what is to be said of how it was made."""

from __future__ import annotations

from dataclasses import asdict
from inspect import signature
from typing import Any

from sklearn.base import BaseEstimator

from termwise.estimators.labels import label_text, label_values
from termwise.explain.runnable import Runnable
from termwise.likelihoods import Student

LABELS = ("logit", "probit")  # the kinds that predict one of two labels
AGAINST = " against the rest"  # of one label, of which the model knows that there are more
LISTED = 2000  # of more terms than can be listed, so many go along


def runnable_of(model: Any) -> Runnable:
    """What it takes to run the model elsewhere."""
    kind, noise = model._kind()
    quantity, target = model._quantity()
    ranked, result = model._ranked(), model.fit_result_
    made = {
        "estimator": type(model).__name__,
        "rows": result.rows or len(model.posterior_.alpha),  # which files of early versions do not say
        "status": str(result.status),
        "evaluations": result.evaluations,
        "seconds": result.seconds,
        "jitter": result.jitter,
        "options": {name: repr(value) for name, value in changed_options(model).items()},
        "columns": [asdict(choice) for choice in model.columns_],
    }
    return Runnable(
        posterior=model.posterior_,
        encoder=model.encoder_,
        scale=model.target_scale_,
        noise=noise,
        kind=kind,
        label=target if kind in LABELS else None,
        terms=ranked.terms if ranked.complete else ranked.terms[:LISTED],
        complete=ranked.complete,
        quantity=quantity,
        target=target,
        explains=explained_of(model),
        outcome=outcome_of(model),
        between=_between(model),
        made=made,
    )


def outcome_of(model: Any) -> str:
    """What a latent value becomes, in words; nothing if it is the target itself."""
    kind, _ = model._kind()
    if kind in LABELS:
        return f"probability of {model._quantity()[1]}" + (AGAINST if hasattr(model, "label_") else "")
    if kind == "poisson":
        return "rate per unit of exposure" if model.exposed_ else "rate per row"
    return ""


def _between(model: Any) -> str:
    """What the interval of a prediction is of."""
    kind, _ = model._kind()
    if kind in LABELS or kind == "poisson":
        return "the rate" if kind == "poisson" else "the probability"
    return "a new row that is no outlier" if isinstance(model.likelihood_, Student) else "a new row"


def explained_of(model: Any) -> str:
    """Of what `explained_` is a part, in words."""
    kind, _ = model._kind()
    if kind in LABELS:
        one_of_many = hasattr(model, "label_")
        against = "the other labels" if one_of_many else label_text(label_values(model.classes_)[0])
        return f"what decides between {model._quantity()[1]} and {against}"
    if kind == "poisson":
        return "the variance of the logarithm of the counts" + (" per exposure" if model.exposed_ else "")
    outliers = isinstance(model.likelihood_, Student)
    return "the variance of the target" + (", outliers aside" if outliers else "")


def changed_options(model: BaseEstimator) -> dict[str, Any]:
    """The options of a model that are not at their defaults."""
    defaults = {name: value.default for name, value in signature(type(model)).parameters.items()}
    own = model.get_params(deep=False)
    return {name: value for name, value in own.items() if repr(value) != repr(defaults.get(name))}
