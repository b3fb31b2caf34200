"""GPflow's sparse variational Gaussian process, as bayesian_benchmarks fits it."""

from __future__ import annotations

from benchmarks.harness.numbers import Numbers
from benchmarks.peers.elsewhere import Elsewhere


def svgp(task: str, seed: int) -> Elsewhere:
    """A Gaussian process of all columns together, by way of 100 inducing rows.

    GPflow wants an older NumPy than ours, so that it has an environment of its own.
    """
    return Elsewhere("gpflow", Numbers.of, lambda _: {"task": task, "seed": seed})
