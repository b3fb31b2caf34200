"""A fitted model as plain numbers that a page can run: centres, weights and factor, and how cells are read.

The page computes the mean and the variance of `posterior/posterior.py`, term by term. What is not plain
arithmetic, the mean of each column's kernel under its measure, goes along as polynomials in pieces.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import rq

from termwise.encode.encoder import Encoder, LevelEncoder, NumberEncoder
from termwise.explain.runnable import Runnable
from termwise.kernels.column import Stationary
from termwise.kernels.component import Component
from termwise.measures.base import Array, Continuous
from termwise.measures.empirical import Empirical
from termwise.posterior.missing import possible_values
from termwise.posterior.posterior import Posterior
from termwise.report.chebyshev import in_pieces
from termwise.table import level_text

REACH = 40.0  # lengthscales beyond which every kernel is zero
SLIDER_STEPS = 200


@dataclass
class Numbers:
    """Arrays of float64 one behind the other; what is written into the page says where each is."""

    parts: list[Array] = field(default_factory=list)
    size: int = 0

    def add(self, values: Any) -> dict[str, int]:
        """Where these values are."""
        flat = np.ascontiguousarray(values, dtype="<f8").ravel()
        place = {"at": self.size, "size": flat.size}
        self.parts.append(flat)
        self.size += flat.size
        return place

    def text(self) -> str:
        """All as base64."""
        whole = np.concatenate(self.parts) if self.parts else np.zeros(0)
        return base64.b64encode(whole.astype("<f8").tobytes()).decode("ascii")


def running(models: Sequence[Runnable]) -> dict[str, Any]:
    """The models, one for each label if there are more than two, as JSON and one text of numbers."""
    numbers = Numbers()
    parts = [_model(model, numbers) for model in models]
    return {"models": parts, "numbers": numbers.text()}


def _model(model: Runnable, numbers: Numbers) -> dict[str, Any]:
    posterior, encoder = model.posterior, model.encoder
    columns = [
        _column(encoder, d, component, posterior, numbers)
        for d, component in enumerate(posterior.additive.components)
    ]
    size, rank = posterior.root.shape
    triangular = size == rank
    root = _upper(posterior.root)[np.triu_indices(rank)] if triangular else posterior.root.T
    return {
        "label": model.label,
        "kind": model.kind,
        "outcome": model.outcome,
        "between": model.between,
        "scale": asdict(model.scale),
        "noise": model.noise,
        "columns": columns,
        "variances": list(posterior.additive.variances),
        "only": None if posterior.terms is None else [list(term) for term in posterior.terms],
        "terms": [{"name": term.name, "columns": list(term.columns)} for term in model.terms],
        "centres": int(posterior.alpha.size),
        "rank": rank,
        "alpha": numbers.add(posterior.alpha),
        "root": numbers.add(root),
        "triangular": triangular,
    }


def _upper(root: Array) -> Array:
    """An upper triangular U with U U' = root root', which has half as many numbers to write."""
    if not np.any(np.tril(root, -1)):
        return root
    upper: Array = rq(root, mode="r")
    return upper


def _column(
    encoder: Encoder, d: int, component: Component, posterior: Posterior, numbers: Numbers
) -> dict[str, Any]:
    codec, centres = encoder.columns[d], posterior.centres[:, d]
    rows = posterior.rows[:, d]
    common = {
        "name": encoder.names[d],
        "missing_variance": component.mean_variance,
        "possible": _possible(component, d, numbers),
    }
    if isinstance(codec, LevelEncoder):
        codes = np.where(np.isnan(centres), len(codec.levels), centres)
        counts = np.bincount(rows[~np.isnan(rows)].astype(int), minlength=len(codec.levels))
        return {
            **common,
            "type": "level",
            "levels": [level_text(level) for level in codec.levels],
            "start": int(np.argmax(counts)),
            "unseen": codec.unknown != "error",
            "table": numbers.add(component.table),
            "codes": numbers.add(codes),
        }
    assert isinstance(codec, NumberEncoder)
    assert isinstance(component.kernel, Stationary)
    return {
        **common,
        "type": "number",
        "flow": codec.flow.to_dict(),
        **_slider(codec, rows),
        "kernel": component.kernel.name,
        "lengthscale": component.kernel.lengthscale,
        "weight": component.weight,
        "coordinates": numbers.add(centres / component.kernel.lengthscale),
        "amplitudes": numbers.add(component.amplitude(centres)),
        "mean": _mean(component, numbers),
    }


def _possible(component: Component, d: int, numbers: Numbers) -> dict[str, Any] | None:
    """What a missing cell might have been, if the column has a measure."""
    if component.measure is None:
        return None
    found = possible_values(component.measure, d)
    return {
        "values": numbers.add(found.alone.values),
        "weights": numbers.add(found.alone.weights),
        "together": found.together.tolist(),
    }


def _slider(codec: NumberEncoder, rows: Array) -> dict[str, Any]:
    """From where to where a slider goes, where it begins, and its step."""
    values = codec.inverse(rows[~np.isnan(rows)])
    low, high = float(np.min(values)), float(np.max(values))
    middle = float(np.quantile(values, 0.5, method="nearest"))
    # Numbers come back from their encoding with a little rounding.
    whole = bool(np.all(np.abs(values - np.round(values)) < 1e-9 * np.maximum(1.0, np.abs(values))))
    step = 1.0 if whole and high - low >= 1.0 else _round_step((high - low) / SLIDER_STEPS)
    ends = (low, high)  # of what was seen
    # On multiples of the step, so that every place of the slider is a round number.
    low, middle, high = (
        np.floor(low / step) * step,
        np.round(middle / step) * step,
        np.ceil(high / step) * step,
    )
    low, middle, high = (float(f"{value:.12g}") for value in (low, middle, high))
    return {"low": low, "high": high, "start": min(max(middle, low), high), "step": step, "seen": ends}


def _round_step(step: float) -> float:
    """The power of ten, or two or five times it, next below."""
    if not step > 0.0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(step))
    return float(max(m for m in (1.0, 2.0, 5.0) if m * power <= step * (1 + 1e-9)) * power)


def _mean(component: Component, numbers: Numbers) -> dict[str, Any] | None:
    """The amplitude a(x) of any encoded x: a sum over atoms, or pieces of polynomials; None if it is zero."""
    measure, kernel = component.measure, component.kernel
    assert isinstance(kernel, Stationary)
    if measure is None:
        return None
    points, weights = measure.nodes()
    if isinstance(measure, Empirical) or not isinstance(measure, Continuous):
        # a(x) = scale sum_q w_q k(x, s_q), and the scale follows from its value at an atom
        at = points[:1]
        scale = float(component.amplitude(at)[0] / (kernel.evaluate(at, points) @ weights))
        return {"atoms": numbers.add(points / kernel.lengthscale), "weights": numbers.add(scale * weights)}
    edges = np.asarray(measure.edges(), dtype=float)
    reach = REACH * kernel.lengthscale
    ends = np.array([edges[0], edges[-1]])
    # kinks are at the ends of the measure at most; farther out pieces grow with the distance
    far = reach * 2.0 ** np.arange(-8.0, 1.0)
    breaks = np.concatenate([ends[0] - far[::-1], ends, ends[1] + far])
    pieces = in_pieces(component.amplitude, breaks)
    return {"edges": numbers.add(pieces.edges), "pieces": numbers.add(pieces.coefficients)}
