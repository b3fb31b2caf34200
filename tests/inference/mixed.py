"""Columns of every kind in one small model, and what they mean written out from the formulas."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from termwise.inference.climb import Objective
from termwise.inference.columns import FixedColumn, TrainableColumn, WarpedColumn
from termwise.inference.levels import LevelColumn
from termwise.inference.model import Model
from termwise.inference.orders import AllSubsets, EachOrder, Orders
from termwise.kernels.additive import AdditiveKernel
from termwise.kernels.categorical import Categorical
from termwise.kernels.component import Component
from termwise.kernels.matern import Matern12, Matern32, Matern52
from termwise.kernels.squared_exponential import SquaredExponential
from termwise.measures import Discrete, Empirical, Mixture, Normal, Uniform
from tests.oracle.additive import column_variance

Sample = tuple[TrainableColumn, np.ndarray]

MIXTURE = Mixture((0.4, 0.6), (-1.0, 0.8), (0.5, 0.7))


def sample_columns(rng: np.random.Generator, n: int) -> dict[str, Sample]:
    """One column of every kind and its cells, two of them missing."""
    x = rng.standard_normal((6, n))
    uniform = rng.uniform(-1.7, 1.7, n)
    codes, bits = rng.choice(3, n, p=[0.5, 0.3, 0.2]) * 1.0, rng.choice(2, n, p=[0.7, 0.3]) * 1.0
    for column in (*x, uniform, codes, bits):
        column[rng.choice(n, 2, replace=False)] = np.nan
    three = Discrete.fit(codes[~np.isnan(codes)], 3)
    two = Discrete.fit(bits[~np.isnan(bits)], 2)
    nodes = Empirical.fit(x[0][~np.isnan(x[0])])
    return {
        "warped": (WarpedColumn(nodes, Matern52), x[0]),
        "unbent": (WarpedColumn(Empirical.fit(x[1][~np.isnan(x[1])]), Matern12, warp=False), x[1]),
        "paper-warped": (WarpedColumn(nodes, SquaredExponential, normalise=False), x[0]),
        "normal": (FixedColumn(Normal(0.1, 1.1), SquaredExponential), x[2]),
        "mixture": (FixedColumn(MIXTURE, Matern32), x[3]),
        "uniform": (FixedColumn(Uniform(-1.8, 1.8), Matern12), uniform),
        "paper-normal": (FixedColumn(Normal(), Matern52, normalise=False), x[4]),
        "free": (FixedColumn(None, SquaredExponential), x[5]),
        "levels": (LevelColumn(three, True, (0.3, -0.5, 0.1)), codes),
        "binary": (LevelColumn(two, True, (0.2, -0.4)), bits),
        "free-levels": (LevelColumn(three, False, (0.3, -0.5, 0.1)), codes),
        "free-binary": (LevelColumn(two, False, (0.2, -0.4)), bits),
    }


MIXED = ("warped", "unbent", "normal", "mixture", "uniform", "free", "levels", "binary")


def mixed_model(
    rng: np.random.Generator, n: int, orders: Orders | None = None, *, names: Sequence[str] = MIXED
) -> tuple[Model, np.ndarray]:
    """A model of these columns, and its encoded rows (n, D) with missing cells."""
    every = sample_columns(rng, n)
    columns, cells = zip(*(every[name] for name in names), strict=True)
    return Model(columns, orders or EachOrder((0, 1, 2))), np.transpose(cells).copy()


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


def bent(column: TrainableColumn, theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The cells as the kernel sees them: sinh(tail arcsinh x + skew) / (tail cosh skew) if warped."""
    return _warp(x, *theta[1:3]) if isinstance(column, WarpedColumn) else x


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


def explicit(model: Model, theta: np.ndarray, X: np.ndarray) -> tuple[AdditiveKernel, np.ndarray]:
    """The kernel and the rows it sees, from the formulas."""
    parts = model.by_column(theta)
    components = tuple(meaning(c, t) for c, t in zip(model.columns, parts, strict=True))
    rows = np.transpose([bent(c, t, x) for c, t, x in zip(model.columns, parts, X.T, strict=True)])
    orders = model.order_parameters(theta)
    if isinstance(model.orders, AllSubsets):
        v, alpha = np.exp(orders)
        variances = v * alpha ** np.arange(model.orders.max_order + 1)
    else:
        assert isinstance(model.orders, EachOrder), f"say what {type(model.orders).__name__} means"
        variances = np.zeros(max(model.orders.orders) + 1)
        variances[list(model.orders.orders)] = np.exp(orders)
    return AdditiveKernel(components, tuple(variances)), rows


def check_gradient(
    objective: Objective, theta: np.ndarray, gradient: np.ndarray, *, step: float = 1e-5, within: float = 1e-6
) -> None:
    """Central differences of the value for every parameter that is free."""
    assert gradient.shape == theta.shape
    for i, (low, high) in enumerate(objective.model.bounds()):
        if low < high:
            shift = step * np.eye(theta.size)[i]
            above, below = (objective.value_and_gradient(theta + sign * shift)[0] for sign in (1, -1))
            slope = (above - below) / (2.0 * step)
            assert gradient[i] == pytest.approx(slope, rel=within, abs=within), f"parameter {i}"
