"""Measuring in a process of its own: cold caches, imports, peak memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
MEGABYTE = 2**20
STATUS = Path("/proc/self/status")


def call(function: str, *args: Any, **environment: str) -> Any:
    """What `function` of the form "module:name" returns, called with `args` in a new process."""
    module, _, name = function.partition(":")
    code = f"import json; from {module} import {name}; print(json.dumps({name}(*{args!r})))"
    return json.loads(python(code, **environment).splitlines()[-1])


def python(code: str, **environment: str) -> str:
    """What a program prints, run in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the measured process failed:\n{done.stderr}")
    return done.stdout


def peak_megabytes() -> float:
    """The most memory this process has held.

    Linux: VmHWM, as ru_maxrss of a child begins with what its parent held.
    """
    if STATUS.exists():
        return status_megabytes("VmHWM")
    import resource

    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / MEGABYTE if sys.platform == "darwin" else size / 1024


def status_megabytes(field: str) -> float:
    """What Linux says of this process: VmRSS is held now, VmHWM was the most."""
    lines = STATUS.read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024
