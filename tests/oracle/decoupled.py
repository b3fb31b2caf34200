"""Whether what is known of orthogonal inducing variables is kept apart, seen from a fitted model alone."""

from typing import Any

import numpy as np


def taken_between(model: Any) -> tuple[float, float]:
    """Of I - C in whitened inducing variables: the largest entry between both sets, and within the second.

    C is the covariance of q(u) q(v'), which has none between them. The posterior has root = U^-1 R with
    R R' = I - C and U'U = Kzz.
    """
    posterior, result = model.posterior_, model.fit_result_
    K = posterior.kernel.gram(posterior.centres)
    U = np.linalg.cholesky(K + result.jitter * np.eye(len(K))).T
    R = U @ posterior.root
    taken, first = R @ R.T, len(K) - result.orthogonal
    return float(np.max(np.abs(taken[:first, first:]))), float(np.max(np.abs(taken[first:, first:])))
