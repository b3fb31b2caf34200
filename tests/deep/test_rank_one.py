"""The closed form of a kernel of rank one is the dense computation, and its rows add up to the evidence."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from termwise.deep.networks import Networks, drawn_networks
from termwise.deep.optimal import RankOneLoss
from termwise.deep.rank_one import amplitude, best_noise, log_evidence
from termwise.deep.training import Trainable

rng = np.random.default_rng(1)
X = rng.standard_normal((40, 3))
Y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(40)
NETWORKS = drawn_networks(((0,), (1, 2)), (5, 4), 1, rng)
G = NETWORKS.outputs(X).sum(axis=(0, 2))


def dense(g: np.ndarray, y: np.ndarray, noise: float) -> float:
    return float(multivariate_normal(np.zeros(y.size), np.outer(g, g) + noise * np.eye(y.size)).logpdf(y))


@pytest.mark.parametrize("noise", [1e-4, 0.01, 0.5, 3.0])
def test_the_closed_form_is_the_dense_computation(noise: float) -> None:
    assert log_evidence(G, Y, noise) == pytest.approx(dense(G, Y, noise), rel=1e-8)
    new = rng.standard_normal(7)
    K = np.outer(G, G) + noise * np.eye(40)
    c = amplitude(G, Y, noise)
    np.testing.assert_allclose(c.mean * new, np.outer(new, G) @ np.linalg.solve(K, Y), atol=1e-8)
    half = np.outer(new, G)
    variance = new**2 - np.einsum("ij,ij->i", half, np.linalg.solve(K, half.T).T)
    np.testing.assert_allclose(c.variance * new**2, variance, atol=1e-8)


def test_steps_of_the_noise_climb_to_the_best_one() -> None:
    noises = np.geomspace(1e-3, 10.0, 4001)
    best = max(log_evidence(G, Y, noise) for noise in noises)
    noise, last = 5.0, -np.inf
    for _ in range(200):
        assert log_evidence(G, Y, noise) >= last - 1e-10
        last = log_evidence(G, Y, noise)
        noise = best_noise(G, Y, noise)
    assert last == pytest.approx(best, abs=1e-4)


def test_the_evidence_is_highest_where_the_amplitude_is_one() -> None:
    scales = np.geomspace(0.01, 100.0, 4001)
    best = scales[np.argmax([log_evidence(scale * G, Y, 0.1) for scale in scales])]
    c = amplitude(best * G, Y, 0.1)
    assert c.mean**2 + c.variance == pytest.approx(1.0, rel=0.01)


def test_the_gradient_of_the_loss_is_that_of_the_dense_evidence() -> None:
    part = Trainable(NETWORKS, X, dtype=torch.float64)
    rows = np.arange(40)
    rank_one = RankOneLoss(part, Y, rows)
    rank_one.refresh()
    noise = rank_one.noise[0]
    rank_one.loss(rows).backward()
    for layer, weight in enumerate(part.weights):
        at = (0, 0, 0) if layer else (1, 1, 2)
        found = -weight.grad[at].item() * 40 / (2.0 * noise)
        values = []
        for step in (1e-5, -1e-5):
            moved = [w.copy() for w in NETWORKS.weights]
            moved[layer][at] += step
            g = Networks(NETWORKS.inputs, tuple(moved), NETWORKS.biases).outputs(X).sum(axis=(0, 2))
            values.append(dense(g, Y, noise))
        assert found == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-5)


def test_minibatches_add_up_to_all_rows() -> None:
    rank_one = RankOneLoss(Trainable(NETWORKS, X, dtype=torch.float64), Y, np.arange(40))
    rank_one.refresh()
    parts = [rank_one.loss(rows).item() for rows in np.split(np.arange(40), 4)]
    assert np.mean(parts) == pytest.approx(rank_one.loss(np.arange(40)).item(), rel=1e-12)
