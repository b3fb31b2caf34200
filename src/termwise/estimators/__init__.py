"""scikit-learn estimators: each is the way of the data in a few lines."""

from __future__ import annotations

from termwise.estimators.additive import AdditiveGPClassifier, AdditiveGPRegressor
from termwise.estimators.oak import OAKClassifier, OAKRegressor
from termwise.estimators.projected import ProjectedGPRegressor
from termwise.estimators.spherical import SphericalGPClassifier, SphericalGPRegressor

__all__ = [
    "AdditiveGPClassifier",
    "AdditiveGPRegressor",
    "OAKClassifier",
    "OAKRegressor",
    "ProjectedGPRegressor",
    "SphericalGPClassifier",
    "SphericalGPRegressor",
]
