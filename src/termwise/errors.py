"""Errors and warnings with a name; each message says what was found, what was expected and what to do."""

from __future__ import annotations


class TermwiseError(Exception):
    """Any error that Termwise raises on purpose."""


class TableError(TermwiseError, ValueError):
    """A table that cannot be read: no rows, ragged rows, duplicate names, infinite values, ..."""


class CellError(TableError, TypeError):
    """A cell that is neither a number, a text, a truth value nor a date."""


class SchemaError(TermwiseError, ValueError):
    """A table whose columns are not those that were fitted: missing, too many, or of another type."""


class UnknownLevelError(TermwiseError, ValueError):
    """A level of a categorical column that was not seen in fit."""


class TargetError(TermwiseError, ValueError):
    """A target that cannot be fitted: not there, missing values, infinite, constant, not a number."""


class ModelFileError(TermwiseError, ValueError):
    """A model file that is truncated, changed, or not a model file at all."""


class NumericalError(TermwiseError, ValueError):
    """A computation that failed in floating point, such as a matrix that is not positive definite."""


class TermError(TermwiseError, ValueError):
    """A term that the model does not have."""


class SeveralTermsError(TermError, AttributeError):
    """Terms asked of a model that has them for each label: to `hasattr` they are not there."""


class NoTermsError(TermError, AttributeError):
    """Terms asked of a model that is one function: to `hasattr` they are not there."""


class OptionError(TermwiseError, ValueError):
    """An argument of a constructor, a function or a command that is not valid."""


class TermwiseWarning(UserWarning):
    """Something that worked, but probably not as the user meant it."""


class NotEnoughMemoryError(TermwiseError, MemoryError):
    """What is asked for needs more memory than the machine has left."""


class ClusterError(TermwiseError, RuntimeError):
    """A cluster or an executor that was lost, or that lost workers again and again, in a fit."""


class CheckpointError(TermwiseError, ValueError):
    """A checkpoint that is damaged, or of another fit."""


class GridError(NumericalError):
    """A grid would need more nodes than it may have."""


class MissingExtraError(TermwiseError, ImportError):
    """A part of the library whose own dependencies are not installed."""
