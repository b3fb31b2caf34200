"""Rows as the sums over them have laid them out, kept for more sums and the way back over the same rows."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from termwise.encode.rows import ArrayChunk
from termwise.inference.learnable import Layout
from termwise.measures.base import Array

KEPT_BYTES = 2**27


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of a chunk, from `start` on."""

    rows: ArrayChunk
    chunk: Any
    start: int

    @property
    def y(self) -> Array:
        """The targets of the rows."""
        return self.rows.y

    @property
    def key(self) -> tuple[int, int]:
        """Tells it from all blocks of chunks that live at the same time."""
        return id(self.chunk), self.start


class Kept:
    """Layouts of the first rows, and what inducing rows tell of them, within one process.

    An evaluation begins, then come all sums, then the way back. The memory is used again at the next; it must
    not grow with the rows.
    """

    def __init__(self) -> None:
        self.late = True
        self._layouts: dict[tuple[int, int], tuple[Block, Layout]] = {}  # the block holds its chunk alive
        self._told: dict[tuple[int, int], Array] = {}
        self._used: list[Array] = []
        self._free: list[Array] = []
        self._room = KEPT_BYTES
        self._lock = threading.Lock()

    def begin(self, *, late: bool) -> None:
        """Forget the evaluation before; tangents of late parameters only if they are wanted."""
        self.late = late
        self._layouts.clear()
        self._told.clear()
        self._free += self._used
        self._used.clear()

    def has_room(self) -> bool:
        """Whether there may be room for one more."""
        return self._room > 0 or bool(self._free)

    def keep(self, block: Block, layout: Layout) -> None:
        """Keep the layout of a block, if there is room."""
        with self._lock:
            memory = self._memory(layout.size)
        if memory is not None:
            self._layouts[block.key] = block, layout.copied_to(memory)

    def told(self, block: Block) -> Array | None:
        """What inducing rows tell of a block, if it was kept at this evaluation."""
        return self._told.get(block.key)

    def room_for(self, block: Block, columns: int) -> Array | None:
        """A matrix to fill, and to keep by `tell` when it is, if there is room."""
        size = block.y.size * columns
        with self._lock:
            memory = self._memory(size)
        return None if memory is None else memory[:size].reshape(-1, columns)

    def tell(self, block: Block, matrix: Array) -> None:
        """Keep what inducing rows tell of a block for sums that come again."""
        self._told[block.key] = matrix

    def _memory(self, size: int) -> Array | None:
        fitting = [i for i, memory in enumerate(self._free) if memory.size >= size]
        if fitting:
            memory = self._free.pop(min(fitting, key=lambda i: self._free[i].size))
        elif self._room >= 8 * size:
            memory, self._room = np.empty(size), self._room - 8 * size
        else:
            return None
        self._used.append(memory)
        return memory

    def find(self, block: Block) -> Layout | None:
        """The layout of a block, if it was kept, for more sums."""
        _, layout = self._layouts.get(block.key, (None, None))
        return layout

    def take(self, block: Block, *, late: bool) -> Layout | None:
        """The layout of a block, if it was kept."""
        assert late == self.late, "the way back wants other tangents than the evaluation began with"
        _, layout = self._layouts.pop(block.key, (None, None))
        return layout
