"""pyGAM with its defaults and the grid search that its guide recommends."""

from __future__ import annotations

from benchmarks.harness.numbers import Factors
from benchmarks.peers.elsewhere import Elsewhere


def gam(task: str, seed: int) -> Elsewhere:
    """A smooth function of each number and a constant for each level; nothing in it is random.

    pyGAM wants an older SciPy than ours, so that it has an environment of its own. It cannot take a level
    that it never saw; that counts as the most frequent one.
    """
    return Elsewhere("pygam", Factors.of, lambda factors: {"task": task, "kinds": factors.kinds})
