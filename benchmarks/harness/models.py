"""Every model of the tables by its name: ours first, then the peers."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import termwise
from benchmarks.harness.environment import EnvironmentFailedError, python_of
from benchmarks.harness.model import Model
from benchmarks.harness.ours import ADDITIVE, OURS, Ours
from benchmarks.peers.registry import PEERS, requirements

REPOSITORY = Path(__file__).resolve().parents[2]


class UnknownModelError(ValueError):
    """No model has that name."""


def names(task: str) -> list[str]:
    """All models that can do a task."""
    ours = OURS if task == "regression" else ("OAK", *ADDITIVE)
    return [*ours, *(name for name, peer in PEERS.items() if task in peer.tasks)]


def maker(name: str, task: str, *, seed: int) -> Callable[[], Model]:
    """A function that makes a model, not fitted yet."""
    if name in OURS:
        return lambda: Ours(name, task, seed)
    peer = PEERS.get(name)
    if peer is None:
        raise UnknownModelError(f"no model {name!r}; choose from {', '.join(names(task))}")
    return lambda: peer.model(task, seed)


def most_rows(name: str) -> int | None:
    """The most rows that a model is run on; None if it takes any number."""
    return None if name in OURS else PEERS[name].most_rows


def own_splits(name: str) -> int | None:
    """The splits of a model that is too slow for all; None for all."""
    return None if name in OURS else PEERS[name].most_splits


def maker_error(name: str) -> str:
    """Why a model cannot be had on this machine, in one line; empty if it can."""
    if name in OURS:
        return ""
    peer = PEERS[name]
    try:
        if peer.environment:
            python_of(peer.environment, requirements(peer.environment))
        peer.model(peer.tasks[0])
    except Exception as error:  # a library that is broken is as little use as one that is not there
        said = str(error).splitlines() or [""]
        return said[0] if isinstance(error, EnvironmentFailedError) else f"{type(error).__name__}: {said[0]}"
    return ""


def version(name: str) -> str:
    """The version of the library behind a model."""
    if name in OURS:
        return f"termwise {termwise.__version__}{_revision()}"
    return f"{PEERS[name].package} {PEERS[name].version}"


@cache
def _revision() -> str:
    """The commit of a clone, so that a figure can be had again; nothing elsewhere."""
    try:
        found = _git("rev-parse", "--short", "HEAD")
        changed = _git("status", "--porcelain", "--", "src")
    except OSError:
        return ""
    if found.returncode != 0:
        return ""
    return f" ({found.stdout.strip()}{'-changed' if changed.stdout.strip() else ''})"


def _git(*asked: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *asked], cwd=REPOSITORY, capture_output=True, text=True, check=False)
