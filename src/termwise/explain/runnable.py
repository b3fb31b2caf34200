"""What it takes to run a fitted model elsewhere, such as in a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from termwise.encode.encoder import Encoder
from termwise.encode.scale import Standardise
from termwise.explain.terms import Term
from termwise.posterior.posterior import Posterior


@dataclass(frozen=True, eq=False)
class Runnable:
    """A posterior with the way into it and out of it.

    `kind` is how a latent value becomes a prediction: "normal" (a number, with noise of this variance),
    "poisson" (the logarithm of a rate), "logit" or "probit" (of the label). `terms` are listed by share,
    those of low order only if they are not `complete`;
    what they add is `quantity` (such as "effect on") `target`, and together they explain a part of `explains`
    (such as "the variance of the target"). `outcome` names what is predicted, if it is not the target itself
    but a rate or a probability; `between` what lies between the ends of its interval. `made` says how the
    model came to be.
    """

    posterior: Posterior
    encoder: Encoder
    scale: Standardise
    noise: float
    kind: str
    label: str | None
    terms: tuple[Term, ...]
    complete: bool
    quantity: str
    target: str
    explains: str
    outcome: str
    between: str
    made: Mapping[str, Any]
