"""Steps of GPflow's SVGP when told to; runs in an environment of its own.

A step is what GPflow's pages recommend for minibatches: one of natural gradients (0.1) for q, whitened, and
one of Adam (0.01) for the kernel, the noise and the inducing rows, compiled together, in double precision.
Kernels are those of rows with a constant behind them, as ours begin: weights of variance 1 / D and a bias of
variance one, or lengthscales sqrt(D); both have the prior variance one at a row of mean length.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
from tf_keras.optimizers.legacy import Adam

ADAM, NATURAL = 0.01, 0.1


def main() -> None:
    """Answer one line of JSON for each line of JSON: {"steps": k} or {"bounds": true}."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints must not come between the answers
    options = json.loads(sys.argv[2])
    with np.load(sys.argv[1]) as file:
        X, y, places = (file[name] for name in ("X", "y", "places"))
    data = tf.constant(X), tf.constant(y[:, None])
    model = gpflow.models.SVGP(
        _kernel(options["kernel"], X.shape[1]),
        gpflow.likelihoods.Gaussian(options["noise"]),
        places,
        num_data=len(X),
    )
    step, coming = _step(model, data), _batches(len(X), options["batch"])
    for line in sys.stdin:
        asked = json.loads(line)
        if "steps" in asked:
            start = time.perf_counter()
            for _ in range(asked["steps"]):
                step(tf.constant(next(coming)))
            answer = {"seconds": (time.perf_counter() - start) / asked["steps"]}
        else:
            answer = _bounds(model, data)
        print(json.dumps(answer), file=answers, flush=True)


def _kernel(name: str, columns: int) -> Any:
    if name == "arccos1":
        kernel = gpflow.kernels.ArcCosine(
            order=1, variance=0.5, weight_variances=np.full(columns, 1.0 / columns), bias_variance=1.0
        )
        gpflow.set_trainable(kernel.bias_variance, False)  # as one variance too many
        return kernel
    return gpflow.kernels.SquaredExponential(lengthscales=np.full(columns, columns**0.5))


def _step(model: Any, data: tuple[tf.Tensor, tf.Tensor]) -> Callable[[tf.Tensor], None]:
    X, Y = data
    variational = [(model.q_mu, model.q_sqrt)]
    gpflow.set_trainable(model.q_mu, False)
    gpflow.set_trainable(model.q_sqrt, False)
    adam, natural = Adam(ADAM), gpflow.optimizers.NaturalGradient(NATURAL)

    @tf.function
    def step(batch: tf.Tensor) -> None:
        rows = tf.gather(X, batch), tf.gather(Y, batch)
        natural.minimize(lambda: model.training_loss(rows), variational)
        adam.minimize(lambda: model.training_loss(rows), model.trainable_variables)

    return step


def _bounds(model: Any, data: tuple[tf.Tensor, tf.Tensor]) -> dict[str, float]:
    collapsed = gpflow.models.SGPR(
        data, model.kernel, model.inducing_variable, noise_variance=model.likelihood.variance.numpy()
    )
    return {"learned": float(model.elbo(data)), "best": float(collapsed.elbo())}


def _batches(count: int, size: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(0)
    while True:
        order = rng.permutation(count)
        for start in range(0, count - size + 1, size):
            yield order[start : start + size]


if __name__ == "__main__":
    main()
