"""Bands and intervals keep their word: functions are drawn from the prior, seen with noise, and found again.

Where hyperparameters are those of the prior, a band of probability p must hold what was drawn with
probability p over draws, whatever the rows. Functions are drawn and integrated by the oracle's formulas only.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from unittest.mock import patch

import numpy as np
import pytest

from termwise import OAKRegressor
from termwise.explain import intervals
from termwise.explain.intervals import share_intervals
from termwise.explain.sobol import term_variances
from termwise.kernels.additive import AdditiveKernel, Subset
from termwise.kernels.component import Component
from termwise.kernels.matern import Matern12
from termwise.kernels.squared_exponential import SquaredExponential
from termwise.measures import Empirical, Normal
from tests.oracle import additive as oracle

DRAWS = 200
ATOMS = np.linspace(-1.8, 1.9, 20)


@dataclass(frozen=True)
class Case:
    """A prior, how many rows are seen, and their noise."""

    kernel: AdditiveKernel
    n: int
    noise: float
    nodes: tuple[np.ndarray, np.ndarray]
    most: Mapping[str, int] = field(default_factory=dict)  # how few coefficients are drawn


def hermite(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Hermite nodes and weights of the standard normal."""
    points, weights = np.polynomial.hermite_e.hermegauss(count)
    return points, weights / np.sum(weights)


def smooth(n: int, noise: float, variances: tuple[float, ...] = (0.5, 1.0, 0.4)) -> Case:
    components = [Component(SquaredExponential(length), Normal(), 1.5) for length in (0.7, 1.2, 2.0)]
    return Case(AdditiveKernel(tuple(components), variances), n, noise, hermite(60))


def rough(n: int, noise: float, lengths: tuple[float, ...] = (0.3, 0.8, 2.0)) -> Case:
    """Of which no few coefficients tell everything."""
    weights = np.full(ATOMS.size, 1.0 / ATOMS.size)
    measure = Empirical(tuple(ATOMS.tolist()), tuple(weights.tolist()))
    components = [Component(Matern12(length), measure, 1.0) for length in lengths]
    return Case(AdditiveKernel(tuple(components), (0.5, 1.0, 0.3)), n, noise, (ATOMS, weights))


CASES = {
    "few rows": smooth(12, 0.1),
    "many rows": smooth(60, 0.05),
    "much noise": smooth(40, 4.0),
    "rough": replace(rough(60, 0.1), most={"MOST_OF_A_TERM": 60}),
    "many terms": replace(rough(60, 0.3, (0.3, 0.8, 2.0, 1.0)), most={"MOST_COEFFICIENTS": 200}),
}


@dataclass(frozen=True, eq=False)
class Found:
    """For each draw and term: how much the band holds, the interval, the share of the mean, and the truth."""

    in_band: np.ndarray
    low: np.ndarray
    high: np.ndarray
    of_mean: np.ndarray
    truth: np.ndarray


