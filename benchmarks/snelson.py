"""Activation features on one column of numbers, and what orthogonal variables mend. Spherical section 3.6.1.

There are as many features as their degrees have harmonics, so that nothing but the degrees is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean

import numpy as np
from scipy.linalg import solve_triangular

from benchmarks.data import read
from benchmarks.figures import Figure
from termwise.estimators.spherical import SphericalGPRegressor
from termwise.inference.progress import Progress
from termwise.kernels.features import ACTIVATIONS
from termwise.kernels.zonal import KERNELS

KINDS = tuple((kernel, features) for kernel in ("matern52", "se", "arccos1") for features in ACTIVATIONS)
INDUCING, REPEATS = 32, 5
SHOWN_DEGREES = 35
MOST = 0.75  # of a standard deviation that is too large, when it is mended


@dataclass(frozen=True)
class Setting:
    """So many degrees of features, and so many variables orthogonal to them."""

    degrees: int
    orthogonal: int = 0

    @property
    def name(self) -> str:
        """As the paper writes it."""
        return f"L = {self.degrees}" + (f", K = {self.orthogonal}" if self.orthogonal else "")


SHORT, LONG, MENDED = SETTINGS = (Setting(8), Setting(16), Setting(8, 8))


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model, and how many times a second its bound was evaluated while it was fitted."""

    model: SphericalGPRegressor
    throughput: float

    @property
    def bound(self) -> float:
        """The ELBO, of the standardised target."""
        return float(self.model.objective_)

    def sd(self, X: dict[str, np.ndarray], *, noisy: bool = False) -> np.ndarray:
        """What is not known of the function at rows, or of new observations there."""
        known = self.model.posterior_
        variance = known.variance(self.model._encode(X)) + noisy * known.noise
        return float(self.model.target_scale_.scale) * np.sqrt(variance)


@cache
def fitted(kernel: str, features: str, setting: Setting, seed: int = 0) -> Fitted:
    """One of the models, of all rows."""
    whole = read("snelson")
    return fit(whole.X, whole.y, kernel, features, setting, seed)


def fit(
    X: dict[str, np.ndarray], y: np.ndarray, kernel: str, features: str, setting: Setting, seed: int = 0
) -> Fitted:
    """The same of any rows; seconds are from the first evaluation on, when all is compiled."""
    seen: list[Progress] = []
    model = SphericalGPRegressor(
        kernel=kernel,
        features=features,
        n_degrees=setting.degrees,
        n_inducing=INDUCING,
        n_orthogonal=setting.orthogonal,
        progress=seen.append,
        random_state=seed,
    )
    model.fit(X, y)
    return Fitted(model, (len(seen) - 1) / (seen[-1].seconds - seen[0].seconds))


@dataclass(frozen=True, eq=False)
class VarianceParts:
    """What the variance of the function at rows is made of, Spherical eq. 3.12.

    `known` are Q_ff and S_fv Svv^-1 S_vf, what the features and the orthogonal variables could tell at most;
    `left` is what the rows have not told of that, Q_fu C_u Q_uf and S_fv Svv^-1 C_v Svv^-1 S_vf.
    """

    prior: np.ndarray
    known: tuple[np.ndarray, np.ndarray]
    left: tuple[np.ndarray, np.ndarray]

    @property
    def beyond(self) -> np.ndarray:
        """K_ff - Q_ff: of what the features do not see anything."""
        return self.prior - self.known[0]

    @property
    def whole(self) -> np.ndarray:
        """All of them together."""
        return self.beyond + self.left[0] - self.known[1] + self.left[1]


def variance_parts(model: SphericalGPRegressor, X: dict[str, np.ndarray]) -> VarianceParts:
    """From the matrices of the kernel, in the units of the target.

    With Kuu = U'U between all inducing variables and a = U^-T k, the first numbers of a are what the features
    tell of a row, and the others what is left for the orthogonal variables. The posterior has the variance
    |k|^2 - |R'a|^2 with R = U root, and R R' has no entries between the two.
    """
    posterior, rows = model.posterior_, model._encode(X)
    K = posterior.kernel.gram(posterior.centres)
    K[np.diag_indices_from(K)] += model.fit_result_.jitter
    U = np.linalg.cholesky(K).T
    a = solve_triangular(U, posterior.kernel.matrix(rows, posterior.centres).T, trans="T")
    R = U @ posterior.root
    unit = float(model.target_scale_.scale) ** 2
    first = len(K) - model.fit_result_.orthogonal

    def told(which: slice) -> tuple[np.ndarray, np.ndarray]:
        most = np.sum(a[which] ** 2, axis=0)
        return unit * most, unit * (most - np.sum((R[which].T @ a[which]) ** 2, axis=0))

    (of_features, left), (of_others, left_to_others) = told(slice(first)), told(slice(first, None))
    prior = unit * posterior.kernel.diagonal(rows)
    return VarianceParts(prior, (of_features, of_others), (left, left_to_others))


def spectra(kernel: str, features: str) -> tuple[np.ndarray, np.ndarray]:
    """Roots of the eigenvalues of a kernel with lengthscale one, and coefficients of an activation.

    Of each degree, with exact zeros where there are: rows of one column lie on a circle.
    """
    eigenvalues = KERNELS[kernel].of(1.0).eigenvalues(2, SHOWN_DEGREES)
    return np.sqrt(eigenvalues), np.abs(ACTIVATIONS[features](2, SHOWN_DEGREES))


def repeated(kernel: str, features: str, setting: Setting, repeats: int = REPEATS) -> Sequence[Fitted]:
    """The same from other first places of the inducing variables."""
    return [fitted(kernel, features, setting, seed) for seed in range(repeats)]


def measure(repeats: int = REPEATS) -> None:
    """Fit all models that are not fitted yet, in turns: whatever else runs meets all settings alike."""
    for seed in range(repeats):
        for kernel, features in KINDS:
            for setting in SETTINGS:
                fitted(kernel, features, setting, seed)


def run(quick: bool = False) -> Iterator[Figure]:
    """Bounds, standard deviations and evaluations a second of all models; quick without repetitions."""
    X = read("snelson").X
    repeats = 1 if quick else REPEATS
    bounds: dict[tuple[str, str, Setting], float] = {}
    sds: dict[tuple[str, str, Setting], float] = {}
    measure(repeats)
    for kernel, features in KINDS:
        for setting in SETTINGS:
            found = repeated(kernel, features, setting, repeats)
            key, name = (kernel, features, setting), f"{kernel} {features}, {setting.name}"
            bounds[key] = fmean(one.bound for one in found)
            sds[key] = fmean(float(one.sd(X).mean()) for one in found)
            noisy = fmean(float(one.sd(X, noisy=True).mean()) for one in found)
            yield Figure(f"{name}: bound", bounds[key])
            yield Figure("  mean sd of the function", sds[key])
            yield Figure("  mean sd of an observation", noisy)
            yield Figure("  evaluations a second", fmean(one.throughput for one in found))
    for kernel, features in KINDS:
        short, long, mended = (bounds[kernel, features, setting] for setting in SETTINGS)
        yield Figure(f"{kernel} {features}: gain of twice the degrees", long - short, "nat")
        yield Figure("  of orthogonal variables", mended - short, "nat", at_least=0.0)
    for features in ACTIVATIONS:
        ratio = sds["matern52", features, MENDED] / sds["matern52", features, SHORT]
        yield Figure(f"matern52 {features}: sd of the function, mended over not", ratio, "x", at_most=MOST)
