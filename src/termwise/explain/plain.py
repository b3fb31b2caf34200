"""Plain data from results: what JSON can write, and data frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from termwise.errors import OptionError


def plain(value: Any) -> Any:
    """Numbers, texts, lists and dicts only; what is not a finite number becomes None, as JSON has none."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    return int(value) if isinstance(value, np.integer) else value


def frame_of(columns: Mapping[str, Any], index: Any = None) -> Any:
    """A pandas data frame of these columns."""
    try:
        import pandas as pd
    except ImportError:
        raise OptionError("frame() needs pandas; install it, or use to_dict()") from None
    return pd.DataFrame(dict(columns), index=index)
