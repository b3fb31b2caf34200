"""Environments of their own, for libraries that cannot live beside ours."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

STAMP = ".made"
CACHE = Path.home() / ".cache" / "termwise" / "bench"


class EnvironmentFailedError(RuntimeError):
    """An environment could not be made."""


def python_of(name: str, requirements: Path) -> Path:
    """The interpreter of an environment that has the requirements; made when it is first asked for.

    It lies in the folder TERMWISE_BENCH_ENVS, or in ~/.cache/termwise/bench; other requirements are another
    environment. The stamp is written last, so that what a killed installation left is made again.
    """
    folder = folder_of(name, requirements)
    with _alone(folder.with_name(folder.name + ".lock")):
        if not (folder / STAMP).exists():
            shutil.rmtree(folder, ignore_errors=True)
            _make(folder, requirements)
            (folder / STAMP).touch()
    return _python(folder)


def folder_of(name: str, requirements: Path) -> Path:
    """Where an environment lies, made or not."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    content = hashlib.sha256(version.encode() + requirements.read_bytes()).hexdigest()
    return Path(os.environ.get("TERMWISE_BENCH_ENVS", CACHE)) / f"{name}-{content[:12]}"


def _make(folder: Path, requirements: Path) -> None:
    # Our own pip installs into it, which saves a second pip.
    _run(folder, [sys.executable, "-m", "venv", "--without-pip", str(folder)])
    pip = [sys.executable, "-m", "pip", "--python", str(_python(folder)), "--disable-pip-version-check"]
    _run(folder, [*pip, "install", "-q", "-r", str(requirements)])


def _run(folder: Path, command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or done.stdout.strip().splitlines() or ["no message"]
        said = [line for line in lines if line.startswith("ERROR")] or lines
        raise EnvironmentFailedError(f"the environment {folder} could not be made: {said[-1]}")


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold a lock, which the system takes back if the process is killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
