"""scikit-learn estimators: each is the way of the data in a few lines."""

from __future__ import annotations

from termwise.estimators.additive import AdditiveGPRegressor
from termwise.estimators.oak import OAKRegressor

__all__ = ["AdditiveGPRegressor", "OAKRegressor"]
