"""A model of the angle between rows as plain data, and back; every part must fit every other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from termwise.encode.encoder import Encoder
from termwise.encode.spherical import SphericalEncoder
from termwise.estimators.options import one_of
from termwise.io.dense import restore_dense
from termwise.io.numbers import built, known, number, numbers
from termwise.kernels.features import FEATURES, MOST_DEGREES, POINT, ROW
from termwise.kernels.spherical import SphericalKernel
from termwise.kernels.zonal import KERNELS
from termwise.measures.base import Array

if TYPE_CHECKING:
    from termwise.estimators.spherical import Spherical


def describe_spherical(model: Spherical) -> dict[str, Any]:
    """What it has in the place of columns and their kernels."""
    kernel = model.posterior_.kernel
    assert isinstance(kernel, SphericalKernel), "it is fitted so"
    return {
        "encoder": model.encoder_.dense.to_dict(),
        "scales": [float(scale) for scale in model.encoder_.scales],
        "kernel": {
            "shape": {"name": kernel.shape.name, **asdict(kernel.shape)},  # type: ignore[call-overload]
            "variance": float(kernel.variance),
            "features": kernel.features,
            "n_degrees": int(kernel.n_degrees),
        },
    }


def restore_lengthened(encoder: Encoder, document: Mapping[str, Any]) -> SphericalEncoder:
    """The way from a table to rows that are lengthened."""
    dense, scales = restore_dense(encoder, document["encoder"]), numbers(document["scales"])
    if len(scales) != len(dense.names) or min(scales) <= 0.0:
        raise ValueError(f"its scales are {str(scales)[:80]}")
    return SphericalEncoder(dense, np.array(scales))


def restore_angles(data: Mapping[str, Any], dimension: int) -> SphericalKernel:
    """The kernel of such rows."""
    given = dict(data["shape"])
    shape = built(known(KERNELS, given.pop("name"), "kernel"), given)
    variance, degrees = number(data["variance"]), data["n_degrees"]
    if variance <= 0.0 or getattr(shape, "lengthscale", 1.0) <= 0.0:
        raise ValueError(f"its kernel is {shape}, times {variance}")
    if type(degrees) is not int or not 1 <= degrees <= MOST_DEGREES:
        raise ValueError(f"its features have {str(degrees)[:20]!r} degrees")
    features = one_of("features", data["features"], FEATURES)
    return SphericalKernel(shape, dimension, variance, features, degrees)


def check_lengthened(name: str, rows: Array, kernel: SphericalKernel) -> None:
    """Refuse rows that are not lengthened, and tags of which the kernel knows nothing."""
    if not np.all(np.isfinite(rows)) or np.any(rows[:, -2] != 1.0):
        raise ValueError(f"its {name} are not rows that are lengthened by one")
    # The compiled loops look the covariances of tags up without checking bounds.
    tags = np.arange(POINT, len(kernel.known.series)) if name == "centres" else np.array([ROW])
    if not np.all(np.isin(rows[:, -1], tags)):
        raise ValueError(f"its {name} have tags that the kernel has not")
