"""Models of libraries that cannot live beside ours, in a process and an environment of their own."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.environment import python_of
from benchmarks.harness.model import Columns, Predicted
from benchmarks.peers.registry import HERE, requirements


class PeerFailedError(RuntimeError):
    """A peer in a process of its own could not do what it was asked."""


class Elsewhere:
    """A model that the script NAME_script.py fits in the environment NAME.

    The process lives as long as the model and answers one request at a time; arrays go by files. Seconds and
    memory are measured inside, without the start of the process and the making of its environment.
    """

    fit_seconds: float | None = None
    predict_seconds: float | None = None
    peak_megabytes: float | None = None

    def __init__(
        self, name: str, encode: Callable[..., Any], options: Callable[[Any], dict[str, Any]]
    ) -> None:
        self._name, self._encode, self._options = name, encode, options
        self._folder = tempfile.TemporaryDirectory(prefix="termwise-")
        self._process = _start(name, self._path("log"))
        self._end = weakref.finalize(self, _stop, self._process)

    def fit(self, X: Columns, y: np.ndarray, categorical: Sequence[str]) -> None:
        """Learn from rows; `categorical` names the columns whose values are labels."""
        self._encoding = self._encode(X, categorical)
        rows = self._encoding.rows(X)
        answer = self._ask("fit", self._options(self._encoding), rows=rows, y=np.asarray(y, dtype=float))
        self.fit_seconds, self.peak_megabytes = answer["seconds"], answer["peak_megabytes"]

    def predict(self, X: Columns) -> Predicted:
        """Predict rows that may have levels never seen."""
        answer = self._ask("predict", {}, rows=self._encoding.rows(X))
        self.predict_seconds, self.peak_megabytes = answer["seconds"], answer["peak_megabytes"]
        with np.load(self._path("answer.npz")) as found:
            return Predicted(found["mean"], found["std"] if "std" in found.files else None)

    def close(self) -> None:
        """End the process; it also ends when the model is no longer there."""
        self._end()

    def _ask(self, command: str, options: dict[str, Any], **arrays: np.ndarray) -> dict[str, Any]:
        files = {"arrays": str(self._path("arrays.npz")), "answer": str(self._path("answer.npz"))}
        np.savez(files["arrays"], **arrays)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"command": command, **files, **options}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended; there is no answer then
        line = self._process.stdout.readline()
        if not line:
            raise PeerFailedError(f"the process of {self._name} ended during {command}: {self._last_words()}")
        answer = json.loads(line)
        if answer["error"]:
            raise PeerFailedError(f"{self._name} failed to {command}: {answer['error']}")
        return answer

    def _last_words(self) -> str:
        said = self._path("log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return f"code {self._process.wait()}; {said[-1] if said else 'it said nothing'}"

    def _path(self, name: str) -> Path:
        return Path(self._folder.name) / name


def _start(name: str, log: Path) -> subprocess.Popen[str]:
    python = python_of(name, requirements(name))
    # What is installed for us must not be found there; last words must not wait in a buffer.
    command = [str(python), "-E", "-s", "-u", str(HERE / f"{name}_script.py")]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    with open(log, "w", encoding="utf-8") as file:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
            encoding="utf-8",
            env=environment,
        )


def _stop(process: subprocess.Popen[str]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    process.wait()
