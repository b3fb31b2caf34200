"""The two public functions: a fitted model to a file and back."""

from __future__ import annotations

import json
import os
import struct
import tokenize
import zipfile

from sklearn.utils.validation import check_is_fitted

from termwise.errors import ModelFileError, OptionError
from termwise.estimators.fitted import FittedModel
from termwise.files import replaced_file
from termwise.io.archive import read_archive, write_archive
from termwise.io.describe import ESTIMATORS, arrays_of, describe
from termwise.io.restore import restore

# What the standard library, NumPy and our own constructors raise for bytes that are not a model.
DAMAGE = (
    tokenize.TokenError,  # of NumPy, which reads the head of an array as Python has it
    zipfile.BadZipFile,
    struct.error,
    EOFError,
    OSError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)
LONGEST = 300  # letters of a reason, which may quote the file


def save(model: FittedModel, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file; what stood there is replaced by the whole new file or not at all.

    The file is a zip of `model.json` and arrays; a loaded model predicts bit for bit the same. Options that
    are not plain data (a function as `progress`, a RandomState as `random_state`) are not written: a loaded
    model has their defaults. Tuples and arrays among the options come back as lists.
    """
    if ESTIMATORS.get(type(model).__name__) is not type(model):
        raise OptionError(
            f"a {type(model).__name__} cannot be saved; pass a fitted {' or '.join(ESTIMATORS)}"
        )
    check_is_fitted(model)
    try:
        text = json.dumps(describe(model), allow_nan=False)
    except ModelFileError:
        raise
    except ValueError as error:
        raise ModelFileError(
            "the model has a number that is not finite, such as an infinite level, which a model file cannot "
            "hold; write such levels as texts and fit again"
        ) from error
    arrays = arrays_of(model)
    try:
        with replaced_file(path) as file:
            write_archive(file, text, arrays)
    except OSError as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} cannot be written: {_reason(error)}; check the folder, its space and its "
            "permissions"
        ) from error


def load(path: str | os.PathLike[str]) -> FittedModel:
    """The model that `save` wrote. All of the file is checked, and nothing in it can run."""
    label = repr(os.fspath(path))
    try:
        file = open(path, "rb")  # noqa: SIM115  # so that other errors of the system are damage, not a wrong path
    except OSError as error:
        raise ModelFileError(
            f"{label} cannot be read: {_reason(error)}; check the path and its permissions"
        ) from error
    try:
        with file:
            return restore(*read_archive(file))
    except ModelFileError as error:
        raise ModelFileError(f"{label}: {_one_line(error)}") from error
    except DAMAGE as error:
        raise ModelFileError(
            f"{label} is damaged or was changed ({_one_line(error)}); copy it again or save the model again"
        ) from error


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    if not isinstance(error, (ValueError, zipfile.BadZipFile)):
        text = f"{type(error).__name__} {text}".strip()  # the text of a KeyError is only the key
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}.."
