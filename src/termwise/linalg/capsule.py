"""The Fortran routines behind SciPy's Cython bindings; a call of them through ctypes releases the GIL."""

from __future__ import annotations

import ctypes
from typing import Any


def function_pointer(module: Any, name: str) -> int:
    """The address of a routine that `cython_blas` or `cython_lapack` exports."""
    capsule = module.__pyx_capi__[name]
    signature, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    signature.restype, signature.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address: int = pointer(capsule, signature(capsule))
    return address
