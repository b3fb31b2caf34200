"""What a climb learns of the curvature on its way."""

import numpy as np
from scipy.optimize import minimize, rosen, rosen_der

from termwise.inference.climb import Effort, _inverse_diagonal, ascend


def test_the_diagonal_of_the_inverse_hessian_is_that_of_the_whole_matrix():
    found = minimize(
        rosen, np.linspace(-1.0, 2.0, 9), jac=rosen_der, method="L-BFGS-B", options={"maxcor": 30}
    )
    inverse = found.hess_inv
    np.testing.assert_allclose(
        _inverse_diagonal(inverse.sk, inverse.yk), np.diag(inverse.todense()), rtol=1e-10
    )


def test_without_a_step_nothing_is_known():
    np.testing.assert_array_equal(_inverse_diagonal(np.zeros((0, 3)), np.zeros((0, 3))), np.ones(3))


class Quadratic:
    """-sum c (x - 1)^2 / 2, of which the posterior sd is c^-1/2."""

    evaluations = 0
    curvature = np.array([1e-4, 1.0])

    class model:  # as much of a model as a climb asks for
        @staticmethod
        def bounds():
            return [(-1e6, 1e6)] * 2

        @staticmethod
        def late():
            return np.zeros(2, dtype=bool)

    def value_and_gradient(self, theta, *, late=True):
        self.evaluations += 1
        away = theta - 1.0
        return -0.5 * float(self.curvature @ away**2), -self.curvature * away


def test_a_climb_learns_the_widths_and_takes_steps_in_their_units():
    begin, free = np.array([-30.0, -2.0]), np.ones(2, dtype=bool)
    found = ascend(Quadratic(), begin, free, Effort(1e-14, widths=np.array([100.0, 1.0])), lambda *_: None)
    np.testing.assert_allclose(found.theta, 1.0, atol=1e-3)
    np.testing.assert_allclose(found.widths, [100.0, 1.0], rtol=0.05)
    few = ascend(Quadratic(), begin, free, Effort(1e-14), lambda *_: None)
    assert found.evaluations < few.evaluations
