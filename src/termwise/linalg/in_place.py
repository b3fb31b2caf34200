"""LAPACK on an upper triangle, in place and without the GIL.

The wrappers of SciPy hold the GIL, so that two starts in two threads would wait for each other's factors.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from scipy.linalg import cython_lapack

from termwise.linalg.capsule import function_pointer
from termwise.measures.base import Array

INT = ctypes.POINTER(ctypes.c_int)


@cache
def _routine(name: str) -> Any:
    """The Fortran routine (uplo, n, a, lda, info) behind SciPy's own binding."""
    form = ctypes.CFUNCTYPE(None, ctypes.c_char_p, INT, ctypes.c_void_p, INT, INT)
    return form(function_pointer(cython_lapack, name))


def in_place(name: str, A: Array) -> int:
    """Run "dpotrf" or "dpotri" on the upper triangle of A, in Fortran order; 0 if it went well."""
    assert A.flags.f_contiguous, "LAPACK works on columns"
    assert A.dtype == float, "LAPACK works on doubles"
    n, info = ctypes.c_int(A.shape[0]), ctypes.c_int(0)
    _routine(name)(b"U", n, A.ctypes.data, n, info)
    return info.value
