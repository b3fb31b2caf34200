"""Labels and weights as a classifier takes them, with a remedy in every message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from termwise.encode.target import LabelTarget
from termwise.errors import OptionError, TargetError
from termwise.estimators.known import Known
from termwise.estimators.options import one_column
from termwise.measures.base import Array
from termwise.table import level_text
from termwise.table.survey import MOST_LABELS, LabelSurvey

SHOWN = 10  # labels that a message lists


@dataclass(frozen=True, eq=False)
class Weights:
    """How often each row counts, and how much of a row each label is; None where all are alike."""

    times: Array | None = None
    of_label: Array | None = None

    def of_rows(self, codes: Array) -> Array | None:
        """How much the label of each row is."""
        return None if self.of_label is None else self.of_label[codes]


def classes_of(y: Any, n_rows: int) -> tuple[Array, Array]:
    """The labels in order, and the position of each row's label among them."""
    if y is None:
        raise TargetError(
            "fit requires y to be passed, but the target y is None; give one label for each row"
        )
    labels = label_array(y, n_rows)
    _refuse_numbers(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    if classes.size > MOST_LABELS:
        raise TargetError(
            f"the target has {classes.size} different labels, more than {MOST_LABELS}, and each costs a fit; "
            "use a regressor if they are numbers, or put rare labels together"
        )
    if classes.size < 2:
        raise TargetError(
            f"all rows have the label {_said(classes.tolist()[0])}: one class, expected at least two; check "
            "that the right column is the target"
        )
    return classes, codes


def codes_of(y: Any, classes: Array, n_rows: int) -> Array:
    """The position of each row's label among labels that are known already."""
    if y is None:
        raise TargetError("the target y is None; give one label for each row")
    given = label_array(y, n_rows)
    if given.dtype.kind == classes.dtype.kind == "M":  # of which the unit decides what `tolist` makes
        unit = np.promote_types(given.dtype, classes.dtype)
        given, classes = given.astype(unit), classes.astype(unit)
    labels = given.tolist()
    position = {label: code for code, label in enumerate(classes.tolist())}
    unknown = [row for row, label in enumerate(labels) if label not in position]
    if unknown:
        first = _said(label_values(given)[unknown[0]])
        raise TargetError(
            f"the label {first} of row {unknown[0]} was not there in fit, which had {listed(classes)}; "
            "leave such rows out, or fit with them"
        )
    return np.array([position[label] for label in labels], dtype=np.intp)


def label_array(y: Any, n_rows: int) -> Array:
    """One label for each row, all of one kind and none missing."""
    labels = one_column(_cells(y))
    if labels.ndim != 1 or labels.size != n_rows:
        raise TargetError(
            f"the target has the shape {labels.shape}, but the table has {n_rows} rows; give "
            "one label for each row"
        )
    cells = labels.tolist()
    is_date = labels.dtype.kind in "mM"  # of which tolist may make numbers
    missing = np.flatnonzero(np.isnat(labels) if is_date else [_is_missing(label) for label in cells])
    if missing.size:
        raise TargetError(f"the label of row {missing[0]} is missing or NaN; leave such rows out")
    kinds = sorted({_kind(label) for label in cells})
    if len(kinds) > 1:
        raise TargetError(f"the labels are of the types {', '.join(kinds)}; give all of them as one")
    if labels.dtype == object and kinds != ["text"]:
        return np.array(cells)  # truth values and numbers have arrays of their own, which sort faster
    return labels


def label_column(class_weight: Any, known: Known) -> tuple[LabelTarget, Array]:
    """How the labels of a data set are read, and the labels in order."""
    about = known.survey.target
    assert isinstance(about, LabelSurvey), "a classifier asks for labels"
    if len(about.counts) > MOST_LABELS:
        raise TargetError(
            f"the target {known.wanted.target!r} has more than {MOST_LABELS} different labels; use a "
            "regressor if they are numbers, or put rare labels together"
        )
    classes, codes = classes_of(list(about.counts), len(about.counts))
    counts = np.array(list(about.counts.values()))[np.argsort(codes)]
    of_label = _class_weights(class_weight, classes, counts.astype(float))
    weights = None if of_label is None else tuple(of_label.tolist())
    return LabelTarget(known.wanted.target, tuple(classes.tolist()), weights=weights), classes


def label_values(labels: Array) -> list[Any]:
    """The labels one by one; dates as themselves, of which `tolist` makes whole numbers in some units."""
    return list(labels) if labels.dtype.kind in "mM" else labels.tolist()


def label_text(label: Any) -> str:
    """A label as figures show it; a date without the digits it has no use for."""
    if isinstance(label, np.datetime64):
        return str(np.datetime_as_string(label, unit="auto"))
    return level_text(label)


def _said(label: Any) -> str:
    if isinstance(label, np.datetime64):
        return label_text(label)
    return repr(label.item() if isinstance(label, np.generic) else label)


def listed(classes: Array) -> str:
    """The labels as a message shows them."""
    shown = ", ".join(_said(label) for label in label_values(classes)[:SHOWN])
    return shown if classes.size <= SHOWN else f"{shown}, .. ({classes.size} in all)"


def weights_of(class_weight: Any, classes: Array, codes: Array, sample_weight: Any) -> Weights:
    """How often rows count, and how labels count beside each other."""
    times = None if sample_weight is None else _row_weights(sample_weight, codes.size)
    counts = np.bincount(codes, weights=times, minlength=classes.size).astype(float)
    return Weights(times, _class_weights(class_weight, classes, counts))


def _refuse_nothing(totals: Array, classes: Array) -> None:
    nothing = label_values(classes[totals <= 0.0])
    if nothing:
        raise OptionError(
            f"the rows of the class {_said(nothing[0])} have weight zero, so nothing is known of it; leave "
            "its rows out, or let some count"
        )


def _row_weights(sample_weight: Any, n_rows: int) -> Array:
    try:
        weight = np.asarray(sample_weight, dtype=float)
    except (TypeError, ValueError) as error:
        raise OptionError(
            f"sample_weight is not made of numbers ({error}); give one number for each row"
        ) from None
    if weight.shape not in ((), (n_rows,)):
        raise OptionError(
            f"sample_weight has the shape {weight.shape}, but the table has {n_rows} rows; give one number "
            "for each row"
        )
    if not np.all(np.isfinite(weight)) or np.any(weight < 0.0):
        raise OptionError("sample_weight has weights that are negative or not finite; use zero or more")
    if not np.any(weight > 0.0):
        raise OptionError("sample_weight is zero in every row; some row must count")
    return np.broadcast_to(weight, (n_rows,)).copy()


def _class_weights(class_weight: Any, classes: Array, counts: Array) -> Array | None:
    """Weights of labels that occur so often, of which the largest is one; None if all are.

    A row of more would be seen several times. To a process that says its label is no chance, and it would
    learn what is.
    """
    _refuse_nothing(counts, classes)
    if class_weight is None:
        return None
    balanced = not isinstance(class_weight, Mapping)
    each = 1.0 / counts if balanced else _named_weights(class_weight, classes)
    if not np.all(np.isfinite(each)) or np.any(each < 0.0) or not np.any(each > 0.0):
        raise OptionError(f"class_weight is {class_weight!r}; use weights of zero or more, not all zero")
    _refuse_nothing(each, classes)
    return None if np.ptp(each) == 0.0 else each / np.max(each)


def _named_weights(class_weight: Mapping[Any, Any], classes: Array) -> Array:
    """The weight of each label; one that is not named has one."""
    each = np.ones(classes.size)
    for label, weight in class_weight.items():
        place = _place(label, classes)
        if place is None:
            raise OptionError(
                f"class_weight names {label!r}, which is not one of the labels {listed(classes)}; leave "
                "it out, or check how it is spelled"
            )
        try:
            each[place] = float(weight)
        except (TypeError, ValueError) as error:
            raise OptionError(
                f"class_weight is {class_weight!r}; {error}; give each label a number"
            ) from None
    return each


def _place(label: Any, classes: Array) -> int | None:
    """Where a label is; dates may be of any kind that NumPy reads."""
    if classes.dtype.kind == "M":
        try:
            found = np.flatnonzero(classes == np.datetime64(label))
        except (TypeError, ValueError):
            return None
        return int(found[0]) if found.size else None
    labels = classes.tolist()
    return labels.index(label) if label in labels else None


def _cells(y: Any) -> Array:
    """The labels as an array in which each is still what it was: numpy makes texts of [1, "a"]."""
    if not isinstance(y, (list, tuple)) or any(isinstance(cell, (list, tuple, np.ndarray)) for cell in y):
        return np.asarray(y)
    cells = np.empty(len(y), dtype=object)
    cells[:] = y
    if {type(cell) for cell in y} == {str}:
        return cells.astype(str)
    return cells


def _is_missing(label: Any) -> bool:
    # pandas' missing values are known by their name, so that pandas is not imported; NaN is not itself.
    return label is None or type(label).__name__ in {"NAType", "NaTType"} or bool(label != label)


def _kind(label: Any) -> str:
    if isinstance(label, str):
        return "text"
    if isinstance(label, (bool, np.bool_)):
        return "truth value"
    return "number" if isinstance(label, (int, float, np.number)) else type(label).__name__


def _refuse_numbers(labels: Array) -> None:
    if np.iscomplexobj(labels):
        raise TargetError("Complex data not supported: the labels are complex; give texts or whole numbers")
    if labels.dtype.kind == "f" and np.any(np.isinf(labels)):
        row = int(np.argmax(np.isinf(labels)))
        raise TargetError(f"the label of row {row} is infinity; leave such rows out, or name the label")
    if labels.dtype.kind == "S":
        raise TargetError("the labels are bytes; decode them to texts, such as y.astype(str)")
    kind = type_of_target(labels)
    if kind.startswith("continuous"):
        raise TargetError(
            "Unknown label type: continuous. The target has numbers with fractions; use a regressor to "
            "predict numbers, or make them texts if they are labels"
        )
    if kind not in ("binary", "multiclass"):
        raise TargetError(
            f"Unknown label type: {type(labels.tolist()[0]).__name__}. Labels must have an order; give texts "
            "or whole numbers"
        )
