"""More than one way to encode a table: the evidence chooses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from termwise.encode.encoder import Encoder
from termwise.estimators.columns import ColumnChoice
from termwise.estimators.engine import Asked, check_level_memory, check_memory, learn
from termwise.inference.fit import FEW_ROWS, Candidate, Fit, Preferred, preferred
from termwise.inference.model import Model
from termwise.inference.progress import Monitor

ALONE = Preferred(0)  # where there is nothing to choose


@dataclass(frozen=True, eq=False)
class Encoding:
    """A table encoded, what was chosen for its columns, and what there is to learn of them."""

    encoder: Encoder
    choices: tuple[ColumnChoice, ...]
    candidate: Candidate


Encoded = Callable[[Encoder], Encoding]


def learn_encoded(
    encoders: Sequence[Encoder],
    encoded: Encoded,
    asked: Asked,
    rng: np.random.Generator,
    monitor: Monitor | None,
) -> tuple[Encoding, Fit]:
    """Fit a table in memory: exactly by all encoders, of which the best is kept, else by a chosen one."""
    first = encoded(encoders[0])
    engine = check_memory(first.candidate, asked)
    encoders = tried_by(engine, encoders)
    if len(encoders) == 1 or engine == "exact":
        encodings = [first, *map(encoded, encoders[1:])]
        found = learn([one.candidate for one in encodings], asked, rng, monitor)
        return encodings[found.chosen], found
    del first  # so that never two have all rows
    chosen, spent = chosen_encoding(encoders, encoded, asked, rng, monitor)
    found = learn([chosen.candidate], asked, rng, monitor)
    return chosen, replace(found, result=spent.before(found.result))


def tried_by(engine: str, encoders: Sequence[Encoder]) -> Sequence[Encoder]:
    """Those that are tried: by minibatches the first only, as few rows should not choose for so many."""
    return encoders[:1] if engine == "stochastic" else encoders


def chosen_encoding(
    encoders: Sequence[Encoder],
    encoded: Encoded,
    asked: Asked,
    rng: np.random.Generator,
    monitor: Monitor | None,
) -> tuple[Encoding, Preferred]:
    """The encoding that the evidence of some rows prefers, and what it took to know."""
    first = encoded(encoders[0])
    assert isinstance(first.candidate.model, Model), "columns are learned one by one"
    check_level_memory(first.candidate.model, asked.threads)
    if len(encoders) == 1:
        return first, ALONE
    some = rng.permutation(first.candidate.rows.y.size)[:FEW_ROWS]
    few = [first.candidate.some(some)]
    del first
    few += [encoded(encoder).candidate.some(some) for encoder in encoders[1:]]
    found = preferred(few, asked.n_jobs, rng, monitor)
    return encoded(encoders[found.chosen]), found
