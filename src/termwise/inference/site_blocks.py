"""The functions of sparse inference that see rows when their likelihood is not normal.

Each row has the site that variational inference asks for under the posterior of the inducing values, and no
memory of sites before: what is damped are the sums.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from termwise.errors import NumericalError
from termwise.inference.blocks import (
    Chunk,
    Own,
    Push,
    Reached,
    Setting,
    layout_for_adjoint,
    layout_for_sums,
    total,
    workspace,
)
from termwise.inference.kept import Block
from termwise.inference.summed import Summed
from termwise.kernels.fused import run
from termwise.likelihoods.observed import Observed
from termwise.linalg.in_place import multiply_by_upper, share_by_upper, upper_square
from termwise.measures.base import Array
from termwise.posterior.posterior import ROUNDING


@dataclass(frozen=True, eq=False)
class View:
    """What rows are seen through: a_n = root' k_n, and inducing values u ~ N(mean, spread spread').

    They are whitened: a priori u is standard normal and f_n is N(a_n' u, k_nn - |a_n|^2) given u. Those of
    different `parts` are not correlated.
    """

    setting: Setting
    root: Array
    mean: Array
    spread: Array  # upper triangular, and zero between parts
    parts: tuple[slice, ...] = (slice(None),)

    def spread_in_place(self, A: Array, *, transposed: bool = False) -> None:
        """A spread, or A spread', in the place of A."""
        for part in self.parts:
            multiply_by_upper(A[:, part], self.spread[part, part], transposed=transposed)

    def times_covariance(self, A: Array, threads: int) -> Array:
        """A spread spread', by some threads."""
        out = A.copy()
        for part in self.parts:
            for transposed in (False, True):
                share_by_upper(out[:, part], self.spread[part, part], threads, transposed=transposed)
        return out


@dataclass(frozen=True, eq=False)
class SitePull:
    """Where the gradient comes from, and which parameters it is to reach."""

    view: View
    late: bool = True


@dataclass(frozen=True, eq=False)
class SiteSums(Summed):
    """Sums over rows: E log p(y | f), tau a a' (its upper triangle), nu a, and those of the likelihood."""

    n_rows: int
    value: float
    outer: Array
    linear: Array
    parameters: Array


@dataclass(frozen=True, eq=False)
class SiteStep(Summed):
    """The sums and the way back at once, for who looks at rows only once."""

    sums: SiteSums
    reached: Reached


NO_SUMS = SiteSums(0, 0.0, np.zeros((0, 0)), np.zeros(0), np.zeros(0))


def site_statistics(chunk: Chunk, view: View, threads: int = 1) -> SiteSums:
    """The sums over the rows of a chunk."""
    return total(chunk, lambda block: _block_sums(block, view), threads)


def first_statistics(chunk: Chunk, push: Push, threads: int = 1) -> SiteSums:
    """The same with the sites that rows would have by themselves, to begin with."""
    return total(chunk, lambda block: _first_sums(block, push), threads)


def site_adjoint(chunk: Chunk, pull: SitePull, threads: int = 1) -> Reached:
    """The gradient of the bound for fixed inducing values, as far as it goes through the rows of a chunk."""
    return total(chunk, lambda block: _block_step(block, pull, with_sums=False).reached, threads)


def site_step(chunk: Chunk, pull: SitePull, threads: int = 1) -> SiteStep:
    """The sums over the rows of a chunk, and the gradient."""
    return total(chunk, lambda block: _block_step(block, pull, with_sums=True), threads)


@dataclass(frozen=True, eq=False)
class _Sites:
    """The rows of a block under the posterior: where f is, and the sites that follow."""

    observed: Observed
    mean: Array
    variance: Array
    value: Array
    slope: Array  # of the value, for the mean
    tau: Array
    nu: Array


def _observed(block: Block, setting: Setting) -> Observed:
    likelihood = setting.model.likelihood
    assert likelihood is not None, "the model of rows with sites has a likelihood"
    at = likelihood.with_parameters(setting.model.likelihood_parameters(setting.theta))
    rows = block.rows
    return Observed(at, rows.y, rows.weight, rows.offset)


def _sites(block: Block, view: View, own: Own, A: Array, spare: Array) -> _Sites:
    spare[:] = A
    view.spread_in_place(spare)
    mean = A @ view.mean
    taken = np.einsum("ij,ij->i", A, A) - np.einsum("ij,ij->i", spare, spare)
    variance = _left(own, taken)
    observed = _observed(block, view.setting)
    found = observed.expected(mean, variance)
    tau = np.maximum(-2.0 * found.by_variance, 0.0)
    slope = found.by_mean
    return _Sites(observed, mean, variance, found.value, slope, tau, slope + tau * mean)


def _left(own: Own, taken: Array) -> Array:
    """k_nn - taken; below zero only by rounding, or something is wrong."""
    variance = own.whole - taken
    # What rows take goes through the inverse of Kuu, whose rounding is a part of its largest entries: a row
    # where the prior is all but sure, k_nn being a millionth of others, may be below zero by more of its own.
    lowest = float(np.min(variance / np.maximum(own.whole, max(own.setting.largest, 1e-300)), initial=0.0))
    if lowest < -ROUNDING:
        raise NumericalError(
            f"the variance of a row is {lowest:.1e} times that of the prior; look for columns that are "
            "nearly constant, or use fewer inducing rows"
        )
    return np.maximum(variance, 0.0)


def _block_sums(block: Block, view: View) -> SiteSums:
    own = Own(layout_for_sums(block, view.setting), view.setting)
    A, spare = workspace(block.y.size, len(view.setting.inducing))
    A = _told(block, view, own, A)
    return _sums_of(_sites(block, view, own, A, spare), A, spare)


def _first_sums(block: Block, push: Push) -> SiteSums:
    own = Own(layout_for_sums(block, push.setting), push.setting)
    A, spare = workspace(block.y.size, len(push.setting.inducing))
    A = _told(block, push, own, A)
    observed = _observed(block, push.setting)
    at, nothing = observed.start(), np.zeros(block.y.size)
    return _sums_of(_Sites(observed, at, nothing, nothing, nothing, *observed.start_sites()), A, spare)


def _told(block: Block, view: View | Push, own: Own, spare: Array) -> Array:
    """a_n of the rows: the same at every look, as long as parameters stay."""
    setting, kept = view.setting, view.setting.kept
    found = None if kept is None else kept.told(block)
    if found is not None:
        return found
    room = None if kept is None else kept.room_for(block, len(setting.inducing))
    A = spare if room is None else room
    run.cross(setting.weights, own.layout.rows, setting.layout.rows, 1, out=A)
    multiply_by_upper(A, view.root)
    if kept is not None and room is not None:
        kept.tell(block, room)
    return A


def _sums_of(sites: _Sites, A: Array, spare: Array) -> SiteSums:
    linear = sites.nu @ A
    np.multiply(A, np.sqrt(sites.tau)[:, None], out=spare)
    by_row = sites.observed.expected_by_parameters(sites.mean, sites.variance)
    value = float(np.sum(sites.value))
    return SiteSums(len(A), value, upper_square(spare), linear, np.sum(by_row, axis=1))


def _block_step(block: Block, pull: SitePull, *, with_sums: bool) -> SiteStep:
    """The gradient for a_n is tau_n (I - spread spread') a_n + slope_n mean; for k_n, root times it."""
    view, setting = pull.view, pull.view.setting
    own = Own(layout_for_adjoint(block, setting, late=pull.late), setting)
    A, G = workspace(block.y.size, len(setting.inducing))
    run.cross(setting.weights, own.layout.rows, setting.layout.rows, 1, out=A)
    multiply_by_upper(A, view.root)
    sites = _sites(block, view, own, A, G)
    view.spread_in_place(G, transposed=True)  # it was A spread
    np.subtract(A, G, out=G)
    G *= sites.tau[:, None]
    multiply_by_upper(G, view.root, transposed=True)
    rank_one = sites.slope, view.root @ view.mean
    given = run.adjoint_cross(setting.weights, own.layout.rows, setting.layout.rows, G, 1, rank_one)
    by_order, by_own = own.adjoint_of_whole(-0.5 * sites.tau)
    columns, common = own.layout.row_gradient(given, by_own)
    reached = Reached(columns, common, given.variances + by_order, 0.0, given.z.u, given.z.a)
    return SiteStep(_sums_of(sites, A, G) if with_sums else NO_SUMS, reached)
