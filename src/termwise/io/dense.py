"""The numbers that models mix all columns of, from plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from termwise.encode.dense import DenseEncoder
from termwise.encode.encoder import Encoder, LevelEncoder
from termwise.io.numbers import numbers


def restore_dense(encoder: Encoder, data: Mapping[str, Any]) -> DenseEncoder:
    """The way from a table to numbers alone; every part must fit its column."""
    parts = tuple(numbers(part) for part in data["parts"])
    if len(parts) != len(encoder.columns):
        raise ValueError(f"{len(parts)} parts do not belong to {len(encoder.columns)} columns")
    for part, column in zip(parts, encoder.columns, strict=True):
        levels = len(column.levels) if isinstance(column, LevelEncoder) else 0
        inside = len(part) == 1 + levels and min(part) >= 0.0 and max(part) < 1.0
        if not inside or (levels and abs(sum(part[1:]) - 1.0) > 1e-9):
            raise ValueError(f"the frequencies of a column are {str(part)[:80]}")
    return DenseEncoder(encoder, parts)
