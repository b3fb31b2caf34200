"""The yardstick of the sparse engine does the work it says, and the quick run gives all figures."""

import numpy as np

from benchmarks.sparse import Yardstick, problem, run


def test_the_yardstick_multiplies_the_kernel_of_the_objective():
    objective, theta = problem(1500)
    model, X = objective.model, objective.chunks[0].read().X
    K = model.kernel(theta).matrix(model.encoded(theta, X), model.encoded(theta, objective.inducing))
    yardstick = Yardstick.of(objective, theta)
    products = [yardstick.product(rows, threads=1) for rows in yardstick.parts(1024)]
    np.testing.assert_allclose(sum(products), K.T @ K, rtol=1e-8)


def test_few_rows_are_timed_and_weighed():
    found = {figure.name.strip(): figure.value for figure in run(quick=True)}
    assert found["value and gradient over the yardstick"] > 0.5
    assert sum(name.startswith("peak memory") for name in found) == 2
