"""Lottery tickets: pruning by magnitude, with the weights that stay put back. Frankle and Carbin (2018)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from termwise.deep.networks import Networks
from termwise.deep.optimal import Optimal, Shape, Wanted, first_networks, trained
from termwise.deep.training import Descent, Lesson
from termwise.measures.base import Array

EACH_ROUND = 0.1  # of the weights that are left; of the last layer half of it. Section 5.1
LAST_LAYER = float(np.log1p(-EACH_ROUND / 2.0) / np.log1p(-EACH_ROUND))  # as a power of the part that stays


@dataclass(frozen=True)
class Pruning:
    """The part of the weights that goes, the epochs after which stand the weights that the others go back to
    (zero being before training), and the most epochs of a round.
    """

    sparsity: float
    rewind: int = 0
    round_epochs: int = 30


@dataclass(frozen=True, eq=False)
class Ticket:
    """The sparse network after training, and the weights to which the rounds went back."""

    found: Optimal
    rewound: Networks
    masks: tuple[Array, ...]  # one where a weight is left


def fit_ticket(
    lesson: Lesson, shape: Shape, how: Descent, rng: np.random.Generator, pruning: Pruning
) -> Ticket:
    """Train, prune the smallest weights, put the others back, until so many are gone; then train."""
    drawing, early, in_rounds, last = rng.spawn(4)
    start = first_networks(lesson, shape, drawing)
    if pruning.rewind:
        so_far = replace(how, max_epochs=pruning.rewind, whole=True, falling=False)
        start = trained(start, lesson, so_far, early).networks
    short, left = replace(how, max_epochs=min(pruning.round_epochs, how.max_epochs)), 1.0 - pruning.sparsity
    rounds = max(1, round(np.log(left) / np.log1p(-EACH_ROUND)))
    masks = tuple(np.ones(weight.shape) for weight in start.weights)
    for number in range(1, rounds + 1):
        after = trained(start, lesson, short, in_rounds, Wanted(masks=masks)).networks
        masks = pruned_masks(after, masks, left ** (number / rounds))
    return Ticket(trained(start, lesson, how, last, Wanted(masks=masks)), start, masks)


def masks_of(networks: Networks) -> tuple[Array, ...]:
    """One where a weight is left."""
    return tuple((weight != 0.0).astype(float) for weight in networks.weights)


def pruned_masks(networks: Networks, masks: tuple[Array, ...], left: float) -> tuple[Array, ...]:
    """Masks of the largest weights of each layer, this part of them all; more of the last layer."""
    found = []
    for layer, (weight, mask) in enumerate(zip(networks.weights, masks, strict=True)):
        part = left**LAST_LAYER if layer == len(masks) - 1 else left
        sizes = np.where(mask > 0.0, np.abs(weight), -1.0).ravel()
        kept = np.zeros(sizes.size)
        kept[np.argsort(-sizes, kind="stable")[: max(1, round(part * sizes.size))]] = 1.0
        found.append(kept.reshape(weight.shape))
    return tuple(found)
