"""GPyTorch's grid interpolation of a kernel along directions, timed on the step that an optimiser repeats."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

THREADS = 2


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, a target, directions, and the parameters at which a step is made."""

    X: np.ndarray
    y: np.ndarray
    directions: np.ndarray
    lengthscales: np.ndarray
    constant: float
    scale: float
    noise: float
    nodes: int = 512


def ski_step(problem: Problem) -> Callable[[], tuple[float, float]]:
    """A function that makes one value and gradient; gives the log likelihood and the seconds.

    The gradient is for the lengthscales, the scale and the noise. All is at GPyTorch's defaults but float64:
    conjugate gradients to a residual of one, ten probes for the log determinant.
    """
    try:
        import gpytorch
        import torch
    except ImportError as error:
        raise ImportError(
            f"the comparison with GPyTorch needs {error.name!r}, which is not installed; "
            "install it with: pip install termwise[bench]"
        ) from error
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    model, likelihood = _model(torch, gpytorch, problem)
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    X, y = torch.from_numpy(problem.X), torch.from_numpy(problem.y)

    def step() -> tuple[float, float]:
        start = time.perf_counter()
        model.zero_grad()
        value = objective(model(X), y) * problem.y.size
        (-value).backward()
        return float(value.detach()), time.perf_counter() - start

    return step


def _model(torch: Any, gpytorch: Any, problem: Problem) -> tuple[Any, Any]:
    directions = torch.from_numpy(problem.directions)
    count = len(problem.directions)

    class Projected(gpytorch.models.ExactGP):  # type: ignore[misc]
        def __init__(self, likelihood: Any) -> None:
            super().__init__(torch.from_numpy(problem.X), torch.from_numpy(problem.y), likelihood)
            self.mean = gpytorch.means.ZeroMean()
            self.log_lengthscales = torch.nn.Parameter(torch.from_numpy(np.log(problem.lengthscales)))
            # One kernel for each line: AdditiveStructureKernel would hold a matrix of all rows.
            lines = gpytorch.kernels.AdditiveKernel(*(self._line(place) for place in range(count)))
            self.kernel = gpytorch.kernels.ScaleKernel(lines)
            self.kernel.outputscale = problem.scale / count

        @staticmethod
        def _line(place: int) -> Any:
            base = gpytorch.kernels.RBFKernel()
            base.lengthscale = 1.0
            base.raw_lengthscale.requires_grad_(False)
            return gpytorch.kernels.GridInterpolationKernel(
                base, grid_size=problem.nodes, num_dims=1, active_dims=(place,)
            )

        def forward(self, x: Any) -> Any:
            u = (x / self.log_lengthscales.exp()) @ directions.T
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(u))

    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Projected(likelihood).double().train()
    likelihood.double().train()
    likelihood.noise = problem.noise
    return model, likelihood
