"""What a long fit has come to, on disk: a killed fit goes on from there."""

from __future__ import annotations

import os
import struct
import time
import warnings
import zipfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from termwise.errors import CheckpointError, OptionError, TermwiseWarning
from termwise.measures.base import Array

SUFFIX = ".npz"
KEPT = 2  # the newest, and the one before it in case that is damaged
EVERY = 20.0  # seconds
DAMAGE = (zipfile.BadZipFile, struct.error, EOFError, OSError, LookupError, RuntimeError, ValueError)


@dataclass(eq=False)
class Checkpoints:
    """A folder of checkpoints of one fit, each a zip of arrays that nothing can run from.

    `fingerprint` tells this fit from others: the data, the model and its options.
    """

    folder: Path
    fingerprint: Array
    every: float = field(default_factory=lambda: EVERY)  # as it is now: who is in a hurry may change it
    _last: float = field(default_factory=time.monotonic)

    def is_time(self) -> bool:
        """Whether the last one is long ago."""
        return time.monotonic() - self._last >= self.every

    def write(self, step: int, arrays: Mapping[str, Array]) -> None:
        """Write one whole, or not at all, and remove those that are not needed any more."""
        path = self.folder / f"{step:09d}{SUFFIX}"
        self._last = time.monotonic()
        try:
            self._write(path, arrays)
        except OSError as error:  # a full disk should not end a fit that goes on without it
            _warn(f"the checkpoint {path} cannot be written ({error.strerror}); the fit goes on without it")
            return
        for old in self._paths()[KEPT:]:
            old.unlink(missing_ok=True)

    def _write(self, path: Path, arrays: Mapping[str, Array]) -> None:
        beside = path.with_suffix(".part")
        with open(beside, "wb") as file:
            np.savez(file, fingerprint=self.fingerprint, **arrays)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)

    def read(self) -> dict[str, Array] | None:
        """The newest that is whole; None if the fit was killed before it wrote any."""
        refused: dict[Path, str] = {}
        for path in self._paths():
            try:
                found = _arrays(path)
            except PermissionError as error:
                raise CheckpointError(
                    f"{path} cannot be read: permission denied; check who owns it"
                ) from error
            except DAMAGE as error:
                reason = " ".join(str(error).split())[:120]
                refused[path] = f"{path} is cut short or damaged ({reason})"
                continue
            self._check(path, found)
            if refused:
                said = "; ".join(refused.values())
                _warn(f"{said}: the checkpoint before it is used, {path.name}")
            for damaged in refused:  # or it would be taken for one of the newest
                damaged.unlink(missing_ok=True)
            return found
        if refused:
            raise CheckpointError(
                f"{'; '.join(refused.values())}, and there is no other; fit again from the beginning with "
                "checkpoint="
            )
        return None

    def _check(self, path: Path, found: Mapping[str, Array]) -> None:
        if not np.array_equal(found.get("fingerprint", np.zeros(0)), self.fingerprint):
            raise CheckpointError(
                f"{path} is of a fit of other data or with other options; resume with those it was begun "
                "with, or fit again with checkpoint= and another folder"
            )

    def _paths(self) -> list[Path]:
        return sorted(self.folder.glob(f"*{SUFFIX}"), reverse=True)


def _warn(text: str) -> None:
    warnings.warn(text, TermwiseWarning, stacklevel=3)


def _arrays(path: Path) -> dict[str, Array]:
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def new_folder(path: str | os.PathLike[str]) -> Path:
    """A folder for checkpoints, made if it is not there; it must not hold those of another fit."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.rglob(f"*{SUFFIX}")):
            raise OptionError(
                f"checkpoint is {str(folder)!r}, which holds checkpoints already; go on from them with "
                "resume=, or give another folder"
            )
        probe = folder / "writable.part"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise OptionError(
            f"checkpoint is {str(folder)!r}, a folder that cannot be written to ({error.strerror}); give "
            "another path"
        ) from error
    return folder


def old_folder(path: str | os.PathLike[str]) -> Path:
    """The folder of a fit that is to go on."""
    folder = Path(path)
    if not folder.is_dir():
        raise OptionError(
            f"resume is {str(folder)!r}, and there is no such folder of checkpoints; give the one that the "
            "fit was begun with as checkpoint="
        )
    if not any(folder.rglob(f"*{SUFFIX}")):
        _warn(f"the folder {str(folder)!r} has no checkpoint yet, so the fit begins at the beginning")
    return folder


def refuse_others(folder: Path, places: Collection[Path]) -> None:
    """Refuse checkpoints where this fit has no place for them: it would begin anew beside them, unsaid."""
    strange = sorted(path for path in folder.rglob(f"*{SUFFIX}") if path.parent not in places)
    if strange:
        raise CheckpointError(
            f"{strange[0]} is of a fit to other labels, more of them or fewer; resume with the target it was "
            "begun with, or fit again with checkpoint= and another folder"
        )
