"""A monotone map that makes one column close to standard normal, defined on all reals. OAK appendix F.

x -> robust units -> sinh-arcsinh -> standardise, with straight lines outside the training range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from termwise.encode.scale import Array, Standardise

FEW_VALUES = 5  # with fewer distinct values there is no shape to bend
MANY_ROWS = 20_000  # above this the shape is fitted to quantiles
N_QUANTILES = 4_096
PRIOR_ROWS = 10.0  # weight of a unit normal prior on the four parameters, in rows
# location, log_width, skew, log_tail. Without bounds a column with atoms narrows the width for ever.
BOUNDS = ((-3.0, 3.0), (-3.0, 1.5), (-3.0, 3.0), (-2.5, 1.5))

FAR = 1e100  # beyond it every kernel is zero, and its square is still a number


@dataclass(frozen=True)
class SinhArcsinh:
    """Bend skewness and tails: w = sinh(tail arcsinh((s - location) / width) + skew). OAK appendix F, J.5.

    Increasing for every parameter, as width = exp(log_width) and tail = exp(log_tail); the identity at zero.
    """

    location: float = 0.0
    log_width: float = 0.0
    skew: float = 0.0
    log_tail: float = 0.0

    def forward(self, s: Array) -> Array:
        """Return sinh(tail arcsinh((s - location) / width) + skew)."""
        return np.sinh(self._angle(s))

    def inverse(self, w: Array) -> Array:
        """Return location + width sinh((arcsinh(w) - skew) / tail)."""
        angle = (np.arcsinh(w) - self.skew) / np.exp(self.log_tail)
        return self.location + np.exp(self.log_width) * np.sinh(angle)

    def derivative(self, s: Array) -> Array:
        """Return cosh(angle) tail / (width sqrt(1 + y^2)), y = (s - location) / width."""
        y = (s - self.location) / np.exp(self.log_width)
        return np.cosh(self._angle(s)) * np.exp(self.log_tail - self.log_width) / np.hypot(1.0, y)

    def _angle(self, s: Array) -> Array:
        return np.exp(self.log_tail) * np.arcsinh((s - self.location) / np.exp(self.log_width)) + self.skew


Step = Standardise | SinhArcsinh
STEPS: dict[str, type[Step]] = {kind.__name__: kind for kind in (Standardise, SinhArcsinh)}


@dataclass(frozen=True)
class Flow:
    """The composition z = f_K o .. o f_1(s) of a column in its own units s = units(x). OAK eq. 33.

    Outside [low, high], the training range in those units, the map goes on along its tangent.
    """

    units: Standardise
    steps: tuple[Step, ...]
    low: float
    high: float

    def forward(self, x: Array) -> Array:
        """Encode: g(c) + g'(c) (s - c) with c the nearest point of the training range; NaN stays NaN."""
        with np.errstate(over="ignore"):  # what overflows is FAR
            s = self.units.forward(np.asarray(x, dtype=np.float64))
            inside = np.clip(s, self.low, self.high)
            z = _forward(self.steps, inside) + _derivative(self.steps, inside) * (s - inside)
        return np.clip(z, -FAR, FAR)

    def inverse(self, z: Array) -> Array:
        """Decode: the x with forward(x) = z, in closed form on the whole line."""
        z = np.asarray(z, dtype=np.float64)
        ends = np.array([self.low, self.high])
        inside = np.clip(z, *_forward(self.steps, ends))
        s = np.clip(_inverse(self.steps, inside), self.low, self.high)
        return self.units.inverse(s + (z - inside) / _derivative(self.steps, s))

    def derivative(self, x: Array) -> Array:
        """Return dz/dx > 0, constant outside the training range."""
        x = np.asarray(x, dtype=np.float64)
        inside = np.clip(self.units.forward(x), self.low, self.high)
        return _derivative(self.steps, inside) * self.units.derivative(x)

    def to_dict(self) -> dict[str, Any]:
        """Write as plain names and floats, which JSON keeps exactly."""
        steps = [{"kind": type(step).__name__, **asdict(step)} for step in self.steps]
        return {"units": asdict(self.units), "steps": steps, "low": self.low, "high": self.high}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Flow:
        """Read what `to_dict` wrote; the result is equal to the flow that was written."""
        steps = tuple(
            STEPS[step["kind"]](**{name: value for name, value in step.items() if name != "kind"})
            for step in data["steps"]
        )
        return cls(Standardise(**data["units"]), steps, data["low"], data["high"])


def fit_flow(x: Array) -> Flow:
    """Fit the flow of one column, in whatever units, by least divergence from N(0, 1). OAK eq. 37."""
    x = np.asarray(x, dtype=np.float64)
    assert x.ndim == 1, "a flow is of one column"
    assert x.size > 0, "a flow needs a row"
    assert np.all(np.isfinite(x)), "missing values are removed before the fit"
    rows = _representatives(x)
    units = Standardise.robust(rows)
    s = units.forward(rows)
    if np.unique(s).size < FEW_VALUES:
        units = Standardise.fit(x)
        return _finish(units, (), units.forward(x))
    bend = _fit_bend(s)
    after = Standardise.fit(bend.forward(s))
    return _finish(units, (bend, after), s)


