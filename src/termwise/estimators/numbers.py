"""The way from a table to numbers alone, for models that mix all columns."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from termwise.encode.dense import DenseEncoder
from termwise.encode.encoder import fit_encoder
from termwise.estimators.base import schema_of
from termwise.estimators.columns import require_columns
from termwise.estimators.engine import require_memory
from termwise.measures.base import Array
from termwise.table import Table

COPIES = 5  # of all rows as numbers, that a fit holds at a time
UNKNOWN = {"mean": "marginalise", "error": "error"}  # as the encoder calls it


def as_numbers(
    table: Table, categorical: Any, unknown: str, *, owner: str, counted: NDArray[Any] | None = None
) -> tuple[DenseEncoder, Array]:
    """The encoder of a table, and its rows encoded; `counted` has the rows by which it is learned."""
    schema = schema_of(table, categorical)
    table = schema.check(table, owner=owner)
    encoder = fit_encoder(schema, table, flow=False, unknown=UNKNOWN[unknown], counted=counted)
    require_columns(encoder)
    encoded = encoder.transform(table)
    dense = DenseEncoder.fit(encoder, encoded if counted is None else encoded[counted])
    numbers = 8 * table.n_rows * len(dense.names)
    require_memory(COPIES * numbers, f"a table of {len(dense.names)} numbers a row", "leave columns out")
    return dense, dense.spread(encoded)
