"""Which engine learns from how many rows, and whether the machine can hold it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from termwise.encode.rows import ArrayChunk
from termwise.errors import NotEnoughMemoryError, OptionError, TableError
from termwise.inference.calibrate import FOLDS
from termwise.inference.coarse import CANDIDATES, MOST_SAMPLED, Data, SparseOptions, fit_sparse
from termwise.inference.fit import Candidate, Fit, FitOptions, fit_exact
from termwise.inference.fit_ski import LINE_KERNELS, MOST_LINES, SkiOptions, fit_ski
from termwise.inference.kept import KEPT_BYTES
from termwise.inference.learnable import Learnable
from termwise.inference.levels import LevelColumn
from termwise.inference.mixing import DEPTH
from termwise.inference.model import Model
from termwise.inference.progress import Monitor
from termwise.inference.ski import Grid
from termwise.inference.stochastic import fit_stochastic
from termwise.inference.workers import LocalWorkers, Workers
from termwise.kernels.fused.run import cores

EXACT_ROWS = 2000  # up to this many the exact engine is as fast as a sparse one that predicts as well
SITE_ROWS = 1000  # the same where every evaluation moves sites until they rest
STOCHASTIC_ROWS = 200_000  # beyond, minibatches find sites sooner than looks at all rows
MOST_ROWS = 20_000
INFERENCES = ("auto", "exact", "sparse", "stochastic", "ski")
LEAST_INDUCING, MOST_INDUCING = 256, 512
# Of numbers with normal noise, up to so many rows: twice as many cost twice the time and see finer detail.
FINE_INDUCING, FINE_ROWS = 1024, 100_000
STOCHASTIC_INDUCING = 800  # with so many rows more detail can be told from noise; as in OAK section 5
LEVEL_TABLES = 8  # of a column of levels: its kernel, the steps to it, and their gradients
NUMBERS_OF_CELL = 12  # of a grid: coordinate and amplitude, and how they change with each parameter
SITE_MATRICES = 7  # of all rows, by exact inference where the likelihood is not normal
GIGABYTE = 1e9


@dataclass(frozen=True)
class Asked:
    """What the arguments of an estimator ask of its engine."""

    inference: str
    n_inducing: int | None
    inducing: str
    n_starts: int
    n_jobs: int | None
    grid: Grid = field(default_factory=Grid)
    n_orthogonal: int = 0

    def engine(self, n_rows: int, *, sites: bool, local: bool = True, kept: bool = False) -> str:
        """The engine for so many rows, as asked or by their number; an error if it cannot take them.

        `sites` says that the likelihood is not normal, `local` that this process does all the work, `kept`
        that there are to be checkpoints.
        """
        for name, count in (("n_inducing", self.n_inducing), ("n_orthogonal", self.n_orthogonal)):
            if self.inference in ("exact", "ski") and count:
                raise OptionError(
                    f"{name} is {count} and inference is {self.inference!r}, which has no inducing rows; "
                    "leave one of them out"
                )
        if self.inference == "ski" and sites:
            raise OptionError(
                "inference='ski' is for numbers with normal noise; leave it out, or use inference='sparse'"
            )
        chosen = self._by_rows(n_rows, sites, local, kept) if self.inference == "auto" else self.inference
        if kept and chosen != "stochastic":
            raise OptionError(
                f"checkpoints are asked for and inference is {self.inference!r}, which writes none; use "
                "inference='stochastic', or leave checkpoint and resume out"
            )
        if self.inducing == "optimised" and chosen != "exact" and (sites or chosen == "stochastic"):
            raise OptionError(
                "inducing='optimised' moves inducing rows for numbers with normal noise and "
                "inference='sparse' only; use 'variance', or another of the choices"
            )
        if chosen == "stochastic" and not local:
            raise OptionError(
                "inference='stochastic' works in this process alone; leave client and executor out, or use "
                "inference='sparse'"
            )
        if chosen == "exact" and n_rows > MOST_ROWS:
            raise TableError(
                f"the table has {n_rows} rows; exact inference takes {MOST_ROWS} at most: "
                "use inference='sparse'"
            )
        return chosen

    def _by_rows(self, n_rows: int, sites: bool, local: bool, kept: bool) -> str:
        if kept or (sites and local and n_rows > STOCHASTIC_ROWS):
            return "stochastic"
        few, asked = n_rows <= (SITE_ROWS if sites else EXACT_ROWS), self.n_inducing or self.n_orthogonal
        return "exact" if few and not asked else "sparse"

    @property
    def threads(self) -> int:
        """The threads of this process that may work on rows."""
        return self.n_jobs if self.n_jobs is not None and self.n_jobs > 0 else cores()

    def sparse_options(
        self, engine: str, n_rows: int, *, sites: bool, workers: Workers | None = None
    ) -> SparseOptions:
        """The search with inducing rows; their number by that of the rows if none is asked for."""
        most = MOST_INDUCING
        if engine == "stochastic" and n_rows > STOCHASTIC_ROWS:
            most = STOCHASTIC_INDUCING
        elif engine == "sparse" and not sites and n_rows <= FINE_ROWS:
            most = FINE_INDUCING
        count = self.n_inducing or int(np.clip(n_rows // 4, LEAST_INDUCING, most))
        if workers is None or isinstance(workers, LocalWorkers):
            workers = LocalWorkers(self.threads)
        first = min(count, n_rows)
        more = min(self.n_orthogonal, n_rows - first)
        search = self.inducing, self.n_starts, self.threads
        return SparseOptions(first + more, *search, workers, n_orthogonal=more)


def learn(
    candidates: Sequence[Candidate], asked: Asked, rng: np.random.Generator, monitor: Monitor | None
) -> Fit:
    """Fit a table in memory, by the engine that is asked for or that suits its rows.

    Of several candidates, which the exact engine alone takes, the one with the highest evidence is fitted.
    """
    engine = check_memory(candidates[0], asked)
    if engine == "exact":
        return fit_exact(candidates, FitOptions(n_starts=asked.n_starts, n_jobs=asked.n_jobs), rng, monitor)
    assert len(candidates) == 1, "one has to be chosen before"
    model, rows = candidates[0].model, candidates[0].rows
    if engine == "ski":
        return fit_ski(model, rows, SkiOptions(asked.grid, asked.n_starts, asked.threads), rng, monitor)
    options = asked.sparse_options(engine, rows.y.size, sites=model.likelihood is not None)
    by = fit_sparse if engine == "sparse" else fit_stochastic
    return by(model, Data.in_memory(rows, rng, options.n_inducing), options, rng, monitor)


def check_memory(candidate: Candidate, asked: Asked) -> str:
    """The engine that is to learn; refuses what it cannot take and what the machine cannot hold."""
    model, rows = candidate.model, candidate.rows
    sites = model.likelihood is not None
    if isinstance(model, Model):
        check_level_memory(model, asked.threads)
    engine = asked.engine(rows.y.size, sites=sites)
    if engine == "exact":
        check_exact_memory(asked, rows.y.size, sites=sites)
    elif engine == "ski":
        check_grid(model, rows)
    else:
        check_sparse_memory(asked.sparse_options(engine, rows.y.size, sites=sites), *rows.X.shape)
    return engine


def check_exact_memory(asked: Asked, n: int, *, sites: bool) -> None:
    """Refuse more rows than the machine can hold matrices of."""
    require_memory(
        8 * exact_matrices(asked, sites=sites) * n**2,
        f"exact inference of {n} rows",
        "use inference='sparse'",
    )


def exact_matrices(asked: Asked, *, sites: bool) -> int:
    """How many matrices of all rows exact inference holds at a time, as measured.

    Of normal noise, what is kept while parts of the rows are left out; of sites, what a step of them goes
    through. Starts and parts that are side by side have their own; of few rows, which are so unasked, all
    matrices are small.
    """
    workers = 1 if asked.n_jobs is None else asked.threads
    return SITE_MATRICES * min(asked.n_starts, workers) if sites else 3 + 2 * min(FOLDS, workers)


def check_grid(model: Learnable, rows: ArrayChunk) -> None:
    """Refuse what cannot be interpolated, and more rows than the machine can hold the slopes of."""
    reason = _not_interpolable(model, rows)
    if reason:
        raise OptionError(
            f"inference='ski' interpolates a sum of smooth functions of one number each, and {reason}; or "
            "use inference='sparse'"
        )
    widest = max(rows.X.shape[1], model.lines.count if model.lines else 0)
    needed = 8 * NUMBERS_OF_CELL * rows.y.size * widest
    require_memory(needed, f"interpolation of {rows.y.size} rows", "use inference='sparse'")


def _not_interpolable(model: Learnable, rows: ArrayChunk) -> str:
    """Why a model cannot be learned by a grid, and what to do; nothing if it can."""
    lines = model.lines
    if np.any(model.levels):
        return "some columns have levels, as every column of two values has; leave them out"
    if np.any(np.isnan(rows.X)):
        return "some cells are missing; leave their rows or columns out"
    if lines is None:
        return "some functions here have several; use max_order=1, terms of one column, or degrees of one"
    if lines.kernel not in LINE_KERNELS:
        kernels = ", ".join(map(repr, LINE_KERNELS))
        return f"kernel={lines.kernel!r} is not one that a grid is there for; use one of {kernels}"
    return f"there are {lines.count}; use at most {MOST_LINES}" if lines.count > MOST_LINES else ""


def check_level_memory(model: Model, threads: int) -> None:
    """Refuse columns of so many levels that the machine cannot hold the kernels between them."""
    sizes = [len(c.measure.probabilities) + 1 for c in model.columns if isinstance(c, LevelColumn)]
    largest = max(sizes, default=0)
    # all as large as the largest, with their gradients, also those of the blocks under way
    needed = 8 * len(sizes) * largest**2 * (LEVEL_TABLES + 3 * threads)
    require_memory(needed, f"a column of {largest - 1} levels", "leave it out, or put rare levels together")


def check_sparse_memory(
    options: SparseOptions, n_rows: int, n_columns: int, *, name: str = "n_inducing"
) -> None:
    """Refuse more inducing rows than the machine can hold matrices of, beside a sample of the rows."""
    sampled = 8 * 2 * min(n_rows, MOST_SAMPLED) * (n_columns + 1)  # as cells, and encoded
    needed = sampled + KEPT_BYTES
    require_memory(needed, f"sparse inference of {n_columns} columns", "leave columns out")
    # the kernel of the candidates; or that of the inducing rows, its factor and root, the curvature, the sums
    # of the blocks under way and the steps that are remembered (half of each matrix, twice)
    matrices = max(CANDIDATES, 6 + 3 * options.threads + DEPTH + 1) + 2
    needed += 8 * matrices * options.n_inducing**2
    require_memory(needed, f"{name} = {options.n_inducing}", f"use a smaller {name}")


def require_memory(needed: int, what: str, remedy: str) -> None:
    """Refuse what the machine cannot hold."""
    available = available_bytes()
    if available is not None and needed > available:
        raise NotEnoughMemoryError(
            f"{what} needs about {needed / GIGABYTE:.1f} GB of memory and {available / GIGABYTE:.1f} GB are "
            f"free; {remedy}, or a machine with more"
        )


def available_bytes() -> int | None:
    """The memory that can still be had, where the system says it."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            lines = dict(line.split(":", 1) for line in file)
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
