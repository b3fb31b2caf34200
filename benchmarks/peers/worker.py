"""The other side of a peer that runs in an environment of its own: fit and predict on request.

It runs without our package: only the standard library and NumPy are imported here.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

Predict = Callable[[np.ndarray], dict[str, np.ndarray]]
Fit = Callable[[np.ndarray, np.ndarray, Mapping[str, Any]], Predict]


def serve(fit: Fit) -> None:
    """Answer one line of JSON for each line of JSON, until there are no more.

    A request names its command, "fit" or "predict", the file of its arrays and the file for its answer; what
    else it holds are options of the fit. An answer tells the seconds and the peak of memory, or the error.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints must not come between the answers
    requests: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    model: list[Predict] = []
    while True:
        try:
            answer = _answer(requests.get(), fit, model)
        except Exception as error:  # whatever it is, the one who asked wants to know
            answer = {"error": " ".join(f"{type(error).__name__}: {error}".split())}
        print(json.dumps(answer), file=answers, flush=True)


def _read(requests: queue.Queue[dict[str, Any]]) -> None:
    for line in sys.stdin:
        requests.put(json.loads(line))
    # The one who asked is gone; a fit that goes on would be for nobody.
    os._exit(0)


def _answer(request: dict[str, Any], fit: Fit, model: list[Predict]) -> dict[str, Any]:
    with np.load(request["arrays"]) as file:
        arrays = {name: file[name] for name in file.files}
    if request["command"] == "fit":
        _reset_peak()
    start = time.perf_counter()
    if request["command"] == "fit":
        model[:] = [fit(arrays["rows"], arrays["y"], request)]
        seconds = time.perf_counter() - start
    else:
        found = model[0](arrays["rows"])
        seconds = time.perf_counter() - start
        np.savez(request["answer"], **found)
    return {"error": "", "seconds": seconds, "peak_megabytes": _peak_megabytes()}


_held: list[float] = []  # megabytes before the last fit


def _reset_peak() -> None:
    """Let the system count the peak anew, where it can be asked to."""
    _held.clear()
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    except OSError:
        return
    _held.append(_megabytes("VmRSS"))


def _peak_megabytes() -> float | None:
    """By how much the process has grown since the fit began."""
    return max(0.0, _megabytes("VmHWM") - _held[0]) if _held else None


def _megabytes(field: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024
