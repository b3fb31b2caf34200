"""Random rows, few at a time, of data that need not fit in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from termwise.encode.rows import ArrayChunk
from termwise.inference.blocks import Chunk
from termwise.measures.base import Array

WINDOW_BYTES = 2**28  # of chunks whose rows are mixed with each other


@dataclass(frozen=True, eq=False)
class Minibatches:
    """Round after round every row once, in random order: chunks are shuffled, and rows among some of them.

    A data set may be sorted, so a minibatch has rows of as many chunks as there is memory for. What comes at
    a step depends on the seed and the step alone: a fit that is resumed sees the rows it would have seen.
    """

    chunks: Sequence[Chunk]
    n_rows: int
    size: int
    seed: int

    @property
    def per_round(self) -> int:
        """The minibatches of a round; rows that do not fill one are left to the next round's luck."""
        return max(1, self.n_rows // self.size)

    def after(self, step: int) -> Iterator[ArrayChunk]:
        """The minibatches that come after so many."""
        number, done = divmod(step, self.per_round)
        while True:
            yield from islice(self._round(number), done, self.per_round)
            number, done = number + 1, 0

    def _round(self, number: int) -> Iterator[ArrayChunk]:
        rng = np.random.default_rng([self.seed, number])
        left: list[ArrayChunk] = []
        for window in self._windows(rng.permutation(len(self.chunks))):
            mixed = [*left, *window]
            order = rng.permutation(sum(rows.y.size for rows in mixed))
            whole = order.size - order.size % self.size
            for start in range(0, whole, self.size):
                yield taken(mixed, order[start : start + self.size])
            left = [taken(mixed, order[whole:])] if whole < order.size else []
            del window, mixed  # before the next is read
        if self.n_rows < self.size:
            yield from left

    def _windows(self, order: Array) -> Iterator[list[ArrayChunk]]:
        window: list[ArrayChunk] = []
        for position in order:
            window.append(self.chunks[position].read())
            if sum(rows.nbytes for rows in window) >= WINDOW_BYTES:
                yield window
                window = []
        if window:
            yield window


def taken(window: Sequence[ArrayChunk], positions: Array) -> ArrayChunk:
    """The rows at these positions of several chunks, counted through."""
    ends = np.cumsum([rows.y.size for rows in window])
    if len(window) == 1:
        return window[0].rows(positions)
    positions = np.sort(positions)
    cuts = np.searchsorted(positions, ends)
    parts, begin = [], 0
    for rows, end, cut in zip(window, ends, cuts, strict=True):
        if cut > begin:
            parts.append(rows.rows(positions[begin:cut] - (end - rows.y.size)))
        begin = cut
    return joined(parts)


def joined(parts: Sequence[ArrayChunk]) -> ArrayChunk:
    """Some rows under others; all of them have weights and offsets, or none."""
    if len(parts) == 1:
        return parts[0]

    def stacked(name: str) -> Array | None:
        arrays = [getattr(part, name) for part in parts]
        return None if arrays[0] is None else np.concatenate(arrays)

    X, y = (np.concatenate([getattr(part, name) for part in parts]) for name in ("X", "y"))
    return ArrayChunk(X, y, stacked("weight"), stacked("offset"))
