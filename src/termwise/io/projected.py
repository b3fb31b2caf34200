"""A model along directions as plain data, and back; every part must fit every other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from termwise.encode.encoder import Encoder
from termwise.encode.projected import ProjectedEncoder
from termwise.io.dense import restore_dense
from termwise.io.numbers import known, numbers
from termwise.kernels.fused.radial import RADIAL
from termwise.kernels.projected import ONE_COLUMN, ProjectedKernel
from termwise.measures.base import Array

if TYPE_CHECKING:
    from termwise.estimators.projected import ProjectedGPRegressor

PROJECTION = "projection"  # an array besides those of every posterior


def describe_projected(model: ProjectedGPRegressor) -> dict[str, Any]:
    """What it has in the place of columns and their kernels."""
    kernel = model.posterior_.kernel
    assert isinstance(kernel, ProjectedKernel), "it is fitted so"
    return {
        "encoder": model.encoder_.dense.to_dict(),
        "kernel": {
            "kind": kernel.kind,
            "groups": list(kernel.groups),
            "weights": [float(weight) for weight in kernel.weights],
            "variances": [float(variance) for variance in kernel.variances],
        },
        "inference": model.inference_,
    }


def restore_encoder(encoder: Encoder, document: Mapping[str, Any], projection: Array) -> ProjectedEncoder:
    """The way from a table to coordinates."""
    dense = restore_dense(encoder, document["encoder"])
    groups = document["kernel"]["groups"]
    if not isinstance(groups, list) or not groups or not all(type(g) is int and g >= 1 for g in groups):
        raise ValueError(f"its directions are {str(groups)[:80]}")
    if projection.shape != (sum(groups), len(dense.names)) or not np.all(np.isfinite(projection)):
        raise ValueError(f"its projection has the shape {projection.shape}")
    return ProjectedEncoder(dense, projection, tuple(groups))


def restore_kernel(data: Mapping[str, Any], groups: tuple[int, ...]) -> ProjectedKernel:
    """The kernel of coordinates."""
    known(RADIAL, data["kind"], "kernel")
    weights, variances = numbers(data["weights"]), numbers(data["variances"])
    if len(weights) != len(groups) or min(weights) < 0.0 or len(variances) != 2 or min(variances) < 0.0:
        raise ValueError(f"its weights and variances are {str((weights, variances))[:80]}")
    if data["kind"] in ONE_COLUMN and max(groups) > 1:
        raise ValueError(f"{data['kind']} is no kernel of {max(groups)} coordinates")
    return ProjectedKernel(data["kind"], groups, weights, (variances[0], variances[1]))
