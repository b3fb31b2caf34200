"""What a climb learns of the curvature on its way."""

import numpy as np
from scipy.optimize import minimize, rosen, rosen_der

from termwise.inference.climb import _inverse_diagonal


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
