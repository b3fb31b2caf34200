"""LAPACK on an upper triangle, in place and without the GIL.

The wrappers of SciPy hold the GIL, so that two starts in two threads would wait for each other's factors.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from scipy.linalg import cython_lapack

from termwise.measures.base import Array

INT = ctypes.POINTER(ctypes.c_int)


@cache
def _routine(name: str) -> Any:
    """The Fortran routine (uplo, n, a, lda, info) behind SciPy's own binding."""
    capsule = cython_lapack.__pyx_capi__[name]
    signature, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    signature.restype, signature.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    # A call through ctypes releases the GIL.
    form = ctypes.CFUNCTYPE(None, ctypes.c_char_p, INT, ctypes.c_void_p, INT, INT)
    return form(pointer(capsule, signature(capsule)))


def in_place(name: str, A: Array) -> int:
    """Run "dpotrf" or "dpotri" on the upper triangle of A, in Fortran order; 0 if it went well."""
    assert A.flags.f_contiguous, "LAPACK works on columns"
    assert A.dtype == float, "LAPACK works on doubles"
    n, info = ctypes.c_int(A.shape[0]), ctypes.c_int(0)
    _routine(name)(b"U", n, A.ctypes.data, n, info)
    return info.value
