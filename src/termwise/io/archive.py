"""The container: a zip of one JSON document and some arrays, checked before anything large is read.

Whatever is wrong is raised as an ordinary error; `load` gives it the path and the remedy.
"""

from __future__ import annotations

import json
import math
import os
import re
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from termwise.__about__ import __version__
from termwise.errors import ModelFileError
from termwise.measures.base import Array

FORMAT, FIRST_FORMAT = 2, 1  # the second says how the target comes about
DOCUMENT = "model.json"
ARRAYS, OPTIONAL = ("centres", "alpha", "root"), ("seen",)
# An array of one label of many has the number of the label before it.
SUMMARIES = r"rows|middle|covariance|head\.middle|head\.roots"
NETWORKS = rf"{SUMMARIES}|(trend\.\d\.)?(weight|bias)\.\d{{1,2}}|parameter\.[a-z]{{1,20}}"
NAME = re.compile(rf"(0\.|[1-9]\d{{0,3}}\.)?({'|'.join((*ARRAYS, *OPTIONAL))}|projection)|{NETWORKS}")
MOST_JSON = 1 << 26  # bytes; 20,000 levels of a thousand letters take a third of it


def write_archive(file: BinaryIO, text: str, arrays: Mapping[str, Array]) -> None:
    """Write the document and the arrays; the same model gives the same bytes."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(DOCUMENT), text)
        for name in arrays:
            array = arrays[name].astype("<f8", copy=False)
            info, large = zipfile.ZipInfo(f"{name}.npy"), array.nbytes > 1 << 30
            # The header keeps which axis is contiguous: products of the other order round differently.
            with archive.open(info, "w", force_zip64=large) as stream:
                npy.write_array(stream, array, version=(1, 0), allow_pickle=False)


def read_archive(file: BinaryIO) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read the document and the arrays, of the shapes that the document says."""
    size = os.fstat(file.fileno()).st_size
    if not zipfile.is_zipfile(file):
        file.seek(0)
        if file.read(4) == b"PK\x03\x04":
            raise ValueError("its end is missing")
        raise ModelFileError("this is not a model file; use one that termwise.save has written")
    with zipfile.ZipFile(file) as archive:
        members = {info.filename: info for info in archive.infolist()}
        if DOCUMENT not in members:
            raise ModelFileError("this zip is not a model file; use one that termwise.save has written")
        for info in archive.infolist():
            _check_member(info, size)
        document = parse_document(archive.read(DOCUMENT))
        shapes = _shapes(document["arrays"])
        expected = {DOCUMENT, *(f"{name}.npy" for name in shapes)}
        if members.keys() != expected or len(archive.infolist()) != len(expected):
            raise ValueError(f"it has the members {sorted(members)[:10]}, expected {sorted(expected)}")
        arrays = {name: _read_array(archive, members[f"{name}.npy"], shapes[name]) for name in shapes}
    return document, arrays


def parse_document(content: bytes) -> dict[str, Any]:
    """The JSON of a format that is known, without NaN and infinities."""
    document = json.loads(content.decode("utf-8"), parse_constant=_refuse, parse_float=_finite)
    found = document["format"]
    if type(found) is int and found > FORMAT:
        written_by = str(document.get("termwise"))[:20]
        raise ModelFileError(
            f"the file has format {found}, of Termwise {written_by!r}, but Termwise {__version__} reads "
            f"formats up to {FORMAT}; upgrade termwise"
        )
    if type(found) is not int or found < FIRST_FORMAT:
        raise ValueError(f"its format is {str(found)[:20]!r}, expected {FIRST_FORMAT} to {FORMAT}")
    return dict(document)


def _check_member(info: zipfile.ZipInfo, size: int) -> None:
    # Nothing is compressed, so no member is larger than the file: a zip bomb cannot be written this way.
    name = repr(info.filename[:80])
    if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 0x1:
        raise ValueError(f"its member {name} is compressed or encrypted")
    if info.file_size != info.compress_size or info.file_size > size:
        raise ValueError(f"its member {name} has a wrong size")
    if info.filename == DOCUMENT and info.file_size > MOST_JSON:
        raise ValueError(f"its member {name} has {info.file_size} bytes, expected at most {MOST_JSON}")


def _refuse(constant: str) -> float:
    raise ValueError(f"{DOCUMENT} has the number {constant}")


def _finite(text: str) -> float:
    return float(text) if math.isfinite(float(text)) else _refuse(text[:20])


def _shapes(data: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    if not all(NAME.fullmatch(name) for name in data):
        raise ValueError(f"it has the arrays {sorted(data)[:10]}")
    shapes = {name: tuple(data[name]) for name in data}
    if any(type(length) is not int or length < 1 for shape in shapes.values() for length in shape):
        raise ValueError(f"its arrays have the shapes {shapes}")
    return shapes


def _read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, shape: tuple[int, ...]) -> Array:
    with archive.open(info) as stream:
        if npy.read_magic(stream) != (1, 0):
            raise ValueError(f"{info.filename} is not an array of version 1.0")
        found, _, dtype = npy.read_array_header_1_0(stream)
        expected = stream.tell() + 8 * math.prod(shape)
    if found != shape or dtype.str != "<f8" or info.file_size != expected:
        raise ValueError(f"{info.filename} is {dtype} of shape {found}, expected float64 of shape {shape}")
    with archive.open(info) as stream:
        values = npy.read_array(stream, allow_pickle=False)
        stream.read()  # the check sum is compared when the end of the member is reached
    return np.asarray(values.astype(np.float64, copy=False))
