"""Small networks side by side, as plain arrays: what training finds and prediction needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from termwise.measures.base import Array

BLOCK = 4096  # rows evaluated together, so that memory does not grow with the table


@dataclass(frozen=True, eq=False)
class Networks:
    """k networks of one shape, each of some features: h <- silu(h W + b), and a last layer without silu.

    `inputs` has the features that each reads. `weights[l]` is (k, in, out) and `biases[l]` (k, 1, out): one
    batched product is the product with a block-diagonal matrix. A network of fewer features than others
    reads zeros besides.
    """

    inputs: tuple[tuple[int, ...], ...]
    weights: tuple[Array, ...]
    biases: tuple[Array, ...]

    @property
    def n_parameters(self) -> int:
        """Weights and biases, without those of the zeros."""
        layers = sum(part[0].size for part in (*self.weights[1:], *self.biases))
        return sum(len(read) * self.weights[0].shape[2] + layers for read in self.inputs)

    @property
    def n_kept(self) -> int:
        """The same without weights that were pruned away."""
        return self.n_parameters - self.n_weights + self.n_nonzero

    @property
    def n_weights(self) -> int:
        """Weights alone, without those of the zeros."""
        return self.n_parameters - sum(part.size for part in self.biases)

    @property
    def n_nonzero(self) -> int:
        """How many of the weights are not zero."""
        read = np.zeros(self.weights[0].shape[:2], dtype=bool)
        for network, features in enumerate(self.inputs):
            read[network, : len(features)] = True
        first = int(np.count_nonzero(self.weights[0][read]))
        return first + sum(int(np.count_nonzero(part)) for part in self.weights[1:])

    def outputs(self, X: Array) -> Array:
        """What each network says of each row, (k, n, out)."""
        starts = range(0, max(len(X), 1), BLOCK)
        blocks = [gathered(X[start : start + BLOCK], self.inputs) for start in starts]
        return np.concatenate([forward(block, self.weights, self.biases, silu) for block in blocks], axis=1)

    def hidden(self, X: Array) -> Array:
        """The last hidden layer of each network, (k, n, units)."""
        found: Array = silu(forward(gathered(X, self.inputs), self.weights[:-1], self.biases[:-1], silu))
        return found

    def hidden_blocks(self, X: Array) -> Iterator[Array]:
        """The same for some rows at a time; one block without rows if there are none."""
        for start in range(0, max(len(X), 1), BLOCK):
            yield self.hidden(X[start : start + BLOCK])

    def only(self, chosen: Sequence[int]) -> Networks:
        """Some of them, padded to the widest of these."""
        places = list(chosen)
        inputs = tuple(self.inputs[place] for place in places)
        first, *others = self.weights
        return Networks(
            inputs,
            (first[places][:, : max(map(len, inputs))], *(part[places] for part in others)),
            tuple(part[places] for part in self.biases),
        )

    def beside(self, other: Networks) -> Networks:
        """These and others of the same shape."""
        return Networks(
            (*self.inputs, *other.inputs),
            tuple(np.concatenate(parts) for parts in zip(self.weights, other.weights, strict=True)),
            tuple(np.concatenate(parts) for parts in zip(self.biases, other.biases, strict=True)),
        )

    def scaled(self, by: Any) -> Networks:
        """With outputs times a number, or one for each network, (k, 1, 1)."""
        return Networks(
            self.inputs,
            (*self.weights[:-1], by * self.weights[-1]),
            (*self.biases[:-1], by * self.biases[-1]),
        )


def gathered(X: Array, inputs: Sequence[Sequence[int]]) -> Array:
    """The features that each network reads, (k, n, most features), with zeros where it reads fewer."""
    cells: Array = np.column_stack([X, np.zeros(len(X))])[:, padded(inputs, X.shape[1])].swapaxes(0, 1)
    return cells


def padded(inputs: Sequence[Sequence[int]], blank: int) -> NDArray[np.intp]:
    """The features that each network reads, (k, most features), with a blank where it reads fewer."""
    width = max(map(len, inputs))
    return np.array([[*features, *[blank] * (width - len(features))] for features in inputs], dtype=np.intp)


def forward(h: Any, weights: Sequence[Any], biases: Sequence[Any], bend: Callable[[Any], Any]) -> Any:
    """All layers for gathered rows, in NumPy and in PyTorch alike; `bend` is the silu of the library."""
    for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        h = h @ weight + bias
        h = bend(h) if layer < len(weights) - 1 else h
    return h


def silu(h: Array) -> Array:
    """h / (1 + exp(-h)), without the overflow of exp."""
    bent: Array = 0.5 * h * (1.0 + np.tanh(0.5 * h))
    return bent


def drawn_networks(
    inputs: Sequence[Sequence[int]], hidden: Sequence[int], outputs: int, rng: np.random.Generator
) -> Networks:
    """Networks at random: weights by He's normal, each network from as many inputs as it has.

    Biases are standard normal in the first layer, so that the bends of functions of one column are spread
    over it, and zero further on.
    """
    sizes, count = (max(map(len, inputs)), *hidden, outputs), len(inputs)
    weights, biases = [], []
    for layer, (into, out) in enumerate(pairwise(sizes)):
        fan = np.array([len(read) if layer == 0 else into for read in inputs])
        weights.append(np.sqrt(2.0 / fan)[:, None, None] * rng.standard_normal((count, into, out)))
        biases.append((layer == 0) * rng.standard_normal((count, 1, out)))
    return Networks(tuple(tuple(read) for read in inputs), tuple(weights), tuple(biases))


def inputs_of(sets: Sequence[Sequence[int]], sources: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """The numbers of a row that each set of columns has; `sources` says which column each comes from."""
    return tuple(tuple(i for i, source in enumerate(sources) if source in columns) for columns in sets)
