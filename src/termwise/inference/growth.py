"""One order of interactions after the other, as long as the rows ask for more.

Most tables have no use for terms of many columns, and all orders at once cost time and let few rows learn
what is not there. So a fit begins with few orders, and the next is tried with all else as it was learned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from termwise.errors import NumericalError
from termwise.inference.climb import WORST, Climb, Effort, Objective, Watch, ascend, free_parameters
from termwise.inference.learnable import Learnable
from termwise.measures.base import Array

GAIN = 10.0  # nats that an order must bring: less may be chance, with which new rows fare worse
FIRST_SHARE = 0.1  # of an order that is tried, beside what the others have together
PROMISE = 0.5  # nats by variances and noise alone, with which a climb over all parameters is worth a try
TRIED_STEPS = 8  # over variances and noise, to see what it would bring


def grown(
    model: Learnable,
    before: Climb,
    objective_of: Callable[[Learnable], Objective],
    effort: Effort,
    watch: Watch,
) -> tuple[Learnable, Climb]:
    """The model with the orders that the rows ask for, and where its climb has come to."""
    best = before
    while (wider := model.wider()) is not None:
        objective, without = objective_of(wider), objective_of(model)
        theta = wider.with_last_order(best.theta, FIRST_SHARE)
        widths = np.insert(best.widths, wider.last_order, 1.0)
        short = replace(effort, widths=widths, max_steps=TRIED_STEPS)
        tried = ascend(objective, theta, wider.variances_and_likelihood(), short, watch)
        gain = tried.objective - best.objective
        if gain > PROMISE:
            whole = replace(effort, widths=tried.widths)
            tried = ascend(objective, tried.theta, free_parameters(wider), whole, watch)
            # A climb that was cut short gains by going on, whatever the order does.
            narrow = _value(without, np.delete(tried.theta, wider.last_order))
            gain = tried.objective - max(best.objective, narrow)
        evaluations = best.evaluations + objective.evaluations + without.evaluations
        if gain < GAIN:
            return model, replace(best, evaluations=evaluations)
        model, best = wider, replace(tried, evaluations=evaluations)
    return model, best


def _value(objective: Objective, theta: Array) -> float:
    """The objective, or the worst where there is no kernel matrix."""
    try:
        return objective.value_and_gradient(theta, late=False)[0]
    except (NumericalError, np.linalg.LinAlgError):
        return -WORST


def wide_enough(model: Learnable, theta: Array) -> Learnable:
    """The model with as many orders as a vector that was learned has parameters for."""
    while theta.size > len(model.bounds()) and (wider := model.wider()) is not None:
        model = wider
    return model
