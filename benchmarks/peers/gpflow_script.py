"""Fits GPflow's SVGP; runs in an environment of its own.

The settings are those of the minibatch model of bayesian_benchmarks: 100 inducing rows by k-means, which
are then learned; a squared exponential kernel that starts with the lengthscale sqrt(D); noise that begins at
the variance 0.01; minibatches of 1000 rows; 5000 steps. For numbers, a step is one of natural gradients (0.1)
for the variational parameters and one of Adam (0.01) for all others; for labels, one of Adam (0.01) for all.

It differs in three things: each column has a lengthscale of its own, where bayesian_benchmarks has one for
all; the variational parameters are whitened for labels too, with which Adam gets on faster; and for numbers
the last steps are of natural gradients alone, or the end is wherever Adam's last step has thrown it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
from gpflow.models import SVGP
from scipy.cluster.vq import kmeans2
from tf_keras.optimizers.legacy import Adam
from worker import Predict, serve

INDUCING, BATCH, STEPS = 100, 1000, 5000
ADAM, NATURAL = 0.01, 0.1
SETTLING = 100  # steps of natural gradients alone
NOISE = 0.01
CHUNK = 10_000  # test rows at once


def fit(rows: np.ndarray, y: np.ndarray, options: Mapping[str, Any]) -> Predict:
    """Learn the inducing rows, the variational parameters, the kernel and the noise."""
    rng = np.random.default_rng(options["seed"])
    labels = options["task"] == "classification"
    model = _model(rows, labels, rng)
    step = _step(model, rows, y, natural=not labels)
    for batch in _batches(len(rows), STEPS, rng):
        step(tf.constant(batch))
    if not labels:
        settle = _step(model, rows, y, natural=True, others=False)
        for batch in _batches(len(rows), SETTLING, rng):
            settle(tf.constant(batch))

    def predict(rows: np.ndarray) -> dict[str, np.ndarray]:
        chunks = np.array_split(rows, max(1, len(rows) // CHUNK))
        means, variances = zip(*(model.predict_y(chunk) for chunk in chunks), strict=True)
        found = {"mean": np.concatenate(means)[:, 0]}
        if not labels:
            found["std"] = np.sqrt(np.concatenate(variances)[:, 0])
        return found

    return predict


def _model(rows: np.ndarray, labels: bool, rng: np.random.Generator) -> SVGP:
    columns = rows.shape[1]
    kernel = gpflow.kernels.SquaredExponential(lengthscales=np.full(columns, columns**0.5))
    likelihood = gpflow.likelihoods.Bernoulli() if labels else gpflow.likelihoods.Gaussian(NOISE)
    return SVGP(kernel, likelihood, _inducing(rows, rng), num_data=len(rows))


def _inducing(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if len(rows) <= INDUCING:
        return rows.copy()
    return kmeans2(rows, INDUCING, minit="points", rng=rng)[0]


def _batches(count: int, steps: int, rng: np.random.Generator) -> Any:
    """Rows of each step: all of them, or the next of an order that is drawn anew when it is used up."""
    order = np.arange(count)
    for step in range(steps):
        at = step * BATCH % max(1, count // BATCH * BATCH)
        if count > BATCH and at == 0:
            order = rng.permutation(count)
        yield order[at : at + BATCH] if count > BATCH else order


def _step(
    model: SVGP, rows: np.ndarray, y: np.ndarray, *, natural: bool, others: bool = True
) -> Callable[[tf.Tensor], None]:
    X, Y = tf.constant(rows), tf.constant(y[:, None])
    variational = [(model.q_mu, model.q_sqrt)]
    if natural:
        gpflow.set_trainable(model.q_mu, False)
        gpflow.set_trainable(model.q_sqrt, False)
    adam, natgrad = Adam(ADAM), gpflow.optimizers.NaturalGradient(NATURAL)

    @tf.function
    def step(batch: tf.Tensor) -> None:
        data = tf.gather(X, batch), tf.gather(Y, batch)
        if natural:
            natgrad.minimize(lambda: model.training_loss(data), variational)
        if others:
            adam.minimize(lambda: model.training_loss(data), model.trainable_variables)

    return step


if __name__ == "__main__":
    serve(fit)
