"""BoTorch's orthogonal additive kernel, timed on the step that an optimiser repeats."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

THREADS = 2
SEED = 0


def value_and_gradient_seconds(n: int, d: int, repeats: int = 5) -> float:
    """Return the median seconds of one value and gradient of the exact log marginal likelihood.

    The model is `OrthogonalAdditiveKernel` of second order on n rows and d inputs, in float64 on two threads.
    The gradient is for every kernel hyperparameter and the noise. A first, untimed step warms up.
    """
    torch, _, _ = _libraries()
    with _threads(torch, THREADS):
        step = _step(*_table(n, d))
        step()
        return statistics.median(_seconds(step) for _ in range(repeats))


def _libraries() -> tuple[Any, Any, Any]:
    try:
        import gpytorch
        import torch
        from botorch.models.kernels.orthogonal_additive_kernel import OrthogonalAdditiveKernel
    except ImportError as error:
        raise ImportError(
            f"the comparison with BoTorch needs {error.name!r}, which is not installed; "
            "install it with: pip install termwise[bench]"
        ) from error
    return torch, gpytorch, OrthogonalAdditiveKernel


def _table(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs uniform on [0, 1], as the kernel demands; a target of mean 0 and variance 1."""
    rng = np.random.default_rng(SEED)
    X = rng.uniform(size=(n, d))
    y = np.sin(6.0 * X[:, 0]) + X[:, 0] * X[:, -1] + 0.1 * rng.normal(size=n)
    return X, (y - y.mean()) / y.std()


def _step(X: np.ndarray, y: np.ndarray) -> Callable[[], float]:
    """Return a function that makes one value and gradient, and gives the value."""
    torch, gpytorch, kernel_class = _libraries()
    inputs, target = torch.from_numpy(X), torch.from_numpy(y)

    class Model(gpytorch.models.ExactGP):  # type: ignore[misc]
        def __init__(self, likelihood: Any) -> None:
            super().__init__(inputs, target, likelihood)
            self.mean = gpytorch.means.ZeroMean()
            self.kernel = kernel_class(dim=X.shape[1], second_order=True, dtype=torch.float64)

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    model = Model(likelihood).double().train()
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)

    def step() -> float:
        model.zero_grad()
        # Above 800 rows GPyTorch would turn to conjugate gradients, which are not exact.
        with gpytorch.settings.max_cholesky_size(len(X) + 1):
            value = objective(model(inputs), target)
            value.backward()
        missing = [name for name, parameter in model.named_parameters() if parameter.grad is None]
        if missing:
            raise RuntimeError(f"BoTorch gave no gradient for {missing}; the timing would not compare")
        return float(value.detach())

    return step


def _seconds(step: Callable[[], float]) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


@contextmanager
def _threads(torch: Any, count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
