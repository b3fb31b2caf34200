"""From typed columns to the matrix that kernels read, and back."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from termwise.encode.flow import Flow, Step, fit_flow
from termwise.encode.scale import Array, Standardise
from termwise.errors import ModelFileError, TermwiseWarning, UnknownLevelError
from termwise.table import Column, Schema, Table, level_text
from termwise.table.cells import Level

MOST_SINGLE_LEVELS = 20  # with more levels than this, each in one row only, a column is an identifier


@dataclass(frozen=True)
class NumberEncoder:
    """A number through its flow."""

    flow: Flow

    def forward(self, values: np.ndarray) -> Array:
        """Encode; NaN stays NaN."""
        return self.flow.forward(values)

    def inverse(self, z: Array) -> Array:
        """Decode to the units of the table."""
        return self.flow.inverse(z)

    def followed_by(self, steps: tuple[Step, ...]) -> NumberEncoder:
        """The same with more steps behind it."""
        return NumberEncoder(replace(self.flow, steps=(*self.flow.steps, *steps)))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {"kind": "number", "flow": self.flow.to_dict()}


@dataclass(frozen=True)
class LevelEncoder:
    """A level to its code 0 .. L-1, the position among the sorted levels."""

    name: str
    levels: tuple[Level, ...]
    unknown: str

    def forward(self, values: np.ndarray) -> Array:
        """Encode; missing cells and, if they are marginalised, unknown levels become NaN."""
        codes = {level: float(code) for code, level in enumerate(self.levels)}
        if self.unknown == "error":
            for row, value in enumerate(values):
                if value is not None and value not in codes:
                    found = f"column {self.name!r} has level {level_text(value)!r} in row {row}"
                    remedy = "leave the row out, or fit with another unknown than 'error'"
                    raise UnknownLevelError(f"{found}, not seen in fit; {remedy}")
        return np.array([codes.get(value, np.nan) for value in values], dtype=np.float64)

    def inverse(self, z: Array) -> np.ndarray:
        """Decode to levels."""
        found = [None if np.isnan(code) else self.levels[int(code)] for code in z]
        return np.array(found, dtype=object)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {"kind": "level", "name": self.name, "levels": list(self.levels), "unknown": self.unknown}


ColumnEncoder = NumberEncoder | LevelEncoder


class OneColumn(Protocol):
    """From the values of a column to its codes, and back."""

    def forward(self, values: np.ndarray) -> Array:
        """Encode."""

    def inverse(self, z: Array) -> np.ndarray:
        """Decode."""


class RowEncoder(Protocol):
    """The way from a table to the rows that a kernel reads, and what its columns are."""

    @property
    def schema(self) -> Schema:
        """The columns of the table."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that a kernel reads."""

    @property
    def labels(self) -> tuple[str, ...]:
        """What stands at their axes in a figure."""

    @property
    def columns(self) -> Sequence[OneColumn]:
        """How each of them is encoded."""

    def transform(self, table: Table, *, owner: str = "the model") -> Array:
        """The encoded rows."""


@dataclass(frozen=True)
class Encoder:
    """All columns that vary and are wanted; a column with one value has no effect and is left out."""

    schema: Schema
    active: tuple[int, ...]
    columns: tuple[ColumnEncoder, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that are encoded."""
        return tuple(self.schema.names[i] for i in self.active)

    @property
    def labels(self) -> tuple[str, ...]:
        """Their names."""
        return self.names

    @property
    def used(self) -> tuple[str, ...]:
        """The columns of the table that have an effect: all that are encoded."""
        return self.names

    def transform(self, table: Table, *, owner: str = "the model") -> Array:
        """The encoded rows, (n, active columns), with NaN for what is missing or not known."""
        matched = self.schema.check(table, owner=owner)
        X = np.empty((matched.n_rows, len(self.active)))
        for position, (i, encoder) in enumerate(zip(self.active, self.columns, strict=True)):
            X[:, position] = encoder.forward(matched.columns[i])
        return X

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {
            "schema": self.schema.to_dict(),
            "active": list(self.active),
            "columns": [column.to_dict() for column in self.columns],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Encoder:
        """Read what `to_dict` wrote."""
        columns = tuple(_column_from_dict(column) for column in data["columns"])
        return cls(Schema.from_dict(data["schema"]), tuple(int(i) for i in data["active"]), columns)


def _column_from_dict(data: Mapping[str, Any]) -> ColumnEncoder:
    if data["kind"] == "number":
        return NumberEncoder(Flow.from_dict(data["flow"]))
    if data["kind"] == "level":
        levels = tuple(
            float(v) if isinstance(v, int) and not isinstance(v, bool) else v for v in data["levels"]
        )
        return LevelEncoder(str(data["name"]), levels, str(data["unknown"]))
    raise ModelFileError(
        f"the model file has a column encoder of kind {data['kind']!r}, expected 'number' or 'level'; "
        "save the model again with this version"
    )


def fit_encoder(
    schema: Schema,
    table: Table,
    *,
    flow: bool,
    unknown: str,
    counted: np.ndarray | None = None,
    only: Collection[str] | None = None,
) -> Encoder:
    """Fit the encoding of every column that varies; `flow` bends numbers towards the normal.

    `counted` are the positions of rows, each as often as it counts, if not all count once; `only` names the
    columns that are wanted, if not all are.
    """
    return fit_encoders(schema, table, flows=(flow,), unknown=unknown, counted=counted, only=only)[0]


def fit_encoders(
    schema: Schema,
    table: Table,
    *,
    flows: Sequence[bool],
    unknown: str,
    counted: np.ndarray | None = None,
    only: Collection[str] | None = None,
) -> list[Encoder]:
    """Fit every encoding that is asked for, with the flow or without; those that are the same once."""
    active, columns = [], []
    for i, (column, values) in enumerate(zip(schema.columns, table.columns, strict=True)):
        if only is not None and column.name not in only:
            continue
        if counted is not None and not column.is_discrete:
            values = values[counted]
        each = _fit_column(column, values, flows=flows, unknown=unknown)
        if each:
            active.append(i)
            columns.append(each)
    ways = zip(*columns, strict=True) if columns else [()] * len(flows)
    found: list[Encoder] = []
    for way in ways:
        encoder = Encoder(schema, tuple(active), tuple(way))
        if encoder not in found:
            found.append(encoder)
    return found


def _fit_column(
    column: Column, values: np.ndarray, *, flows: Sequence[bool], unknown: str
) -> list[ColumnEncoder]:
    """The encoder of a column for each of the flows; none if the column is left out."""
    if column.is_discrete:
        known_levels = sum(value is not None for value in values)
        if len(column.levels) == known_levels > MOST_SINGLE_LEVELS:
            warnings.warn(
                f"column {column.name!r} has a new level in every row, like an identifier, and is left out; "
                "leave it out of the table, or make it a number if it is one",
                TermwiseWarning,
                stacklevel=2,
            )
            return []
        levels = LevelEncoder(column.name, column.levels, unknown)
        return [levels] * len(flows) if len(column.levels) > 1 else []
    known = values[~np.isnan(values)]
    if known.size == 0 or np.min(known) == np.max(known):
        return []
    return [NumberEncoder(fit_flow(known) if flow else plain_flow(known)) for flow in flows]


def plain_flow(x: Array) -> Flow:
    """Standardising only, as a flow without steps."""
    units = Standardise.fit(x)
    s = units.forward(x)
    return Flow(units, (), float(np.min(s)), float(np.max(s)))
