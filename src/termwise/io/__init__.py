"""Saving and loading fitted models as data: a zip of JSON and .npy arrays, in which nothing can run."""

from __future__ import annotations

from termwise.files import replaced_file
from termwise.io.files import load, save

__all__ = ["load", "replaced_file", "save"]
