"""Batched networks are the networks one by one, in NumPy and in PyTorch."""

from __future__ import annotations

import numpy as np
import torch

from termwise.deep.networks import Networks, drawn_networks, gathered
from termwise.deep.training import Trainable

INPUTS = ((0, 2), (1,), (0, 1, 3))
rng = np.random.default_rng(0)
X = rng.standard_normal((50, 4))
NETWORKS = drawn_networks(INPUTS, (6, 5), 2, rng)


def one_by_one(networks: Networks, X: np.ndarray) -> np.ndarray:
    """Each network alone, with sigmoid written out and without the padding."""
    out = []
    for k, read in enumerate(networks.inputs):
        h = X[:, list(read)]
        for layer, (W, b) in enumerate(zip(networks.weights, networks.biases, strict=True)):
            h = h @ (W[k, : len(read)] if layer == 0 else W[k]) + b[k]
            if layer < 2:
                h = h / (1.0 + np.exp(-h))
        out.append(h)
    return np.array(out)


def test_batched_networks_are_the_networks_one_by_one() -> None:
    np.testing.assert_allclose(NETWORKS.outputs(X), one_by_one(NETWORKS, X), atol=1e-12)
    for place in range(3):  # the others without the padding for the widest
        alone = NETWORKS.only([place]).outputs(X)[0]
        np.testing.assert_allclose(alone, one_by_one(NETWORKS, X)[place], atol=1e-12)


def test_a_feature_that_a_network_does_not_read_does_not_move_it() -> None:
    moved = X.copy()
    moved[:, 2] += 5.0
    change = np.abs(NETWORKS.outputs(moved) - NETWORKS.outputs(X)).max(axis=(1, 2))
    assert change[0] > 0.1
    np.testing.assert_array_equal(change[1:], 0.0)


def test_pytorch_computes_the_same() -> None:
    in_double = Trainable(NETWORKS, X, dtype=torch.float64).outputs(np.arange(50)).detach().numpy()
    np.testing.assert_allclose(in_double, NETWORKS.outputs(X), atol=1e-12)
    in_single = Trainable(NETWORKS, X).outputs(np.arange(50)).detach().numpy()
    assert in_single.dtype == np.float32
    np.testing.assert_allclose(in_single, NETWORKS.outputs(X), rtol=1e-4, atol=1e-5)


def test_large_inputs_do_not_overflow() -> None:
    assert np.all(np.isfinite(NETWORKS.outputs(1e4 * X)))


def test_parameters_are_counted_without_the_padding() -> None:
    each = [len(read) * 6 + 6 + 6 * 5 + 5 + 5 * 2 + 2 for read in INPUTS]
    assert NETWORKS.n_parameters == sum(each)
    assert NETWORKS.n_nonzero == NETWORKS.n_weights == sum(each) - 3 * (6 + 5 + 2)
    assert NETWORKS.n_kept == NETWORKS.n_parameters
    assert gathered(X, INPUTS).shape == (3, 50, 3)


def test_draws_are_those_of_the_stream() -> None:
    one, other = (drawn_networks(INPUTS, (6,), 1, np.random.default_rng(3)) for _ in range(2))
    for left, right in zip((*one.weights, *one.biases), (*other.weights, *other.biases), strict=True):
        np.testing.assert_array_equal(left, right)
