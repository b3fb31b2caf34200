"""Lottery tickets: the stated sparsity, the stated weights, and a function that is still learned."""

from __future__ import annotations

import numpy as np
import pytest

from termwise.deep.networks import drawn_networks
from termwise.deep.optimal import RankOneLoss, Shape, Wanted, first_networks, trained
from termwise.deep.tickets import LAST_LAYER, Pruning, Ticket, fit_ticket, pruned_masks
from termwise.deep.training import Aim, Descent, Lesson, Trainable, descend, parted

SHAPE = Shape(((0, 1, 2),), (40, 20))
HOW = Descent(max_epochs=40)


def ticket(sparsity: float, rewind: int = 0) -> Ticket:
    X, y = table()
    stream = np.random.default_rng(5)
    rows = parted(X, np.random.default_rng(1))
    return fit_ticket(Lesson(X, y, rows), SHAPE, HOW, stream, Pruning(sparsity, rewind, 2))


def table(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(seed).standard_normal((400, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2]


@pytest.mark.parametrize("sparsity", [0.3, 0.8])
def test_pruning_reaches_the_stated_sparsity(sparsity: float) -> None:
    found = ticket(sparsity)
    for layer, mask in enumerate(found.masks):
        left = (1.0 - sparsity) ** (LAST_LAYER if layer == 2 else 1.0)
        assert mask.sum() == round(left * mask.size)
        np.testing.assert_array_equal(found.found.networks.weights[layer][mask == 0.0], 0.0)
    networks = found.found.networks
    assert networks.n_nonzero == sum(int(mask.sum()) for mask in found.masks)
    assert networks.n_weights - networks.n_nonzero == pytest.approx(sparsity * networks.n_weights, rel=0.05)
    assert networks.n_kept < networks.n_parameters


def test_weights_go_back_to_where_they_began() -> None:
    X, y = table()
    rows = parted(X, np.random.default_rng(1))
    drawing = np.random.default_rng(5).spawn(4)[0]
    first = first_networks(Lesson(X, y, rows), SHAPE, drawing)
    for one, other in zip(ticket(0.3).rewound.weights, first.weights, strict=True):
        np.testing.assert_array_equal(one, other)


def test_weights_go_back_to_what_they_were_after_some_epochs() -> None:
    X, y = table()
    rows = parted(X, np.random.default_rng(1))
    drawing, early, *_ = np.random.default_rng(5).spawn(4)
    first = first_networks(Lesson(X, y, rows), SHAPE, drawing)
    part, falling = Trainable(first, X), iter([3.0, 2.0, 1.0])  # so that the last weights are the best
    loss = RankOneLoss(part, y, rows.train)
    aim = Aim(loss.loss, lambda: np.array([next(falling)]), rows.train, loss.refresh)
    descend([part], aim, Descent(max_epochs=3), early)
    found = ticket(0.3, rewind=3)
    for one, other in zip(found.rewound.weights, part.kept().weights, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(found.rewound.weights[0], first.weights[0])


def test_the_smallest_weights_go_and_stay_away() -> None:
    networks = drawn_networks(((0, 1),), (6,), 1, np.random.default_rng(0))
    ones = tuple(np.ones(weight.shape) for weight in networks.weights)
    half = pruned_masks(networks, ones, 0.5)
    sizes = np.abs(networks.weights[0])
    assert sizes[half[0] == 1.0].min() > sizes[half[0] == 0.0].max()
    less = pruned_masks(networks, half, 0.25)
    assert np.all(less[0] <= half[0])
    assert less[0].sum() == 3


def test_masked_weights_do_not_move_while_others_do() -> None:
    X, y = table()
    rows = parted(X, np.random.default_rng(1))
    first = first_networks(Lesson(X, y, rows), SHAPE, np.random.default_rng(0))
    masks = [(np.arange(weight.size) % 2.0).reshape(weight.shape) for weight in first.weights]
    after = trained(
        first, Lesson(X, y, rows), Descent(max_epochs=3), np.random.default_rng(0), Wanted(masks=masks)
    ).networks
    for mask, weight, was in zip(masks, after.weights, first.weights, strict=True):
        np.testing.assert_array_equal(weight[mask == 0.0], 0.0)
        assert np.all(weight[mask == 1.0] != was.astype(np.float32)[mask == 1.0])


def test_a_sparse_network_learns_the_function() -> None:
    found = ticket(0.5).found
    X, y = table(9)
    errors = y - found.amplitude.mean * found.networks.outputs(X).sum(axis=(0, 2))
    assert np.sqrt(np.mean(errors**2)) < 0.4 * y.std()
