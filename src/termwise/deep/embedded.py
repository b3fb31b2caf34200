"""Training of kernels of an embedding: networks first alone, then with the kernel, by the evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from termwise.deep.gram import FORMULAS, GramKernel, Solved, first_parameters, solve_exact, solve_sparse
from termwise.deep.networks import Networks
from termwise.deep.optimal import LEAST_NOISE, Shape, Wanted, fit_optimal
from termwise.deep.training import Aim, Descent, Lesson, Part, Rows, Trainable, descend
from termwise.measures.base import Array

EXACT_ROWS = 2000
FEWEST_INDUCING = 128
JITTER = 1e-6  # on the diagonal while training; what is kept is solved with what it needs
# Of the evidence. Parameters of a kernel are a few logarithms that may have far to go, where weights of
# networks that know the function already may not: these keep their own step.
STEPS, STEP = 200, 0.05
FREE = ("frequencies",)  # parameters that may have any sign
EMBEDDED = 2  # coordinates. Table 1


@dataclass(frozen=True)
class Embedding:
    """Which kernel, the hidden layers below it, and how many inducing rows if that is said."""

    kind: str
    hidden: tuple[int, ...]
    n_inducing: int | None = None


@dataclass(frozen=True, eq=False)
class Embedded:
    """Networks, the kernel on what they say, and what is known there."""

    networks: Networks
    kernel: GramKernel
    inducing: Array | None  # embedded rows, if not all are centres
    solved: Solved
    noise: float
    epochs: int
    converged: bool  # neither the networks alone nor all together stopped at their last epoch

    def mean(self, X: Array) -> Array:
        """What is expected of rows."""
        said: Array = self.kernel.matrix(self.networks.outputs(X)[0], self.solved.centres) @ self.solved.alpha
        return said

    def with_noise(self, noise: float, lesson: Lesson) -> Embedded:
        """The same with another noise."""
        H = self.networks.outputs(lesson.X)[0]
        return replace(self, noise=noise, solved=_solve(self.kernel, self.inducing, noise, H, lesson.y))


class Free:
    """Parameters of a kernel as tensors: logarithms, but of those that may have any sign."""

    def __init__(self, kernel: GramKernel, noise: float, Z: Array | None) -> None:
        self.kind, values = kernel.kind, kernel.parameters
        self.starts, self.owners, self.pace = 1, np.zeros(1, dtype=np.intp), 1.0
        logs = {name: value if name in FREE else np.log(value) for name, value in values.items()}
        logs["noise"] = np.array(np.log(noise))
        if Z is not None:
            logs["Z"] = Z
        self._logs = {name: torch.tensor(value[None], requires_grad=True) for name, value in logs.items()}

    @property
    def parameters(self) -> list[torch.Tensor]:
        """All of them, with a first axis of one."""
        return list(self._logs.values())

    def copies(self) -> list[torch.Tensor]:
        """All as they are now."""
        return [parameter.detach().clone() for parameter in self.parameters]

    def values(self) -> dict[str, torch.Tensor]:
        """The parameters themselves."""
        return {
            name: value[0] if name in (*FREE, "Z") else torch.exp(value[0])
            for name, value in self._logs.items()
        }

    def kept(self) -> tuple[GramKernel, float, Array | None]:
        """The kernel, the noise and the inducing rows as plain arrays."""
        found = {name: value.detach().numpy().copy() for name, value in self.values().items()}
        noise, Z = float(found.pop("noise")), found.pop("Z", None)
        return GramKernel(self.kind, found), noise, Z


def negative_evidence(
    kind: str, H: torch.Tensor, y: torch.Tensor, p: dict[str, torch.Tensor]
) -> torch.Tensor:
    """-log p(y), or minus the bound on it if there are inducing rows; in float64."""
    kernel = FORMULAS[kind]
    noise, n = p["noise"], y.shape[0]
    if "Z" not in p:
        K = kernel(torch, H, H, p) + (noise + JITTER) * torch.eye(n, dtype=H.dtype)
        L = torch.linalg.cholesky(K)
        half = torch.linalg.solve_triangular(L, y[:, None], upper=False)
        return 0.5 * (half**2).sum() + torch.log(torch.diagonal(L)).sum() + 0.5 * n * np.log(2.0 * np.pi)
    m = p["Z"].shape[0]
    L = torch.linalg.cholesky(kernel(torch, p["Z"], p["Z"], p) + JITTER * torch.eye(m, dtype=H.dtype))
    A = torch.linalg.solve_triangular(L, kernel(torch, p["Z"], H, p), upper=False) / torch.sqrt(noise)
    B = torch.linalg.cholesky(A @ A.T + torch.eye(m, dtype=H.dtype))
    c = torch.linalg.solve_triangular(B, A @ y[:, None], upper=False)
    own = _own(kind, H, p).sum() / noise
    inside = ((y**2).sum() - (c**2).sum()) / noise
    log_determinant = 2.0 * torch.log(torch.diagonal(B)).sum() + n * torch.log(2.0 * np.pi * noise)
    return 0.5 * (log_determinant + inside + own - (A**2).sum())


def _own(kind: str, H: torch.Tensor, p: dict[str, torch.Tensor]) -> torch.Tensor:
    if kind == "arccos":
        return p["variance"] * ((H**2).sum(1) + p["bias"])
    return (p["weights"].sum() if kind == "sm" else p["variance"]) * torch.ones(H.shape[0], dtype=H.dtype)


def fit_embedded(lesson: Lesson, of: Embedding, how: Descent, rng: np.random.Generator) -> Embedded:
    """The kernel on an embedding that is trained; the arc-cosine kernel takes rows as they are."""
    pretraining, drawing, choosing, shuffling = rng.spawn(4)
    X, rows = lesson.X, lesson.rows
    bare = of.kind == "arccos"
    if bare:
        networks, noise, epochs = identity(X.shape[1]), 0.1, 0
    else:
        # As the sum of its coordinates the embedding learns the function before a kernel looks at it.
        shape = Shape((tuple(range(X.shape[1])),), of.hidden, EMBEDDED)
        first = fit_optimal(lesson, shape, how, pretraining, Wanted(plain=True))
        networks, noise, epochs = first.networks, first.noise, first.epochs
    H = networks.outputs(X)[0]
    kernel = GramKernel(of.kind, first_parameters(of.kind, H.shape[1], drawing))
    free = Free(kernel, noise, _inducing(H, rows, of.n_inducing, choosing))
    part = Trainable(networks, X)
    more = _climb(None if bare else part, free, lesson, how, shuffling)
    kernel, noise, Z = free.kept()
    networks = networks if bare else part.kept()
    converged = epochs < how.max_epochs and more < min(STEPS, how.max_epochs)  # each with its own limit
    noise, solved = _conditioned(networks.outputs(X)[0], lesson, (kernel, Z), noise)
    return Embedded(networks, kernel, Z, solved, noise, epochs + more, converged)


def _inducing(H: Array, rows: Rows, count: int | None, rng: np.random.Generator) -> Array | None:
    """Some of the rows, of many if it is not said of how many; or none."""
    if count is None and len(H) <= EXACT_ROWS:
        return None
    return H[rng.choice(rows.train, min(count or FEWEST_INDUCING, rows.train.size), replace=False)]


def _climb(part: Trainable | None, free: Free, lesson: Lesson, how: Descent, rng: np.random.Generator) -> int:
    """Steps of all parameters at once, each by all rows: the evidence is no sum over them."""
    y, rows = lesson.y, lesson.rows
    still, target = torch.as_tensor(lesson.X), torch.as_tensor(y)

    def embedding(chosen: NDArray[np.intp]) -> torch.Tensor:
        return still[chosen] if part is None else part.outputs(chosen)[0].double()

    def loss(chosen: NDArray[np.intp]) -> torch.Tensor:
        # Weights take steps of Adam that do not depend on the size of this.
        return negative_evidence(free.kind, embedding(chosen), target[chosen], free.values()) / chosen.size

    def score() -> Array:
        with torch.no_grad():
            train, left_out = (embedding(part_of).numpy() for part_of in (rows.train, rows.validation))
        kernel, noise, Z = free.kept()
        solved = _solve(kernel, Z, noise + JITTER, train, y[rows.train])
        mean = kernel.matrix(left_out, solved.centres) @ solved.alpha
        return np.array([np.mean((y[rows.validation] - mean) ** 2)])

    steps = replace(how, max_epochs=min(STEPS, how.max_epochs), batch=rows.train.size, alternating=False)
    free.pace = STEP / how.learning_rate
    parts: list[Part] = [free] if part is None else [free, part]
    _, epochs = descend(parts, Aim(loss, score, rows.train), steps, rng)
    return epochs


def _solve(kernel: GramKernel, Z: Array | None, noise: float, H: Array, y: Array) -> Solved:
    return solve_exact(kernel, H, y, noise) if Z is None else solve_sparse(kernel, H, y, noise, Z)


def _conditioned(
    H: Array, lesson: Lesson, model: tuple[GramKernel, Array | None], noise: float
) -> tuple[float, Solved]:
    """Given all rows, with no less noise than rows show that were not learned from."""
    noise = max(noise, LEAST_NOISE)
    (kernel, Z), y, train = model, lesson.y, lesson.rows.train
    left_out = lesson.telling(lesson.rows.validation)
    seen = _solve(kernel, Z, noise, H[train], y[train])
    beside = kernel.matrix(H[left_out], seen.centres)
    errors = y[left_out] - beside @ seen.alpha
    known = kernel.diagonal(H[left_out]) - np.sum((beside @ seen.root) ** 2, axis=1)
    # The evidence takes what is not known of rows with missing cells for noise of all rows.
    least = noise if lesson.complete is None or np.all(lesson.complete) else LEAST_NOISE
    noise = max(least, float(np.mean(errors**2 - known)))
    return noise, _solve(kernel, Z, noise, H, y)


def identity(features: int) -> Networks:
    """A network that says what it reads."""
    return Networks((tuple(range(features)),), (np.eye(features)[None],), (np.zeros((1, 1, features)),))