def profile_kl(parameters: Array, s: Array) -> tuple[float, Array]:
    """Return the divergence of a sinh-arcsinh followed by the best shift and scale, and its gradient.

    With z = (w - mean w) / sd w, eq. 37 is 1/2 + log sd w - mean log dw/ds: two parameters less to search.
    Parameters are (location, log_width, skew, log_tail). OAK eq. 37 (whose z^2 lacks its factor 1/2).
    """
    location, log_width, skew, log_tail = parameters
    width, tail = np.exp(log_width), np.exp(log_tail)
    y = (s - location) / width
    root = np.hypot(1.0, y)
    angle = np.arcsinh(y)
    u = tail * angle + skew
    w, slope = np.sinh(u), np.cosh(u)
    centred = w - np.mean(w)
    variance = np.mean(centred**2)
    value = 0.5 + 0.5 * np.log(variance) - np.mean(np.log(slope) - np.log(root)) - log_tail + log_width
    by_u = centred * slope / variance - w / slope
    by_y = y / root**2 + by_u * tail / root
    by_location, by_log_width = -np.mean(by_y) / width, 1.0 - np.mean(by_y * y)
    by_skew, by_log_tail = np.mean(by_u), np.mean(by_u * angle) * tail - 1.0
    return float(value), np.array([by_location, by_log_width, by_skew, by_log_tail])


def _penalised(parameters: Array, s: Array) -> tuple[float, Array]:
    """Add -log of a unit normal prior, so that few rows or flat directions stay near the identity."""
    value, gradient = profile_kl(parameters, s)
    weight = PRIOR_ROWS / s.size
    return value + 0.5 * weight * float(parameters @ parameters), gradient + weight * parameters


def _fit_bend(s: Array) -> SinhArcsinh:
    start = np.zeros(len(BOUNDS))
    stop = {"gtol": 1e-7, "ftol": 1e-13, "maxiter": 200}
    found = minimize(_penalised, start, (s,), method="L-BFGS-B", jac=True, bounds=BOUNDS, options=stop)
    return SinhArcsinh(*(float(value) for value in _polish(found.x, s)))


def _polish(parameters: Array, s: Array) -> Array:
    """Take Newton steps, all with the first curvature, in the parameters that are not at a bound.

    L-BFGS stops some 1e-7 short of the optimum, at a place that depends on rounding and so on the units of x.
    """
    low, high = np.transpose(BOUNDS)
    free = np.flatnonzero((parameters > low) & (parameters < high))
    if free.size == 0:
        return parameters
    gradient = _penalised(parameters, s)[1][free]
    inverse_curvature = np.linalg.pinv(_curvature(parameters, s, free))
    for _ in range(6):
        candidate = parameters.copy()
        candidate[free] -= inverse_curvature @ gradient
        after = _penalised(np.clip(candidate, low, high), s)[1][free]
        if not np.max(np.abs(after)) < np.max(np.abs(gradient)):
            break
        parameters, gradient = np.clip(candidate, low, high), after
    return parameters


def _curvature(parameters: Array, s: Array, free: NDArray[np.intp]) -> Array:
    """Return the Hessian of the free parameters by central differences of the exact gradient."""
    steps = 1e-5 * np.eye(parameters.size)[free]
    columns = [_penalised(parameters + h, s)[1] - _penalised(parameters - h, s)[1] for h in steps]
    return np.array(columns)[:, free] / 2e-5


def _representatives(x: Array) -> Array:
    """Return all rows, or of many rows their quantiles and both extremes."""
    if x.size <= MANY_ROWS:
        return x
    middle = ((np.arange(N_QUANTILES) + 0.5) * (x.size / N_QUANTILES)).astype(np.intp)
    return np.sort(x)[np.concatenate([[0], middle, [x.size - 1]])]


def _finish(units: Standardise, steps: tuple[Step, ...], s: Array) -> Flow:
    return Flow(units, steps, float(np.min(s)), float(np.max(s)))


def _forward(steps: tuple[Step, ...], s: Array) -> Array:
    for step in steps:
        s = step.forward(s)
    return s


def _inverse(steps: tuple[Step, ...], z: Array) -> Array:
    for step in reversed(steps):
        z = step.inverse(z)
    return z


def _derivative(steps: tuple[Step, ...], s: Array) -> Array:
    """Return dz/ds by the chain rule."""
    slope = np.ones_like(s)
    for step in steps:
        slope = slope * step.derivative(s)
        s = step.forward(s)
    return slope
