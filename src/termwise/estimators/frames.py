"""Results in frames like those that were given: the same library, the same index."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from termwise.measures.base import Array


def frame_like(X: Any, values: Array, names: list[str]) -> Any:
    """The values as a frame of the same library as X, if X is a frame."""
    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError:
        return values
    if frame.implementation.is_pandas():  # keeps the index, and the rows where there is no term
        return frame.implementation.to_native_namespace().DataFrame(values, index=X.index, columns=names)
    columns = {name: values[:, i] for i, name in enumerate(names)}
    return nw.from_dict(columns, backend=frame.implementation).to_native()


def index_of(X: Any) -> Any:
    """The index of a pandas frame, which keeps the names of the rows; None of anything else."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)  # a list has an `index` of another kind
    return X.index if isinstance(frame, nw.DataFrame) and frame.implementation.is_pandas() else None
