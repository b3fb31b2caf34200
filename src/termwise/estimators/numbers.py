"""The way from a table to numbers alone, for models that mix all columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from termwise.encode.dense import DenseEncoder
from termwise.encode.encoder import NumberEncoder, fit_encoder
from termwise.encode.flow import fit_flow
from termwise.estimators.base import schema_of
from termwise.estimators.columns import require_columns
from termwise.estimators.engine import require_memory
from termwise.measures.base import Array
from termwise.table import Table

COPIES = 5  # of all rows as numbers, that a fit holds at a time
UNKNOWN = {"mean": "marginalise", "error": "error"}  # as the encoder calls it


def as_numbers(
    table: Table,
    categorical: Any,
    unknown: str,
    *,
    owner: str,
    flow: bool = False,
    counted: NDArray[Any] | None = None,
) -> tuple[DenseEncoder, Array]:
    """The encoder of a table, and its rows encoded.

    `flow` bends numbers towards the normal; `counted` has the rows by which the encoder is learned.
    """
    schema = schema_of(table, categorical)
    table = schema.check(table, owner=owner)
    encoder = fit_encoder(schema, table, flow=flow, unknown=UNKNOWN[unknown], counted=counted)
    require_columns(encoder)
    encoded = encoder.transform(table)
    dense = DenseEncoder.fit(encoder, encoded if counted is None else encoded[counted])
    numbers = 8 * table.n_rows * len(dense.names)
    require_memory(COPIES * numbers, f"a table of {len(dense.names)} numbers a row", "leave columns out")
    return dense, dense.spread(encoded)


def bent(dense: DenseEncoder, encoded: Array) -> Array:
    """Encoded rows as numbers, with columns that were only standardised bent towards the normal.

    Which columns act together does not change when each is bent for itself, and networks learn it sooner
    from rows of which none is far off.
    """
    rows = encoded.copy()
    for place, column in enumerate(dense.encoder.columns):
        if isinstance(column, NumberEncoder):
            known = ~np.isnan(rows[:, place])
            rows[known, place] = fit_flow(rows[known, place]).forward(rows[known, place])
    return dense.spread(rows)
