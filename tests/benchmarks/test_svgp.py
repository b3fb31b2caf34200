"""Our side of the comparison with GPflow, and how turns are counted."""

import numpy as np
import pytest

from benchmarks.svgp import NOISE, Bounds, Ours, Problem, beside, in_turns

rng = np.random.default_rng(0)
X = rng.standard_normal((120, 3))
Y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.standard_normal(120)
MADE_UP = Problem(X, Y, X[:20], "arccos1", 60, 4)


def arccos(A, B):
    """The kernel of both, with weights of variance 1 / D, a bias of one and variance one at the mean."""
    A, B = (np.column_stack([C / np.sqrt(3.0), np.ones(len(C))]) for C in (A, B))
    norms = np.linalg.norm(A, axis=1)[:, None] * np.linalg.norm(B, axis=1)
    t = np.clip(A @ B.T / norms, -1.0, 1.0)
    return 0.5 * norms * (np.sqrt(1.0 - t**2) + (np.pi - np.arccos(t)) * t) / np.pi


def test_our_bounds_begin_with_those_of_the_kernel_that_gpflow_begins_with():
    """Titsias' bound by dense matrices; and with q the prior, the expectation of log p(y | f) under it."""
    found = Ours(MADE_UP).bounds()
    Z = MADE_UP.places
    Q = arccos(X, Z) @ np.linalg.solve(arccos(Z, Z), arccos(Z, X))
    S = Q + NOISE * np.eye(len(X))
    own = np.diag(arccos(X, X))
    fit = np.linalg.slogdet(2.0 * np.pi * S)[1] + Y @ np.linalg.solve(S, Y)
    assert found.best == pytest.approx(-0.5 * (fit + np.sum(own - np.diag(Q)) / NOISE), rel=1e-5)
    apart = len(X) * np.log(2.0 * np.pi * NOISE) + np.sum(Y**2 + own) / NOISE
    assert found.learned == pytest.approx(-0.5 * apart, rel=1e-6)


def test_steps_raise_the_bound_below_the_best_of_their_parameters():
    model = Ours(MADE_UP)
    before = model.bounds()
    assert model.turn(4) > 0.0
    after = model.bounds()
    assert before.learned < after.learned < after.best


class Slow:
    """Steps that take what they are told to."""

    def __init__(self, *seconds):
        self.left = list(seconds)

    def turn(self, steps):
        return self.left.pop(0)


def test_the_least_of_the_turns_counts():
    assert in_turns({"a": Slow(3.0, 1.0, 2.0), "b": Slow(2.0, 4.0, 5.0)}, 5, 3) == {"a": 1.0, "b": 2.0}


def test_both_sides_are_told_beside_each_other(monkeypatch):
    class Told:
        def __init__(self, *arrays, **options):
            assert [len(array) for array in arrays] == [120, 120, 20]
            assert options == {"kernel": "arccos1", "batch": 60, "noise": NOISE}

        def turn(self, steps):
            return 1e3

        def bounds(self):
            return Bounds(-1e9, -1e8)

        def close(self):
            pass

    monkeypatch.setattr("benchmarks.svgp.Gpflow", Told)
    monkeypatch.setattr("benchmarks.svgp.LONGEST", 3.0)  # times the steps, however slow the other is
    found = {figure.name: figure.value for figure in beside(MADE_UP, 2, 1)}
    assert found["arccos1, M = 20: GPflow's seconds over ours"] > 1.0
    assert found["arccos1, M = 20: our bound above GPflow's, nats a row"] > 0.0
    assert found["  after 12 steps, in as many seconds"] > 0.0
