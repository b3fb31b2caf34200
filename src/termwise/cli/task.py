"""Whether a target is to be predicted as a number or as a label."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from termwise.errors import OptionError, TargetError

if TYPE_CHECKING:
    from termwise.table import Values

REGRESSION, CLASSIFICATION = "regression", "classification"
TASKS = ("auto", REGRESSION, CLASSIFICATION)
MOST_WHOLE = 5  # different whole numbers that are taken for labels


@dataclass(frozen=True)
class Target:
    """What was seen of a target: its different values, in how many rows, and whether they are numbers.

    If it is not `complete`, there were clearly too many values before its end.
    """

    values: tuple[Any, ...]
    rows: int
    numbers: bool
    complete: bool

    @property
    def whole(self) -> bool:
        """Whether all values are whole numbers."""
        return self.numbers and all(float(value).is_integer() for value in self.values)

    @property
    def like_labels(self) -> bool:
        """Whether these numbers are likely to be labels: a few whole numbers that come back."""
        few = self.complete and 2 <= len(self.values) <= MOST_WHOLE
        return few and self.whole and len(self.values) < self.rows


def choose_task(asked: str, pieces: Iterable[Values], name: str) -> tuple[str, str]:
    """The task, and what to tell the user of the choice; nothing if there was none.

    Texts, truth values and categories are labels, and so are a few whole numbers that come back. Numbers
    with fractions are not, even if there are only two: no classifier of scikit-learn takes them as labels.
    """
    if asked == REGRESSION:
        return REGRESSION, ""
    from termwise.table.survey import MOST_LABELS

    target = look(pieces, all_labels=asked == CLASSIFICATION)
    if asked == "auto" and target.numbers and not target.like_labels:
        return REGRESSION, ""
    if len(target.values) > MOST_LABELS:
        raise TargetError(_too_many(target, name, MOST_LABELS))
    if any(isinstance(value, float) and not value.is_integer() for value in target.values):
        raise TargetError(
            f"the target {name!r} has numbers with fractions, which are no labels; use --task {REGRESSION}, "
            "or write them as text"
        )
    if asked == CLASSIFICATION or len(target.values) < 2:  # which the estimator refuses
        return CLASSIFICATION, ""
    other = f" (--task {REGRESSION} to treat them as numbers{_or_counts(target)})" if target.numbers else ""
    return CLASSIFICATION, f"{CLASSIFICATION} of {len(target.values)} labels{other}"


def look(pieces: Iterable[Values], *, all_labels: bool) -> Target:
    """The different values of a target, read no further than until there are clearly too many."""
    from termwise.table.survey import MOST_LABELS

    found = Target((), 0, numbers=True, complete=False)
    typed = True  # whether the file itself holds numbers, so that no text can follow
    for piece in pieces:
        known = _known(piece)
        typed = typed and known.dtype.kind == "f"
        values = {*found.values, *set(known.tolist())}
        numbers = typed or _read_as_numbers(values)
        found = Target(tuple(values), found.rows + len(known), numbers, complete=False)
        few = MOST_WHOLE if typed and not all_labels else MOST_LABELS
        if len(values) > few or (typed and not found.whole and not all_labels):
            return found
    return replace(found, complete=True)


def targets(tables: Sequence[str], name: str) -> Iterator[Values]:
    """The target of Parquet row group by row group; no other column is read."""
    from termwise.table import open_dataset
    from termwise.table.arrow import Codes
    from termwise.table.target import feature_names

    chunks = open_dataset(list(tables))
    feature_names(chunks[0].names, name)  # refuses a target that is not there
    cells = (chunk.cells([name])[name] for chunk in chunks)
    return (part.values() if isinstance(part, Codes) else part for part in cells)


def refuse_other_options(task: str, name: str, **given: str | None) -> None:
    """Refuse options that would be without effect."""
    if task == REGRESSION and given["link"] is not None:
        raise OptionError(
            f"--link is for labels, but {name!r} is predicted as a number; leave it out, or use --task "
            f"{CLASSIFICATION}"
        )
    if task == CLASSIFICATION and given["likelihood"] is not None:
        raise OptionError(
            f"--likelihood is for numbers, but {name!r} is predicted as labels; leave it out, or use --task "
            f"{REGRESSION}"
        )
    if given["exposure"] is not None and given["likelihood"] != "poisson":
        raise OptionError("--exposure is for counts; use it with --likelihood poisson, or leave it out")


def refuse_missing(exposure: str, names: Sequence[str]) -> None:
    """Refuse an exposure that is no column besides the target."""
    if exposure not in names:
        raise OptionError(
            f"--exposure is {exposure!r}, and there is no such column besides the target; the columns are "
            f"{', '.join(map(repr, names))}"
        )


def refuse_checkpoints(checkpoint: str | None, resume: str | None) -> None:
    """Refuse checkpoints of tables that are read whole."""
    if checkpoint is not None or resume is not None:
        raise OptionError(
            "--checkpoint and --resume are for Parquet, which is read in pieces; write the table as Parquet, "
            "or leave them out"
        )


def _known(piece: Values) -> Values:
    """The cells that are not missing, of which the estimator complains."""
    import numpy as np

    if piece.dtype.kind == "f":
        return piece[~np.isnan(piece)]
    return piece[[cell is not None for cell in piece.tolist()]]


def _read_as_numbers(values: set[Any]) -> bool:
    """Whether texts are numbers that a file holds as text; a regressor takes them as numbers too."""
    from termwise.table.cells import number_of

    return bool(values) and all(isinstance(v, str) and number_of(v) is not None for v in values)


def _or_counts(target: Target) -> str:
    counts = all(float(value) >= 0.0 for value in target.values)
    return ", --likelihood poisson as counts" if counts else ""


def _too_many(target: Target, name: str, most: int) -> str:
    some = ", ".join(repr(value) for value in sorted(target.values)[:3])
    remedy = f"use --task {REGRESSION}" if target.numbers else "put rare ones together"
    return (
        f"the target {name!r} has more than {most} different values, such as {some}; {remedy}, or choose "
        "another target"
    )
