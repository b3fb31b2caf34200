"""scikit-learn's models with its defaults, as in the tables of the OAK paper."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.svm import SVC, SVR

from benchmarks.harness.numbers import Numbers
from benchmarks.peers.estimators import Fitted, numbers, numbers_with_std, probabilities

Make = Callable[[], Any]


def linear(task: str, seed: int) -> Fitted:
    """A linear model."""
    return _model(task, LinearRegression, lambda: LogisticRegression(random_state=seed))


def svm(task: str, seed: int) -> Fitted:
    """A support vector machine; probabilities by Platt's method on five folds.

    That is what `SVC(probability=True)` did, which scikit-learn now advises against. There are fewer folds
    if a label has fewer than five rows.
    """
    if task != "classification":
        return _model(task, SVR, SVC)

    def fit(_: Numbers, rows: np.ndarray, y: np.ndarray) -> Any:
        folds = int(np.clip(np.unique(y, return_counts=True)[1].min(), 2, 5))
        return CalibratedClassifierCV(SVC(), cv=folds, ensemble=False).fit(rows, y)

    return Fitted(Numbers.of, fit, probabilities)


def knn(task: str, seed: int) -> Fitted:
    """Five nearest neighbours."""
    return _model(task, KNeighborsRegressor, KNeighborsClassifier)


def gbm(task: str, seed: int) -> Fitted:
    """Gradient boosting of trees."""
    return _seeded(task, seed, GradientBoostingRegressor, GradientBoostingClassifier)


def adaboost(task: str, seed: int) -> Fitted:
    """AdaBoost."""
    return _seeded(task, seed, AdaBoostRegressor, AdaBoostClassifier)


def mlp(task: str, seed: int) -> Fitted:
    """A neural network of one hidden layer."""
    return _seeded(task, seed, MLPRegressor, MLPClassifier)


def gp(task: str, seed: int) -> Fitted:
    """A Gaussian process: of numbers with a lengthscale for each column, and noise; of labels with one.

    Of labels a lengthscale for each column takes minutes for 500 rows, and there may be hundreds of columns.
    """

    def fit(_: Numbers, rows: np.ndarray, y: np.ndarray) -> Any:
        if task == "classification":
            return GaussianProcessClassifier(ConstantKernel() * RBF(), random_state=seed).fit(rows, y)
        kernel = ConstantKernel() * RBF(np.ones(rows.shape[1])) + WhiteKernel()
        return GaussianProcessRegressor(kernel, random_state=seed).fit(rows, y)

    return Fitted(Numbers.of, fit, probabilities if task == "classification" else numbers_with_std)


def _seeded(task: str, seed: int, regressor: Any, classifier: Any) -> Fitted:
    return _model(task, lambda: regressor(random_state=seed), lambda: classifier(random_state=seed))


def _model(task: str, regressor: Make, classifier: Make) -> Fitted:
    labels = task == "classification"
    make = classifier if labels else regressor
    return Fitted(Numbers.of, lambda _, rows, y: make().fit(rows, y), probabilities if labels else numbers)
