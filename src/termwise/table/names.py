"""Names of columns: duplicates, and the closest name to one that is not there."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Sequence

_SHOWN = 20


def quoted(names: Iterable[str]) -> str:
    """The names in quotes, separated by commas; a long list is cut so that a message stays one line."""
    listed = [repr(name) for name in names]
    if len(listed) > _SHOWN:
        listed = [*listed[:_SHOWN], f"... ({len(listed) - _SHOWN} more)"]
    return ", ".join(listed)


def duplicates(names: Sequence[str]) -> tuple[str, ...]:
    """The names that occur more than once, in order of first appearance."""
    return tuple(name for name, count in Counter(names).items() if count > 1)


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """' (did you mean 'income'?)' when some name is close to the one asked for, else nothing."""
    by_folded = {known.casefold(): known for known in reversed(names)}
    close = difflib.get_close_matches(name.casefold(), list(by_folded), n=3, cutoff=0.6)
    if not close:
        return ""
    return f" (did you mean {' or '.join(repr(by_folded[match]) for match in close)}?)"
