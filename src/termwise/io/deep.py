"""A model of networks as plain data, and back; every part must fit every other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np

from termwise.deep.gram import FORMULAS, GramKernel, Solved, first_parameters
from termwise.deep.heads import Heads
from termwise.deep.networks import Networks, inputs_of
from termwise.deep.posterior import GramPosterior, RankOnePosterior, Reading, Seen
from termwise.deep.rank_one import Amplitude
from termwise.encode.encoder import Encoder
from termwise.estimators.deep import DeepKernelRegressor
from termwise.explain.interactions import Interaction, Interactions
from termwise.io.dense import restore_dense
from termwise.io.numbers import known, noise_of, number, numbers
from termwise.kernels.terms import Subset
from termwise.measures.base import Array

ROWS = "rows"
SOLVED = ("centres", "alpha", "root")
SEEN = ("middle", "covariance")
HEADS = {"head.middle": "middle", "head.roots": "roots"}


def describe_deep(model: DeepKernelRegressor) -> dict[str, Any]:
    """What it has in the place of columns and their kernels."""
    posterior: Any = model.posterior_
    own: dict[str, Any] = {"inputs": _lists(posterior.networks.inputs)}
    own["trend"] = [_lists(networks.inputs) for networks in posterior.reading.trend]
    if isinstance(posterior, RankOnePosterior):
        amplitude = posterior.amplitude
        own |= {"sets": _lists(posterior.sets), "amplitude": [amplitude.mean, amplitude.variance]}
        own["constant"] = None if posterior.heads is None else posterior.heads.constant
    else:
        solved = posterior.solved
        own |= {"kernel": posterior.kernel.kind, "solved": [solved.evidence, solved.jitter]}
    found = getattr(model, "interactions_", None)
    interactions = (
        None if found is None else {"ranked": [asdict(row) for row in found], "untold": found.untold}
    )
    return {"encoder": posterior.reading.dense.to_dict(), "deep": own, "interactions": interactions}


def deep_arrays(model: DeepKernelRegressor) -> dict[str, Array]:
    """Weights and rows, by name."""
    posterior: Any = model.posterior_
    found = {ROWS: posterior.rows, **_layers("", posterior.networks)}
    for number_of, networks in enumerate(posterior.reading.trend):
        found |= _layers(f"trend.{number_of}.", networks)
    if isinstance(posterior, RankOnePosterior):
        found |= {name: getattr(posterior.seen, name) for name in SEEN}
        if posterior.heads is not None:
            found |= {name: getattr(posterior.heads, part) for name, part in HEADS.items()}
    if isinstance(posterior, GramPosterior):
        found |= {name: getattr(posterior.solved, name) for name in SOLVED}
        found |= {f"parameter.{name}": value for name, value in posterior.kernel.parameters.items()}
    return found


def _lists(sets: tuple[tuple[int, ...], ...]) -> list[list[int]]:
    return [[int(place) for place in columns] for columns in sets]


def _layers(prefix: str, networks: Networks) -> dict[str, Array]:
    parts = {"weight": networks.weights, "bias": networks.biases}
    return {
        f"{prefix}{name}.{layer}": part for name, layers in parts.items() for layer, part in enumerate(layers)
    }


def restore_deep(
    model: DeepKernelRegressor, encoder: Encoder, document: Mapping[str, Any], arrays: Mapping[str, Array]
) -> RankOnePosterior | GramPosterior:
    """The posterior; writes what else the model has."""
    own, left, dense = document["deep"], dict(arrays), restore_dense(encoder, document["encoder"])
    width, features = len(dense.encoder.names), len(dense.names)
    networks = _networks(own["inputs"], "", left, features)
    trend = tuple(_networks(inputs, f"trend.{i}.", left, features) for i, inputs in enumerate(own["trend"]))
    rows = left.pop(ROWS)
    if rows.ndim != 2 or rows.shape[1] != width or np.any(np.isinf(rows)):
        raise ValueError(f"its rows have the shape {rows.shape}")
    reading, noise = Reading(dense, rows, trend), noise_of(document)
    posterior = _posterior(own, reading, networks, left, noise, width)
    if left:
        raise ValueError(f"it has the arrays {sorted(left)[:10]} besides")
    model.n_parameters_ = posterior.n_parameters
    if document["interactions"] is not None:
        model.interactions_ = _interactions(document["interactions"], dense.encoder.names)
    return posterior


def _posterior(
    own: Mapping[str, Any],
    reading: Reading,
    networks: Networks,
    left: dict[str, Array],
    noise: float,
    width: int,
) -> RankOnePosterior | GramPosterior:
    if "kernel" in own:
        return _gram(own, reading, networks, left, noise)
    sets = _sets(own["sets"], width)
    if inputs_of(sets, reading.dense.sources) != networks.inputs:
        raise ValueError(f"its sets {str(sets)[:80]} are not those of its networks")
    mean, variance = numbers(own["amplitude"])
    if variance < 0.0:
        raise ValueError(f"its amplitude has the variance {variance}")
    k, units = networks.weights[-1].shape[:2]
    seen = Seen(_finite(left.pop("middle"), (k,)), _finite(left.pop("covariance"), (k, k)))
    heads = None if reading.trend else _heads(own["constant"], left, k, units)
    return RankOnePosterior(reading, networks, sets, Amplitude(mean, variance), noise, seen, heads)


def _heads(data: Any, left: dict[str, Array], k: int, units: int) -> Heads:
    middle, roots = (left.pop(name) for name in HEADS)
    constant = number(data)
    if constant < 0.0:
        raise ValueError(f"its constant has the variance {constant}")
    return Heads(_finite(middle, (k, units)), _finite(roots, (k, units, units)), constant)


def _gram(
    own: Mapping[str, Any], reading: Reading, networks: Networks, left: dict[str, Array], noise: float
) -> GramPosterior:
    known(FORMULAS, own["kernel"], "kernel")
    coordinates = networks.biases[-1].shape[2]
    wanted = first_parameters(own["kernel"], coordinates, np.random.default_rng(0))
    parameters = {name: _finite(left.pop(f"parameter.{name}"), wanted[name].shape) for name in wanted}
    rows = len(left["alpha"])
    centres = _finite(left.pop("centres"), (rows, coordinates))
    alpha, root = _finite(left.pop("alpha"), (rows,)), _finite(left.pop("root"), (rows, rows))
    evidence, jitter = numbers(own["solved"])
    kernel, solved = GramKernel(own["kernel"], parameters), Solved(centres, alpha, root, evidence, jitter)
    return GramPosterior(reading, networks, kernel, solved, noise)


def _finite(array: Array, shape: tuple[int, ...]) -> Array:
    if array.shape != shape or not np.all(np.isfinite(array)):
        raise ValueError(f"an array of shape {array.shape} stands where finite numbers {shape} are expected")
    return array


def _networks(data: Any, prefix: str, left: dict[str, Array], features: int) -> Networks:
    """Networks whose layers follow on each other."""
    inputs = _sets(data, features)
    count = sum(name.startswith(f"{prefix}weight.") for name in left)
    weights = tuple(left.pop(f"{prefix}weight.{layer}") for layer in range(count))
    biases = tuple(left.pop(f"{prefix}bias.{layer}") for layer in range(count))
    sizes = [max(map(len, inputs)), *(bias.shape[-1] for bias in biases)]
    for (into, out), weight, bias in zip(pairwise(sizes), weights, biases, strict=True):
        _finite(weight, (len(inputs), into, out))
        _finite(bias, (len(inputs), 1, out))
    if not weights:
        raise ValueError("a network has no layers")
    return Networks(inputs, weights, biases)


def _sets(data: Any, width: int) -> tuple[Subset, ...]:
    sets = tuple(tuple(columns) for columns in data)
    for columns in sets:
        inside = all(type(place) is int and 0 <= place < width for place in columns)
        if not columns or not inside or list(columns) != sorted(set(columns)):
            raise ValueError(f"it has the set {str(columns)[:80]}")
    if not sets:
        raise ValueError("it has no sets")
    return sets


def _interactions(data: Any, names: tuple[str, ...]) -> Interactions:
    ranked = []
    for row in data["ranked"]:
        columns = tuple(row["columns"])
        if len(columns) < 2 or not set(columns) <= set(names) or type(row["kept"]) is not bool:
            raise ValueError(f"it has the interaction {str(row)[:80]}")
        strength, stability = number(row["strength"]), _part(row["stability"], "the stability")
        ranked.append(Interaction(columns, strength, stability, row["kept"]))
    return Interactions(tuple(ranked), names, _part(data["untold"], "untold"))


def _part(data: Any, what: str) -> float:
    value = number(data)
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"it has {what} {value:g}, expected 0 to 1")
    return value
