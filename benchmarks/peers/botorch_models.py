"""BoTorch's orthogonal additive kernel, of second order, with its defaults."""

from __future__ import annotations

import numpy as np
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.kernels.orthogonal_additive_kernel import OrthogonalAdditiveKernel
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.settings import max_cholesky_size

from benchmarks.harness.model import Predicted
from benchmarks.harness.numbers import Numbers
from benchmarks.peers.estimators import Fitted

CHUNK = 500  # test rows at once: each takes as many numbers as there are training rows, for each column


class _Oak:
    """An exact model; its kernel demands inputs in [0, 1], so that rows outside are moved to the border."""

    def __init__(self, rows: np.ndarray, y: np.ndarray, seed: int) -> None:
        self._low, self._high = rows.min(axis=0), rows.max(axis=0)
        self._size = len(rows)
        kernel = OrthogonalAdditiveKernel(dim=rows.shape[1], second_order=True, dtype=torch.float64)
        # The target is standardised already.
        self._model = SingleTaskGP(
            self._inputs(rows), torch.from_numpy(y)[:, None], covar_module=kernel, outcome_transform=None
        )
        # Above 800 rows GPyTorch would turn to conjugate gradients, which are not exact.
        # The seed is for the new starts after a climb that failed.
        with max_cholesky_size(self._size + 1), torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            fit_gpytorch_mll(ExactMarginalLogLikelihood(self._model.likelihood, self._model))

    def predict(self, rows: np.ndarray) -> Predicted:
        inputs = self._inputs(rows)
        means, variances = [], []
        with torch.no_grad(), max_cholesky_size(self._size + 1):
            for chunk in inputs.split(CHUNK):
                found = self._model.posterior(chunk, observation_noise=True)
                means.append(found.mean[:, 0].numpy())
                variances.append(found.variance[:, 0].numpy())
        return Predicted(np.concatenate(means), np.sqrt(np.concatenate(variances)))

    def _inputs(self, rows: np.ndarray) -> torch.Tensor:
        scaled = (rows - self._low) / (self._high - self._low)
        return torch.from_numpy(np.clip(scaled, 0.0, 1.0))


def oak(task: str, seed: int) -> Fitted:
    """Functions of one column and of pairs of columns."""
    return Fitted(
        Numbers.of,
        lambda _, rows, y: _Oak(rows, np.asarray(y, dtype=float), seed),
        lambda model, rows: model.predict(rows),
    )
