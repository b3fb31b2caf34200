"""BLAS and LAPACK on a triangle, in place and without the GIL.

The wrappers of SciPy hold the GIL, so that two starts in two threads would wait for each other's factors.
"""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.linalg import cython_blas, cython_lapack

from termwise.measures.base import Array

CHAR, INT, DOUBLE, POINTER = (
    ctypes.c_char_p,
    ctypes.POINTER(ctypes.c_int),
    ctypes.POINTER(ctypes.c_double),
    ctypes.c_void_p,
)
FACTOR = (CHAR, INT, POINTER, INT, INT)  # uplo, n, a, lda, info
INVERSE = (CHAR, CHAR, INT, POINTER, INT, INT)  # uplo, diag, n, a, lda, info
# side, uplo, transa, diag, m, n, alpha, a, lda, b, ldb
PRODUCT = (CHAR, CHAR, CHAR, CHAR, INT, INT, DOUBLE, POINTER, INT, POINTER, INT)
# uplo, trans, n, k, alpha, a, lda, beta, c, ldc
SQUARE = (CHAR, CHAR, INT, INT, DOUBLE, POINTER, INT, DOUBLE, POINTER, INT)
PIECE = 256  # rows of a product that threads share; always, or its last bits would tell how many there were


@cache
def _routine(module: Any, name: str, form: tuple[Any, ...]) -> Any:
    """The Fortran routine behind SciPy's own binding."""
    capsule = module.__pyx_capi__[name]
    signature, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    signature.restype, signature.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    assert b"int *" in signature(capsule), f"this SciPy's {name} takes other integers than expected"
    # A call through ctypes releases the GIL.
    return ctypes.CFUNCTYPE(None, *form)(pointer(capsule, signature(capsule)))


def in_place(name: str, A: Array) -> int:
    """Run "dpotrf" or "dpotri" on the upper triangle of A, in Fortran order; 0 if it went well."""
    assert A.flags.f_contiguous, "LAPACK works on columns"
    assert A.dtype == float, "LAPACK works on doubles"
    n, info = ctypes.c_int(A.shape[0]), ctypes.c_int(0)
    _routine(cython_lapack, name, FACTOR)(b"U", n, A.ctypes.data, n, info)
    return info.value


def invert_upper(A: Array) -> None:
    """The inverse of the upper triangle of A, in Fortran order, in its place; what is below stays."""
    assert A.flags.f_contiguous, "LAPACK works on columns"
    assert A.dtype == float, "LAPACK works on doubles"
    n, info = ctypes.c_int(A.shape[0]), ctypes.c_int(0)
    _routine(cython_lapack, "dtrtri", INVERSE)(b"U", b"N", n, A.ctypes.data, n, info)
    assert info.value == 0, "a factor with a positive diagonal can be inverted"


def multiply_by_upper(B: Array, U: Array, *, transposed: bool = False) -> None:
    """B U or B U' in the place of B, for an upper triangle U, in half the time of that with a full matrix."""
    assert U.shape == (B.shape[1], B.shape[1]), "U must be square, with as many rows as B has columns"
    rows, columns = (ctypes.c_int(size) for size in B.shape)
    sizes = columns, rows, ctypes.c_double(1.0)
    # To Fortran these are B' and U', a lower triangle: B' becomes U' B' or U B'.
    args = b"L", b"L", b"T" if transposed else b"N", b"N", *sizes, *_rows(U), *_rows(B)
    _routine(cython_blas, "dtrmm", PRODUCT)(*args)


def share_by_upper(B: Array, U: Array, threads: int, *, transposed: bool = False) -> None:
    """The same by some threads, each with other rows."""
    pieces = [B[start : start + PIECE] for start in range(0, len(B), PIECE)]
    multiply = partial(multiply_by_upper, U=U, transposed=transposed)
    if threads == 1 or len(pieces) == 1:
        for piece in pieces:
            multiply(piece)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="termwise-rows") as pool:
        list(pool.map(multiply, pieces))


def turned(U: Array, S: Array, threads: int = 1) -> Array:
    """U S U' for an upper triangle U and a symmetric S."""
    half = np.array(S, order="C")
    share_by_upper(half, U, threads, transposed=True)
    whole = np.ascontiguousarray(half.T)
    share_by_upper(whole, U, threads, transposed=True)
    return whole


def upper_square(A: Array) -> Array:
    """The upper triangle of A'A, with zeros below it: NumPy would mirror it every time."""
    rows, columns = (ctypes.c_int(size) for size in A.shape)
    out = np.zeros((A.shape[1], A.shape[1]))
    factors = ctypes.c_double(1.0), *_rows(A), ctypes.c_double(0.0)
    # To Fortran this is A' and the lower triangle.
    _routine(cython_blas, "dsyrk", SQUARE)(b"L", b"N", columns, rows, *factors, *_rows(out))
    return out


def _rows(matrix: Array) -> tuple[int, ctypes.c_int]:
    """Where the rows of a matrix begin and how far they are apart; some of its columns will do."""
    width, step = matrix.strides
    assert step == 8 or matrix.shape[1] == 1, "rows are the columns of Fortran"
    assert width >= 8 * matrix.shape[1], "rows must not lie in each other"
    assert matrix.dtype == float, "BLAS works on doubles"
    return matrix.ctypes.data, ctypes.c_int(width // 8)
