"""Gaussian processes you can read, term by term."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from termwise.__about__ import __version__

if TYPE_CHECKING:
    from termwise.estimators import (
        AdditiveGPClassifier,
        AdditiveGPRegressor,
        OAKClassifier,
        OAKRegressor,
        ProjectedGPRegressor,
        SphericalGPClassifier,
        SphericalGPRegressor,
    )
    from termwise.estimators.deep import DeepKernelRegressor
    from termwise.estimators.interactions import detect_interactions
    from termwise.io import load, save

__all__ = [
    "AdditiveGPClassifier",
    "AdditiveGPRegressor",
    "DeepKernelRegressor",
    "OAKClassifier",
    "OAKRegressor",
    "ProjectedGPRegressor",
    "SphericalGPClassifier",
    "SphericalGPRegressor",
    "__version__",
    "detect_interactions",
    "load",
    "save",
]

# Imported when first asked for, so that `termwise --help` need not wait for the compiler.
_HOMES = {
    "AdditiveGPClassifier": "termwise.estimators",
    "AdditiveGPRegressor": "termwise.estimators",
    "DeepKernelRegressor": "termwise.estimators.deep",
    "OAKClassifier": "termwise.estimators",
    "OAKRegressor": "termwise.estimators",
    "ProjectedGPRegressor": "termwise.estimators",
    "SphericalGPClassifier": "termwise.estimators",
    "SphericalGPRegressor": "termwise.estimators",
    "detect_interactions": "termwise.estimators.interactions",
    "load": "termwise.io",
    "save": "termwise.io",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'termwise' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
