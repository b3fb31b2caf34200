"""Triangular solves for many rows at once, in place and without the GIL (SciPy's wrappers hold it)."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from scipy.linalg import cython_blas

from termwise.linalg.capsule import function_pointer
from termwise.measures.base import Array

CHAR, INT, DOUBLE = ctypes.c_char_p, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_double)
ADDRESS = ctypes.c_void_p


@cache
def _dtrsm() -> Any:
    form = ctypes.CFUNCTYPE(
        None, CHAR, CHAR, CHAR, CHAR, INT, INT, DOUBLE, ADDRESS, INT, ADDRESS, INT
    )  # side, uplo, transa, diag, m, n, alpha, a, lda, b, ldb
    return form(function_pointer(cython_blas, "dtrsm"))


def solve_rows(upper: Array, rows: Array) -> None:
    """Replace every row k (row-major, (n, M)) by U^-T k, for U in Fortran order."""
    assert upper.flags.f_contiguous, "BLAS works on columns"
    assert rows.flags.c_contiguous, "a row is a column of BLAS"
    size, count = ctypes.c_int(rows.shape[1]), ctypes.c_int(rows.shape[0])
    one = ctypes.c_double(1.0)
    address, where = upper.ctypes.data, rows.ctypes.data
    _dtrsm()(b"L", b"U", b"T", b"N", size, count, one, address, size, where, size)
