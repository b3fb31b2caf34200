"""Gaussian processes you can read, term by term."""

from __future__ import annotations

from termwise.__about__ import __version__
from termwise.estimators import AdditiveGPRegressor, OAKRegressor

__all__ = ["AdditiveGPRegressor", "OAKRegressor", "__version__"]