def root_of(K: np.ndarray) -> np.ndarray:
    """L with L L' = K, of any rank."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def drawn_terms(
    case: Case, X: np.ndarray, rng: np.random.Generator
) -> dict[Subset, tuple[np.ndarray, float]]:
    """Each term of one function drawn from the prior: its values at the rows, and its variance."""
    points, weights = case.nodes
    roots = _roots(case.kernel, X.tobytes(), X.shape, points.tobytes())
    terms = {}
    for term in oracle.subsets(len(roots), 2)[1:]:
        scale = np.sqrt(case.kernel.variances[len(term)])
        first = roots[term[0]]
        if len(term) == 1:
            f = scale * first @ rng.standard_normal(first.shape[1])
            terms[term] = f[: len(X)], float(weights @ f[len(X) :] ** 2)
            continue
        # The root of a product kernel on a grid is the product of the roots.
        second = roots[term[1]]
        f = scale * first @ rng.standard_normal((first.shape[1], second.shape[1])) @ second.T
        on_grid = f[len(X) :, len(X) :]
        terms[term] = np.diag(f)[: len(X)].copy(), float(weights @ on_grid**2 @ weights)
    return terms


@cache
def _roots(kernel: AdditiveKernel, rows: bytes, shape: tuple[int, int], nodes: bytes) -> list[np.ndarray]:
    X, points = np.frombuffer(rows).reshape(shape), np.frombuffer(nodes)
    both = [np.concatenate([x, points]) for x in X.T]
    return [root_of(oracle.column_matrix(c, z, z)) for c, z in zip(kernel.components, both, strict=True)]


@cache
def found(name: str) -> Found:
    """Draw functions, see some rows of each with noise, and ask for bands at other rows and for shares."""
    case, rng = CASES[name], np.random.default_rng(7)
    points, weights = case.nodes
    normal = isinstance(case.kernel.components[0].measure, Normal)
    total = case.n + 40
    shape = (total, len(case.kernel.components))
    X = rng.standard_normal(shape) if normal else rng.choice(points, shape, p=weights)
    seen, fresh = slice(0, case.n), slice(case.n, total)
    results: list[list[np.ndarray]] = []
    for _ in range(DRAWS):
        terms = drawn_terms(case, X, rng)
        constant = np.sqrt(case.kernel.variances[0]) * rng.standard_normal()
        f = constant + sum(values for values, _ in terms.values())
        y = f[seen] + np.sqrt(case.noise) * rng.standard_normal(case.n)
        posterior = oracle.posterior_of(case.kernel, X[seen], y, case.noise)
        variances = term_variances(posterior)
        with patch.multiple(intervals, **case.most) if case.most else nullcontext():
            ends = share_intervals(posterior, variances, rng)
        assert set(variances.terms) == set(terms)
        whole = sum(variance for _, variance in terms.values())
        in_band = [
            np.mean(
                np.abs(terms[u][0][fresh] - posterior.term_mean(u, X[fresh]))
                <= 2.0 * np.sqrt(posterior.term_variance(u, X[fresh]))
            )
            for u in variances.terms
        ]
        truth = [terms[u][1] / whole for u in variances.terms]
        of_mean = variances.variances / variances.total
        results.append([np.array(in_band), *ends.T, of_mean, np.array(truth)])
    return Found(*(np.array(part) for part in zip(*results, strict=True)))


every_case = pytest.mark.parametrize("name", CASES)


@every_case
def test_the_band_of_a_term_holds_the_function_that_was_drawn(name: str) -> None:
    # 2 sd are 95.4 %; points of one draw go together, so that what 200 draws show varies by some 1 %.
    by_term = np.mean(found(name).in_band, axis=0)
    assert np.all((by_term > 0.90) & (by_term < 0.98)), by_term
    assert abs(np.mean(by_term) - 0.954) < 0.015


@every_case
def test_intervals_hold_the_share_of_the_function_that_was_drawn(name: str) -> None:
    result = found(name)
    # Terms that are drawn for some of the functions only were chosen by what was seen of them.
    always = ~np.any(np.isnan(result.low), axis=0)
    assert np.sum(always) >= 3
    held = (result.low <= result.truth) & (result.truth <= result.high)
    by_term = np.mean(held[:, always], axis=0)
    error = np.sqrt(0.9 * 0.1 / DRAWS)
    assert np.all(np.abs(by_term - 0.9) < 3.5 * error), by_term
    # Misses are on either side: shares are not drawn too large or too small.
    below = np.mean((result.truth < result.low)[:, always])
    above = np.mean((result.truth > result.high)[:, always])
    assert below < 0.09
    assert above < 0.09


def test_the_mean_variance_of_the_terms_is_their_sum() -> None:
    case = smooth(12, 0.1)
    rng = np.random.default_rng(0)
    posterior = oracle.posterior_of(case.kernel, rng.standard_normal((12, 3)), rng.standard_normal(12), 0.1)
    points, weights = case.nodes
    total = 0.0
    for term in oracle.subsets(3, 2)[1:]:
        grid = np.meshgrid(*[points] * len(term), indexing="ij")
        X = np.full((grid[0].size, 3), np.nan)
        for d, values in zip(term, grid, strict=True):
            X[:, d] = values.ravel()
        mass = np.prod(np.meshgrid(*[weights] * len(term), indexing="ij"), axis=0).ravel()
        total += mass @ posterior.term_variance(term, X)
    found = [intervals._mean_variance(posterior, np.random.default_rng(seed)) for seed in range(8)]
    assert np.mean(found) == pytest.approx(total, rel=0.03)


def learned_coverage(n: int, n_draws: int) -> tuple[float, float]:
    """How much bands and intervals hold when the parameters are learned from the rows too.

    60 draws give 0.88 and 0.67 from 50 rows and 0.92 and 0.82 from 100; 44 give 0.96 and 0.83 from 300.
    """
    case, rng = smooth(n, 0.2), np.random.default_rng(5)
    X = rng.standard_normal((n + 40, 3))
    X = (X - X[:n].mean(axis=0)) / X[:n].std(axis=0)  # so that the measures are those of the draws
    in_band, held = [], []
    for _ in range(n_draws):
        terms = drawn_terms(case, X, rng)
        f = sum(values for values, _ in terms.values())
        y = f[:n] + np.sqrt(0.2) * rng.standard_normal(n)
        model = OAKRegressor(max_order=2, n_restarts=1, measure="normal", flow=None).fit(X[:n], y)
        whole = sum(variance for _, variance in terms.values())
        mean, std = model.predict_terms(X[n:], return_std=True)
        for j, (term, row) in enumerate(zip(model.terms_, model.sobol_, strict=True)):
            values, variance = terms[term.columns]
            in_band.append(np.mean(np.abs(values[n:] - mean[:, j]) <= 2.0 * std[:, j]))
            held.append(row["low"] <= variance / whole <= row["high"])
    return float(np.mean(in_band)), float(np.mean(held))


def test_with_learned_parameters_bands_hold_somewhat_less() -> None:
    in_band, held = learned_coverage(100, 15)
    assert in_band > 0.86
    assert held > 0.7
