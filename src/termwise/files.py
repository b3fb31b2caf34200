"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO


@contextmanager
def replaced_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A new file that takes the place of `path` once it is complete and on disk.

    After a failure `path` is as it was and nothing else is left. A device or a pipe is written to directly.
    """
    target = os.path.realpath(path)
    exists = os.path.exists(target)
    if exists and not os.path.isfile(target):
        with open(target, "wb") as special:  # a folder refuses here
            yield special
        return
    if exists and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), target)
    # In the same folder, because a rename is one step only within a file system.
    temporary = os.path.join(os.path.dirname(target), f".termwise-{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if exists:
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
