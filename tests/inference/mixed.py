"""Columns of every kind in one small model, and what they mean written out from the formulas."""

from __future__ import annotations

import numpy as np

from termwise.inference.columns import FixedColumn, TrainableColumn, WarpedColumn
from termwise.inference.exact import Model
from termwise.inference.levels import LevelColumn
from termwise.inference.orders import EachOrder, Orders
from termwise.kernels.categorical import Categorical
from termwise.kernels.component import Component
from termwise.kernels.matern import Matern12, Matern32, Matern52
from termwise.kernels.squared_exponential import SquaredExponential
from termwise.measures import Discrete, Empirical, Mixture, Normal, Uniform
from tests.oracle.additive import column_variance

MIXTURE = Mixture((0.4, 0.6), (-1.0, 0.8), (0.5, 0.7))


def sample_columns(rng: np.random.Generator, n: int) -> dict[str, TrainableColumn]:
    """One column of every kind, each with two missing cells."""
    x = rng.standard_normal((6, n))
    uniform = rng.uniform(-1.7, 1.7, n)
    codes, bits = rng.choice(3, n, p=[0.5, 0.3, 0.2]) * 1.0, rng.choice(2, n, p=[0.7, 0.3]) * 1.0
    for column in (*x, uniform, codes, bits):
        column[rng.choice(n, 2, replace=False)] = np.nan
    three = Discrete.fit(codes[~np.isnan(codes)], 3)
    two = Discrete.fit(bits[~np.isnan(bits)], 2)
    nodes = Empirical.fit(x[0][~np.isnan(x[0])])
    return {
        "warped": WarpedColumn(x[0], nodes, Matern52),
        "unbent": WarpedColumn(x[1], Empirical.fit(x[1][~np.isnan(x[1])]), Matern12, warp=False),
        "paper-warped": WarpedColumn(x[0], nodes, SquaredExponential, normalise=False),
        "normal": FixedColumn(x[2], Normal(0.1, 1.1), SquaredExponential),
        "mixture": FixedColumn(x[3], MIXTURE, Matern32),
        "uniform": FixedColumn(uniform, Uniform(-1.8, 1.8), Matern12),
        "paper-normal": FixedColumn(x[4], Normal(), Matern52, normalise=False),
        "free": FixedColumn(x[5], None, SquaredExponential),
        "levels": LevelColumn(codes, three, True, (0.3, -0.5, 0.1)),
        "binary": LevelColumn(bits, two, True, (0.2, -0.4)),
        "free-levels": LevelColumn(codes, three, False, (0.3, -0.5, 0.1)),
        "free-binary": LevelColumn(bits, two, False, (0.2, -0.4)),
    }


def mixed_model(rng: np.random.Generator, n: int, orders: Orders | None = None) -> Model:
    """A model of warped, fixed, unconstrained and level columns with missing cells."""
    columns = sample_columns(rng, n)
    chosen = ("warped", "unbent", "normal", "mixture", "uniform", "free", "levels", "binary")
    return Model(tuple(columns[name] for name in chosen), orders or EachOrder((0, 1, 2)))


def first_theta(model: Model, lengthscale: float, noise: float) -> np.ndarray:
    """Every column at its start, every order parameter one."""
    columns = [column.start(lengthscale) for column in model.columns]
    return np.concatenate([*columns, np.zeros(model.orders.size), [np.log(noise)]])


def any_theta(column: TrainableColumn | Model, rng: np.random.Generator, start: np.ndarray) -> np.ndarray:
    """The start with noise on every free parameter, inside the bounds."""
    low, high = np.transpose(column.bounds())
    theta = np.clip(start, low, high)
    noisy = theta + 0.4 * rng.standard_normal(theta.size)
    return np.where(high > low, np.clip(noisy, low, high), theta)


def bent(column: TrainableColumn, theta: np.ndarray) -> np.ndarray:
    """The cells as the kernel sees them: sinh(tail arcsinh x + skew) / (tail cosh skew) if warped."""
    return _warp(column.x, *theta[1:3]) if isinstance(column, WarpedColumn) else column.x


def _warp(x: np.ndarray, skew: float, log_tail: float) -> np.ndarray:
    tail = np.exp(log_tail)
    return np.sinh(tail * np.arcsinh(x) + skew) / (tail * np.cosh(skew))


def meaning(column: TrainableColumn, theta: np.ndarray) -> Component:
    """The kernel of a column from its parameters, by the formulas in its docstring."""
    if isinstance(column, LevelColumn):
        p = np.array(column.measure.probabilities)
        w, kappa = theta[1 : 1 + p.size], np.exp(theta[1 + p.size :])
        kernel = Categorical(tuple(w.tolist()), tuple(kappa.tolist()))
        if column.constrained:
            return Component(
                kernel, column.measure, np.exp(theta[0]) / column_variance(Component(kernel, column.measure))
            )
        return Component(kernel, None, float(np.exp(theta[0]) / np.mean(w**2 + kappa)))
    assert isinstance(column, (WarpedColumn, FixedColumn)), f"say what a {type(column).__name__} means"
    measure = column.measure
    if isinstance(column, WarpedColumn):
        measure = Empirical(tuple(_warp(np.array(measure.points), *theta[1:3])), measure.weights)
    kernel = column.kernel(float(np.exp(theta[0])))
    if not column.normalise or measure is None:
        return Component(kernel, measure)
    return Component(kernel, measure, float(np.exp(theta[-1])) / column_variance(Component(kernel, measure)))
