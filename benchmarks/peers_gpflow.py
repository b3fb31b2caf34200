"""GPflow's SVGP between two steps, in a process and an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.environment import python_of
from benchmarks.peers.registry import HERE, requirements

ENVIRONMENT, SCRIPT = "gpflow", "gpflow_steps_script.py"


@dataclass(frozen=True)
class Bounds:
    """On all rows: with the q that was learned, and with the best q for the same parameters."""

    learned: float
    best: float


class Gpflow:
    """The other side of the script, which makes steps when it is told to and measures them itself."""

    def __init__(self, X: np.ndarray, y: np.ndarray, places: np.ndarray, **options: Any) -> None:
        python = python_of(ENVIRONMENT, requirements(ENVIRONMENT))
        self._folder = tempfile.TemporaryDirectory(prefix="termwise-")
        arrays, log = (Path(self._folder.name) / name for name in ("arrays.npz", "log"))
        np.savez(arrays, X=X, y=y, places=places)
        self._log = log
        with open(log, "w", encoding="utf-8") as file:
            self._process = subprocess.Popen(
                [str(python), "-E", "-s", "-u", str(HERE / SCRIPT), str(arrays), json.dumps(options)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
                env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
            )

    def turn(self, steps: int) -> float:
        """Make so many steps; the seconds of one."""
        return float(self._ask({"steps": steps})["seconds"])

    def bounds(self) -> Bounds:
        """The bounds on all rows."""
        return Bounds(**self._ask({"bounds": True}))

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()
        self._folder.cleanup()

    def _ask(self, request: dict[str, Any]) -> dict[str, float]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            said = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise RuntimeError(f"the process of GPflow ended: {said[-1] if said else 'it said nothing'}")
        found: dict[str, float] = json.loads(line)
        return found
