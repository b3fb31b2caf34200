"""Products with symmetric Toeplitz matrices in m log m."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from termwise.measures.base import Array


@dataclass(frozen=True, eq=False)
class Toeplitz:
    """T_ij = column[|i - j|]."""

    column: Array

    @cached_property
    def _length(self) -> int:
        return int(next_fast_len(2 * self.column.size, real=True))

    @cached_property
    def _spectrum(self) -> Array:
        """That of the circulant matrix that has T in its corner."""
        m = self.column.size
        circle = np.zeros(self._length)
        circle[:m] = self.column
        circle[self._length - m + 1 :] = self.column[:0:-1]
        spectrum: Array = rfft(circle).real
        return spectrum

    def times(self, V: Array) -> Array:
        """T V along the second axis of V, (C, m, k)."""
        along = rfft(V, self._length, axis=1) * self._spectrum[:, None]
        product: Array = irfft(along, self._length, axis=1)[:, : self.column.size]
        return np.ascontiguousarray(product)

    def dense(self) -> Array:
        """The matrix itself."""
        m = self.column.size
        matrix: Array = self.column[np.abs(np.subtract.outer(np.arange(m), np.arange(m)))]
        return matrix
